"""Trees that vote, each with the same weight: what boosting publishes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.checks import check_integer, check_positive, keep_plain
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, Labels, Points, as_points
from pcqr.hypotheses.trees.tree import DecisionTree, Leaf, nodes_of
from pcqr.hypotheses.trees.weighted import ABSTAIN

VOTES = np.array([-1, 1, 0], dtype=np.int8)
"""What a leaf adds to the votes for label 1, by its label: 0, 1 or `ABSTAIN`."""


@dataclass(frozen=True)
class BoostedTrees(Hypothesis):
    """Label 1 where the `trees` cast more votes for 1 than for 0, on tables with `features` columns.

    A leaf's label is 0, 1 or `ABSTAIN`. Each tree has the weight `step` = a, so the margin is F(x) = a·(votes for 1 −
    votes for 0). A tie is label 0. The weight matters for the margin alone: labels follow from whole numbers.
    """

    trees: tuple[DecisionTree, ...]
    step: float
    features: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "trees", tuple(self.trees))
        check_positive("step", self.step)
        check_integer("features", self.features, least=1)
        keep_plain(self, floats=("step",), integers=("features",))
        if not self.trees or any(tree.features != self.features for tree in self.trees):
            raise ParameterError("trees", f"at least one tree on tables with {self.features} columns", "other trees")
        leaves = (node for tree in self.trees for node in nodes_of(tree.root) if isinstance(node, Leaf))
        if any(leaf.label >= VOTES.size for leaf in leaves):
            raise ParameterError("trees", f"with leaves whose labels are 0, 1 or {ABSTAIN}", "other leaves")

    def predict(self, X: ArrayLike) -> Labels:
        return (self.votes(X) > 0).astype(np.int8)

    def margins(self, X: ArrayLike) -> NDArray[np.float64]:
        """F of each row: how far, and to which side, the votes lean. No probability."""
        return self.step * self.votes(X).astype(np.float64)

    def votes(self, X: ArrayLike) -> NDArray[np.int64]:
        """Votes for label 1 minus votes for label 0, for each row."""
        points = as_points(X, self.features, owner="these trees")
        total = np.zeros(points.shape[0], dtype=np.int64)
        for tree in self.trees:
            total += votes_of(tree, points)
        return total


def votes_of(tree: DecisionTree, points: Points) -> NDArray[np.int8]:
    """−1, 0 or 1 for each of `points`, which have been checked."""
    votes = np.zeros(points.shape[0], dtype=np.int8)
    for rows, leaf in tree.leaves_of(points):
        if leaf.label != ABSTAIN:
            votes[rows] = VOTES[leaf.label]
    return votes
