"""Predicates: from public points or a schema, few enough and none twice."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.errors import ParameterError
from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.hypotheses.trees.predicates import evaluate, from_public, from_schema
from pcqr.schema import Column, Schema


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 1)), min_size=1, max_size=60), st.integers(1, 5))
def test_public_predicates_differ_on_the_public_points(rows: list[tuple[int, int]], cuts: int) -> None:
    public = np.array(rows, dtype=np.float64)
    found = from_public(public, cuts)
    held = evaluate(found, public) if found else np.zeros((len(rows), 0), dtype=bool)
    patterns = {(column ^ column[0]).tobytes() for column in held.T}
    assert len(patterns) == len(found), "no two of them agree, or disagree, on all points"
    for feature in (0, 1):
        assert sum(predicate.feature == feature for predicate in found) <= cuts
    assert not (held.all(axis=0) | ~held.any(axis=0)).any(), "each separates some points"
    varied = (public != public[0]).any()
    assert bool(found) == bool(varied)


def test_one_row_and_constant_columns_give_nothing() -> None:
    assert from_public(np.array([[1.0, 2.0]]), 5) == ()
    assert from_public(np.array([[1.0, 0.0], [1.0, 4.0]]), 5) == (Predicate(1, 2.0),)


def test_of_copies_and_complements_the_first_is_kept() -> None:
    column = np.array([0.0, 1.0, 1.0, 0.0])
    assert from_public(np.column_stack((column, column, 1.0 - column, 7.0 * column)), 3) == (Predicate(0, 0.5),)


def test_a_common_value_does_not_take_all_the_cuts() -> None:
    column = np.concatenate((np.zeros(910), np.arange(1.0, 91.0)))
    cuts = [predicate.cut for predicate in from_public(column.reshape(-1, 1), 4)]
    assert len(cuts) == 4
    assert cuts[0] == 0.5
    assert cuts[2] > 30


def test_rare_predicates_are_left_out() -> None:
    column = np.zeros((1000, 1))
    column[:29] = 1.0
    assert from_public(column, 3) == ()
    column[:30] = 1.0
    assert from_public(column, 3) == (Predicate(0, 0.5),)
    column[:2] = 2.0  # three values: numbers, whose cuts may reach further
    assert [predicate.cut for predicate in from_public(column, 3)] == [0.5, 1.5]


def test_cuts_are_as_many_as_keep_the_predicates_few() -> None:
    def made(columns: int) -> list[int]:
        public = np.random.default_rng(0).random((2_000, columns))
        predicates = DecisionTrees().prepared(public, None).predicates or ()
        return [sum(p.feature == column for p in predicates) for column in range(columns)]

    assert made(3) == [20, 20, 20]
    assert made(8) == [16] * 8
    assert made(20) == [12] * 20


def test_evaluation_is_strict_at_the_cut() -> None:
    X = np.array([[0.0, 5.0], [1.0, 2.0], [2.0, 2.5]])
    held = evaluate([Predicate(0, 1.0), Predicate(1, 2.0), Predicate(0, -1.0)], X)
    assert held.tolist() == [[False, True, True], [False, False, True], [True, True, True]]


def test_a_schema_gives_categories_and_cuts_between_bounds() -> None:
    schema = Schema(
        columns=(
            Column(name="age", kind="numeric", bounds=(0.0, 30.0)),
            Column(name="free", kind="numeric"),
            Column(name="colour", kind="categorical", categories=("red", "blue")),
        )
    )
    assert from_schema(schema, 2) == (
        Predicate(0, 10.0),
        Predicate(0, 20.0),
        *(Predicate(feature, 0.5) for feature in (2, 3, 4)),
    )
    assert schema.encode({"age": [1], "free": [2], "colour": ["red"]}).shape == (1, 5)


@pytest.mark.parametrize(("feature", "cut"), [(-1, 0.5), (0.5, 0.5), (0, math.nan), (0, math.inf)])
def test_bad_predicates_are_refused(feature: int, cut: float) -> None:
    with pytest.raises(ParameterError):
        Predicate(feature, cut)
