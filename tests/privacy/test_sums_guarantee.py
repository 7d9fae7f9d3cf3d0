"""Noisy sums beside an exponential mechanism: what it costs, against a pure release and against a plain sum."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pcqr.privacy.accounting import BoundedRangeEvent, Composed, Event, NoisySumsEvent, PureEvent
from pcqr.privacy.accounting.gaussian import fine_gaussian_epsilon, gaussian_delta
from pcqr.privacy.composition import account_for
from pcqr.privacy.guarantee import Guarantee

DELTA = 1e-6
SCALE = 2.0**30
SUMS = NoisySumsEvent(20.0, steps=4, scale=SCALE, draws=1_000)
MU = math.sqrt(4) / 20.0


def beside(*others: Event, sums: NoisySumsEvent = SUMS) -> Guarantee:
    return account_for(Composed((sums, *others)), DELTA)


@pytest.mark.parametrize("length", [0.02, 0.2, 1.0])
@pytest.mark.parametrize("pure", [(), (0.05,)])
def test_a_bounded_range_costs_less_than_a_pure_release_and_is_not_free(length: float, pure: tuple[float, ...]) -> None:
    others = tuple(map(PureEvent, pure))
    by_itself = beside(*others)
    ranged = beside(*others, BoundedRangeEvent(length))
    as_pure = beside(*others, PureEvent(length))
    assert by_itself.epsilon < ranged.epsilon < 0.999 * as_pure.epsilon
    assert ranged.delta == DELTA
    assert gaussian_delta(MU, ranged.epsilon, pure, length) <= DELTA
    assert gaussian_delta(MU, 0.999 * ranged.epsilon, pure, length) > DELTA


def test_of_several_ranges_the_longest_is_one_and_the_others_are_pure() -> None:
    stated = beside(BoundedRangeEvent(0.1), PureEvent(0.02), BoundedRangeEvent(0.3), BoundedRangeEvent(0.05))
    by_hand = fine_gaussian_epsilon(MU * (1 + 1e-12), DELTA, SCALE, 1_000, (0.02, 0.05, 0.1), 0.3)
    assert stated.epsilon == pytest.approx(by_hand, rel=1e-9)


def test_on_a_coarse_grid_renyi_divergences_have_it_in() -> None:
    coarse = replace(SUMS, scale=100.0)
    by_itself, ranged, pure = (
        beside(*others, sums=coarse).epsilon for others in ((), (BoundedRangeEvent(0.1),), (PureEvent(0.1),))
    )
    assert by_itself < ranged < pure
