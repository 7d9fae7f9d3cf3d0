"""Noisy sums beside an exponential mechanism: what it costs, against a pure release and against a plain sum."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pcqr.accounting import BoundedRangeEvent, DiscreteGaussianEvent, PureEvent
from pcqr.accounting.gaussian import gaussian_delta
from pcqr.algorithms.linear import NoisySums, linear_guarantee, sums_guarantee, sums_of
from pcqr.mechanisms.fine_gaussian import fine_gaussian_epsilon
from pcqr.plan import LinearStage

DELTA = 1e-6
SCALE = 2.0**30
SUMS = NoisySums(DiscreteGaussianEvent(20.0), steps=4, scale=SCALE, draws=1_000)
MU = math.sqrt(4) / 20.0


@pytest.mark.parametrize("length", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("pure", [(), (0.05,)])
def test_a_bounded_range_costs_less_than_a_pure_release_and_is_not_free(length: float, pure: tuple[float, ...]) -> None:
    others = tuple(map(PureEvent, pure))
    alone = sums_guarantee([SUMS], DELTA, beside=others)
    ranged = sums_guarantee([SUMS], DELTA, beside=(*others, BoundedRangeEvent(length)))
    as_pure = sums_guarantee([SUMS], DELTA, beside=(*others, PureEvent(length)))
    assert alone.epsilon < ranged.epsilon < 0.999 * as_pure.epsilon
    assert ranged.delta == DELTA
    assert gaussian_delta(MU, ranged.epsilon, pure, length) <= DELTA
    assert gaussian_delta(MU, 0.999 * ranged.epsilon, pure, length) > DELTA


def test_of_several_ranges_the_longest_is_one_and_the_others_are_pure() -> None:
    beside = (BoundedRangeEvent(0.1), PureEvent(0.02), BoundedRangeEvent(0.3), BoundedRangeEvent(0.05))
    stated = sums_guarantee([SUMS], DELTA, beside=beside)
    by_hand = fine_gaussian_epsilon(MU * (1 + 1e-12), DELTA, SCALE, 1_000, (0.02, 0.05, 0.1), 0.3)
    assert stated.epsilon == pytest.approx(by_hand, rel=1e-9)


@pytest.mark.parametrize(
    ("beside", "kinds"),
    [
        ((), ""),
        ((PureEvent(0.1),), " beside 1 pure, in closed form"),
        ((BoundedRangeEvent(0.1),), " beside one of bounded range, in closed form"),
        ((PureEvent(0.1), BoundedRangeEvent(0.1)), " beside 1 pure and one of bounded range, in closed form"),
        ((BoundedRangeEvent(0.1), BoundedRangeEvent(0.2)), " beside 1 pure and one of bounded range, in closed form"),
    ],
)
def test_its_explanation_names_what_stands_beside(
    beside: tuple[PureEvent | BoundedRangeEvent, ...], kinds: str
) -> None:
    steps = sums_guarantee([SUMS], DELTA, beside=beside).steps
    releases = f"{4 + len(beside)} mechanisms on the same records"
    assert steps[0] == f"{releases}, the sums accounted as continuous noise{kinds}, and the distance from it in δ"
    assert ("4 of them noisy sums" in steps[-1]) == bool(beside)


def test_on_a_coarse_grid_renyi_divergences_have_it_in() -> None:
    coarse = replace(SUMS, scale=100.0)
    alone, ranged, pure = (
        sums_guarantee([coarse], DELTA, beside=beside).epsilon
        for beside in ((), (BoundedRangeEvent(0.1),), (PureEvent(0.1),))
    )
    assert alone < ranged < pure


def test_a_head_has_it_beside() -> None:
    plan = LinearStage(10_000, 40, 10, 5, 128, 50, 2**20, 2.0**27, 0.9, 0.001)
    beside = (BoundedRangeEvent(0.3),)
    stated = linear_guarantee(plan, DELTA, beside=beside)
    assert stated.proof == "linear"
    assert stated.epsilon == sums_guarantee([sums_of(plan)], DELTA, beside=beside).epsilon
    assert linear_guarantee(plan, DELTA).epsilon < stated.epsilon
    assert stated.epsilon < linear_guarantee(plan, DELTA, beside=(PureEvent(0.3),)).epsilon
