"""The feature map φ of the linear classifier: a dense vector v(x) and the cells of L ferns.

φ(x) = (√a·v(x)/‖v(x)‖, √((1−a)/L)·one-hot cells of L ferns),   a = share/256,   ‖φ‖ ≤ 1

The dense vector has the share a of the squared norm, the ferns have the rest. Where a tree was published before, x has
one more column: the label that the tree predicts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer, keep_plain
from pcqr.compiled import compiled
from pcqr.data.records.arrays import Points
from pcqr.data.records.predicates import Leaf, Node, Predicate, Split, check_predicates, leaves_reached, nodes_of
from pcqr.data.records.vectors import ColumnVectors, PredicateVectors
from pcqr.data.schema import Schema
from pcqr.errors import ParameterError
from pcqr.privacy.entropy import SeededEntropy
from pcqr.serialization import Document
from pcqr.serialization.codec import later

WHOLE_SHARE = 256


@dataclass(frozen=True)
class FeatureMap(Document):
    """`share`/256 of the squared norm are the `dense` vector's, the rest is the `ferns`'. Public.

    A share of 256 has no ferns, a share of 0 no dense vector. What `tree`, which was published before, says of a point
    is the last column that vectors and ferns may ask about.
    """

    dense: PredicateVectors | ColumnVectors | None
    ferns: Ferns | None
    share: int
    tree: Split | None = later(None)  # noqa: RUF009  (None, and not in older documents)

    def __post_init__(self) -> None:
        check_integer("share", self.share, least=0, most=WHOLE_SHARE)
        keep_plain(self, integers=("share",))
        if (self.dense is None) != (self.share == 0) or (self.ferns is None) != (self.share == WHOLE_SHARE):
            raise ParameterError(
                "share", "0 without a dense vector, 256 without ferns, between them with both", self.share
            )
        if self.dense is not None and self.ferns is not None and self.dense.features != self.ferns.features:
            raise ParameterError(
                "ferns", f"on the {self.dense.features} columns of the dense vector", self.ferns.features
            )
        if self.tree is not None:
            _check_tree(self.tree, self.features)

    @property
    def features(self) -> int:
        """The number of columns of the points."""
        read = next(part.features for part in (self.dense, self.ferns) if part is not None)
        return read if self.tree is None else read - 1

    def seen(self, X: Points) -> Points:
        """The points as vectors and ferns ask about them: with what the tree says of each, if there is one.

        Row by row, each by itself.
        """
        return X if self.tree is None else _with_label(self.tree, X)

    def beside(self, root: Node, public: Points | None, whitening: float, *, labels: int = 2) -> FeatureMap:
        """Return this map of predicates, which has no tree, with a published one beside it: `root` is its first node.

        The dense vector gets one more predicate for each of the `labels` but the first: does the tree say this label or
        a later one? With the constant they span what one indicator for each label spans. A tree that says the same of
        all `public` points changes nothing. The tree is public, and so is the map.
        """
        if self.tree is not None or not isinstance(self.dense, PredicateVectors):
            raise ParameterError("features", "a feature map of predicates, without a tree", "another one")
        if isinstance(root, Leaf):
            return self
        features, seen = self.features, None if public is None else _with_label(root, public)
        if seen is not None and np.unique(seen[:, -1]).size < 2:
            return self
        asked = (*self.dense.predicates, *label_predicates(features, labels))
        dense = PredicateVectors.of(asked, features + 1, seen, whitening)
        ferns = None if self.ferns is None else replace(self.ferns, features=features + 1)
        return FeatureMap(dense, ferns, self.share, root)

    @property
    def largest_label(self) -> int:
        """The largest label of the tree's leaves; 0 without a tree."""
        if self.tree is None:
            return 0
        return max(node.label for node in nodes_of(self.tree) if isinstance(node, Leaf))

    @property
    def size(self) -> int:
        """p, the length of the dense vector."""
        return 0 if self.dense is None else self.dense.size

    @property
    def count(self) -> int:
        """L, the number of ferns."""
        return 0 if self.ferns is None else self.ferns.count

    @property
    def depth(self) -> int:
        """d: a fern has 2^d cells."""
        return 0 if self.ferns is None else self.ferns.depth

    @property
    def coordinates(self) -> int:
        """p + L·2^d: so many numbers are in a sum, for each block of weights."""
        return self.size + (self.count << self.depth)


def label_predicates(features: int, labels: int) -> tuple[Predicate, ...]:
    """Return the predicates about a tree's label, which is the column after the `features` of the points."""
    return tuple(Predicate(features, label - 0.5) for label in range(1, labels))


def _with_label(tree: Split, X: Points) -> Points:
    wider = np.empty((X.shape[0], X.shape[1] + 1))
    wider[:, :-1] = X
    for rows, leaf in leaves_reached(tree, X):
        wider[rows, -1] = leaf.label
    return wider


def _check_tree(tree: object, features: int) -> None:
    """Raise unless the tree is a split, all questions of which are about the `features` columns of the points."""
    if not isinstance(tree, Split):
        raise ParameterError("tree", "a Split", tree)
    last = max(node.predicate.feature for node in nodes_of(tree) if isinstance(node, Split))
    if last >= features:
        raise ParameterError("tree", f"questions about columns 0 to {features - 1}", last)


