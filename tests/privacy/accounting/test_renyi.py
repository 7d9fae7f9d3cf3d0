"""Divergences against sums over outcomes; the conversion against a fine grid, the exact Gaussian curve and OpenDP."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm

from pcqr.errors import ParameterError
from pcqr.privacy.accounting import BoundedRangeEvent, PureEvent, concentrated_delta, concentrated_epsilon
from pcqr.privacy.accounting.renyi import divergence

RHO = st.floats(1e-6, 10.0)
DELTA = st.floats(1e-12, 0.1)
ORDER = st.floats(1.001, 60.0)


def log_delta_on_a_grid(rho: float, epsilon: float) -> float:
    excess = np.exp(np.linspace(-13, 25, 200_001))
    order = 1.0 + excess
    return float(np.min(excess * (rho * order - epsilon) - np.log(excess) + order * np.log1p(-1.0 / order)))


@pytest.mark.parametrize(("rho", "epsilon"), [(0.5, 4.0), (0.01, 0.7), (1e-4, 0.05), (3.0, 20.0), (1e-6, 0.01)])
def test_delta_is_the_least_on_a_fine_grid(rho: float, epsilon: float) -> None:
    assert math.log(concentrated_delta(rho, epsilon)) == pytest.approx(log_delta_on_a_grid(rho, epsilon), abs=1e-6)


@given(RHO, DELTA)
def test_the_two_conversions_are_inverse(rho: float, delta: float) -> None:
    epsilon = concentrated_epsilon(rho, delta)
    if epsilon > 0:
        assert concentrated_delta(rho, epsilon) == pytest.approx(delta, rel=1e-5)


@given(RHO, DELTA, st.floats(1.0, 10.0))
def test_more_concentration_or_more_delta_is_less_epsilon(rho: float, delta: float, factor: float) -> None:
    epsilon = concentrated_epsilon(rho, delta)
    slack = 1e-9 * (1.0 + epsilon)
    assert concentrated_epsilon(rho * factor, delta) >= epsilon - slack
    assert concentrated_epsilon(rho, min(0.5, delta * factor)) <= epsilon + slack


@given(RHO, DELTA)
def test_it_lies_between_the_gaussian_truth_and_the_first_conversion(rho: float, delta: float) -> None:
    epsilon, spread = concentrated_epsilon(rho, delta), math.sqrt(2.0 * rho)
    assert epsilon <= rho + 2.0 * math.sqrt(rho * math.log(1.0 / delta)) + 1e-9  # Bun and Steinke 2016
    exact = norm.cdf(spread / 2 - epsilon / spread) - math.exp(epsilon) * norm.cdf(-spread / 2 - epsilon / spread)
    assert exact <= delta * (1.0 + 1e-9)  # the continuous Gaussian is ρ-zCDP


def test_zcdp_covers_discrete_noise_where_the_continuous_curve_does_not() -> None:
    sigma, epsilon, grid = 2.0, 0.5, np.arange(-60, 61)
    weights = np.exp(-(grid**2) / (2 * sigma**2))
    law = weights / weights.sum()
    exact = float(np.maximum(law[1:] - math.exp(epsilon) * law[:-1], 0.0).sum())
    continuous = norm.cdf(0.25 - epsilon * sigma) - math.exp(epsilon) * norm.cdf(-0.25 - epsilon * sigma)
    assert continuous < exact < concentrated_delta(1.0 / (2.0 * sigma**2), epsilon)
    assert (exact, continuous) == pytest.approx((0.0540, 0.0524), abs=1e-4)


@pytest.mark.parametrize("sigma", [0.7, 4.0, 50.0])
def test_opendp_converts_alike(sigma: float) -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    noisy = dp.m.make_gaussian(*space, scale=sigma, MO="ZeroConcentratedDivergence")
    theirs = dp.c.make_zCDP_to_approxDP(noisy).map(1).epsilon(1e-6)
    assert concentrated_epsilon(1.0 / (2.0 * sigma**2), 1e-6) == pytest.approx(theirs, rel=1e-5)


@given(st.floats(1e-4, 8.0), ORDER)
def test_a_pure_event_has_the_divergence_of_randomised_response(epsilon: float, order: float) -> None:
    log_p, log_q = -math.log1p(math.exp(-epsilon)), -math.log1p(math.exp(epsilon))
    terms = (order * log_p + (1.0 - order) * log_q, order * log_q + (1.0 - order) * log_p)
    plain = np.logaddexp(terms[0], terms[1]) / (order - 1.0)
    assert divergence(PureEvent(epsilon), order) == pytest.approx(plain, rel=1e-6, abs=1e-11)
    assert divergence(PureEvent(epsilon), order) <= min(epsilon, order * epsilon**2 / 2.0) * (1.0 + 1e-12)


@given(st.floats(0.01, 6.0), st.floats(0.001, 0.999), ORDER)
def test_bounded_range_bounds_every_two_point_law_of_that_range(length: float, place: float, order: float) -> None:
    """The loss takes the ends of [t − ε, t]: the worst laws of a given range (Dong, Durfee and Rogers 2020)."""
    high = place * length
    low = high - length
    p = -math.expm1(-low) / (math.exp(-high) - math.exp(-low))  # so that E_P[e^{−loss}] = 1
    moment = np.logaddexp(math.log(p) + (order - 1) * high, math.log1p(-p) + (order - 1) * low)
    assert moment / (order - 1.0) <= divergence(BoundedRangeEvent(length), order) * (1.0 + 1e-9) + 1e-11


@pytest.mark.parametrize(("rho", "delta", "name"), [(0.0, 1e-6, "rho"), (1.0, 0.0, "delta"), (1.0, 1.0, "delta")])
def test_bad_conversions_are_refused(rho: float, delta: float, name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        concentrated_epsilon(rho, delta)
    assert caught.value.name == name
