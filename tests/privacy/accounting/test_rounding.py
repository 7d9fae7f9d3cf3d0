"""Stated figures against exact fractions and 40 digits: never below, and with the reserve that the proof asks for.

Half of all float64 results are rounded down, so over these parameters a figure that is not rounded up is caught.
"""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import pytest

from pcqr.privacy.accounting import (
    ApproximateEvent,
    ConcentratedEvent,
    Event,
    PureEvent,
    Repeated,
    compose,
    concentrated_delta,
    concentrated_epsilon,
)
from pcqr.privacy.accounting.basic import total_delta
from pcqr.privacy.accounting.events import Ledger
from pcqr.privacy.guarantee import ROUNDING, Guarantee

EPSILONS = [0.1, 0.3, 0.7, 1.1, 1e-3 / 3]
COUNTS = [1, 3, 7, 49, 1001]
RESERVE = Fraction(ROUNDING) * 9 / 10
MOST = Fraction(1, 10**11)


def assert_rounded_up(stated: float, exact: Fraction) -> None:
    assert exact * (1 + RESERVE) <= Fraction(stated) <= exact * (1 + MOST)


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_basic_composition(epsilon: float, count: int) -> None:
    events: list[Event] = [Repeated(PureEvent(epsilon), count), PureEvent(0.2)]
    exact = Fraction(epsilon) * count + Fraction(0.2)
    assert_rounded_up(compose(events, 0.0, accountant="basic").epsilon, exact)


@pytest.mark.parametrize("count", COUNTS[1:])
@pytest.mark.parametrize("delta", [1e-7, 1e-5 / 3])
def test_the_delta_that_events_bring(delta: float, count: int) -> None:
    ledger = Ledger.of([Repeated(ApproximateEvent(0.1, delta), count)])
    assert_rounded_up(total_delta(ledger), Fraction(delta) * count)
    assert total_delta(Ledger.of([ApproximateEvent(0.1, delta)])) == delta, "one alone is not touched"


@pytest.mark.parametrize("rate", [0.1, 0.37, 0.9])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_algebra_of_guarantees(epsilon: float, rate: float) -> None:
    whole = Guarantee(epsilon, 1e-6)
    both = whole.compose(Guarantee(rate, 1e-7))
    assert_rounded_up(both.epsilon, Fraction(epsilon) + Fraction(rate))
    assert_rounded_up(both.delta, Fraction(1e-6) + Fraction(1e-7))
    sampled = whole.amplify(rate)
    with mpmath.workdps(40):
        inner = mpmath.log1p(mpmath.mpf(rate) * mpmath.expm1(mpmath.mpf(epsilon)))
        assert inner * (1 + mpmath.mpf(0.9 * ROUNDING)) <= sampled.epsilon <= inner * (1 + mpmath.mpf(1e-11))
    assert_rounded_up(sampled.delta, Fraction(rate) * Fraction(1e-6))
    three = whole.group(3)
    assert_rounded_up(three.epsilon, 3 * Fraction(epsilon))
    with mpmath.workdps(40):
        factor = mpmath.expm1(3 * mpmath.mpf(epsilon)) / mpmath.expm1(mpmath.mpf(epsilon)) * mpmath.mpf(1e-6)
        assert factor * (1 + mpmath.mpf(0.9 * ROUNDING)) <= three.delta <= factor * (1 + mpmath.mpf(1e-11))


def exact_log_delta(order: mpmath.mpf, rho: mpmath.mpf, epsilon: mpmath.mpf) -> mpmath.mpf:
    """ln of e^{(α−1)(ρα−ε)}/(α−1)·(1 − 1/α)^α."""
    return (order - 1) * (rho * order - epsilon) - mpmath.log(order - 1) + order * mpmath.log1p(-1 / order)


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("rho", [0.001, 0.05, 0.7])
def test_the_conversion_from_renyi_divergences(rho: float, delta: float) -> None:
    """At the best order there is, found in 40 digits, the figures leave the reserve of the proof."""
    with mpmath.workdps(40):
        level = -mpmath.log(mpmath.mpf(delta))

        def least_epsilon(log_excess: mpmath.mpf) -> mpmath.mpf:
            excess = mpmath.exp(log_excess)
            order = 1 + excess
            return mpmath.mpf(rho) * order + (level - mpmath.log(excess) + order * mpmath.log1p(-1 / order)) / excess

        start = mpmath.log(mpmath.sqrt(level / rho))
        best = mpmath.findroot(lambda u: mpmath.diff(least_epsilon, u), start)
        exact = least_epsilon(best)
        reserve = mpmath.mpf(0.9 * ROUNDING)
        for stated in (
            concentrated_epsilon(rho, delta),
            compose([ConcentratedEvent(rho)], delta, accountant="Rényi").epsilon,
        ):
            assert exact * (1 + reserve) <= stated <= exact * (1 + mpmath.mpf(1e-7))
        epsilon = float(exact)
        slope = mpmath.findroot(
            lambda u: mpmath.diff(lambda v: exact_log_delta(1 + mpmath.exp(v), rho, mpmath.mpf(epsilon)), u), best
        )
        least = mpmath.exp(exact_log_delta(1 + mpmath.exp(slope), mpmath.mpf(rho), mpmath.mpf(epsilon)))
        assert least * (1 + reserve) <= concentrated_delta(rho, epsilon) <= least * (1 + mpmath.mpf(1e-6))


def test_what_events_leave_of_delta_is_rounded_down() -> None:
    """All of δ but what the events bring pays for the conversion, less a reserve."""
    brought, delta = 1e-7, 1e-6
    stated = compose([ConcentratedEvent(0.1), ApproximateEvent(0.0, brought)], delta, accountant="Rényi").epsilon
    assert stated > concentrated_epsilon(0.1, (delta - brought) * (1 - 0.5 * ROUNDING))
    assert math.isclose(stated, concentrated_epsilon(0.1, delta - brought), rel_tol=1e-9)
