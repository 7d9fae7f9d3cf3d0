"""Small linear and tree teachers by the thousand: all parts in one pass of a kernel, in as many threads as pay."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from pcqr.checks import check_integer, check_positive
from pcqr.hypotheses.base import Hypothesis, Labels, Points
from pcqr.hypotheses.committees.base import Arrays, Committee, IntArray, TeachesInBulk
from pcqr.hypotheses.learners.base import OnlyLearns
from pcqr.hypotheses.learners.descent import descend
from pcqr.hypotheses.learners.growth import grow
from pcqr.hypotheses.learners.planes import Planes
from pcqr.hypotheses.trees.committee import TreeCommittee, blank
from pcqr.records.arrays import as_points
from pcqr.threads import in_threads

DEEPEST = 8
_PASSES = 50
"""About so often a teacher looks at each of its numbers."""


@dataclass(frozen=True, eq=False, repr=False)
class OneTeacher(Hypothesis):
    """The only member of a committee. **Private.**"""

    committee: Committee

    def predict(self, X: ArrayLike) -> Labels:
        said: Labels = self.committee.counts(as_points(X, None)).argmax(axis=1).astype(np.int8)
        return said


class TaughtTogether(OnlyLearns, TeachesInBulk):
    """A class whose teachers are trained by one kernel: each is a function of its own part, bit for bit."""

    def with_labels(self, labels: int) -> Self:
        return replace(self, labels=labels)  # type: ignore[type-var]  # those below are dataclasses

    def learn(self, X: ArrayLike, y: ArrayLike) -> Hypothesis:
        """What one teacher is on (X, y)."""
        points, labels = self.check_records(X, y)
        teacher = self.learn_parts(points, labels.astype(np.int8), np.array([labels.shape[0]]))
        return OneTeacher(self.committee(teacher, points.shape[1]))

    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        starts, points = np.append(0, ends[:-1]), np.ascontiguousarray(X)
        made = self._blank(ends.size, X.shape[1])

        def work(low: int, high: int) -> None:
            own = {name: array[low:high] for name, array in made.items()}
            self._teach(points, y, starts[low:high], ends[low:high], own)

        in_threads(work, ends.size, steps=_PASSES * X.size // ends.size)
        return made

    @abstractmethod
    def _blank(self, count: int, features: int) -> Arrays:
        """Arrays for so many teachers, each of which says 0 everywhere."""

    @abstractmethod
    def _teach(self, X: Points, y: Labels, starts: IntArray, ends: IntArray, made: Arrays) -> None:
        """Write to row j of the arrays what is learned from the rows [starts[j], ends[j])."""


@dataclass(frozen=True)
class LogisticTeachers(TaughtTogether):
    """Logistic regressions with a quadratic penalty, trained by the thousand, for votes on labels as they are.

    A teacher brings each column to mean 0 and deviation 1 by the records of its own part, then minimises the log-loss
    of its records plus (λ/2)·‖w‖², the bias not counted: what `LogisticRegression(C=1/λ)` behind a `StandardScaler`
    minimises; for more than two labels their softmax. A part of one label says that label. Nothing is drawn.

    Parameters
    ----------
    penalty : float, default 1.0
        λ.
    dimension : int, default 10
        About how many numbers a teacher learns. Only the planner's estimates use it.
    labels : int, default 2
        C, the number of classes.

    Raises
    ------
    ParameterError
        When a parameter is outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.hypotheses import LogisticTeachers
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> teacher = LogisticTeachers(labels=3).learn(X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0))
    >>> teacher.predict([[-2.0, -2.0], [2.0, -2.0], [2.0, 2.0]])
    array([0, 1, 2], dtype=int8)
    """

    penalty: float = 1.0
    dimension: int = 10
    labels: int = 2

    def __post_init__(self) -> None:
        check_positive("penalty", self.penalty)
        self.check_shared()

    def committee(self, teachers: Arrays, features: int) -> Planes:  # noqa: ARG002
        return Planes(teachers["weights"], teachers["biases"])

    def _blank(self, count: int, features: int) -> Arrays:
        rows = 1 if self.labels == 2 else self.labels
        return {"weights": np.zeros((count, rows, features)), "biases": np.zeros((count, rows))}

    def _teach(self, X: Points, y: Labels, starts: IntArray, ends: IntArray, made: Arrays) -> None:
        descend(X, y, starts, ends, float(self.penalty), made["weights"], made["biases"])


@dataclass(frozen=True)
class TreeTeachers(TaughtTogether):
    """Greedy classification trees, trained by the thousand, for votes on labels as they are.

    A teacher asks, from the root down, the question x[column] > cut that leaves the least Gini impurity, with cuts
    midway between values of its own part: what `DecisionTreeClassifier(max_depth=depth)` does, but that among equal
    questions the first column wins, and not one by the toss of a coin. Nothing is drawn, and nothing public is needed.

    Parameters
    ----------
    depth : int, default 4
        D, the most questions on a path, at most 8.
    dimension : int, default 10
        About how many numbers a teacher learns. Only the planner's estimates use it.
    labels : int, default 2
        C, the number of classes.

    Raises
    ------
    ParameterError
        When a parameter is outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.hypotheses import TreeTeachers
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> teacher = TreeTeachers(labels=3).learn(X, (X[:, 0] > 0).astype(int) + (X[:, 1] > 0))
    >>> teacher.predict([[-2.0, -2.0], [2.0, -2.0], [2.0, 2.0]])
    array([0, 1, 2], dtype=int8)
    """

    depth: int = 4
    dimension: int = 10
    labels: int = 2

    def __post_init__(self) -> None:
        check_integer("depth", self.depth, least=1, most=DEEPEST)
        self.check_shared()

    def committee(self, teachers: Arrays, features: int) -> TreeCommittee:
        return TreeCommittee(teachers["columns"], teachers["cuts"], teachers["leaves"], features, self.labels)

    def _blank(self, count: int, features: int) -> Arrays:  # noqa: ARG002
        return blank(count, self.depth)

    def _teach(self, X: Points, y: Labels, starts: IntArray, ends: IntArray, made: Arrays) -> None:
        grow(X, y, starts, ends, self.labels, made["columns"], made["cuts"], made["leaves"])
