"""A committee of decision trees: what each of them asks, and what its leaves say, in three arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.data.records import InMemory
from pcqr.data.records.counting import Int32Array, Words
from pcqr.data.records.predicates import Leaf, Predicate, Predicates, Split
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import MOST_LABELS, Labels, Points
from pcqr.hypotheses.committees import Arrays, Committee, IntArray, of_width, train_one
from pcqr.hypotheses.trees.tree import DecisionTree

if TYPE_CHECKING:
    from pcqr.hypotheses.trees.decision_trees import DecisionTrees


FloatArray = NDArray[np.float64]


class TreeCommittee(Committee):
    """k full trees of depth D in heap order: the children of question i are 2i + 1, where it fails, and 2i + 2.

    Shorter trees are filled up with questions whose two sides say the same. O(k·D) a query, whatever the trees are.

    Parameters
    ----------
    columns, cuts : arrays of shape (k, 2^D − 1)
        The questions x[column] > cut.
    leaves : array of shape (k, 2^D)
        The labels of the leaves, from the path on which everything fails to the one on which everything holds.
    features : int
        p, the columns of a point.
    labels : int
        C.
    """

    kind = "trees"

    def __init__(self, columns: Int32Array, cuts: FloatArray, leaves: Labels, features: int, labels: int) -> None:
        self.columns, self.cuts, self.leaves, self.features = columns, cuts, leaves, features
        self.size, self.labels = columns.shape[0], labels

    def counts(self, X: Points) -> IntArray:
        counts = np.zeros((X.shape[0], self.labels), dtype=np.int64)
        _add_votes(of_width(X, self.features), self.columns, self.cuts, self.leaves, counts)
        return counts

    def arrays(self) -> Arrays:
        return {
            "kind": np.array(self.kind),
            "labels": np.array(self.labels),
            "features": np.array(self.features),
            "columns": self.columns,
            "cuts": self.cuts,
            "leaves": self.leaves,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> TreeCommittee:
        cls.checked(arrays, labels=("iu", 0), features=("iu", 0), columns=("iu", 2), cuts=("f", 2), leaves=("iu", 2))
        labels, features = int(arrays["labels"]), int(arrays["features"])
        columns, cuts, leaves = arrays["columns"], arrays["cuts"], arrays["leaves"]
        size, ends = leaves.shape
        fits = (
            2 <= labels <= MOST_LABELS
            and 1 <= features <= np.iinfo(np.int32).max
            and size >= 1
            and ends >= 2
            and ends & (ends - 1) == 0
            and columns.shape == cuts.shape == (size, ends - 1)
            and bool((columns >= 0).all() and (columns < features).all() and np.isfinite(cuts).all())
            and bool((leaves >= 0).all() and (leaves < labels).all())
        )
        if not fits:
            raise DataError("arrays", "those of a committee of trees", "others")
        kept = columns.astype(np.int32, "C"), cuts.astype(np.float64, "C"), leaves.astype(np.int8, "C")
        return cls(*kept, features, labels)


def taught(hypotheses: DecisionTrees, X: Points, y: Labels, ends: IntArray) -> Arrays:
    """What `learn` makes of the rows [0, ends[0]), [ends[0], ends[1]), …, as columns, cuts and leaves.

    All parts of a size at once, unless the trees are deeper than `DEEPEST_AT_ONCE`, the class is not fixed, or `learn`
    refuses such parts: sizes, widths and declarations decide that, nothing about a record does. Else one by one.
    """
    starts, predicates = np.append(0, ends[:-1]), hypotheses.predicates or ()
    trees = blank(ends.size, hypotheses.depth or hypotheses.deepest)
    for size in np.unique(ends - starts).tolist():
        parts = np.flatnonzero(ends - starts == size)
        depth = _depth_at_once(hypotheses, size, X.shape[1])
        if depth is not None:
            asked, said = grown(X, y, starts[parts], size, predicates, hypotheses.labels, depth)
            _write_all(trees, parts, predicates, asked, said)
            continue
        for part in parts.tolist():
            rows = slice(starts[part], ends[part])
            teacher = train_one(hypotheses, InMemory.of_checked(X[rows], y[rows], hypotheses.labels))
            if isinstance(teacher, DecisionTree):  # what could not be trained stays blank: the fixed vote
                _write(trees, part, teacher.root)
    return trees


def _depth_at_once(hypotheses: DecisionTrees, size: int, width: int) -> int | None:
    """The depth of the trees that parts of `size` rows and `width` columns give, if they can be grown at once."""
    if hypotheses.predicates is None or max(predicate.feature for predicate in hypotheses.predicates) >= width:
        return None
    try:
        depth = hypotheses.depth_for(size)
    except ParameterError:
        return None
    return depth if depth <= DEEPEST_AT_ONCE else None


def blank(count: int, depth: int) -> Arrays:
    """`count` trees that say 0 everywhere."""
    return {
        "columns": np.zeros((count, (1 << depth) - 1), dtype=np.int32),
        "cuts": np.zeros((count, (1 << depth) - 1)),
        "leaves": np.zeros((count, 1 << depth), dtype=np.int8),
    }


def _write_all(trees: Arrays, rows: IntArray, predicates: Predicates, asked: Int32Array, said: Labels) -> None:
    """Write full trees, perhaps of less depth, to `rows`: the questions begin alike, a leaf becomes several."""
    inner = np.arange(asked.shape[1])
    trees["columns"][rows[:, None], inner] = np.array([predicate.feature for predicate in predicates])[asked]
    trees["cuts"][rows[:, None], inner] = np.array([predicate.cut for predicate in predicates])[asked]
    trees["leaves"][rows] = np.repeat(said, trees["leaves"].shape[1] // said.shape[1], axis=1)


def _write(trees: Arrays, row: int, node: Leaf | Split, place: int = 0) -> None:
    """Write what begins at `node` as the tree of `row`, from question `place` on; `trees` are deep enough for it."""
    inner = trees["columns"].shape[1]
    if isinstance(node, Split):
        trees["columns"][row, place], trees["cuts"][row, place] = node.predicate.feature, node.predicate.cut
        _write(trees, row, node.fails, 2 * place + 1)
        _write(trees, row, node.holds, 2 * place + 2)
        return
    first = last = place
    while first < inner:
        first, last = 2 * first + 1, 2 * last + 2
    trees["leaves"][row, first - inner : last - inner + 1] = node.label


@compiled
def _add_votes(X: Points, columns: Int32Array, cuts: FloatArray, leaves: Labels, counts: IntArray) -> None:
    """Add to `counts` one vote of every tree for every row. A path has D questions, wherever it leads.

    Indices are unsigned: one that may be negative would have to be looked at before each use.
    """
    one, two, inner = np.uint64(1), np.uint64(2), np.uint64(columns.shape[1])
    for i in range(X.shape[0]):
        for t in range(columns.shape[0]):
            place = np.uint64(0)
            while place < inner:
                holds = X[i, np.uint64(columns[t, place])] > cuts[t, place]
                place = two * place + one + np.uint64(holds)
            counts[i, np.uint64(leaves[t, place - inner])] += 1


# ---------------------------------------------------------------------------------------------------------------------
# The trees of many parts of the records at once, up to depth 3: each the one that `DecisionTrees.learn` grows.
#
# For a set R of records let right(R, r) be the most of them that a tree of depth r gets right:
#
#     right(R, 0) = max_c (records of class c in R)
#     right(R, r) = max_b right(R ∧ b, r−1) + right(R ∧ ¬b, r−1)
#
# The tree asks the first b that attains it, then goes on with either side; a leaf has the first most frequent label. A
# predicate that the path has asked already leaves one side empty, which no row reaches: it needs no rule of its own.
#
# Two levels follow from the counts of pairs, N_c(b ∧ e), by subtraction of integers; a third one counts the pairs anew
# on the side of each first question on which it holds. Nothing is skipped: the steps taken depend on sizes alone.


DEEPEST_AT_ONCE = 3


def grown(
    X: Points, y: Labels, starts: IntArray, size: int, predicates: Sequence[Predicate], labels: int, depth: int
) -> tuple[Int32Array, Labels]:
    """What the tree of each part asks and says: 2^depth − 1 places in `predicates`, 2^depth labels.

    A part has the `size` rows from one of `starts` on. The children of question i are 2i + 1, where it fails, and
    2i + 2, where it holds; the leaves follow the questions. `depth` is 1, 2 or 3.
    """
    columns = np.array([predicate.feature for predicate in predicates], dtype=np.int64)
    cuts = np.array([predicate.cut for predicate in predicates], dtype=np.float64)
    words = np.empty((size // 64 + labels, columns.size), dtype=np.uint64)
    asked = np.zeros((starts.size, (1 << depth) - 1), dtype=np.int32)
    said = np.zeros((starts.size, 1 << depth), dtype=np.int8)
    kernel = (_grow_to_depth_1, _grow_to_depth_2, _grow_to_depth_3)[depth - 1]
    kernel(X, y, starts, size, columns, cuts, labels, words, asked, said)
    return asked, said


@compiled
def _grow_to_depth_1(
    X: Points, y: Labels, starts: IntArray, size: int, columns: IntArray, cuts: FloatArray, labels: int, words: Words,
    asked: Int32Array, said: Labels,
) -> None:  # fmt: skip
    """One question a tree: from the counts of each predicate."""
    bounds, total = np.empty(labels + 1, np.int64), np.empty(labels, np.int32)
    holding, most = np.empty((labels, columns.size), np.int32), np.empty((2, columns.size), np.int32)
    for j in range(starts.size):
        _pack(X, y, starts[j], starts[j] + size, columns, cuts, words, bounds, total)
        _count_singles(words, bounds, holding)
        _ask_last(holding, total, most, asked[j], said[j], 0)


@compiled
def _grow_to_depth_2(
    X: Points, y: Labels, starts: IntArray, size: int, columns: IntArray, cuts: FloatArray, labels: int, words: Words,
    asked: Int32Array, said: Labels,
) -> None:  # fmt: skip
    """Two questions a path: from the counts of pairs."""
    bounds, total = np.empty(labels + 1, np.int64), np.empty((2, labels), np.int32)
    singles, most = np.empty((2, labels, columns.size), np.int32), np.empty((2, columns.size), np.int32)
    pairs = np.empty((labels, columns.size, columns.size), np.int32)
    for j in range(starts.size):
        _pack(X, y, starts[j], starts[j] + size, columns, cuts, words, bounds, total[0])
        _count_pairs(words, bounds, pairs, singles[0])
        first, _ = _best_of_two(pairs, singles, total, most)
        asked[j, 0] = first
        for holds in range(2):
            _take_side(pairs, singles, total, first, holds)
            _ask_last(singles[1], total[1], most, asked[j], said[j], 1 + holds)


@compiled
def _grow_to_depth_3(
    X: Points, y: Labels, starts: IntArray, size: int, columns: IntArray, cuts: FloatArray, labels: int, words: Words,
    asked: Int32Array, said: Labels,
) -> None:  # fmt: skip
    """Three questions a path: from the counts of pairs on both sides of every first question."""
    bounds, total = np.empty(labels + 1, np.int64), np.empty((3, labels), np.int32)
    singles, most = np.empty((3, labels, columns.size), np.int32), np.empty((2, columns.size), np.int32)
    pairs = np.empty((2, labels, columns.size, columns.size), np.int32)
    kept = np.empty_like(words)
    for j in range(starts.size):
        _pack(X, y, starts[j], starts[j] + size, columns, cuts, words, bounds, total[0])
        _count_pairs(words, bounds, pairs[0], singles[0])
        best, first = -1, 0
        for turn in range(columns.size + 1):  # every first question, then the best one again to grow what is below it
            growing = turn == columns.size
            b, right = first if growing else turn, 0
            for side in range(2):
                holds = 1 - side  # the other side follows from this one
                if holds:
                    _keep(words, bounds, b, kept)
                    _count_pairs(kept, bounds, pairs[1], singles[1])
                    for c in range(labels):
                        total[1, c] = singles[0, c, b]
                else:
                    _take_rest(pairs, singles, total)
                second, gained = _best_of_two(pairs[1], singles[1:], total[1:], most)
                right += gained
                if growing:
                    asked[j, 0], asked[j, 1 + holds] = first, second
                    for below in range(2):
                        _take_side(pairs[1], singles[1:], total[1:], second, below)
                        _ask_last(singles[2], total[2], most, asked[j], said[j], 3 + 2 * holds + below)
            if right > best:
                best, first = right, b


@compiled
def _keep(words: Words, bounds: IntArray, b: int, kept: Words) -> None:
    """`kept`: the bits of the records in which b holds."""
    for t in range(bounds[-1]):
        row, into, answer = words[t], kept[t], words[t, b]
        for e in range(row.size):
            into[e] = row[e] & answer


@compiled
def _take_rest(pairs: Int32Array, singles: Int32Array, total: Int32Array) -> None:
    """Second entries: what the first ones count and the second ones did not."""
    for c in range(total.shape[1]):
        total[1, c] = total[0, c] - total[1, c]
        for b in range(singles.shape[2]):
            singles[1, c, b] = singles[0, c, b] - singles[1, c, b]
            whole, rest = pairs[0, c, b], pairs[1, c, b]
            for e in range(whole.size):
                rest[e] = whole[e] - rest[e]


@compiled
def _pack(
    X: Points, y: Labels, first: int, end: int, columns: IntArray, cuts: FloatArray, words: Words, bounds: IntArray,
    total: Int32Array,
) -> None:  # fmt: skip
    """One column of bits a predicate: the answers of the records of class c in the words bounds[c] … bounds[c+1]−1."""
    total[:] = 0
    for i in range(first, end):
        total[y[i]] += 1
    bounds[0] = 0
    for c in range(total.size):
        bounds[c + 1] = bounds[c] + (total[c] + 63) // 64
    words[: bounds[total.size]] = 0
    total[:] = 0
    for i in range(first, end):
        place = total[y[i]]
        total[y[i]] += 1
        row, bit = words[bounds[y[i]] + place // 64], np.uint64(place % 64)
        for b in range(columns.size):
            row[b] |= np.uint64(X[i, columns[b]] > cuts[b]) << bit


@compiled
def _count_singles(words: Words, bounds: IntArray, singles: Int32Array) -> None:
    """`singles[c, b]`: the records of class c in which b holds."""
    singles[:] = 0
    for c in range(singles.shape[0]):
        into = singles[c]
        for t in range(bounds[c], bounds[c + 1]):
            row = words[t]
            for b in range(row.size):
                into[b] += _ones(row[b])


@compiled
def _count_pairs(words: Words, bounds: IntArray, pairs: Int32Array, singles: Int32Array) -> None:
    """`pairs[c, b, e]`: the records of class c in which b and e hold; `singles[c, b]` is that for e = b."""
    pairs[:] = 0
    for c in range(pairs.shape[0]):
        for t in range(bounds[c], bounds[c + 1]):
            row = words[t]
            for b in range(row.size):
                into, answer = pairs[c, b], row[b]
                for e in range(b + 1):
                    into[e] += _ones(row[e] & answer)
        for b in range(pairs.shape[1]):
            singles[c, b] = pairs[c, b, b]
            for e in range(b):
                pairs[c, e, b] = pairs[c, b, e]


@compiled
def _ones(x: np.uint64) -> np.int32:
    """How many bits of x are 1."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int32((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def _best_of_two(pairs: Int32Array, singles: Int32Array, total: Int32Array, most: Int32Array) -> tuple[int, int]:
    """The first question of the best tree of depth 2, and how many records that gets right.

    Of the node `singles[0]` and `total[0]` are counts; their second entries are for those of its sides.
    """
    best, first = -1, 0
    for b in range(pairs.shape[1]):
        right = 0
        for holds in range(2):
            _take_side(pairs, singles, total, b, holds)
            right += _most_right(singles[1], total[1], most)
        if right > best:
            best, first = right, b
    return first, best


