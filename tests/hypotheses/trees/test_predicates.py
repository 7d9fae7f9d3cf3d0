"""Predicates: from public points or a schema, few enough and none twice."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.data.records.predicates import evaluate
from pcqr.data.schema import Column, Schema
from pcqr.errors import ParameterError
from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.hypotheses.trees.tree import from_public, from_schema

MOST_ALLOWED = DecisionTrees.most


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


def test_of_copies_and_complements_the_first_is_kept() -> None:
    column = np.array([0.0, 1.0, 1.0, 0.0])
    assert from_public(np.column_stack((column, column, 1.0 - column, 7.0 * column)), 3) == (Predicate(0, 0.5),)


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


def test_of_too_many_declared_cuts_those_at_equal_distances_in_their_order_stay() -> None:
    columns = [Column(f"c{place}", cuts=range(9)) for place in range(5)]
    columns[0] = Column("bounded", bounds=(0, 4))

    def asked(most: int) -> dict[int, list[float]]:
        found = DecisionTrees(cuts=3, most=most).prepared(None, Schema(tuple(columns))).predicates or ()
        return {place: [asks.cut for asks in found if asks.feature == place] for place in range(5)}

    def cut_at(*cuts: float) -> dict[int, list[float]]:
        return {place: list(cuts) for place in range(1, 5)}

    every = [float(cut) for cut in range(9)]
    assert asked(39) == {0: [1.0, 2.0, 3.0], **cut_at(*every)}
    assert asked(37) == {0: [2.0], **cut_at(*every)}, "bounds alone tell less than cuts"
    assert asked(13) == {0: [2.0], **cut_at(1.0, 4.0, 7.0)}
    assert asked(5) == {0: [2.0], **cut_at(4.0)}
    assert sum(map(len, asked(3).values())) == 3


@pytest.mark.parametrize(("feature", "cut"), [(-1, 0.5), (0.5, 0.5), (0, math.nan), (0, math.inf)])
def test_bad_predicates_are_refused(feature: int, cut: float) -> None:
    with pytest.raises(ParameterError):
        Predicate(feature, cut)


class TestWideTables:
    """Hundreds of columns: as many questions as a draw can weigh, chosen by public points or the schema alone."""

    generator = np.random.default_rng(0)

    def pixels(self, columns: int, rows: int = 200) -> NDArray[np.float64]:
        """Column j is dark in a share of the rows that grows with j: the later columns tell rows apart better."""
        shares = np.linspace(0.02, 0.5, columns)
        dark = self.generator.random((rows, columns)) < shares
        return np.where(dark, self.generator.integers(1, 256, (rows, columns)), 0).astype(np.float64)

    def test_one_cut_a_column_and_of_these_the_most_even(self) -> None:
        public = self.pixels(700)
        found = DecisionTrees().prepared(public, None).predicates
        assert found is not None
        assert len(found) == MOST_ALLOWED
        assert len({predicate.feature for predicate in found}) == MOST_ALLOWED
        kept = evaluate(found, public).mean(axis=0)
        every = evaluate(from_public(public, 1), public).mean(axis=0)
        evenness = np.sort(np.minimum(every, 1 - every))
        np.testing.assert_array_equal(np.sort(np.minimum(kept, 1 - kept)), evenness[-MOST_ALLOWED:])
        assert list(found) == sorted(found), "in the order of the columns"

    def test_declared_cuts_are_limited_too_and_the_limit_can_be_raised(self) -> None:
        public = self.generator.normal(size=(500, 100))
        assert len(DecisionTrees(cuts=10).prepared(public, None).predicates or ()) == 300
        assert len(DecisionTrees(cuts=10, most=2_000).prepared(public, None).predicates or ()) == 1_000
        with pytest.raises(ParameterError, match="most must be an integer ≥ 1"):
            DecisionTrees(most=0)

    def test_a_schema_without_rows_gives_questions_of_all_its_columns(self) -> None:
        schema = Schema(tuple(Column(f"x{i}", bounds=(0, 1)) for i in range(700)))
        found = DecisionTrees().prepared(None, schema).predicates
        assert found is not None
        assert len(found) == MOST_ALLOWED
        gaps = np.diff([predicate.feature for predicate in found])
        assert set(gaps.tolist()) <= {2, 3}, "spread evenly"
