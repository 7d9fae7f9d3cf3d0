"""A drawn label's expected accuracy is exact, and `auto` is compared with it on the same records."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.few_records import (
    STRENGTHS,
    Case,
    boosted,
    expected_of_a_drawn_label,
    least_of,
    rows,
    rows_of,
    run_once,
)
from pcqr import AssumePublic, PrivateClassifier
from pcqr.bench.tables import toy


def test_the_expected_accuracy_is_that_of_the_exponential_mechanism() -> None:
    ones, records, epsilon, share = 7, 10, 0.5, 0.3
    weights = [
        math.exp(-epsilon / 2 * error_counts) for error_counts in (ones, records - ones)
    ]  # of always 0, of always 1
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


def test_boosting_learns_from_the_same_records() -> None:
    task = toy()
    rows = rows_of(task, 30, 0)
    assert rows.size == 300
    assert boosted(task, 30, 0) == boosted(task, 30, 0) > run_once(task, 30, 0)[0] - 0.05
    kept = replace(task, X=task.X[rows], y=task.y[rows])
    fitted = HistGradientBoostingClassifier(random_state=0).fit(kept.X, kept.y)
    assert boosted(task, 30, 0) == pytest.approx(float(np.mean(fitted.predict(task.X_test) == task.y_test)))


def test_the_warning_ends_at_the_least_strength_of_the_table() -> None:
    least, task = least_of(toy()), toy()
    classifier = PrivateClassifier(0.1)
    assert classifier.dry_run(10 * least, AssumePublic(task.public)).shortfall is None
    assert classifier.dry_run(10 * (least - 1), AssumePublic(task.public)).shortfall is not None


def test_rows_show_the_lead_and_its_mean() -> None:
    cases = [Case("adult", strength, 2, 0.8, 0.01, 0.75, 0.75, 0.9) for strength in STRENGTHS]
    cases += [Case("bank", strength, 2, 0.8, 0.01, 0.82, 0.82, 0.9) for strength in STRENGTHS]
    cases += [Case(table, 42, 2, 0.7, 0.01, 0.6, 0.6, 0.9, is_least=True) for table in ("adult", "bank")]
    found = rows(cases)
    assert found[0] == ["adult", *["80.0 (+5.0)"] * 4, "70.0 (+10.0), n·ε = 42"]
    assert found[1] == ["bank", *["80.0 (-2.0)"] * 4, "70.0 (+10.0), n·ε = 42"]
    assert found[2] == ["mean lead", *["+1.50"] * 4, "+10.00"]
