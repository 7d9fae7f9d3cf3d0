"""One recommendation from public numbers: publish where that is possible, never what cannot be run."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.situations import situations

from pcqr.errors import ParameterError
from pcqr.planning.classifiers.rule import least_strength
from pcqr.planning.expected.shortfall import nothing_learned
from pcqr.planning.questions.advice import ENOUGH_QUERIES, TIE, WAYS, Situation, advise
from pcqr.planning.questions.measured import measured_near

ASKED = Situation(records=20_000, columns=12, epsilon=1.0, queries=500)


def test_with_a_schema_a_classifier_is_published() -> None:
    found = advise(ASKED)
    assert found.best.way.key == "published"
    assert found.best.source == "schema"
    assert found.best.measured == measured_near("published from schema", 20_000.0)
    assert any(note.startswith("Assumed: a schema can be written down") for note in found.notes)
    assert any("they can serve as public rows: add --public queries.csv" in note for note in found.notes)


def test_with_public_rows_it_is_measured_with_public_rows() -> None:
    found = advise(replace(ASKED, public=2_000))
    assert found.best.way.key == "published"
    assert found.best.source == "public rows"
    assert found.best.measured == measured_near("published", 20_000.0)
    assert not any("schema" in note for note in found.notes)


def test_with_neither_the_queries_serve_if_there_are_enough_of_them() -> None:
    found = advise(replace(ASKED, schema=False))
    assert (found.best.way.key, found.best.source) == ("published", "queries")
    assert any("the queries take their place" in note for note in found.notes)
    few = advise(replace(ASKED, schema=False, queries=ENOUGH_QUERIES - 1))
    assert not few.best.way.trees
    assert few.best.source is None
    assert all(not other.way.trees for other in few.others)


@given(situations)
def test_whatever_is_asked_one_way_is_recommended_and_the_others_are_shown(situation: Situation) -> None:
    found = advise(situation)
    shown = [found.best.way, *(other.way for other in found.others)]
    assert len(shown) == len({way.key for way in shown})
    assert {way.key for way in shown} == {way.key for way in WAYS if situation.source is not None or not way.trees}
    compared = any(other.alike and other.way.commanded for other in (found.best, *found.others))
    assert found.best.alike or not compared
    assert found.best.way.commanded
    assert found.reason


@given(st.floats(100.0, 1e7))
def test_nothing_measured_beats_what_is_recommended(strength: float) -> None:
    """On the tables and sizes where both were measured, but for near ties."""
    found = advise(Situation(records=max(1, round(strength)), epsilon=1.0, public=2_000))
    best = found.best.measured
    assert best is not None
    for other in found.others:
        if other.alike and other.way.commanded and other.measured is not None:
            losses = best.beside(other.measured)
            assert losses is None or losses[0] <= losses[1] + TIE


def test_what_the_figures_cannot_say_is_said() -> None:
    assert any("54 columns" in note for note in advise(replace(ASKED, columns=784)).notes)
    assert any("not below 1/n" in note for note in advise(replace(ASKED, delta=1e-3)).notes)
    assert any("500 queries" in note for note in advise(replace(ASKED, queries=100_000)).notes)
    assert not any("500 queries" in note for note in advise(ASKED).notes)


@pytest.mark.parametrize("columns", [None, 3, 200])
def test_where_nothing_can_be_learned_that_is_said(columns: int | None) -> None:
    predicates = min(10 * (columns or 10), 300)
    least = least_strength(predicates, 2)
    asked = Situation(records=1_000, columns=columns, epsilon=least / 1_000 - 1e-9)
    found = advise(asked)
    assert found.shortfall == nothing_learned(1_000, asked.epsilon, predicates, 2)
    assert found.best.way.key == "published"
    assert f"learn from {predicates} predicates" in str(found.shortfall)
    assert advise(replace(asked, epsilon=least / 1_000 + 1e-9)).shortfall is None


def test_what_publish_would_refuse_is_said() -> None:
    told = str(advise(Situation(records=990, epsilon=0.01)).shortfall)
    assert "n·ε = 9.9 is below 10" in told
    assert "Take n ≥ 1,000 at this ε" in told
    assert "is below" not in str(advise(Situation(records=1_000, epsilon=0.01)).shortfall)


def test_where_a_schema_was_not_measured_public_rows_are_quoted_as_such() -> None:
    found = advise(Situation(records=1_000, epsilon=0.1))
    assert measured_near("published from schema", 100.0) is None
    assert found.best.measured == measured_near("published", 100.0)
    assert not found.best.alike


def test_the_reason_has_the_strength_of_the_tables() -> None:
    assert "Where both were measured, at n·ε = 10,000 to 20,000, it lost " in advise(ASKED).reason


def test_bad_numbers_are_refused() -> None:
    for wrong in ({"records": 0}, {"epsilon": 0.0}, {"delta": 1.0}):
        with pytest.raises(ParameterError):
            replace(ASKED, **wrong)
