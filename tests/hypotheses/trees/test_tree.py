"""Trees as values: what they predict, and that simplifying keeps the function."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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
