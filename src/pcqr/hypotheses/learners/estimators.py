"""Any scikit-learn classifier as the class of the teachers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcqr.entropy import SeededEntropy
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, Points
from pcqr.hypotheses.committees.base import Arrays, Committee, IntArray, TeachesWithCoins
from pcqr.hypotheses.committees.members import Members
from pcqr.hypotheses.committees.training import group_rows, groups, joined
from pcqr.hypotheses.learners.base import OnlyLearns
from pcqr.hypotheses.learners.fitting import Caller, fitted, silent
from pcqr.hypotheses.learners.known import as_committee, cannot_be_kept, is_known
from pcqr.progress import tracked
from pcqr.records import InMemory, Records
from pcqr.records.source import Positions


@dataclass(frozen=True)
class Estimators(OnlyLearns, TeachesWithCoins):
    """Teachers that are clones of a scikit-learn classifier, a pipeline included, trained in parallel by joblib.

    For releases that answer by votes on labels as they are, `SubsampleAggregate` and its peers, which also take the
    classifier itself. Such a class only learns: it cannot be drawn from, so nothing can be relabelled or published with
    it.

    Each teacher sees its own part, and draws with coins of its own: every `random_state` of its clone is set to a
    number that was drawn beforehand, so that nothing depends on who trains when. A teacher whose `fit` or `predict`
    raises casts a fixed vote, and warnings inside teachers are dropped: how many there are is private. A part of one
    label says that label. Linear models and trees of limited depth vote as arrays and can be kept (docs/teachers.md).

    Parameters
    ----------
    estimator : scikit-learn classifier
        What is cloned for each teacher. It is fitted on labels 0, …, C−1.
    dimension : int, default 10
        About how many numbers a teacher learns. Only the planner's estimates use it.
    n_jobs : int or None, default None
        How many teachers are trained at the same time, as joblib has it. None is 1, or what `joblib.parallel_config`
        says, which also chooses the backend.
    labels : int, default 2
        C, the number of classes.

    Raises
    ------
    ParameterError
        When a parameter is outside its range.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from pcqr import SubsampleAggregate
    >>> from pcqr.hypotheses import Estimators
    >>> X = np.random.default_rng(0).normal(size=(5_000, 2))
    >>> y = np.where(X[:, 0] > X[:, 1], "right", "left")
    >>> teachers = Estimators(LogisticRegression(), n_jobs=1)
    >>> names = ("left", "right")
    >>> release = SubsampleAggregate(teachers, epsilon=4.0, queries=20, teachers=99, classes=names, entropy=0)
    >>> release.fit(X, y).predict([[2.0, -1.0], [-1.0, 2.0]])  # seeded: NOT PRIVATE
    array(['right', 'left'], dtype='<U5')
    """

    estimator: Any
    dimension: int = 10
    n_jobs: int | None = None
    labels: int = 2

    def __post_init__(self) -> None:
        from sklearn.base import clone, is_classifier  # noqa: PLC0415 - it takes its time to load

        if not is_estimator(self.estimator) or not is_classifier(self.estimator):
            raise ParameterError("estimator", "a scikit-learn classifier", self.estimator)
        object.__setattr__(self, "estimator", clone(self.estimator))
        self.check_shared()

    def with_labels(self, labels: int) -> Estimators:
        return replace(self, labels=labels)

    def check_work(self, parts: Sequence[tuple[int, int]], features: int) -> None:
        """Try the classifier on made-up records: on private ones nobody would hear why all teachers fail."""
        from sklearn.base import clone  # noqa: PLC0415

        for records in {records for records, _ in parts if records > 1}:
            X = SeededEntropy(0).below(1 << 20, records * features).reshape(records, features) / (1 << 20)
            try:
                with silent(), np.errstate(all="ignore"):
                    clone(self.estimator).fit(X, np.arange(records) % self.labels).predict(X)
            except Exception as error:
                raise ParameterError(
                    "hypotheses",
                    f"a classifier that learns from {records:,} records of {features:,} columns and {self.labels} "
                    "labels, as made-up ones were",
                    f"{self.estimator}, which raises {type(error).__name__}: {error}",
                ) from error

    def learn(self, X: ArrayLike, y: ArrayLike) -> Hypothesis:
        """What one teacher is on (X, y), with the coins of seed 0."""
        points, labels = self.check_records(X, y)
        with silent():
            return fitted(self.estimator, points, labels, 0, Caller.here())

    def teach(self, records: Records, parts: Sequence[Positions], seeds: IntArray) -> Committee:
        import joblib  # noqa: PLC0415

        caller, members = Caller.here(), list[Hypothesis]()
        together, coins = list(groups(parts, group_rows(records))), iter(seeds.tolist())
        if records.is_elsewhere:
            whole, ends = joined(together)
            own = [(those, list(islice(coins, those.size))) for those in ends]
            taught = records.taught(partial(_fitted_there, self.estimator, caller), whole, own)
            return self._committee(tuple(chain.from_iterable(taught)), records)
        # No `max_nbytes`: larger arrays would be written to a file, where workers find them. They are private.
        with silent(), joblib.Parallel(n_jobs=self.n_jobs, max_nbytes=None) as parallel:
            for group in tracked("teachers", together):
                held = (records.part(part) for part in group)
                members += parallel(
                    joblib.delayed(fitted)(self.estimator, part.X, part.y, seed, caller)
                    for part, seed in zip(held, coins)  # noqa: B905 - one of `coins` for each part of all groups
                )
        return self._committee(members, records)

    def _committee(self, members: Sequence[Hypothesis], records: Records) -> Committee:
        if is_known(self.estimator):
            return as_committee(self.estimator, members, self.labels, records.width)
        return EstimatorMembers(members, self.labels, self.estimator)


def _fitted_there(estimator: Any, caller: Caller, held: InMemory, own: tuple[IntArray, list[int]]) -> list[Hypothesis]:
    """Teachers on a worker, one after the other; `own`: where the part of each ends, and its seed."""
    ends, seeds = own
    pieces = zip(np.split(held.X, ends[:-1]), np.split(held.y, ends[:-1]), seeds, strict=True)
    with silent():
        return [fitted(estimator, X, y, seed, caller) for X, y, seed in pieces]


class EstimatorMembers(Members):
    """Fitted classifiers, asked in turn."""

    def __init__(self, members: Sequence[Hypothesis], labels: int, estimator: Any) -> None:
        super().__init__(members, labels)
        self._estimator = estimator

    @np.errstate(all="ignore")
    def counts(self, X: Points) -> IntArray:
        with silent():
            return super().counts(X)

    def arrays(self) -> Arrays:
        raise cannot_be_kept(self._estimator)


def is_estimator(given: object) -> bool:
    """Is it an object, not a class, that scikit-learn can clone and fit?"""
    return not isinstance(given, type) and all(hasattr(given, name) for name in ("fit", "predict", "get_params"))
