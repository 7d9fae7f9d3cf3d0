"""Choices and noisy sums, one after the other: the exact law against ones worked out by hand.

And that the cases of published classifiers leave little room: whatever weakens one is refuted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from pcqr.audit.exact import Unverifiable, epsilon_at, hockey_stick, verify
from pcqr.audit.exact.cases.classifiers import (
    OPTIONS,
    Published,
    agreeing,
    context_of,
    counted,
    followed,
    leaf_count_case,
    one_more,
    piloted,
    piloted_case,
    stacked,
    stacked_case,
)
from pcqr.audit.exact.cases.tables import Pairs, Table, replacing_the_last
from pcqr.audit.exact.drawn import DrawnCase, DrawnGame, Path
from pcqr.audit.exact.events import NoiseLaw
from pcqr.privacy.accounting import BoundedRangeEvent, Composed
from pcqr.privacy.composition import account_for, parts_of
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.noise import discrete_gaussians, discrete_laplace, weighted_choice
from pcqr.releases.classifier.plan import LinearStage
from pcqr.releases.protocol.stages import DrawStage

BESIDE_TREE = stacked(records=4, multiplier=2.0, tree=0.5)
FOUR, DELTA = one_more(4), 0.001
AGREED, APART = FOUR[0]
ORDERS = (1.5, 2.0, 4.0, 16.0)


def case_of(
    run: Callable[[Any, Entropy], str], walked: int = 0, farthest: int = 5, claimed: Guarantee | None = None
) -> DrawnCase:
    found = DrawnCase.once("x", claimed or Guarantee(1.0, 1e-6), [(AGREED, APART)], run)
    return replace(found, walked=walked, farthest=farthest)


def game_of(case: DrawnCase) -> DrawnGame:
    return case.game(case.law(AGREED), case.law(APART))


def small(table: Table, entropy: Entropy) -> str:
    """One of two paths, the likelier the more records have label 0; its sum has one coordinate, or two."""
    ones = int(table.labels.sum())
    path = weighted_choice(np.array([0.0, -0.7 * (1 + ones)]), entropy)
    total = np.array([2 + 3 * ones, -ones][: path + 1])
    noisy = total + discrete_gaussians(1.5, total.size, entropy)
    return f"{path}, {noisy.tolist()}"


def noise_of(scale: float) -> list[tuple[int, float]]:
    """The values of discrete Gaussian noise and their chances, but for those of a chance below 10⁻⁶⁰."""
    law = NoiseLaw("discrete_gaussian", scale).measure
    pairs = zip(law.support.tolist(), law.weights.tolist(), strict=True)
    return [(value, chance) for value, chance in pairs if chance > 1e-60]


def outcomes_of_small(table: Table) -> dict[tuple[int, ...], float]:
    """The law of `small`, by walking through all values."""
    ones, noise = int(table.labels.sum()), noise_of(1.5)
    odds = math.exp(-0.7 * (1 + ones))
    law = {(0, 2 + 3 * ones + z): p / (1 + odds) for z, p in noise}
    pairs = product(noise, repeat=2)
    return law | {(1, 2 + 3 * ones + z, -ones + w): p * q * odds / (1 + odds) for (z, p), (w, q) in pairs}


def in_turn(table: Table, entropy: Entropy) -> str:
    """Two sums, a noisy comparison of what they came to and the records, and a sum that depends on what it says."""
    ones = int(table.labels.sum())
    first, second = (int((np.array([0, total]) + discrete_gaussians(0.3, 2, entropy))[-1]) for total in (ones, -ones))
    ahead = discrete_laplace(1.0, entropy) + ones > first + second
    total = np.array([2 * ones]) if ahead else np.array([ones, -ones])
    noisy = total + discrete_gaussians(0.8, total.size, entropy)
    return f"{ahead}, {noisy.tolist()}"


def outcomes_in_turn(table: Table) -> dict[tuple[int, ...], float]:
    """The law of `in_turn`, by walking through all values: P(L ≥ t) = e^{−t}/(1 + e^{−1}) of Laplace noise, t > 0."""
    ones = int(table.labels.sum())
    law: dict[tuple[int, ...], float] = {}
    noise, last = ([(z, p) for z, p in noise_of(scale) if p > 1e-32] for scale in (0.3, 0.8))
    for (z, p), (w, q) in product(noise, repeat=2):
        first, second = ones + z, -ones + w
        t = first + second - ones + 1
        ahead = math.exp(-t) / (1 + math.exp(-1)) if t > 0 else 1 - math.exp(t - 1) / (1 + math.exp(-1))
        for v, r in last:
            law[first, second, 2 * ones + v] = p * q * ahead * r
        for (v, r), (u, s) in product(last, repeat=2):
            law[first, second, ones + v, -ones + u] = p * q * (1 - ahead) * r * s
    return law


@pytest.mark.parametrize(("run", "outcomes", "walked"), [(small, outcomes_of_small, 0), (in_turn, outcomes_in_turn, 2)])
def test_the_figures_are_those_of_all_values_one_by_one(
    run: Callable[[Any, Entropy], str], outcomes: Callable[[Table], dict[tuple[int, ...], float]], walked: int
) -> None:
    game, (p, q) = game_of(case_of(run, walked)), map(outcomes, (AGREED, APART))
    assert math.fsum(p.values()) == pytest.approx(1.0, abs=1e-12)
    for epsilon in (0.0, 0.3, 1.0, 2.5):
        by_hand = max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
        assert game.delta_at(epsilon) == pytest.approx(by_hand, rel=1e-9)
    assert game.epsilon_at(1e-3) == pytest.approx(epsilon_at(p, q, 1e-3), abs=1e-9)
    assert game.epsilon_at(0.0) == math.inf, "noise has no largest value"
    for order in (1.5, 2.0):
        both = ((p, q), (q, p))
        sums = [math.fsum(a[key] ** order * b[key] ** (1 - order) for key in a if key in b) for a, b in both]
        assert game.divergence(order) == pytest.approx(math.log(max(sums)) / (order - 1), rel=1e-6)
    assert 0.0 < game.truncated < 1e-50


def test_what_is_left_out_of_a_sum_that_is_walked_through_is_counted() -> None:
    exactly, cut = (game_of(case_of(in_turn, 2, farthest)) for farthest in (5, 1))
    beyond = sum(chance for value, chance in noise_of(0.3) if abs(value + 1) > 1)
    more = sum(chance for value, chance in noise_of(0.3) if abs(value - 1) > 1)
    assert cut.truncated == pytest.approx(beyond + more, rel=1e-9)
    for epsilon in (0.0, 1.0):
        missing = exactly.delta_at(epsilon) - cut.delta_at(epsilon)
        assert 0.0 < missing < cut.truncated


# --------------------------------------------------------------------------------------------------------------
# A linear classifier beside a tree


def test_the_law_of_a_tree_and_of_its_sum() -> None:
    """At 1 a tree says 0 or 1, which is right of three records or of one; a sum is Σ ±v, and v = (…, ±443, 256)."""
    law = stacked_case(BESIDE_TREE, FOUR, DELTA).law(APART)
    assert math.fsum(law.masses.values()) == pytest.approx(1.0, abs=1e-12)
    assert len(law.masses) == 4, "constant trees are told apart, though the linear classifier does without them"
    odds = math.exp(-2 * 0.5)
    for path, mass in law.masses.items():
        says_one = "holds=Leaf(label=1)" in str(path.shown) or "root=Leaf(label=1)" in str(path.shown)
        assert mass == pytest.approx((odds if says_one else 1.0) / (2 + 2 * odds), rel=1e-9)
    totals = {noisy.total for noisy in law.sums.values()}
    assert totals == {(0, 0, 0, -2 * 443, -2 * 256), (0, 0, 0, 2 * 443, -2 * 256), (0, 0, 0, -2 * 512)}
    assert {noisy.law for noisy in law.sums.values()} == {NoiseLaw("discrete_gaussian", 2048.0)}


def test_the_law_of_a_tree_of_three_labels_and_of_its_sum() -> None:
    """A replaced label moves two of three blocks, and the sum by √3·M: residuals are cut to norm 1, 120° apart."""
    case = stacked_case(stacked(4, 2.0, 0.5, classes=3, beside=False), one_more(4, labels=3), DELTA)
    laws = [case.law(table) for table in case.neighbours[0]]
    for law, wrong in zip(laws, ((0, 4, 4), (1, 3, 4)), strict=True):
        assert math.fsum(law.masses.values()) == pytest.approx(1.0, abs=1e-12)
        assert len(law.masses) == 9
        likely = [
            math.exp(-0.5 * error_counts) / math.fsum(math.exp(-0.5 * each) for each in wrong) for error_counts in wrong
        ]
        assert sorted(law.masses.values()) == pytest.approx(sorted(each / 3 for each in likely for _ in range(3)))
    for path, noisy in laws[0].sums.items():
        shift = np.subtract(noisy.total, laws[1].sums[path].total)
        assert math.hypot(*shift) == pytest.approx(math.sqrt(3) * 512, rel=0.002)
        assert not shift[2], "the block of the third label"


@pytest.mark.parametrize(("labels", "beside", "share"), [(2, True, 0.999), (3, False, 0.87), (3, True, 0.5)], ids=str)
def test_a_linear_classifier_beside_a_tree_uses_up_what_it_claims(labels: int, beside: bool, share: float) -> None:
    """With three labels a record moves a sum by √3·M at θ = 0, and by less where short vectors are rounded."""
    case = stacked_case(stacked(4, 2.0, 0.5, classes=labels, beside=beside), one_more(4, labels=labels), DELTA)
    assert "in closed form" in " ".join(case.claimed.steps)
    found = verify(case)
    assert found.passed
    assert found.epsilon > share * case.claimed.epsilon
    if labels == 2:
        assert found.delta > 0.99 * DELTA
    assert "came to θ with" in str(found.witness)


def passes(broken: Published, claimed: Guarantee, neighbours: Pairs) -> bool:
    return verify(followed(DrawnCase.once("broken", claimed, neighbours, broken), broken)).passed


@pytest.mark.parametrize(
    "weaker",
    [stacked(4, 2.0, 1.0), stacked(4, 2.0, 0.505), stacked(4, 1.98, 0.5)],
    ids=["a tree at twice η", "a tree at 1 % more", "noise of 1 % less"],
)
def test_a_little_less_is_refuted(weaker: Published) -> None:
    assert not passes(weaker, BESIDE_TREE.claimed(DELTA), FOUR)


@pytest.mark.parametrize(
    "weaker",
    [stacked(4, 2.0, 0.75, classes=3, beside=False), stacked(4, 1.6, 0.5, classes=3, beside=False)],
    ids=["a tree at η and a half", "noise of a fifth less"],
)
def test_less_is_refuted_with_three_classes(weaker: Published) -> None:
    assert not passes(weaker, stacked(4, 2.0, 0.5, classes=3, beside=False).claimed(DELTA), one_more(4, labels=3))


@pytest.mark.parametrize("length", [None, 0.5, 0.99], ids=["no tree", "half its range", "99 % of its range"])
def test_a_claim_without_all_of_the_tree_is_refuted(length: float | None) -> None:
    """No table that was searched needs more than the claim, and one needs all of it."""
    (draw,), (linear,) = parts_of(BESIDE_TREE.stage, DrawStage), parts_of(BESIDE_TREE.stage, LinearStage)
    event = draw.event(context_of(BESIDE_TREE.stage))
    assert isinstance(event, BoundedRangeEvent)
    beside = () if length is None else (BoundedRangeEvent(length * event.epsilon),)
    claimed = account_for(Composed((linear.sums, *beside)), DELTA)
    assert not passes(BESIDE_TREE, claimed, FOUR)


def test_what_an_account_is_charged_is_kept_at_every_order() -> None:
    """One record alone, whose label is replaced: the two losses of a tree are η and −η."""
    case = stacked_case(stacked(1, 2.0, 0.25), one_more(1), DELTA)
    charged = rho_of(case)
    assert charged == pytest.approx((2 * 0.25) ** 2 / 8 + 1 / (2 * 2.0**2), rel=1e-6)
    found = [game_with(case, case.neighbours[0]).divergence(order) for order in ORDERS]
    assert all(exact <= order * charged for exact, order in zip(found, ORDERS, strict=True))
    assert found[0] > 0.99 * ORDERS[0] * charged


def rho_of(case: DrawnCase) -> float:
    assert case.claimed.rho is not None
    return case.claimed.rho


def game_with(case: DrawnCase, pair: tuple[Table, Table]) -> DrawnGame:
    return case.game(*map(case.law, pair))


# --------------------------------------------------------------------------------------------------------------
# Pilots

TWO = agreeing(2)
AT_ONE_PLACE = [Table(((1.0, 0), (1.0, 1))), Table(((1.0, 1), (1.0, 1))), Table(((0.0, 0), (1.0, 0)))]


def option_of(path: Path) -> int:
    """Which of the two maps is in what was shown."""
    (is_first,) = {repr(OPTIONS["some ferns"]) in str(shown) for shown in path.shown}
    assert is_first != (repr(OPTIONS["mostly ferns"]) in str(path.shown))
    return int(not is_first)


@pytest.mark.parametrize("step_size", [1.0, 0.0], ids=["steps", "empirical Bayes"])
@pytest.mark.parametrize("table", AT_ONE_PLACE, ids=str)
def test_the_law_of_pilots_is_that_of_plain_sums_over_all_noise(table: Table, step_size: float) -> None:
    """A pilot gives all records one label, by the sign of its sum: 1 if it is above 0. The last sum is taken at 0."""
    published = piloted(2, (0.25, 1.0, 1.0, 0.5), lead=1, step_size=step_size)
    law = piloted_case(published, [(table, table)], 0.01).law(table)
    ones = int(table.labels.sum())
    total, wrong = 2 * ones - 2, (ones, 2 - ones)
    chances, leads = dict(noise_of(0.5)), NoiseLaw("discrete_gaussian", 2.0).measure
    assert math.fsum(law.masses.values()) == pytest.approx(1.0, abs=1e-5)
    assert len(law.masses) == 2 * (2 * published.farthest + 1) ** 2
    for path, mass in law.masses.items():
        first, second = path.values
        before = chances.get(first - total, 0.0) * chances.get(second - total, 0.0)
        ahead = float(leads.at_least(np.array([1 - wrong[first > 0] + wrong[second > 0]]))[0])
        expected = before * (ahead if option_of(path) else 1.0 - ahead)
        assert mass == pytest.approx(expected, rel=1e-9, abs=1e-70)
        assert law.sums[path].total == ((0, total) if option_of(path) else (total,))
        assert law.sums[path].law.scale == (1.0 if option_of(path) else 2.0)


def test_a_tree_before_pilots_is_one_more_choice() -> None:
    """Its law by itself; the sums that follow are as likely as without it."""
    with_tree, without = (piloted(1, (0.25, 1.0, 1.0, 0.5), tree=tree) for tree in (0.5, None))
    table = Table(((1.0, 1),))
    law, non_reentrant = (piloted_case(each, [(table, table)], 0.01).law(table) for each in (with_tree, without))
    assert len(law.masses) == 4 * len(non_reentrant.masses)
    by_itself = {(path.values, option_of(path)): mass for path, mass in non_reentrant.masses.items()}
    for path, mass in law.masses.items():
        says_one = "holds=Leaf(label=1)" in str(path.shown) or "root=Leaf(label=1)" in str(path.shown)
        tree = 0.5 / (1.0 + math.exp(-0.5 if says_one else 0.5))
        assert mass == pytest.approx(tree * by_itself[path.values, option_of(path)], rel=1e-9)


def test_pilots_use_up_most_of_what_they_claim() -> None:
    found = verify(piloted_case(piloted(2, (0.375, 1.0, 1.0, 1.0)), TWO, 0.01))
    assert found.passed
    assert 0.83 * found.claimed.epsilon < found.epsilon
    assert found.truncated < 1e-7


def test_what_an_account_is_charged_for_pilots_is_kept() -> None:
    """The divergence of all that is shown, the values left out being worth little at these orders."""
    case = piloted_case(piloted(2, (0.375, 1.0, 1.0, 1.0)), TWO, 0.01)
    charged = rho_of(case)
    assert charged == pytest.approx(2 / (2 * 0.375**2) + 1 / 2 + 1 / 2, rel=1e-9)
    game = game_with(case, TWO[0])
    for order in (1.1, 1.5, 2.0):
        assert 0.9 * order * charged < game.divergence(order) <= order * charged


@pytest.mark.parametrize("step_size", [1.0, 0.0], ids=["steps", "empirical Bayes"])
@pytest.mark.parametrize(
    "multipliers",
    [(0.125, 1.0, 1.0, 1.0), (0.25, 0.125, 1.0, 1.0), (0.25, 1.0, 0.125, 1.0), (0.25, 1.0, 1.0, 0.125)],
    ids=["pilots", "comparison", "first option", "second option"],
)
def test_all_noise_of_pilots_and_of_what_follows_is_needed(
    multipliers: tuple[float, float, float, float], step_size: float
) -> None:
    claimed = piloted(1, (0.25, 1.0, 1.0, 1.0), step_size=step_size).claimed(0.01)
    assert not passes(piloted(1, multipliers, step_size=step_size), claimed, agreeing(1))


def test_the_draw_of_a_tree_before_pilots_is_needed() -> None:
    claimed = piloted(1, (0.2, 1.0, 1.0, 1.0), tree=0.5).claimed(0.01)
    assert not passes(piloted(1, (0.2, 1.0, 1.0, 1.0), tree=12.0), claimed, agreeing(1))


@pytest.mark.parametrize("lead", [-1, 2])
def test_pilots_keep_their_claim_at_any_lead(lead: int) -> None:
    pairs = replacing_the_last(((1.0, 0),), ((0.0, 0), (1.0, 1)))
    assert verify(piloted_case(piloted(2, (0.25, 0.5, 1.0, 0.5), lead=lead), pairs, 0.01)).passed


# --------------------------------------------------------------------------------------------------------------
# What is not followed


def one_choice(entropy: Entropy) -> int:
    return weighted_choice(np.zeros(2), entropy)


def noisy(table: Table, entropy: Entropy, times: int = 1, first: int = 1) -> int:
    total = np.array([first, times]) * int(table.labels.sum())
    return int((total + discrete_gaussians(2.0, total.size, entropy)).sum())


def last_of_two(table: Table, entropy: Entropy) -> int:
    noisy(table, entropy, first=0)
    return noisy(table, entropy)


@pytest.mark.parametrize("walked", [0, 1])
def test_what_is_shown_beside_the_sum_gives_itself_away(walked: int) -> None:
    def last(table: Table, entropy: Entropy) -> int:
        return last_of_two(table, entropy) if walked else noisy(table, entropy)

    witness_words = [
        lambda table, entropy: f"{one_choice(entropy)}, {last(table, entropy)}, {table.labels.sum()}",
        lambda table, entropy: f"{one_choice(entropy)}, {last(table, entropy) * int(table.labels.sum() + 1)}",
    ]
    for run in witness_words:
        case = case_of(run, walked, farthest=3)
        found = verify(case)
        assert found.epsilon == math.inf
        assert not found.passed
        assert game_of(case).divergence(2.0) == math.inf


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
    ("run", "walked", "why"),
    [
        (lambda table, entropy: str([noisy(table, entropy) for _ in range(2)]), 0, "More than one sum"),
        (lambda table, entropy: str((last_of_two(table, entropy), noisy(table, entropy))), 1, "More than one sum"),
        (lambda table, entropy: str((noisy(table, entropy), one_choice(entropy))), 0, "after the last sum"),
        (lambda table, entropy: str((last_of_two(table, entropy), one_choice(entropy))), 1, "after the last sum"),
        (lambda _, entropy: str(one_choice(entropy)), 0, "No last sum"),
        (lambda table, entropy: str(noisy(table, entropy, first=0)), 1, "No last sum"),
        (lambda table, entropy: str([noisy(table, entropy) for _ in range(2)]), 1, "more than one coordinate"),
        (lambda table, entropy: str(noisy(table, entropy, 1 + (discrete_laplace(1.0, entropy) > 0))), 0, "look alike"),
    ],
)
def test_what_is_not_followed_is_refused(run: Callable[[Any, Entropy], str], walked: int, why: str) -> None:
    with pytest.raises(Unverifiable, match=why):
        case_of(run, walked, farthest=3).law(APART)


def test_counts_at_leaves_attain_their_claim() -> None:
    """Beside a draw that does not look at the records, so that it costs nothing."""
    found = verify(leaf_count_case(counted(0.0, 4.0), 2, one_more(2)))
    assert found.passed
    assert found.epsilon == pytest.approx(0.5, rel=1e-9)
    less = replace(counted(0.0, 4.0), stage=counted(0.0, 3.99).stage)
    assert not verify(DrawnCase.once("x", found.claimed, one_more(2), less)).passed


def test_a_tree_and_its_counts_are_both_paid_for() -> None:
    claimed, draw_alone = counted(0.3, 4.0).claimed(2), counted(0.3, 1e6).claimed(2)
    found = verify(leaf_count_case(counted(0.3, 4.0), 2, one_more(2)))
    assert found.epsilon <= claimed.epsilon
    assert found.epsilon > max(draw_alone.epsilon, 0.5), "more than either of them"
