"""A drawn label's expected accuracy is exact, and `auto` is compared with it on the same records."""

from __future__ import annotations

import math

import pytest

from benchmarks.few_records import STRENGTHS, Case, expected_of_a_drawn_label, rows, run_once
from pcqr.bench.tables import toy


def test_the_expected_accuracy_is_that_of_the_exponential_mechanism() -> None:
    ones, records, epsilon, share = 7, 10, 0.5, 0.3
    weights = [math.exp(-epsilon / 2 * mistakes) for mistakes in (ones, records - ones)]  # of always 0, of always 1
    expected = (weights[0] * (1 - share) + weights[1] * share) / sum(weights)
    assert expected_of_a_drawn_label(ones, records, epsilon, share) == pytest.approx(expected, rel=1e-12)
    assert expected_of_a_drawn_label(10**6, 10**6, 1.0, 0.75) == 0.75, "no overflow"
    assert expected_of_a_drawn_label(5, 10, 4.0, 0.75) == pytest.approx(0.5)


def test_runs_have_records_of_their_own_and_both_are_scored_on_the_same_rows() -> None:
    task = toy()
    first, second = run_once(task, 30, 0), run_once(task, 30, 1)
    assert first == run_once(task, 30, 0)
    assert first != second
    assert all(0.0 <= accuracy <= 1.0 for pair in (first, second) for accuracy in pair)


def test_rows_show_the_lead_and_its_mean() -> None:
    cases = [Case("adult", strength, 2, 0.8, 0.01, 0.75) for strength in STRENGTHS]
    cases += [Case("bank", strength, 2, 0.8, 0.01, 0.82) for strength in STRENGTHS]
    found = rows(cases)
    assert found[0] == ["adult", *["80.0 (+5.0)"] * 4]
    assert found[1] == ["bank", *["80.0 (-2.0)"] * 4]
    assert found[2] == ["mean lead", *["+1.50"] * 4]
