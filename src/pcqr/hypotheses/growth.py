"""Classification trees by the thousand: greedy splits by Gini's impurity, compiled, one part after the other.

Each node takes the split that leaves the least impurity: the largest Σ_c a_c²/|a| + Σ_c b_c²/|b| over its sides a and
b, a_c the records of label c. Cuts lie midway between neighbouring values that records *of the node* have. Among equals
the first column wins, then the smallest cut. A node of one label, or without two different values, is a leaf and says
its most frequent label, the first among equals.

Columns in which a part has two values are counted. Those with more are sorted once, and their order is kept in every
node.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.checks import check_integer, check_positive
from pcqr.compiled import compiled, in_threads
from pcqr.data.records.arrays import Labels, Points, as_points
from pcqr.data.records.counting import Int32Array
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.committees import Arrays, Committee, IntArray, TeachesInBulk
from pcqr.hypotheses.descent import Planes, gradient_descent
from pcqr.hypotheses.estimators import OnlyLearns
from pcqr.hypotheses.trees.committee import TreeCommittee, blank

BoolArray = NDArray[np.bool_]
FloatArray = NDArray[np.float64]
Split = tuple[float, int, float]
"""What it gains, its column, its cut."""

_RUN = 128
"""So many values are put in order by counting: quadratic, but without branches, and several at a time."""


@compiled
def grow(
    X: Points, y: Labels, starts: IntArray, ends: IntArray, labels: int, columns: Int32Array, cuts: FloatArray,
    leaves: Labels,
) -> None:  # fmt: skip
    """Write the tree of each part [starts[j], ends[j]) to `columns[j]`, `cuts[j]` and `leaves[j]`, which are blank.

    Trees are full ones in heap order, as `TreeCommittee` has them.
    """
    width, inner, most = X.shape[1], columns.shape[1], 0
    for part in range(ends.size):
        most = max(most, ends[part] - starts[part])
    lows, highs, values = np.zeros(width), np.zeros(width), np.zeros((width, most))
    seen, pairs, ordered = np.zeros((3, width), np.int64)
    order, spare = np.zeros((width + 1, most), np.int64), np.zeros(most, np.int64)  # the last row: records of a node
    high_from, high_in = np.zeros(most + 1, np.int64), np.zeros(most * width, np.int32)
    above, total, left = np.zeros((width, labels), np.int64), np.zeros(labels, np.int64), np.zeros(labels, np.int64)
    share, goes = 1.0 / np.maximum(1, np.arange(most + 1)), np.zeros(most, np.bool_)
    node_from, node_end = np.zeros((2, 2 * inner + 1), np.int64)
    for part in range(ends.size):
        count = ends[part] - starts[part]
        own, label_of = X[starts[part] : ends[part]], y[starts[part] : ends[part]]
        two, many = _sorted_columns(own, lows, highs, values, seen, pairs, ordered, order, spare)
        _list_highs(own, two, pairs, highs, high_from, high_in)
        for i in range(count):
            order[width, i] = i
        node_from[:], node_end[:] = 0, 0
        node_end[0] = count
        for node in range(2 * inner + 1):
            begin, end = node_from[node], node_end[node]
            if begin < end:  # else it is below a leaf
                said = _tally(label_of, order[width], begin, end, total)
                best = (-1.0, -1, 0.0)
                if node < inner and total[said] < end - begin:
                    members = order[width, begin:end]
                    best = _best_pair(
                        label_of, members, high_from, high_in, two, pairs, lows, highs, above, total, share
                    )
                    best = _best_cut(label_of, order, begin, end, many, ordered, values, left, total, share, best)
                if best[1] < 0:
                    _end(node, inner, said, leaves[part])
                else:
                    columns[part, node], cuts[part, node] = best[1], best[2]
                    for t in range(begin, end):
                        goes[order[width, t]] = own[order[width, t], best[1]] > best[2]
                    middle = _parted(order[width], begin, end, goes, spare)
                    if 2 * node + 1 < inner:  # else both sides are leaves
                        for a in range(many):
                            _parted(order[a], begin, end, goes, spare)
                    node_from[2 * node + 1], node_end[2 * node + 1] = begin, middle
                    node_from[2 * node + 2], node_end[2 * node + 2] = middle, end


@compiled
def _sorted_columns(
    own: Points, lows: FloatArray, highs: FloatArray, values: FloatArray, seen: IntArray, pairs: IntArray,
    ordered: IntArray, order: IntArray, spare: IntArray,
) -> tuple[int, int]:  # fmt: skip
    """How many columns have two values, listed in `pairs` with both, and how many have more, `ordered` and sorted."""
    for j in range(own.shape[1]):
        lows[j] = highs[j] = own[0, j]
        seen[j] = 1
    for i in range(1, own.shape[0]):
        for j in range(own.shape[1]):
            value = own[i, j]
            if value != lows[j] and value != highs[j]:
                highs[j] = value
                seen[j] += 1
    two = many = 0
    for j in range(own.shape[1]):
        if seen[j] == 2:
            pairs[two], lows[two], highs[two] = j, min(lows[j], highs[j]), max(lows[j], highs[j])
            two += 1
        elif seen[j] > 2:
            for i in range(own.shape[0]):
                values[many, i] = own[i, j]
            _sort(values[many], order[many], spare, own.shape[0])
            ordered[many] = j
            many += 1
    return two, many


@compiled
def _list_highs(
    own: Points, two: int, pairs: IntArray, highs: FloatArray, high_from: IntArray, high_in: Int32Array
) -> None:
    """For each record, which of the columns of two values have the higher one."""
    filled = 0
    for i in range(own.shape[0]):
        high_from[i] = filled
        for b in range(two):
            if own[i, pairs[b]] == highs[b]:
                high_in[filled] = b
                filled += 1
    high_from[own.shape[0]] = filled


@compiled
def _tally(label_of: Labels, members: IntArray, begin: int, end: int, total: IntArray) -> int:
    """`total` = the records of each label in a node; the most frequent label."""
    total[:] = 0
    for t in range(begin, end):
        total[label_of[members[t]]] += 1
    said = 0
    for c in range(1, total.size):
        if total[c] > total[said]:
            said = c
    return said


@compiled
def _best_pair(
    label_of: Labels, members: IntArray, high_from: IntArray, high_in: Int32Array, two: int, pairs: IntArray,
    lows: FloatArray, highs: FloatArray, above: IntArray, total: IntArray, share: FloatArray,
) -> Split:  # fmt: skip
    """The best split of a node by a column of two values; column −1 where there is none."""
    best = (-1.0, -1, 0.0)
    above[:two] = 0
    for i in members:
        for place in range(high_from[i], high_from[i + 1]):
            above[high_in[place], label_of[i]] += 1
    for b in range(two):
        holding, holds, fails = 0, 0, 0
        for c in range(total.size):
            holding += above[b, c]
            holds += above[b, c] * above[b, c]
            fails += (total[c] - above[b, c]) * (total[c] - above[b, c])
        if 0 < holding < members.size:
            gain = holds * share[holding] + fails * share[members.size - holding]
            if gain > best[0]:
                best = (gain, pairs[b], _middle(lows[b], highs[b]))
    return best


@compiled
def _best_cut(
    label_of: Labels, order: IntArray, begin: int, end: int, many: int, ordered: IntArray, values: FloatArray,
    left: IntArray, total: IntArray, share: FloatArray, best: Split,
) -> Split:  # fmt: skip
    """Return the best split of a node by a column with more than two values, or `best` if that is better.

    Records move to the left side one by one, in the order of the column's values.
    """
    square = 0
    for c in range(total.size):
        square += total[c] * total[c]
    for a in range(many):
        records, column = order[a], values[a]
        left[:] = 0
        fails, holds = 0, square
        for t in range(begin, end - 1):
            i = records[t]
            c = label_of[i]
            fails += 2 * left[c] + 1
            holds -= 2 * (total[c] - left[c]) - 1
            left[c] += 1
            if column[i] != column[records[t + 1]]:
                gain = holds * share[end - t - 1] + fails * share[t + 1 - begin]
                if gain > best[0] or (gain == best[0] and ordered[a] < best[1]):
                    best = (gain, ordered[a], _middle(column[i], column[records[t + 1]]))
    return best


@compiled
def _end(node: int, inner: int, said: int, leaves: Labels) -> None:
    """All leaves below `node` say the same."""
    lowest = highest = node
    while lowest < inner:
        lowest, highest = 2 * lowest + 1, 2 * highest + 2
    for leaf in range(lowest - inner, highest - inner + 1):
        leaves[leaf] = said


@compiled
def _parted(records: IntArray, begin: int, end: int, goes: BoolArray, spare: IntArray) -> int:
    """Those that go to the right move behind the others, and each side keeps its order; where the right side begins."""
    kept, held = begin, 0
    for t in range(begin, end):
        i = records[t]
        records[kept] = spare[held] = i  # one of the two is written over: no branch, whose way nobody could foresee
        held += goes[i]
        kept += not goes[i]
    for t in range(held):
        records[kept + t] = spare[t]
    return kept


@compiled
def _middle(low: float, high: float) -> float:
    """A cut c with `low` ≤ c < `high`."""
    cut = 0.5 * low + 0.5 * high
    return cut if cut < high else low


@compiled
def _sort(values: FloatArray, order: IntArray, spare: IntArray, count: int) -> None:
    """`order` = 0, …, `count` − 1 by increasing values, the first among equals first: runs in order, then merged."""
    for start in range(0, count, _RUN):
        own, places = values[start : min(start + _RUN, count)], spare[start : min(start + _RUN, count)]
        places[:] = start
        for i in range(own.size):
            value, before, lower, after, upper = own[i], own[:i], places[:i], own[i + 1 :], places[i + 1 :]
            for j in range(before.size):
                lower[j] += value < before[j]
            for j in range(after.size):
                upper[j] += value <= after[j]
        for i in range(own.size):
            order[places[i]] = start + i
    run = _RUN
    while run < count:
        for start in range(0, count - run, 2 * run):
            middle, end = start + run, min(start + 2 * run, count)
            for t in range(start, middle):
                spare[t] = order[t]
            low, high = start, middle
            for t in range(start, end):
                if low < middle and (high == end or values[spare[low]] <= values[order[high]]):
                    order[t] = spare[low]
                    low += 1
                else:
                    order[t] = order[high]
                    high += 1
        run *= 2


# ---------------------------------------------------------------------------------------------------------------------
# Small linear and tree teachers by the thousand: all parts in one pass of a kernel, in as many threads as pay.


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
        gradient_descent(X, y, starts, ends, float(self.penalty), made["weights"], made["biases"])


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
