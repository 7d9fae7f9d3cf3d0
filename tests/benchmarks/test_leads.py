"""A lead has the standard error of runs and test rows, and the words on a table of leads say what is in it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.leads import Peer, Runs, lead, lines, paired_error


def runs(rows: np.ndarray) -> Runs:
    """Of which rows were right in each run."""
    return Runs(list(rows.mean(axis=1)), rows.sum(axis=0, dtype=np.uint8))


def test_the_error_of_test_rows_is_that_of_paired_differences() -> None:
    generator = np.random.default_rng(1)
    common = generator.random(1_000) < 0.7
    ours, theirs = np.array([common] * 2), np.array([common ^ (generator.random(1_000) < 0.1) for _ in range(3)])
    difference = ours.mean(axis=0) - theirs.mean(axis=0)
    of_rows = 100 * difference.std(ddof=1) / 1_000**0.5
    assert paired_error(runs(ours), runs(theirs)) == pytest.approx(of_rows)
    assert paired_error(runs(ours), runs(ours)) == 0.0
    found = lead(runs(ours), runs(theirs))
    assert found.points == pytest.approx(100 * difference.mean())
    assert found.of_runs == pytest.approx(100 * theirs.mean(axis=1).std(ddof=1) / math.sqrt(3))
    assert found.of_all == pytest.approx(math.hypot(found.of_runs, of_rows))


def test_without_rows_on_file_there_are_no_brackets() -> None:
    found = lead(Runs([0.8, 0.82], None), Runs([0.79, 0.79], None))
    assert f"{found}" == "+2.00 ±1.00"
    assert f"{lead(runs(np.eye(2) > 0), runs(np.eye(2) > 0))}" == "+0.00 ±0.00 (±0.00)"


def test_words_name_the_cells_that_are_behind_by_more_than_a_standard_error() -> None:
    ours = {("adult", 0.1): Runs([0.80, 0.82], None), ("bank", 1.0): Runs([0.89, 0.89], None)}
    peer = Peer("it", {("adult", 0.1): Runs([0.815, 0.815], None), ("bank", 1.0): Runs([0.9, 0.92], None)})
    (beside,) = lines(ours, [peer])
    assert beside.endswith("ahead in 0 of 2 cells, behind in 1, by so many points: bank at 1 (2.00, 2.0 of them).")
