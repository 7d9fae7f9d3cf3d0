"""The feature map of a linear classifier, and a published tree beside it: it sees what the tree says, row by row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.linear import plain_records, plain_total

from pcqr.data.records import InMemory
from pcqr.data.records.arrays import Points
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.gradient_sums import GRID
from pcqr.data.records.predicates import Leaf, Node, Predicate, Split
from pcqr.data.records.vectors import ColumnVectors, PredicateVectors
from pcqr.errors import ParameterError
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree

COLUMNS, M = 3, 1 << 20
QUESTIONS = tuple(Predicate(column, cut) for column in range(COLUMNS) for cut in (0.0, 0.5))
PUBLIC = np.random.default_rng(4).normal(size=(60, COLUMNS))
FERNS = Ferns((*QUESTIONS[:3], QUESTIONS[4]), 2, COLUMNS)
PLAIN = FeatureMap(PredicateVectors.of(QUESTIONS, COLUMNS), None, 256)
WHITENED = FeatureMap(PredicateVectors.of(QUESTIONS, COLUMNS, PUBLIC, 0.5), None, 256)
FERNED = FeatureMap(PredicateVectors.of(QUESTIONS, COLUMNS, PUBLIC, 0.5), FERNS, 128)
MAPS = {"plain": PLAIN, "whitened": WHITENED, "with ferns": FERNED}
EACH_MAP = pytest.mark.parametrize("features", MAPS.values(), ids=MAPS)
CROSSED = Split(
    Predicate(0, 0.0), Split(Predicate(1, 0.0), Leaf(0), Leaf(1)), Split(Predicate(1, 0.0), Leaf(1), Leaf(0))
)
"""Do the signs of two columns differ?"""

questions = st.builds(Predicate, st.integers(0, COLUMNS - 1), st.sampled_from([-1.0, 0.0, 0.5]))
sides: st.SearchStrategy[Node] = st.recursive(
    st.builds(Leaf, st.integers(0, 1)), lambda below: st.builds(Split, questions, below, below), max_leaves=8
)
splits = st.builds(Split, questions, sides, sides)
tables = st.integers(1, 12).flatmap(
    lambda rows: arrays(np.float64, (rows, COLUMNS), elements=st.sampled_from([-1.0, 0.0, 0.5, 2.0]))
)


def beside(features: FeatureMap, root: Split, public: Points | None = None) -> FeatureMap:
    found = features.beside(root, public, 0.5)
    assert found.tree == root
    return found


# What it sees ---------------------------------------------------------------------------------------------------------


@given(root=splits, X=tables)
def test_what_is_seen_are_the_points_and_what_the_tree_says_of_each(root: Split, X: Points) -> None:
    seen = beside(PLAIN, root).seen(X)
    assert seen.shape == (X.shape[0], COLUMNS + 1)
    assert (seen[:, :-1] == X).all()
    assert (seen[:, -1] == DecisionTree(root, COLUMNS).predict(X)).all()
    assert PLAIN.seen(X) is X, "without a tree there is nothing to add"


@given(root=splits, X=tables, data=st.data())
def test_a_row_is_seen_alike_whatever_rows_come_with_it(root: Split, X: Points, data: st.DataObject) -> None:
    features = beside(PLAIN, root)
    whole, order = features.seen(X), data.draw(st.permutations(range(X.shape[0])))
    assert (features.seen(X[order]) == whole[order]).all()
    for row in range(X.shape[0]):
        assert (features.seen(X[row : row + 1]) == whole[row : row + 1]).all()
    assert features.seen(X[:0]).shape == (0, COLUMNS + 1)


def test_the_table_itself_is_not_written_to() -> None:
    X = PUBLIC.copy()
    beside(FERNED, CROSSED, PUBLIC).seen(X)[:] = 7.0
    assert (X == PUBLIC).all()


@EACH_MAP
@pytest.mark.parametrize("public", [None, PUBLIC], ids=["no public rows", "public rows"])
def test_a_tree_is_one_more_question_and_one_more_column(features: FeatureMap, public: Points | None) -> None:
    found = beside(features, CROSSED, public)
    wider = None if public is None else np.column_stack([public, DecisionTree(CROSSED, COLUMNS).predict(public)])
    assert found.dense == PredicateVectors.of((*QUESTIONS, Predicate(COLUMNS, 0.5)), COLUMNS + 1, wider, 0.5)
    assert found.ferns == (None if features.ferns is None else replace(features.ferns, features=COLUMNS + 1))
    assert (found.share, found.features) == (features.share, COLUMNS), "points have as many columns as before"
    if public is None:
        assert found.size == len(QUESTIONS) + 2


@EACH_MAP
@given(root=splits, X=tables, seed=st.integers(0, 2**16))
@settings(max_examples=30)
def test_sums_and_margins_are_those_of_a_table_that_has_the_column(
    features: FeatureMap, root: Split, X: Points, seed: int
) -> None:
    """Records of this map, and of the same map on a table to which the tree's labels were added beforehand."""
    generator = np.random.default_rng(seed)
    found = beside(features, root)
    flat = FeatureMap(found.dense, found.ferns, found.share)
    assert flat.features == COLUMNS + 1
    wider = np.column_stack([X, DecisionTree(root, COLUMNS).predict(X)])
    y = np.asarray(generator.integers(0, 2, X.shape[0]), dtype=np.int8)
    dense, cells = (
        generator.integers(-3 * GRID, 3 * GRID, shape).astype(np.int32)
        for shape in ((1, found.size), (1, found.count, 1 << found.depth))
    )
    sums = InMemory(X, y).gradient_sums(found, M).total(dense, cells)
    plain = plain_total(plain_records(flat, wider, y), dense, cells, found.share, M)
    assert [part.tolist() for part in sums] == list(plain)
    linears = [LinearClassifier.of(each, 2, dense / GRID, cells / GRID) for each in (found, flat)]
    assert (linears[0].decision_function(X) == linears[1].decision_function(wider)).all()
    assert (linears[0].predict(X) == linears[1].predict(wider)).all()


