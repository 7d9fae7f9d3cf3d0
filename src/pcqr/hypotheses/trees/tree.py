"""A decision tree over public predicates: a small value that can be shown, compared and stored."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.checks import check_integer
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, Labels, Points, as_points
from pcqr.records.branching import Leaf, Split, leaves_of, leaves_reached, nodes_of


@dataclass(frozen=True, repr=False)
class DecisionTree(Hypothesis):
    """A decision tree over public predicates: what `DecisionTrees` draws and learns.

    Parameters
    ----------
    root : Leaf or Split
        The tree's first node; a `Split` asks a `Predicate`, a `Leaf` has a label.
    features : int
        p, the columns of the tables that it labels.

    Examples
    --------
    >>> from pcqr.hypotheses import DecisionTree
    >>> from pcqr.hypotheses.trees import Leaf, Predicate, Split
    >>> tree = DecisionTree(Split(Predicate(0, 37.5), fails=Leaf(0), holds=Leaf(1)), features=1)
    >>> tree.predict([[36.6], [39.1]])
    array([0, 1], dtype=int8)
    >>> tree.depth, tree.leaves
    (1, 2)
    >>> tree.simplified() == tree
    True

    With shares at its leaves there are probabilities, too.

    >>> tree = tree.with_shares([(0.25, 0.75), (0.9, 0.1)])
    >>> tree.predict_proba([[36.6], [39.1]])
    array([[0.9 , 0.1 ],
           [0.25, 0.75]])
    """

    root: Leaf | Split
    features: int

    def __post_init__(self) -> None:
        check_integer("features", self.features, least=1)
        if any(isinstance(node, Split) and node.predicate.feature >= self.features for node in nodes_of(self.root)):
            raise ParameterError("root", f"a tree that asks for columns 0 to {self.features - 1}", "another one")
        if len({None if leaf.shares is None else len(leaf.shares) for leaf in leaves_of(self.root)}) > 1:
            raise ParameterError(
                "root", "a tree with shares of the same labels at every leaf, or at none", "another one"
            )

    def __repr__(self) -> str:
        """The sizes alone: a published tree is read aloud by `PublishedModel.rules`."""
        return f"<DecisionTree of depth {self.depth} with {self.leaves} leaves on {self.features} features>"

    def predict(self, X: ArrayLike) -> Labels:
        points = as_points(X, self.features, owner="this tree")
        labels = np.empty(points.shape[0], dtype=np.int8)
        for rows, leaf in self.leaves_of(points):
            labels[rows] = leaf.label
        return labels

    @property
    def has_shares(self) -> bool:
        """Has every leaf a probability of each label?"""
        return leaves_of(self.root)[0].shares is not None

    def with_shares(self, shares: Sequence[Sequence[float]]) -> DecisionTree:
        """Return the same tree with these shares at its leaves, in the order of `leaves_of`."""
        return DecisionTree(_shared(self.root, iter(shares)), self.features)

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the shares of the leaf that each row comes to, one column a label. `has_shares` must be true."""
        leaves = leaves_of(self.root)
        if not self.has_shares:
            raise ParameterError("tree", "one with shares at its leaves", "one without")
        points, table = as_points(X, self.features, owner="this tree"), np.array([leaf.shares for leaf in leaves])
        places = np.empty(points.shape[0], dtype=np.int64)
        for place, (rows, _) in enumerate(self.leaves_of(points)):
            places[rows] = place
        shares: NDArray[np.float64] = table[places]
        return shares

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the log-odds of label 1 for each row: for more than two labels ln of each probability, in columns."""
        logs = np.log(self.predict_proba(X))
        scores: NDArray[np.float64] = logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs
        return scores

    @property
    def depth(self) -> int:
        """The most questions that a row is asked."""
        return _depth(self.root)

    @property
    def leaves(self) -> int:
        """How many leaves the tree has."""
        return _leaves(self.root)

    def simplified(self) -> DecisionTree:
        """The same function without splits whose two sides are the same and questions whose answer the path implies.

        Post-processing: costs no privacy.
        """
        return DecisionTree(_merged(_pruned(_merged(self.root), {})), self.features)

    def leaves_of(self, X: Points) -> Iterator[tuple[NDArray[np.int64], Leaf]]:
        """Each leaf with the rows that reach it."""
        yield from leaves_reached(self.root, X)


def _depth(node: Leaf | Split) -> int:
    return 0 if isinstance(node, Leaf) else 1 + max(_depth(node.fails), _depth(node.holds))


def _leaves(node: Leaf | Split) -> int:
    return 1 if isinstance(node, Leaf) else _leaves(node.fails) + _leaves(node.holds)


def _shared(node: Leaf | Split, shares: Iterator[Sequence[float]]) -> Leaf | Split:
    """`node` with shares at its leaves, in the order of `leaves_of`."""
    if isinstance(node, Leaf):
        return Leaf(node.label, tuple(next(shares)))
    holds = _shared(node.holds, shares)
    return Split(node.predicate, fails=_shared(node.fails, shares), holds=holds)


def _merged(node: Leaf | Split) -> Leaf | Split:
    """`node` without splits whose two sides are the same."""
    if isinstance(node, Leaf):
        return node
    fails, holds = _merged(node.fails), _merged(node.holds)
    return fails if fails == holds else Split(node.predicate, fails, holds)


def _pruned(node: Leaf | Split, known: Mapping[int, tuple[float, float]]) -> Leaf | Split:
    """`node` without questions whose answer the path implies: low < x[f] ≤ high for each feature f in `known`."""
    if isinstance(node, Leaf):
        return node
    feature, cut = node.predicate.feature, node.predicate.cut
    low, high = known.get(feature, (-math.inf, math.inf))
    if cut <= low:
        return _pruned(node.holds, known)
    if cut >= high:
        return _pruned(node.fails, known)
    fails = _pruned(node.fails, {**known, feature: (low, cut)})
    holds = _pruned(node.holds, {**known, feature: (cut, high)})
    return Split(node.predicate, fails, holds)
