"""The feature map of the linear classifier: a dense vector and cells of ferns, each with its share of the squared norm.

φ(x) = (√a·v(x)/‖v(x)‖, √((1−a)/L)·one-hot cells of L ferns),   a = share/256,   ‖φ‖ ≤ 1

Where a tree was published before, x has one more column: what that tree says of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pcqr.checks import check_integer, keep_plain
from pcqr.documents import Document
from pcqr.documents.codec import later
from pcqr.errors import ParameterError
from pcqr.records.arrays import Points
from pcqr.records.branching import Leaf, Node, Split, leaves_reached, nodes_of
from pcqr.records.ferns import Ferns
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import ColumnVectors, PredicateVectors

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
