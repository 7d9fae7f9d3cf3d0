"""The planner's picture: what it says is certified, what it marks is the user's, and what it refuses."""

from __future__ import annotations

import builtins
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pcqr.advice.question import Question
from pcqr.advice.solving import solve
from pcqr.errors import MissingExtra, ParameterError
from pcqr.hypotheses import Thresholds
from pcqr.planner import paper
from pcqr.planner.certificate import VcClass
from pcqr.planner.certified import fewest_records
from pcqr.plotting import pictures as plan_picture
from pcqr.plotting.pictures import draw_plan

ASKED = Question(hypotheses=Thresholds(), epsilon=1.0, queries=500, alpha=0.15)


@pytest.fixture(autouse=True)
def few_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_picture, "POINTS", 3)
    monkeypatch.setattr(plan_picture, "EPSILON_FACTORS", (1.0, 3.0))


def words(path: Path) -> str:
    """Matplotlib writes the text that it draws as outlines into comments."""
    return path.read_text(encoding="utf-8")


def test_it_marks_what_was_solved_for(tmp_path: Path) -> None:
    solved = solve(ASKED)
    assert solved is not None
    draw_plan(tmp_path / "plan.svg", ASKED, solved)
    drawn = words(tmp_path / "plan.svg")
    plan = solved.votes.plan
    assert f"k = {plan.teachers:,}, T = {plan.sparse_vector.unstable:,}" in drawn
    for line in ("the paper's formula", "for 3γ + α", "proved here, for γ + α", "order of magnitude", "Rényi"):
        assert line in drawn
    assert "not proved" not in drawn
    assert "assumed" not in drawn


def test_too_few_records_are_marked_as_such(tmp_path: Path) -> None:
    question = replace(ASKED, records=32_561)
    draw_plan(tmp_path / "plan.svg", question, solve(question))
    drawn = words(tmp_path / "plan.svg")
    assert "n = 32,561" in drawn
    assert "not proved" in drawn
    assert "for n = 32,561" in drawn


def test_what_has_no_solution_is_drawn_at_its_default(tmp_path: Path) -> None:
    question = Question(hypotheses=VcClass(3), epsilon=1.0, queries=500, records=1_000)
    assert solve(question) is None
    draw_plan(tmp_path / "plan.svg", question, None)
    assert "α = 0.1 (assumed)" in words(tmp_path / "plan.svg")


def test_an_impossible_alpha_still_has_a_picture(tmp_path: Path) -> None:
    """20 labels vary by more than .05 by themselves, so no n has a proof."""
    question = Question(hypotheses=Thresholds(), epsilon=1.0, queries=20, alpha=0.05)
    draw_plan(tmp_path / "plan.png", question, solve(question))
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["plan", "plan.doc", "plan.svg.txt"])
def test_other_suffixes_are_refused_before_any_work(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_picture, "fewest_records", lambda *_: pytest.fail("worked"))
    with pytest.raises(ParameterError, match=r"\.svg"):
        draw_plan(tmp_path / name, ASKED, None)
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *args: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtra, match="plot"):
        draw_plan(tmp_path / "plan.svg", ASKED, None)


def test_a_drawn_alpha_is_certified_and_nearly_the_least() -> None:
    request = ASKED.demand()
    records = 3_000_000
    found = plan_picture._least_alpha(request, records, request.alpha, None)
    assert found is not None
    alpha, knobs = found
    here = fewest_records(request.but(alpha=alpha), knobs)
    assert here is not None
    assert 0.8 * records <= here.plan.records <= records
    assert here.certificate.excess <= alpha


def test_sub_samp_needs_what_its_plan_asks_for() -> None:
    assert paper.sub_samp_records_needed(1, 1001, 0.1, 0.05) == 1001 * 10875
    assert paper.sub_samp_records_needed(2, 1001, 0.1, 0.05) > paper.sub_samp_records_needed(1, 1001, 0.1, 0.05)


@pytest.mark.parametrize(("number", "shown"), [(32_561, "32,561"), (1_249_870, "1.3·10⁶"), (10**7, "10⁷")])
def test_large_numbers_are_short_and_never_rounded_down(number: int, shown: str) -> None:
    assert plan_picture._short(number) == shown
