"""A Gaussian release beside pure ones: the closed form against 50 digits, plain sums and another accountant."""

from __future__ import annotations

import math
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import log_ndtr, ndtr

from pcqr.privacy.accounting import Event, GaussianEvent, PureEvent, compose
from pcqr.privacy.accounting.gaussian import LARGEST_EPSILON, gaussian_delta

parts = st.lists(st.floats(0.0, 3.0), max_size=2).map(tuple)


def in_fifty_digits(shift: float, epsilon: float, beside: tuple[float, ...]) -> mpmath.mpf:
    with mpmath.workdps(50 + 2 * round(epsilon + sum(beside))):
        mu, total = mpmath.mpf(shift), mpmath.mpf(0)
        for signs in product((1, -1), repeat=len(beside)):
            losses = [sign * mpmath.mpf(part) for sign, part in zip(signs, beside, strict=True)]
            at = epsilon - mpmath.fsum(losses)
            by_itself = mpmath.ncdf(mu / 2 - at / mu) - mpmath.exp(at) * mpmath.ncdf(-mu / 2 - at / mu)
            total += by_itself * mpmath.fprod(1 / (1 + mpmath.exp(-loss)) for loss in losses)
        return +total


@settings(max_examples=80)
@given(st.floats(1e-3, 30.0), st.floats(-8.0, 36.0), parts)
def test_it_is_never_below_the_exact_value_and_next_to_it(
    shift: float, deviations: float, beside: tuple[float, ...]
) -> None:
    """ε so many standard deviations above the mean of the loss: δ goes down to 10⁻²⁸⁰."""
    epsilon = max(0.0, shift * (deviations + shift / 2))
    if epsilon + sum(beside) > LARGEST_EPSILON:
        return
    exact, stated = in_fifty_digits(shift, epsilon, beside), gaussian_delta(shift, epsilon, beside)
    assert stated >= exact
    assert stated <= exact * (1 + 1e-9 * (1 + 40 / shift)) + 1e-300


@pytest.mark.parametrize("delta", [1e-6, 1e-10, 1e-15, 1e-100, 1e-280])
def test_a_small_delta_has_as_good_a_figure_as_a_large_one(delta: float) -> None:
    at = math.sqrt(-2 * math.log(delta))
    for shift, beside in ((0.2, (0.02,)), (0.2, (0.1, 0.05)), (2.0, (0.3, 1.5))):
        epsilon = shift * (at + shift / 2) + sum(beside)
        exact = in_fifty_digits(shift, epsilon, beside)
        assert exact < delta
        assert exact <= gaussian_delta(shift, epsilon, beside) <= exact * (1 + 1e-8)


def test_the_normal_distribution_function_is_ten_times_as_good_as_it_is_taken_to_be() -> None:
    with mpmath.workdps(60):
        for x in np.linspace(-37.5, 38.0, 400):
            assert abs(float(ndtr(x)) / mpmath.ncdf(mpmath.mpf(float(x))) - 1) < 1e-12
        for y in np.linspace(-62.0, 38.0, 400):
            exact = mpmath.log(mpmath.ncdf(mpmath.mpf(float(y))))
            assert abs(mpmath.exp(float(log_ndtr(y)) - exact) - 1) < 1e-12


@pytest.mark.parametrize("beside", [(), (0.4,), (0.3, 0.9)])
@pytest.mark.parametrize("shift", [0.3, 1.5])
def test_randomised_responses_and_a_rounded_gaussian_come_close_to_it_from_below(
    shift: float, beside: tuple[float, ...]
) -> None:
    """All outcomes of the product of both pairs, one by one: rounding the Gaussian is post-processing."""
    cells = np.linspace(-12.0, 12.0 + shift, 20_001)
    p, q = (np.diff(np.concatenate(([0.0], ndtr(cells - mean), [1.0]))) for mean in (shift, 0.0))
    for part in beside:
        linears = 1 / (1 + math.exp(-part))
        p, q = np.concatenate((linears * p, (1 - linears) * p)), np.concatenate(((1 - linears) * q, linears * q))
    for epsilon in (0.0, 0.2, 1.0, 2.5):
        met = math.fsum(np.maximum(0.0, p - math.exp(epsilon) * q))
        stated = gaussian_delta(shift, epsilon, beside)
        assert met <= stated + 1e-13, "the sum is rounded"
        assert met >= 0.9999 * stated


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize(("shift", "beside"), [(0.15, (0.02,)), (0.2, (0.1, 0.05)), (1.0, (0.3, 0.2))])
def test_convolved_privacy_losses_agree(shift: float, beside: tuple[float, ...], delta: float) -> None:
    events: list[Event] = [GaussianEvent(1 / shift), *map(PureEvent, beside)]
    epsilon = compose(events, delta, accountant="PLD").epsilon
    assert 0.97 * delta < gaussian_delta(shift, epsilon, beside) <= delta


@given(st.floats(0.01, 3.0), st.floats(0.0, 8.0), parts)
def test_more_is_released_and_less_is_kept(shift: float, epsilon: float, beside: tuple[float, ...]) -> None:
    here = gaussian_delta(shift, epsilon, beside)
    slack = 1 + 1e-8 * (1 + 40 / shift)
    assert gaussian_delta(shift, epsilon, (*beside, 0.1)) * slack >= here
    assert gaussian_delta(shift * 1.01, epsilon, beside) * slack >= here
    assert gaussian_delta(shift, epsilon + 0.1, beside) <= here * slack
    assert gaussian_delta(shift, epsilon, (*beside, 0.0)) == pytest.approx(here, rel=1e-6, abs=1e-300)


def test_where_exponentials_are_no_floats_it_says_nothing() -> None:
    assert gaussian_delta(1.0, LARGEST_EPSILON, (0.1,)) == math.inf
    assert 0 < gaussian_delta(1.0, LARGEST_EPSILON) < 1e-300
    with np.errstate(all="raise"):
        assert 0 < gaussian_delta(0.1, 20.0, (0.1,)) < 1e-300
