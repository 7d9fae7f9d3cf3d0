"""The benchmark of reply times: its figures, its power on times that are made up, and its requests."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmarks import timing
from benchmarks.accuracy import markdown
from benchmarks.timing import CASES, Times

ROOT = Path(__file__).parents[2]


def test_the_page_has_the_table_of_the_results() -> None:
    cases = json.loads((ROOT / timing.RESULTS).read_text(encoding="utf-8"))["cases"]
    table = markdown(timing.HEADER, [timing.Found(**case).row() for case in cases])
    assert f"<!-- timing -->\n{table}\n<!-- end of timing -->" in (ROOT / timing.PAGE).read_text(encoding="utf-8")


def made_up(shift: float, count: int = 4_000) -> Times:
    """Replies whose time is a millisecond and something, `shift` microseconds longer where they are unstable."""
    rng = np.random.default_rng(0)
    is_hard = rng.integers(0, 2, count) == 1
    taken = 1e6 + 1e5 * rng.exponential(size=count) + 1e3 * shift * is_hard
    sent = np.cumsum(taken).astype(np.int64)
    return Times(sent, sent + taken.astype(np.int64), np.zeros(count, np.int64), is_hard, is_hard)


def test_one_class_is_measured_again_and_the_other_stays(tmp_path: Path) -> None:
    before = timing.earlier(ROOT / timing.RESULTS)
    half_planes = [each for each in before if each.case == "half-planes"]
    new = [replace(each, case="thresholds", late=7) for each in half_planes]
    assert timing.in_order(new, before) == [*half_planes, *new]
    assert timing.in_order(half_planes, [*new, *half_planes]) == [*half_planes, *new]
    assert timing.earlier(tmp_path / "none.json") == []


def test_the_auc_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    score, is_one = rng.integers(0, 20, 500).astype(float), rng.integers(0, 2, 500) == 1
    assert timing.auc(score, is_one) == pytest.approx(roc_auc_score(is_one, score))


def test_its_error_is_that_of_coins() -> None:
    """Of 400 useless scores: the spread is known to a relative error of 1/√800, and six of these are allowed."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(400):
        is_one = rng.permutation(200) < 90
        found.append(timing.auc(rng.random(200), is_one))
    assert np.std(found) == pytest.approx(timing.null_error(90, 110), rel=6 / np.sqrt(800))


@pytest.mark.parametrize(("shift", "is_told_apart"), [(0.0, False), (100.0, True)])
def test_a_difference_is_found_where_there_is_one(shift: float, is_told_apart: bool) -> None:
    """A false alarm has a chance of 1 in 1,000; the seed is fixed."""
    found = timing.judged("made up", made_up(shift), None, 1, 1.0, 0)
    assert found.is_told_apart == is_told_apart
    assert found.replies == 4_000
    assert 0.5 < found.smallest_found < 0.58
    assert len(found.row()) == len(timing.HEADER)


def test_hard_points_that_were_answered_are_left_out() -> None:
    times = made_up(0.0, 10)
    mixed = Times(times.sent, times.came, times.connection, times.is_hard, times.is_hard & (np.arange(10) < 5))
    assert mixed.compared.tolist() == [
        not hard or unstable for hard, unstable in zip(mixed.is_hard, mixed.is_unstable, strict=True)
    ]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_requests_differ_in_their_numbers_alone(case: timing.Case) -> None:
    made, is_hard = timing.requests(case, 200)
    assert len({len(each) for each in made}) == 1
    assert len(set(made)) == 200
    assert 60 < is_hard.sum() < 140
