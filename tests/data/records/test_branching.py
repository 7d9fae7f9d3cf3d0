"""Trees of questions: every row goes its own way, by its answers alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pcqr.data.records.arrays import Points
from pcqr.data.records.predicates import MOST_LABELS, Leaf, Node, Predicate, Split, leaves_reached, nodes_of
from pcqr.errors import ParameterError

COLUMNS = 3
VALUES = [-1.0, 0.0, 0.5, 1.0]
"""Cuts are among them, so that rows lie on cuts."""

questions = st.builds(Predicate, st.integers(0, COLUMNS - 1), st.sampled_from(VALUES))
roots: st.SearchStrategy[Node] = st.recursive(
    st.builds(Leaf, st.integers(0, 3)), lambda below: st.builds(Split, questions, below, below), max_leaves=12
)
tables = st.integers(0, 20).flatmap(lambda rows: arrays(np.float64, (rows, COLUMNS), elements=st.sampled_from(VALUES)))


def walked(root: Node, row: Any) -> Leaf:
    """The leaf of one row, from question to question."""
    while isinstance(root, Split):
        root = root.holds if row[root.predicate.feature] > root.predicate.cut else root.fails
    return root


@given(root=roots, X=tables)
def test_every_row_reaches_the_leaf_that_its_answers_lead_to(root: Node, X: Points) -> None:
    reached: dict[int, Leaf] = {}
    for rows, leaf in leaves_reached(root, X):
        for row in rows.tolist():
            assert row not in reached, "one leaf only"
            reached[row] = leaf
    assert reached == {row: walked(root, x) for row, x in enumerate(X)}


@given(root=roots, X=tables)
def test_all_leaves_are_named_also_those_that_no_row_reaches(root: Node, X: Points) -> None:
    named = [leaf for _, leaf in leaves_reached(root, X)]
    there = [node for node in nodes_of(root) if isinstance(node, Leaf)]
    assert sorted(map(id, named)) == sorted(map(id, there))


def counted(node: Node) -> int:
    return 1 if isinstance(node, Leaf) else 1 + counted(node.fails) + counted(node.holds)


@given(root=roots)
def test_every_node_is_named_once(root: Node) -> None:
    found = list(nodes_of(root))
    assert found[0] is root
    assert len(found) == counted(root)
    assert sum(isinstance(node, Leaf) for node in found) == 1 + sum(isinstance(node, Split) for node in found)


def test_a_long_path_needs_no_stack() -> None:
    root: Node = Leaf(1)
    for _ in range(5_000):
        root = Split(Predicate(0, 0.5), Leaf(0), root)
    assert [rows.size for rows, leaf in leaves_reached(root, np.ones((3, 1))) if leaf.label == 1] == [3]
    assert sum(1 for _ in nodes_of(root)) == 10_001


@pytest.mark.parametrize("label", [-1, MOST_LABELS, 0.5, True, None])
def test_labels_are_small_integers(label: Any) -> None:
    with pytest.raises(ParameterError, match="label"):
        Leaf(label)
    assert [Leaf(each).label for each in (0, MOST_LABELS - 1)] == [0, 126]


def test_a_leaf_keeps_shares_of_which_all_are_positive() -> None:
    assert Leaf(1, (0.25, 0.75)).shares == (0.25, 0.75)
    assert Leaf(0, (0.5, 0.2, 0.3)).shares == (0.5, 0.2, 0.3)
    for shares in ((0.0, 1.0), (-0.25, 1.25), (0.5, 0.5), (0.75, 0.25), (0.25, 0.7), (1.0,)):
        with pytest.raises(ParameterError, match="shares"):
            Leaf(1, shares)