# ---------------------------------------------------------------------------------------------------------------------
# Random ferns: public predicates asked together, whose answers are cells (Özuysal, Fua and Lepetit 2007).
#
# A fern of depth d asks d predicates, and a record lies in exactly one of its 2^d cells.


MOST_FERNS = 1 << 16
MOST_DEPTH = 16
_EVEN = 64
"""What an indicator weighs that holds for half of all rows."""
_NUMBER_WEIGHS = 2 * _EVEN
_GUESSED_SHARE = 0.1
"""Of the rows where an indicator holds, if nothing is public but a schema."""
_CUT_BITS = 53
_BLOCK = 1 << 12
"""Rows a block: a column of them, and their cells, stay in the innermost cache."""

Cells = NDArray[np.uint16]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Ferns(Document):
    """The first `depth` of `predicates` are the first fern, the next ones the second, and so on. Public.

    `features` is the number of columns of the points.
    """

    predicates: tuple[Predicate, ...]
    depth: int
    features: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "predicates", tuple(self.predicates))
        check_integer("depth", self.depth, least=1, most=MOST_DEPTH)
        check_integer("features", self.features, least=1)
        check_predicates(self.predicates, self.features)
        keep_plain(self, integers=("depth", "features"))
        if len(self.predicates) % self.depth or self.count > MOST_FERNS:
            allowed = f"{self.depth} for each of at most {MOST_FERNS:,} ferns"
            raise ParameterError("predicates", allowed, f"{len(self.predicates)} predicates")

    @classmethod
    def of(cls, source: Points | Schema, columns: Sequence[int], count: int, depth: int, seed: int) -> Ferns:
        """`count` ferns by public coins: the same `seed`, the same ferns.

        Each predicate takes one of `columns` at random and cuts it at its value in a random row of the public points,
        or, where `source` is a schema, anywhere between the bounds. An indicator, a column of two values, is cut
        between them; one that holds for a share m of the rows tells 4m(1−m) as much as an even one, and is as much
        less likely. A number is twice as likely as an even indicator.
        """
        check_integer("count", count, least=1, most=MOST_FERNS)
        check_integer("depth", depth, least=1, most=MOST_DEPTH)
        ranges = {column: _range(source, column) for column in sorted(set(columns))}
        ends = np.cumsum([weight for _, _, weight in ranges.values()], dtype=np.int64)
        if not ends.any():
            raise ParameterError("columns", "at least one column that varies", columns)
        coins, points = SeededEntropy(seed), None if isinstance(source, Schema) else source
        chosen = np.array(list(ranges))[np.searchsorted(ends, coins.below(int(ends[-1]), size=count * depth), "right")]
        places = coins.below(1 << _CUT_BITS if points is None else len(points), size=count * depth)
        found = []
        for column, place in zip(chosen.tolist(), places.tolist(), strict=True):
            low, high, weight = ranges[column]
            if weight == _NUMBER_WEIGHS and points is not None:
                found.append(Predicate(column, float(points[place, column])))
            else:
                share = place / (1 << _CUT_BITS) if weight == _NUMBER_WEIGHS else 0.5
                found.append(Predicate(column, (1.0 - share) * low + share * high))
        features = len(source.features) if isinstance(source, Schema) else source.shape[1]
        return cls(tuple(found), depth, features)

    @property
    def count(self) -> int:
        """L."""
        return len(self.predicates) // self.depth

    def cells(self, X: Points) -> Cells:
        """`[l, i]`: the cell of row i in fern l. The answer to a fern's first predicate is the most significant bit."""
        found = np.empty((self.count, X.shape[0]), dtype=np.uint16)
        used, places = np.unique([predicate.feature for predicate in self.predicates], return_inverse=True)
        cuts = np.array([predicate.cut for predicate in self.predicates])
        for start in range(0, X.shape[0], _BLOCK):
            columns = np.ascontiguousarray(X[start : start + _BLOCK, used].T)
            fill_cells(columns, places, cuts, self.depth, start, found)
        return found


def _range(source: Points | Schema, column: int) -> tuple[float, float, int]:
    """The least and the largest public value of a column, and what it weighs: nothing if they are one."""
    if isinstance(source, Schema):
        feature = source.features[column]
        if feature.is_indicator:
            return 0.0, 1.0, _indicator_weighs(_GUESSED_SHARE)
        if feature.bounds is None:
            raise ParameterError("columns", "indicators, and numbers with bounds in the schema", feature.name)
        return *feature.bounds, _NUMBER_WEIGHS
    values, rows = np.unique(source[:, column], return_counts=True)
    weight = _indicator_weighs(float(rows[-1] / rows.sum())) if values.size == 2 else _NUMBER_WEIGHS
    return float(values[0]), float(values[-1]), weight if values.size > 1 else 0


def _indicator_weighs(share: float) -> int:
    return math.ceil(4.0 * share * (1.0 - share) * _EVEN)


@compiled
def fill_cells(columns: Points, asked: Integers, cuts: Points, depth: int, low: int, cells: Cells) -> None:
    """Set `cells`[l, `low` + i] to the answers of fern l: is `columns`[`asked`[·], i] above the cut?"""
    for fern in range(cells.shape[0]):
        found = cells[fern, low : low + columns.shape[1]]
        found[:] = 0
        for place in range(fern * depth, (fern + 1) * depth):
            column, cut = columns[asked[place]], cuts[place]
            for i in range(found.size):
                found[i] = (found[i] << 1) | (column[i] > cut)
