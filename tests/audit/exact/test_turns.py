"""A descent that is doubted midway: its exact law against one worked out by hand, and what is not followed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, cast

import numpy as np
import pytest

from pcqr.audit.exact import Case, Conversations, Unverifiable, verify
from pcqr.audit.exact.cases.classifiers import DOUBTFUL, Doubt, doubted_case, doubted_plan
from pcqr.audit.exact.cases.tables import Table
from pcqr.audit.exact.integers import NoiseLaw
from pcqr.audit.exact.turns import TurningCase
from pcqr.entropy import Entropy, SeededEntropy
from pcqr.guarantee import Guarantee
from pcqr.noise import discrete_gaussian, discrete_gaussians

PLAN = doubted_plan(records=2, multiplier=0.5, tree=0.5)
AGREED, MINGLED, APART = DOUBTFUL[0][0], DOUBTFUL[0][1], DOUBTFUL[1][1]


def outcomes(law: Conversations) -> Iterator[tuple[int, str, int | None, float]]:
    """What the first sum came to, what was shown, what the second sum came to, and how likely that is."""
    for ((_, outcome),), mass in law.masses.items():
        first, shown, last = cast("tuple[int, str, int | None]", outcome)
        yield first, shown, last, mass


def chance_of_a_tree(law: Conversations) -> float:
    return math.fsum(mass for _, shown, _, mass in outcomes(law) if not shown.startswith("a head"))


@pytest.mark.parametrize("table", [AGREED, MINGLED, APART])
def test_the_law_is_that_of_a_plain_sum_over_all_noise(table: Table) -> None:
    """The head midway says 1 where the first noisy sum is positive, and the lead is what it then comes to."""
    law = doubted_case(PLAN, DOUBTFUL, 0.01).law(table)
    assert math.fsum(law.masses.values()) == pytest.approx(1.0, abs=1e-12)
    noise = NoiseLaw("discrete_gaussian", PLAN.scale).measure
    ones, best = int(table.labels.sum()), int(table == MINGLED)
    expected = 0.0
    for z, chance in zip(noise.support.tolist(), noise.weights, strict=True):
        first = PLAN.bound * (2 * ones - 2) + z
        wrong = 2 - ones if first > 0 else ones
        least = PLAN.bound * (PLAN.tree_from - (wrong - best))
        expected += chance * float(noise.at_least(np.array([least]))[0])
    assert chance_of_a_tree(law) == pytest.approx(expected, rel=1e-9)


def test_both_ways_are_seen_and_the_second_sum_follows_the_first() -> None:
    law = doubted_case(PLAN, DOUBTFUL, 0.01).law(APART)
    assert 0.2 < chance_of_a_tree(law) < 0.8
    most_likely: dict[int, tuple[float, int]] = {}
    for first, _, last, mass in outcomes(law):
        if last is not None:
            most_likely[first] = max(most_likely.get(first, (0.0, 0)), (mass, last))
    assert most_likely[-20][1] > most_likely[20][1], "who was pushed one way is pulled the other"


def test_the_noise_of_the_lead_and_of_the_sums_is_needed() -> None:
    assert verify(doubted_case(PLAN, DOUBTFUL, 0.01)).passed
    claimed = doubted_case(PLAN, DOUBTFUL, 0.01).claimed
    colder = doubted_plan(records=2, multiplier=0.2, tree=0.5)
    assert not verify(TurningCase.once("colder", claimed, DOUBTFUL, Doubt(colder))).passed


def case_of(run: Callable[[Any, Entropy], str]) -> Case:
    return TurningCase.once("x", Guarantee(1.0, 1e-6), [(AGREED, APART)], run)


def noisy(table: Table, entropy: Entropy, coordinates: tuple[int, ...] = (0, 1)) -> int:
    total = np.array(coordinates, dtype=np.int64) * int(table.labels.sum())
    return int((total + discrete_gaussians(2.0, total.size, entropy))[-1])


def test_what_is_shown_beside_the_sums_gives_itself_away() -> None:
    def told(table: Table, entropy: Entropy) -> str:
        return f"{noisy(table, entropy)}, {table.labels.sum()}"

    assert verify(case_of(told)).epsilon == math.inf


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (lambda _table, _entropy: "nothing", "Neither one nor two"),
        (lambda table, entropy: str([noisy(table, entropy) for _ in range(3)]), "Neither one nor two"),
        (lambda table, entropy: str(noisy(table, entropy, (1, 1))), "more than one coordinate"),
        (lambda table, entropy: str(noisy(table, entropy, (0, 1 + (discrete_gaussian(1.0, entropy) > 0)))), "not the"),
    ],
)
def test_what_is_not_followed_is_refused(run: Callable[[Any, Entropy], str], why: str) -> None:
    with pytest.raises(Unverifiable, match=why):
        case_of(run).law(APART)


def test_a_mechanism_runs_on_real_noise_as_well() -> None:
    shown = {Doubt(PLAN)(APART, SeededEntropy(seed)).split(",")[0] for seed in range(20)}
    assert "a head" in shown
    assert len(shown) > 1
