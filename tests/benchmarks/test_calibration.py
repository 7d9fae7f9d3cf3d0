"""The figures of `benchmarks.calibration`: bins, losses and errors by hand."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import seed_of
from benchmarks.calibration import (
    RESULTS,
    Calibration,
    binned,
    calibration_error,
    log_loss,
    of_table,
    price,
    stored,
)
from benchmarks.tables import Task
from pcqr import AssumePublic, PrivateClassifier
from pcqr.data.schema import Column, Schema
from pcqr.releases.classifier import planning as published
from pcqr.releases.classifier.rule import LEAF_SHARE

SAID = np.array([0.0, 0.05, 0.55, 0.58, 1.0])
Y = np.array([0, 1, 1, 0, 1], dtype=np.int8)


def test_bins_are_tenths_and_the_last_one_has_its_end() -> None:
    assert binned(SAID, Y) == [(2, 0.025, 0.5), (2, pytest.approx(0.565), 0.5), (1, 1.0, 1.0)]


def test_the_loss_is_the_mean_surprise() -> None:
    said = np.array([0.25, 0.5])
    assert log_loss(said, np.array([1, 0], dtype=np.int8)) == pytest.approx((math.log(4) + math.log(2)) / 2)


def test_the_error_weighs_bins_by_their_rows() -> None:
    case = Calibration(1.0, 0.9, 0.3, 0.3, 0.5, [(30, 0.1, 0.2), (10, 0.9, 0.5)])
    assert case.error == pytest.approx((30 * 0.1 + 10 * 0.4) / 40)
    assert Calibration.read(json.loads(json.dumps(asdict(case)))) == case


def test_the_page_has_the_stored_figures() -> None:
    stored = json.loads(RESULTS.read_text(encoding="utf-8"))
    page = Path("docs/models.md").read_text(encoding="utf-8")
    for fields in stored["cases"]:
        assert f"| {' | '.join(Calibration.read(fields).row())} |" in page


def small_task() -> Task:
    generator = np.random.default_rng(3)
    X = generator.integers(0, 100, size=(1_500, 2)).astype(np.float64)
    y = (X[:, 0] > 40).astype(np.int8)
    return Task("adult", X[:1_000], y[:1_000], X[1_000:1_200], X[1_200:], y[1_200:], Schema((Column("a"), Column("b"))))


def test_a_case_is_what_its_fits_say() -> None:
    case = of_table(small_task(), 1.0, "auto", 2, 4)
    assert (case.published, case.fits, case.answered, case.draws) == ("tree", 2, 2, 4)
    accuracies, errors = [], []
    for run in range(2):
        task, seed = small_task(), seed_of("adult", 1.0, "auto", run)
        learner = PrivateClassifier(1.0, 1e-6, entropy=seed, classes=(0, 1)).fit(
            task.X, task.y, public=AssumePublic(task.public)
        )
        accuracies.append(learner.score(task.X_test, task.y_test))
        errors.append(calibration_error(binned(learner.predict_proba(task.X_test)[:, 1], task.y_test)))
    assert case.accuracy == pytest.approx(np.mean(accuracies))
    assert case.error == pytest.approx(np.mean(errors))


def test_a_linear_classifier_has_no_price() -> None:
    case = of_table(small_task(), 4.0, "linear", 1, 4)
    assert (case.published, case.answered, case.draws, case.lead) == ("linear", 1, 0, 0.0)
    assert case.row()[6] == ""


def test_the_price_is_that_of_trees_at_less_epsilon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twentieth less hardly counts on an easy table. Nine tenths less do."""
    task, share = small_task(), LEAF_SHARE
    lead, spread = price(task, 0.3, 40)
    assert abs(lead) < 2.0
    monkeypatch.setattr(published, "LEAF_SHARE", 0.9)
    cheap, _ = price(task, 0.3, 40)
    assert (share, spread < 1.0) == (0.05, True)
    assert cheap < lead - 2.0


def test_the_page_has_the_stored_tables() -> None:
    page = Path("docs/classifier-results.md").read_text(encoding="utf-8")
    assert stored()
    for case in stored().values():
        assert f"| {' | '.join(case.row())} |" in page
