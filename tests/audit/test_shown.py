"""What an auditor sees of a published hypothesis tells any two of them apart."""

from __future__ import annotations

from pcqr.audit.exact.events import in_full
from pcqr.hypotheses.trees import DecisionTree, Leaf, Predicate, Split


def test_trees_that_share_a_repr_are_told_apart() -> None:
    trees = [
        DecisionTree(Split(Predicate(0, cut), fails=Leaf(label), holds=Leaf(1 - label)), features=1)
        for cut in (0.5, 1.5)
        for label in (0, 1)
    ]
    assert len(set(map(repr, trees))) == 1
    assert len(set(map(in_full, trees))) == 4
