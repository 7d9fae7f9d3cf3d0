"""What to run: the advice, and what was measured of each method."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.situations import situations

from benchmarks.advice import METHODS as MEASURED
from benchmarks.advice import SUMMARY, summary
from pcqr.advice.advice import (
    ENOUGH_QUERIES,
    FAR,
    FROM,
    METHODS,
    NEAR,
    PUBLISHED,
    TIE,
    Situation,
    advise,
    bought_in_words,
    cells,
    measured_near,
)
from pcqr.data.schema.raw import RawColumn
from pcqr.errors import ParameterError
from pcqr.planner.expectation import nothing_learned
from pcqr.releases.classifier.predicates import Purchase, predicates_recipe
from pcqr.releases.classifier.rule import least_n_epsilon

ASKED = Situation(records=20_000, columns=12, epsilon=1.0, queries=500)
KINDS = (RawColumn("age", "numeric"), RawColumn("job", "categorical"))


def test_with_nothing_public_a_classifier_is_published() -> None:
    found = advise(ASKED)
    assert found.best.method.key == "published"
    assert (found.best.source, found.best.alike, found.buys) == (None, True, True)
    assert found.best.measured == measured_near("published from nothing", 20_000.0)
    assert any("they can serve as public rows: --public queries.csv" in note for note in found.notes)


@pytest.mark.parametrize("size", [500, 2_000, 20_000, 300_000])
def test_what_public_rows_would_change_is_measured_on_the_same_tables(size: int) -> None:
    """The means are over cells that all of those have that are named."""
    asked = Situation(records=size, epsilon=1.0)
    note = next(note for note in advise(asked).notes if "30 public rows" in note)
    nothing, rows, schema = (measured_near(FROM[source], size) for source in (None, "public rows", "schema"))
    assert nothing is not None
    assert rows is not None
    both = nothing.where(rows)
    assert both is not None
    all_three = None if schema is None else both.where(schema)
    shared = all_three or both
    told = rows.where(shared)
    assert told is not None
    assert f"{100 * shared.mean_loss:.1f} with nothing public, {100 * told.mean_loss:.1f} with 2,000" in note
    assert ("with a schema of bounds" in note) == (all_three is not None)


def test_what_is_bought_is_that_of_the_plan() -> None:
    for size, epsilon in ((20_000, 1.0), (2_000, 1.0), (900, 1.0), (700, 1.0)):
        told = bought_in_words(Situation(size, epsilon))
        recipe = predicates_recipe(size, epsilon, has_texts=True)
        assert ("nothing, as n·ε is below 800" in told) == (recipe is None)
        if recipe is None:
            continue
        stage = Purchase(recipe, KINDS).stage(size, 1.0, 1e-6)
        assert told.startswith(f"{(1 << stage.levels) - 1} cuts a number for {100 * recipe.cuts:.0f} % of ")
        assert f"categories of texts for {100 * recipe.categories:.0f} %. " in told
        assert f"keeps {100 * Purchase(recipe, KINDS).remaining:.0f} %" in told
        assert ("counts between them" in told) == (stage.counts is not None)
        assert ("Without texts nothing is bought" in told) == (predicates_recipe(size, epsilon) is None)
    warned = [any("such as years" in note for note in advise(Situation(n, 1.0)).notes) for n in (700, 4_999, 5_000)]
    assert warned == [False, True, False]


def test_with_a_schema_it_is_measured_with_a_schema() -> None:
    found = advise(replace(ASKED, schema=True))
    assert (found.best.method.key, found.best.source, found.buys) == ("published", "schema", False)
    assert found.best.measured == measured_near("published from schema", 20_000.0)
    assert any("better than a schema: --public 30." in note for note in found.notes)


def test_with_public_rows_it_is_measured_with_public_rows() -> None:
    found = advise(replace(ASKED, public=2_000))
    assert found.best.method.key == "published"
    assert found.best.source == "public rows"
    assert found.best.measured == measured_near("published", 20_000.0)
    assert not any("schema" in note or "30 public rows" in note for note in found.notes)


def test_trees_that_vote_take_the_queries_if_there_are_enough_of_them() -> None:
    found = advise(ASKED)
    assert {other.source for other in found.others if other.method.trees} == {"queries"}
    few = advise(replace(ASKED, queries=ENOUGH_QUERIES - 1))
    assert few.best == found.best
    assert all(not other.method.trees for other in few.others)
    assert not any("queries.csv" in note for note in few.notes)


@given(situations)
def test_whatever_is_asked_one_way_is_recommended_and_the_others_are_shown(situation: Situation) -> None:
    found = advise(situation)
    shown = [found.best.method, *(other.method for other in found.others)]
    assert len(shown) == len({method.key for method in shown})
    assert {method.key for method in shown} == {
        method.key for method in METHODS if situation.source is not None or not method.trees or method.name == PUBLISHED
    }
    compared = any(other.alike and other.method.commanded for other in (found.best, *found.others))
    assert found.best.alike or not compared
    assert found.best.method.commanded
    assert found.reason


@given(st.floats(100.0, 1e7))
def test_nothing_measured_beats_what_is_recommended(strength: float) -> None:
    """On the tables and sizes where both were measured, but for near ties."""
    found = advise(Situation(records=max(1, round(strength)), epsilon=1.0, public=2_000))
    best = found.best.measured
    assert best is not None
    for other in found.others:
        if other.alike and other.method.commanded and other.measured is not None:
            losses = best.beside(other.measured)
            assert losses is None or losses[0] <= losses[1] + TIE


def test_what_the_figures_cannot_say_is_said() -> None:
    assert any("54 columns" in note for note in advise(replace(ASKED, columns=784)).notes)
    assert any("not below 1/n" in note for note in advise(replace(ASKED, delta=1e-3)).notes)
    assert any("500 queries" in note for note in advise(replace(ASKED, queries=100_000)).notes)
    assert not any("500 queries" in note for note in advise(ASKED).notes)


@pytest.mark.parametrize("columns", [None, 3, 200])
@pytest.mark.parametrize("schema", [False, True])
def test_where_nothing_can_be_learned_that_is_said(columns: int | None, *, schema: bool) -> None:
    """With nothing public the predicates are those of the public grid."""
    predicates = min(10 * (columns or 10), 300) if schema else min(54 * (columns or 10), 3_000)
    least = least_n_epsilon(predicates, 2)
    asked = Situation(records=1_000, columns=columns, epsilon=least / 1_000 - 1e-9, schema=schema)
    found = advise(asked)
    assert found.shortfall == nothing_learned(1_000, asked.epsilon, predicates, 2)
    assert found.best.method.key == "published"
    assert f"learn from {predicates:,} predicates" in str(found.shortfall)
    assert advise(replace(asked, epsilon=least / 1_000 + 1e-9)).shortfall is None


def test_what_publish_would_refuse_is_said() -> None:
    told = str(advise(Situation(records=990, epsilon=0.01)).shortfall)
    assert "n·ε = 9.9 is below 10" in told
    assert "Take n ≥ 1,000 at this ε" in told
    assert "is below" not in str(advise(Situation(records=1_000, epsilon=0.01)).shortfall)


@pytest.mark.parametrize(("schema", "key"), [(True, "published from schema"), (False, "published from nothing")])
def test_where_it_was_not_measured_so_public_rows_are_quoted_as_such(key: str, *, schema: bool) -> None:
    found = advise(Situation(records=900, epsilon=0.1, schema=schema))
    assert measured_near(key, 90.0) is None
    assert found.best.measured == measured_near("published", 90.0)
    assert not found.best.alike


def test_the_reason_has_the_strength_of_the_tables() -> None:
    assert "Where both were measured, at n·ε = 10,000 to 20,000, it lost " in advise(ASKED).reason


def test_bad_numbers_are_refused() -> None:
    for wrong in ({"records": 0}, {"epsilon": 0.0}, {"delta": 1.0}):
        with pytest.raises(ParameterError):
            replace(ASKED, **wrong)


ROOT = Path(__file__).parents[2]
KEYS = sorted({cell.method for cell in cells()})


def test_the_file_that_ships_is_made_of_the_stored_results() -> None:
    """`python -m benchmarks.advice --summary` makes it anew."""
    assert (ROOT / SUMMARY).read_text(encoding="utf-8") == summary(ROOT)


def test_every_way_was_measured_on_several_tables() -> None:
    for method in ("tree", *MEASURED):
        assert len({cell.table for cell in cells() if cell.method == method}) >= 4, method


@given(st.sampled_from(KEYS), st.floats(1.0, 1e9))
def test_the_evidence_is_near_or_said_to_be_far(method: str, strength: float) -> None:
    found = measured_near(method, strength)
    least = min(cell.n_epsilon for cell in cells() if cell.method == method)
    assert (found is None) == (least >= FAR * strength)
    if found is None:
        return
    assert found.n_epsilon[1] < FAR * strength
    near = [cell for cell in found.cells if strength / NEAR <= cell.n_epsilon <= strength * NEAR]
    assert found.extrapolated == (not near)
    assert found.extrapolated or len(near) == len(found.cells)
    for low, high in (found.loss, found.gain, found.unanswered, found.n_epsilon):
        assert low <= high
    assert found.loss[0] - 1e-12 <= found.mean_loss <= found.loss[1] + 1e-12
    same = found.beside(found)
    assert same == (found.mean_loss, found.mean_loss)


def test_what_is_far_takes_the_nearest_cells() -> None:
    most = max(cell.n_epsilon for cell in cells() if cell.method == "published")
    found = measured_near("published", 1e9)
    assert found is not None
    assert found.extrapolated
    assert found.n_epsilon[1] == most


def test_tables_ten_times_as_strong_are_never_quoted() -> None:
    least = min(cell.n_epsilon for cell in cells() if cell.method == "votes stumps")
    assert measured_near("votes stumps", least / FAR) is None
    found = measured_near("votes stumps", 1.001 * least / FAR)
    assert found is not None
    assert found.extrapolated
    assert found.n_epsilon == (least, least)


def test_few_records_were_measured_too() -> None:
    found = measured_near("published", 30.0)
    assert found is not None
    assert not found.extrapolated
    assert found.gain[1] < 0.05, "nothing can be learned there"


def test_two_ways_are_compared_where_both_were_measured() -> None:
    ours, theirs = measured_near("published", 5_000.0), measured_near("votes stumps", 5_000.0)
    assert ours is not None
    assert theirs is not None
    both = ours.where(theirs)
    assert both is not None
    assert {cell.place for cell in both.cells} == {cell.place for cell in ours.cells} & {c.place for c in theirs.cells}
    assert len(both.cells) < len(ours.cells)
    shared = theirs.where(ours)
    assert shared is not None
    assert ours.beside(theirs) == (both.mean_loss, shared.mean_loss)


def test_what_was_never_measured_has_no_evidence() -> None:
    assert measured_near("oracle", 1_000.0) is None


def test_ranges_are_those_of_the_cells() -> None:
    adult = [cell for cell in cells() if cell.method == "published" and cell.place == ("adult", 32_561, 0.1)]
    assert len(adult) == 1
    assert adult[0].loss == pytest.approx(0.8722 - 0.8524, abs=2e-4)  # docs/classifier-results.md and docs/trees.md
    assert adult[0].gain == pytest.approx(0.8524 - 0.7619, abs=2e-4)