@compiled
def _take_side(pairs: Int32Array, singles: Int32Array, total: Int32Array, b: int, holds: int) -> None:
    """`singles[1]` and `total[1]`: the counts of the side of a node on which b holds, or fails."""
    for c in range(total.shape[1]):
        joint, whole, into = pairs[c, b], singles[0, c], singles[1, c]
        if holds:
            total[1, c] = whole[b]
            for e in range(whole.size):
                into[e] = joint[e]
        else:
            total[1, c] = total[0, c] - whole[b]
            for e in range(whole.size):
                into[e] = whole[e] - joint[e]


@compiled
def _most_right(holding: Int32Array, total: Int32Array, most: Int32Array) -> int:
    """What the best tree of depth 1 gets right; `most[0, b] + most[1, b]` is what one that asks b does."""
    most[:] = 0
    fails, holds = most[0], most[1]
    for c in range(total.size):
        row, whole = holding[c], total[c]
        for b in range(row.size):
            holds[b] = max(holds[b], row[b])
            fails[b] = max(fails[b], np.int32(whole - row[b]))
    right = np.int32(0)
    for b in range(fails.size):
        right = max(right, np.int32(fails[b] + holds[b]))
    return int(right)


@compiled
def _ask_last(
    holding: Int32Array, total: Int32Array, most: Int32Array, asked: Int32Array, said: Labels, node: int
) -> None:
    """Write the best tree of depth 1 at `node`: its question, and the labels of its two leaves."""
    right, b = _most_right(holding, total, most), 0
    while most[0, b] + most[1, b] < right:
        b += 1
    asked[node] = b
    leaf = 2 * node + 1 - asked.size
    for holds in range(2):
        label, largest = 0, -1
        for c in range(total.size):
            count = holding[c, b] if holds else total[c] - holding[c, b]
            if count > largest:
                label, largest = c, count
        said[leaf + holds] = label
