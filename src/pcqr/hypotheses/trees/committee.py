"""A committee of decision trees: what each of them asks, and what its leaves say, in three arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import MOST_LABELS, Labels, Points
from pcqr.hypotheses.committees.base import Arrays, Committee, IntArray, of_width
from pcqr.hypotheses.committees.members import trained_alone
from pcqr.hypotheses.trees.teaching import DEEPEST_AT_ONCE, grown
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.records import InMemory
from pcqr.records.branching import Leaf, Split
from pcqr.records.counting import Int32Array
from pcqr.records.predicates import Predicates

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
            teacher = trained_alone(hypotheses, InMemory.of_checked(X[rows], y[rows], hypotheses.labels))
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
