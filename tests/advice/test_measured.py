"""What was measured: the file that ships is that of the stored results, and the cells near n·ε are found."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.advice import METHODS, SUMMARY, summary
from pcqr.advice.advice import FAR, NEAR, cells, measured_near

ROOT = Path(__file__).parents[2]
KEYS = sorted({cell.method for cell in cells()})


def test_the_file_that_ships_is_made_of_the_stored_results() -> None:
    """`python -m benchmarks.advice --summary` makes it anew."""
    assert (ROOT / SUMMARY).read_text(encoding="utf-8") == summary(ROOT)


def test_every_way_was_measured_on_several_tables() -> None:
    for method in ("tree", *METHODS):
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
