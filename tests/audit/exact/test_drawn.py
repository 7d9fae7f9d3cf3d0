"""A tree, and then a noisy sum of several coordinates: the exact law against ones worked out by hand.

And that the case of a linear classifier beside a tree leaves no room: whatever weakens it a little is refuted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from pcqr.release.account.concentration import _of_stacked

from pcqr.accounting import BoundedRangeEvent
from pcqr.algorithms.linear import linear_guarantee
from pcqr.audit.exact import Unverifiable, epsilon_at, hockey_stick, verify
from pcqr.audit.exact.cases.classifiers import Stacked, one_more, stacked_case, stacked_plan
from pcqr.audit.exact.cases.tables import Table
from pcqr.audit.exact.drawn import DrawnCase, DrawnGame, DrawnLaw
from pcqr.audit.exact.integers import NoiseLaw
from pcqr.entropy import Entropy, SeededEntropy
from pcqr.guarantee import Guarantee
from pcqr.noise import discrete_gaussians, discrete_laplace, weighted_choice
from pcqr.plan import StackedStage

PLAN = stacked_plan(records=4, multiplier=2.0, tree=0.5)
FOUR, DELTA = one_more(4), 0.001
AGREED, APART = FOUR[0]
ORDERS = (1.5, 2.0, 4.0, 16.0)


def case_of(run: Callable[[Any, Entropy], str], claimed: Guarantee = Guarantee(1.0, 1e-6)) -> DrawnCase:  # noqa: B008
    found = DrawnCase.once("x", claimed, [(AGREED, APART)], run)
    assert isinstance(found, DrawnCase)
    return found


def game_of(run: Callable[[Any, Entropy], str]) -> DrawnGame:
    case = case_of(run)
    return case.game(case.law(AGREED), case.law(APART))


def small(table: Table, entropy: Entropy) -> str:
    """One of two ways, the likelier the more records have label 0; its sum has one coordinate, or two."""
    ones = int(table.labels.sum())
    way = weighted_choice(np.array([0.0, -0.7 * (1 + ones)]), entropy)
    total = np.array([2 + 3 * ones, -ones][: way + 1])
    noisy = total + discrete_gaussians(1.5, total.size, entropy)
    return f"{way}, {noisy.tolist()}"


def all_outcomes(table: Table) -> dict[tuple[int, ...], float]:
    """The law of `small`, by walking through all values."""
    ones = int(table.labels.sum())
    noise = NoiseLaw("discrete_gaussian", 1.5).measure
    values, weights = noise.support.tolist()[10:-10], noise.weights.tolist()[10:-10]
    odds = math.exp(-0.7 * (1 + ones))
    law = {(0, 2 + 3 * ones + z): p / (1 + odds) for z, p in zip(values, weights, strict=True)}
    pairs = product(zip(values, weights, strict=True), repeat=2)
    return law | {(1, 2 + 3 * ones + z, -ones + w): p * q * odds / (1 + odds) for (z, p), (w, q) in pairs}


def test_the_figures_are_those_of_all_values_one_by_one() -> None:
    game, (p, q) = game_of(small), map(all_outcomes, (AGREED, APART))
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        by_hand = max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
        assert game.delta_at(epsilon) == pytest.approx(by_hand, rel=1e-9)
    assert game.epsilon_at(1e-3) == pytest.approx(epsilon_at(p, q, 1e-3), abs=1e-9)
    assert game.epsilon_at(0.0) == math.inf, "noise has no largest value"
    for order in (1.5, 3.0):
        both = ((p, q), (q, p))
        sums = [math.fsum(a[key] ** order * b[key] ** (1 - order) for key in a if key in b) for a, b in both]
        assert game.divergence(order) == pytest.approx(math.log(max(sums)) / (order - 1), rel=1e-6)
    assert 0.0 < game.truncated < 1e-80


def test_the_law_of_a_tree_and_of_its_sum() -> None:
    """At 1 a tree says 0 or 1, which is right of three records or of one; a sum is Σ ±v, and v = (…, ±443, 256)."""
    law: DrawnLaw = stacked_case(PLAN, FOUR, DELTA).law(APART)
    assert math.fsum(law.masses.values()) == pytest.approx(1.0, abs=1e-12)
    assert len(law.masses) == 4, "constant trees are told apart, though the linear classifier does without them"
    odds = math.exp(-2 * PLAN.tree)
    for (shown, _), mass in law.masses.items():
        says_one = "holds=Leaf(label=1)" in str(shown) or "root=Leaf(label=1)" in str(shown)
        assert mass == pytest.approx((odds if says_one else 1.0) / (2 + 2 * odds), rel=1e-9)
    totals = {noisy.total for noisy in law.sums.values()}
    assert totals == {(0, 0, 0, -2 * 443, -2 * 256), (0, 0, 0, 2 * 443, -2 * 256), (0, 0, 0, -2 * 512)}
    assert {noisy.law for noisy in law.sums.values()} == {NoiseLaw("discrete_gaussian", PLAN.linear.scale)}


def test_a_head_beside_a_tree_uses_up_what_it_claims() -> None:
    case = stacked_case(PLAN, FOUR, DELTA)
    assert "in closed form" in " ".join(case.claimed.steps)
    found = verify(case)
    assert found.passed
    assert found.epsilon > 0.999 * case.claimed.epsilon
    assert found.delta > 0.99 * DELTA
    assert "came to θ with" in str(found.witness)


@pytest.mark.parametrize(
    "weaker",
    [
        replace(PLAN, tree=2 * PLAN.tree),
        replace(PLAN, tree=1.01 * PLAN.tree),
        replace(PLAN, linear=replace(PLAN.linear, scale=0.99 * PLAN.linear.scale)),
    ],
    ids=["a tree at twice η", "a tree at 1 % more", "noise of 1 % less"],
)
def test_a_little_less_is_refuted(weaker: StackedStage) -> None:
    case = stacked_case(PLAN, FOUR, DELTA)
    assert not verify(DrawnCase.once("weaker", case.claimed, FOUR, Stacked(weaker))).passed


@pytest.mark.parametrize("length", [None, 0.5, 0.99], ids=["no tree", "half its range", "99 % of its range"])
def test_a_claim_without_all_of_the_tree_is_refuted(length: float | None) -> None:
    """No table that was searched needs more than the claim, and one needs all of it."""
    beside = () if length is None else (BoundedRangeEvent(length * PLAN.draw.epsilon),)
    claimed = linear_guarantee(PLAN.linear, DELTA, beside=beside)
    assert not verify(DrawnCase.once("less", claimed, FOUR, Stacked(PLAN))).passed


def test_what_an_account_is_charged_is_kept_at_every_order() -> None:
    """One record alone, whose label is replaced: the two losses of a tree are η and −η."""
    plan = stacked_plan(records=1, multiplier=2.0, tree=0.25)
    charged = _of_stacked(plan)
    assert charged == pytest.approx(plan.draw.epsilon**2 / 8 + 1 / (2 * 2.0**2), rel=1e-9)
    case = stacked_case(plan, one_more(1), DELTA)
    found = [case.game(*map(case.law, one_more(1)[0])).divergence(order) for order in ORDERS]
    assert all(exact <= order * charged for exact, order in zip(found, ORDERS, strict=True))
    assert found[0] > 0.99 * ORDERS[0] * charged


def one_choice(entropy: Entropy) -> int:
    return weighted_choice(np.zeros(2), entropy)


def noisy(table: Table, entropy: Entropy, times: int = 1) -> int:
    total = np.array([1, times]) * int(table.labels.sum())
    return int((total + discrete_gaussians(2.0, total.size, entropy)).sum())


def test_what_is_shown_beside_the_sum_gives_itself_away() -> None:
    told = [
        lambda table, entropy: f"{one_choice(entropy)}, {noisy(table, entropy)}, {table.labels.sum()}",
        lambda table, entropy: f"{one_choice(entropy)}, {noisy(table, entropy) * int(table.labels.sum() + 1)}",
    ]
    for run in told:
        found = verify(case_of(run))
        assert found.epsilon == math.inf
        assert not found.passed
        assert game_of(run).divergence(2.0) == math.inf


def test_a_length_or_a_scale_that_depends_on_records_is_infinite() -> None:
    def longer(table: Table, entropy: Entropy) -> str:
        total = np.zeros(1 + int(table.labels.sum()), dtype=np.int64)
        return "" * int((total + discrete_gaussians(2.0, total.size, entropy))[0])

    def wider(table: Table, entropy: Entropy) -> str:
        return "" * int((np.zeros(1, dtype=np.int64) + discrete_gaussians(2.0 + table.labels.sum(), 1, entropy))[0])

    for run in (longer, wider):
        found = verify(case_of(run))
        assert found.epsilon == math.inf
        assert not found.passed


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (lambda table, entropy: str([noisy(table, entropy) for _ in range(2)]), "More than one sum"),
        (lambda table, entropy: str((noisy(table, entropy), one_choice(entropy))), "after a sum"),
        (lambda _, entropy: str(one_choice(entropy)), "No sum"),
        (lambda table, entropy: str(noisy(table, entropy, 1 + (discrete_laplace(1.0, entropy) > 0))), "look alike"),
    ],
)
def test_what_is_not_followed_is_refused(run: Callable[[Any, Entropy], str], why: str) -> None:
    with pytest.raises(Unverifiable, match=why):
        case_of(run).law(APART)


def test_the_mechanism_runs_on_real_noise_as_well() -> None:
    shown = {Stacked(PLAN)(APART, SeededEntropy(seed)).split(" and ")[0] for seed in range(30)}
    assert len(shown) == 4
