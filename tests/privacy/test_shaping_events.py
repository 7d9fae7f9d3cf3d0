"""Plans that begin with private predicates: the fold by hand, and what depends on the history."""

from __future__ import annotations

import math

import pytest

from pcqr.errors import ParameterError
from pcqr.privacy.accounting import (
    ApproximateEvent,
    BoundedRangeEvent,
    Composed,
    ConcentratedEvent,
    Event,
    NoisySumsEvent,
    OneOf,
    PureEvent,
    Repeated,
    ShapingEvent,
    compose,
)
from pcqr.privacy.accounting.gaussian import GAUSSIAN_OF_RANGE, fine_gaussian_epsilon, gaussian_delta
from pcqr.privacy.composition import account_for
from pcqr.privacy.guarantee import Guarantee

DELTA, SCALE = 1e-6, 2.0**30
SUMS = NoisySumsEvent(20.0, steps=4, scale=SCALE, draws=1_000)
CUTS = ShapingEvent(Repeated(BoundedRangeEvent(0.01), 45))
NAMES = ShapingEvent(Composed((NoisySumsEvent(50.0, 1, SCALE, 8), ApproximateEvent(1e-7, 1e-7))))
TREE = BoundedRangeEvent(0.3)


def cost(*events: Event, delta: float = DELTA) -> Guarantee:
    return account_for(Composed(events), delta)


def test_selections_add_to_the_square_of_the_shift() -> None:
    squares = 4 / 20.0**2 + 45 * (GAUSSIAN_OF_RANGE * 0.01) ** 2
    by_hand = fine_gaussian_epsilon(math.sqrt(squares), DELTA, SCALE, 1_000)
    assert cost(CUTS, SUMS).epsilon == pytest.approx(by_hand, rel=1e-9)
    assert cost(CUTS, SUMS).epsilon < compose([CUTS, SUMS], DELTA, accountant="Rényi").epsilon


def test_what_may_fail_is_taken_off_delta_and_its_epsilon_is_beside() -> None:
    squares = 4 / 20.0**2 + 1 / 50.0**2
    remaining = DELTA - 1e-7
    by_hand = fine_gaussian_epsilon(math.sqrt(squares), remaining, SCALE, 1_008, (1e-7,))
    assert cost(NAMES, SUMS).epsilon == pytest.approx(by_hand, rel=1e-9)
    assert cost(NAMES, SUMS).delta == DELTA
    with pytest.raises(ParameterError, match="events"):
        cost(NAMES, SUMS, delta=1e-7)


@pytest.mark.parametrize("first", [CUTS, NAMES])
def test_a_draw_beside_predicates_may_have_an_interval_that_depends_on_them(first: Event) -> None:
    """Before or after: what the class depends on is not looked into."""
    assert isinstance(first, ShapingEvent)
    fixed, after, pure = cost(first.event, SUMS, TREE), cost(first, SUMS, TREE), cost(first, SUMS, PureEvent(0.3))
    assert fixed.epsilon < after.epsilon < pure.epsilon
    assert cost(TREE, SUMS, first).epsilon == after.epsilon
    if first is CUTS:
        shift = math.sqrt(4 / 20.0**2 + 45 * (GAUSSIAN_OF_RANGE * 0.01) ** 2)
        assert gaussian_delta(shift, after.epsilon, (), 0.3, is_adaptive=True) == pytest.approx(DELTA, rel=1e-3)


def test_an_option_must_not_make_predicates() -> None:
    for event in (CUTS, ShapingEvent(PureEvent(0.1)), ApproximateEvent(0.1, 1e-7)):
        with pytest.raises(ParameterError, match="options must be stages of noisy sums"):
            cost(OneOf((event, PureEvent(0.1))))


def test_votes_and_unknown_events_are_refused() -> None:
    with pytest.raises(ParameterError, match="stand beside draws"):
        cost(CUTS, Guarantee(0.1, 1e-7))
    with pytest.raises(ParameterError, match="one whose events have a fold"):
        cost(ConcentratedEvent(0.1))
