"""Trees as values: what they predict, and that simplifying keeps the function."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.errors import DataError
from pcqr.hypotheses.trees import DecisionTree, Leaf, Predicate, Split

leaves = st.builds(Leaf, st.integers(0, 2))
predicates = st.builds(Predicate, st.integers(0, 1), st.integers(0, 3).map(float))
roots = st.recursive(leaves, lambda below: st.builds(Split, predicates, below, below), max_leaves=20)
GRID = np.array([(a, b) for a in np.arange(-0.5, 4.0, 0.5) for b in np.arange(-0.5, 4.0, 0.5)])


def questions(node: Leaf | Split, path: tuple[Split, ...] = ()) -> list[tuple[Split, ...]]:
    """Every path from the root to a leaf."""
    if isinstance(node, Leaf):
        return [path]
    return [*questions(node.fails, (*path, node)), *questions(node.holds, (*path, node))]


def labelled(node: Leaf | Split, row: tuple[float, float]) -> int:
    while isinstance(node, Split):
        node = node.holds if row[node.predicate.feature] > node.predicate.cut else node.fails
    return node.label


@given(roots)
def test_rows_follow_the_questions(root: Leaf | Split) -> None:
    tree = DecisionTree(root, 2)
    assert tree.predict(GRID).tolist() == [labelled(root, tuple(row)) for row in GRID.tolist()]
    paths = questions(root)
    assert tree.leaves == len(paths)
    assert tree.depth == max(map(len, paths))


@given(roots)
def test_simplified_trees_are_the_same_function(root: Leaf | Split) -> None:
    tree = DecisionTree(root, 2)
    simple = tree.simplified()
    assert (simple.predict(GRID) == tree.predict(GRID)).all()
    assert simple.leaves <= tree.leaves
    assert simple.simplified() == simple
    for path in questions(simple.root):
        assert len({split.predicate for split in path}) == len(path), "no question is asked twice"
        assert all(split.fails != split.holds for split in path)


def test_a_point_on_a_cut_fails_it() -> None:
    tree = DecisionTree(Split(Predicate(0, 1.0), Leaf(0), Leaf(1)), 1)
    assert tree.predict([0.0, 1.0, np.nextafter(1.0, 2.0)]).tolist() == [0, 0, 1]


def test_implied_answers_are_left_out() -> None:
    inner = Split(Predicate(0, 1.0), Leaf(1), Leaf(0))
    assert DecisionTree(Split(Predicate(0, 2.0), inner, inner), 1).simplified().root == inner
    implied = Split(Predicate(0, 2.0), Leaf(2), Split(Predicate(0, 1.0), Leaf(0), Leaf(1)))
    assert DecisionTree(implied, 1).simplified().root == Split(Predicate(0, 2.0), Leaf(2), Leaf(1))


def test_tables_of_another_width_are_refused() -> None:
    with pytest.raises(DataError, match="2 column"):
        DecisionTree(Leaf(0), 2).predict([[1.0]])
