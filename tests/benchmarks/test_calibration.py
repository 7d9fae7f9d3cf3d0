"""The figures of `benchmarks.calibration`: bins, losses and errors by hand."""

from __future__ import annotations

import json
import math
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from benchmarks.calibration import RESULTS, Calibration, binned, log_loss

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
