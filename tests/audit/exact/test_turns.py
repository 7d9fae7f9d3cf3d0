"""A question or a pilot, then a tree or a noisy sum: exact laws against ones worked out by hand.

And what is not followed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, cast

import numpy as np
import pytest

from pcqr.audit.exact import Case, Conversations, Unverifiable, verify
from pcqr.audit.exact.cases.classifiers import (
    IN_QUESTION,
    Contest,
    Question,
    asked_case,
    asked_plan,
    contest_case,
    contest_plan,
)
from pcqr.audit.exact.cases.tables import Table
from pcqr.audit.exact.integers import NoiseLaw
from pcqr.audit.exact.turns import PilotCase, TurningCase
from pcqr.entropy import Entropy, SeededEntropy
from pcqr.guarantee import Guarantee
from pcqr.noise import discrete_gaussians, discrete_laplace
from pcqr.plan import ContestStage

PLAN = asked_plan(records=2, question=0.5, multiplier=2.0, tree=0.5)
CONTEST = contest_plan(records=2, multiplier=1.0, tree=0.5)
AGREED, MINGLED, APART = IN_QUESTION[0][0], IN_QUESTION[0][1], IN_QUESTION[1][1]


def outcomes(law: Conversations) -> Iterator[tuple[str, int | None, float]]:
    """What was shown, what the sum came to, and how likely that is."""
    for ((_, outcome),), mass in law.masses.items():
        shown, value = cast("tuple[str, int | None]", outcome)
        yield shown, value, mass


@pytest.mark.parametrize("table", [AGREED, MINGLED, APART])
def test_the_law_is_that_of_a_plain_sum_over_all_noise(table: Table) -> None:
    """No tree tells two records apart that lie at one place; the sum is M·(ones − zeros), and noise."""
    law = asked_case(PLAN, IN_QUESTION, 0.01).law(table)
    assert math.fsum(law.masses.values()) == pytest.approx(1.0, abs=1e-12)
    ratio, best, ones = math.exp(-0.5), int(table == MINGLED), int(table.labels.sum())
    to_tree = 1 / (1 + ratio) if best == 0 else ratio / (1 + ratio)  # P(Z ≤ 0), P(Z ≤ −1)
    trees = math.fsum(mass for shown, _, mass in outcomes(law) if not shown.startswith("a linear classifier"))
    assert trees == pytest.approx(to_tree, rel=1e-9)
    noise = NoiseLaw("discrete_gaussian", PLAN.linear.scale).measure
    sums = {value: mass for _, value, mass in outcomes(law) if value is not None}
    for value in (-8, 0, 3):
        chance = noise.weights[noise.support.tolist().index(value - PLAN.linear.bound * (2 * ones - 2))]
        assert sums[value] == pytest.approx((1 - to_tree) * chance, rel=1e-9)


def test_the_noise_of_the_question_the_tree_and_the_sum_is_needed() -> None:
    case = asked_case(PLAN, IN_QUESTION, 0.01)
    assert verify(case).passed
    for hotter in (
        replace(PLAN, question=3.0),
        replace(PLAN, tree=1.5),
        replace(PLAN, linear=replace(PLAN.linear, scale=PLAN.linear.scale / 4)),
    ):
        assert not verify(TurningCase.once("hotter", case.claimed, IN_QUESTION, Question(hotter))).passed


def chance_of(scale: float, value: int) -> float:
    noise = NoiseLaw("discrete_gaussian", scale).measure
    return float(noise.weights[value - noise.low])


@pytest.mark.parametrize("table", [AGREED, MINGLED, APART])
def test_the_law_of_a_contest_is_that_of_plain_sums_over_all_noise(table: Table) -> None:
    """The pilot gives all records one label, by the sign of its sum; the linear classifier begins where the pilot ended.

    Its only step moves by 1 for a record that it has wrong, or not decided: by 0 for one that it has right.
    """
    law = contest_case(CONTEST, IN_QUESTION, 0.05).law(table)
    labels, best, bound = table.labels.tolist(), int(table == MINGLED), CONTEST.bound
    pilots = np.arange(-20, 21)
    leads = NoiseLaw("discrete_gaussian", CONTEST.scale).measure
    to_tree, to_linear = {}, {}
    for value in pilots.tolist():
        chance = chance_of(CONTEST.pilot.scale, value - bound * sum(2 * label - 1 for label in labels))
        wrong = labels.count(0) if value > 0 else labels.count(1)
        ahead = float(leads.at_least(np.array(bound * (CONTEST.tree_from - wrong + best))))
        to_tree[value], to_linear[value] = chance * ahead, chance * (1.0 - ahead)
    assert math.fsum(law.masses.values()) == pytest.approx(1.0, abs=1e-12)
    trees: dict[int, float] = dict.fromkeys(to_tree, 0.0)
    for ((_, outcome),), mass in law.masses.items():
        shown, pilot, last = cast("tuple[str, int, int | None]", outcome)
        assert shown.startswith("a linear classifier") == (last is not None)
        if last is None and pilot in trees:
            trees[pilot] += mass
    for value in pilots.tolist():
        assert trees[value] == pytest.approx(to_tree[value], rel=1e-9)
    sums = {cast("tuple[str, int, int]", outcome)[1:]: mass for ((_, outcome),), mass in law.masses.items()}
    for pilot in (-15, -1, 0, 1, 15):
        total = sum(bound * (2 * label - 1) for label in labels if pilot == 0 or (pilot > 0) != bool(label))
        for last in (-5, 0, 2):
            expected = to_linear[pilot] * chance_of(CONTEST.linear.scale, last - total)
            assert sums[pilot, last] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("hotter", "place"),
    [
        (replace(CONTEST, pilot=replace(CONTEST.pilot, scale=0.5)), 0),
        (replace(CONTEST, scale=0.25), 2),
        (replace(CONTEST, tree=6.0), 0),
        (replace(CONTEST, linear=replace(CONTEST.linear, scale=0.5)), 0),
    ],
    ids=["pilot", "lead", "tree", "linear"],
)
def test_all_noise_of_a_contest_and_its_tree_are_needed(hotter: ContestStage, place: int) -> None:
    claimed = contest_case(CONTEST, IN_QUESTION, 0.05).claimed
    assert not verify(PilotCase.once("hotter", claimed, IN_QUESTION[place : place + 1], Contest(hotter))).passed


@pytest.mark.parametrize("part", ["pilot", "lead", "tree", "linear"])
def test_all_noise_of_a_contest_of_posteriors_is_needed(part: str) -> None:
    """The linear classifier's sum is taken at 0 again, whatever the pilot's came to, and both move its weights."""
    plan = contest_plan(records=2, multiplier=1.0, tree=0.5, step_size=0.0)
    case = contest_case(plan, IN_QUESTION, 0.05)
    hotter, place = {
        "pilot": (replace(plan, pilot=replace(plan.pilot, scale=0.5)), 0),
        "lead": (replace(plan, scale=0.25), 2),
        "tree": (replace(plan, tree=6.0), 0),
        "linear": (replace(plan, linear=replace(plan.linear, scale=0.5)), 0),
    }[part]
    assert not verify(PilotCase.once("hotter", case.claimed, IN_QUESTION[place : place + 1], Contest(hotter))).passed
    if part == "linear":
        assert verify(case).passed


def case_of(run: Callable[[Any, Entropy], str]) -> Case:
    return TurningCase.once("x", Guarantee(1.0, 1e-6), [(AGREED, APART)], run)


def noisy(table: Table, entropy: Entropy, coordinates: tuple[int, ...] = (0, 1)) -> int:
    total = np.array(coordinates, dtype=np.int64) * int(table.labels.sum())
    return int((total + discrete_gaussians(2.0, total.size, entropy))[-1])


def test_what_is_shown_beside_the_sum_gives_itself_away() -> None:
    def told(table: Table, entropy: Entropy) -> str:
        return f"{discrete_laplace(1.0, entropy) > 0}, {noisy(table, entropy)}, {table.labels.sum()}"

    assert verify(case_of(told)).epsilon == math.inf


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (lambda table, entropy: str([noisy(table, entropy) for _ in range(2)]), "More than one sum"),
        (lambda table, entropy: str(noisy(table, entropy, (1, 1))), "more than one coordinate"),
        (lambda table, entropy: str((noisy(table, entropy), discrete_laplace(1.0, entropy) > 0)), "after a sum"),
    ],
)
def test_what_is_not_followed_is_refused(run: Callable[[Any, Entropy], str], why: str) -> None:
    with pytest.raises(Unverifiable, match=why):
        case_of(run).law(APART)


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (lambda table, entropy: str([noisy(table, entropy) for _ in range(3)]), "More than one sum"),
        (lambda table, entropy: str((discrete_laplace(1.0, entropy) > 0, noisy(table, entropy))), "before a sum"),
        (lambda _, entropy: str(discrete_laplace(1.0, entropy) > 0), "not drawn"),
    ],
)
def test_what_is_not_followed_of_a_pilot_is_refused(run: Callable[[Any, Entropy], str], why: str) -> None:
    with pytest.raises(Unverifiable, match=why):
        PilotCase.once("x", Guarantee(1.0, 1e-6), [(AGREED, APART)], run).law(APART)


@pytest.mark.parametrize("mechanism", [Question(PLAN), Contest(CONTEST)])
def test_a_mechanism_runs_on_real_noise_as_well(mechanism: Question | Contest) -> None:
    shown = {mechanism(APART, SeededEntropy(seed)).split(",")[0] for seed in range(20)}
    assert "a linear classifier" in shown
    assert len(shown) > 1