# What changes nothing, and what is refused ----------------------------------------------------------------------------


@EACH_MAP
@pytest.mark.parametrize("label", [0, 1])
def test_a_tree_that_says_the_same_of_all_public_rows_changes_nothing(features: FeatureMap, label: int) -> None:
    assert features.beside(Leaf(label), PUBLIC, 0.5) is features
    assert features.beside(Leaf(label), None, 0.5) is features
    far = Split(Predicate(0, 99.0), Leaf(label), Leaf(1 - label))
    assert features.beside(far, PUBLIC, 0.5) is features
    once = np.concatenate([PUBLIC, [[100.0, 0.0, 0.0]]])
    assert features.beside(far, once, 0.5).tree == far, "one row of another label is enough"
    assert features.beside(far, None, 0.5).tree == far, "who knows?"


@pytest.mark.parametrize(
    "features",
    [
        FeatureMap(ColumnVectors.unknown(COLUMNS), None, 256),
        FeatureMap(None, FERNS, 0),
        PLAIN.beside(CROSSED, None, 0.5),
    ],
    ids=["columns", "ferns alone", "a tree"],
)
def test_only_maps_of_predicates_without_a_tree_have_one_put_beside_them(features: FeatureMap) -> None:
    for root in (CROSSED, Leaf(0)):
        with pytest.raises(ParameterError, match="features must be a feature map of predicates, without a tree"):
            features.beside(root, PUBLIC, 0.5)


@pytest.mark.parametrize(
    ("tree", "told"),
    [
        (Leaf(0), "tree must be a Split"),
        (DecisionTree(CROSSED, COLUMNS), "tree must be a Split"),
        (Split(Predicate(COLUMNS, 0.5), Leaf(0), Leaf(1)), "questions about columns 0 to 2"),
        (Split(Predicate(0, 0.5), Leaf(0), Split(Predicate(7, 0.5), Leaf(0), Leaf(1))), "questions about columns"),
    ],
    ids=["a leaf", "a hypothesis", "its own column", "no such column"],
)
def test_a_tree_asks_about_the_columns_of_the_points(tree: Any, told: str) -> None:
    dense = PredicateVectors.of((*QUESTIONS, Predicate(COLUMNS, 0.5)), COLUMNS + 1)
    with pytest.raises(ParameterError, match=told):
        FeatureMap(dense, None, 256, tree)
    assert FeatureMap(dense, None, 256, CROSSED).features == COLUMNS
