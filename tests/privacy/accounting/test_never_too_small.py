"""Where float64 would round a figure down, or lose it: losses between two points of a grid, chances that underflow."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from pcqr.errors import ParameterError
from pcqr.privacy.accounting import (
    ApproximateEvent,
    BoundedRangeEvent,
    PureEvent,
    concentrated_delta,
    concentrated_epsilon,
    renyi,
)
from pcqr.privacy.accounting.gaussian import gaussian_delta
from pcqr.privacy.accounting.loss import distribution


@pytest.mark.parametrize("pitch", [0.1, 0.25, 0.3, 1e-4])
@pytest.mark.parametrize("count", [1, 3, 7, 10, 1000])
def test_a_loss_just_above_a_point_of_the_grid_goes_to_the_next_one(pitch: float, count: int) -> None:
    """bound / pitch is rounded to a whole number there, and the point itself would be below the bound."""
    for bound in (count * pitch, math.nextafter(count * pitch, math.inf)):
        for event in (PureEvent(bound), BoundedRangeEvent(bound), ApproximateEvent(bound, 1e-9)):
            points = distribution(event, pitch)._pmf_remove.to_dense_pmf()
            largest = (points._lower_loss + points.size - 1) * pitch
            assert bound <= largest < bound + 1.5 * pitch
            if pitch == 0.25 and bound == count * pitch:
                assert largest == bound, "on the grid nothing is added"


def test_an_event_that_fails_with_a_chance_and_else_tells_nothing() -> None:
    curve = distribution(ApproximateEvent(0.0, 0.01), 0.5)
    for epsilon in (0.0, 0.4, 3.0):
        assert curve.get_delta_for_epsilon(epsilon) == pytest.approx(0.01, rel=1e-12)
    beside = curve.compose(distribution(PureEvent(0.5), 0.5))
    assert beside.get_delta_for_epsilon(0.0) == pytest.approx(0.01 + 0.99 * math.tanh(0.25), rel=1e-9)


@pytest.mark.parametrize("beside", [(), (0.1,), (0.1, 0.3)])
def test_a_chance_that_underflows_is_not_zero(beside: tuple[float, ...]) -> None:
    assert 0.0 < gaussian_delta(0.1, 50.0, beside) < 1e-300


@pytest.mark.parametrize("rho", [0.0, -1.0, math.nan, math.inf, np.float64(-0.5)])
def test_a_bad_rho_is_named(rho: float) -> None:
    with pytest.raises(ParameterError, match="rho"):
        concentrated_epsilon(rho, 1e-6)
    with pytest.raises(ParameterError, match="rho"):
        concentrated_delta(rho, 1.0)


@pytest.mark.parametrize("excess", [2.0**-12, 0.3, 1.7, 23.0, 1e4])
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-12, 3e-100])
def test_conversions_at_one_order_are_above_sixty_digits(
    excess: float, delta: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ε = R + (ln(1/δ) + α·ln(1 − 1/α) − ln(α − 1))/(α − 1), R = ρα; half of all float64 results would be below."""
    monkeypatch.setattr(renyi, "_smallest", lambda function: function(excess))
    for rho in (1e-6, 0.013, 0.1, 0.7, 1.9, 31.0):
        with mpmath.workdps(60):
            above, order = mpmath.mpf(excess), 1 + mpmath.mpf(excess)
            shift = order * mpmath.log(1 - 1 / order) - mpmath.log(above)
            exact = rho * order + (shift - mpmath.log(mpmath.mpf(delta))) / above
            epsilon = concentrated_epsilon(rho, delta)
            assert exact <= epsilon <= max(0, exact) + 1e-10 * (rho * order + (1 - mpmath.log(delta)) / above)
            chance = mpmath.exp(above * (rho * order - mpmath.mpf(1.5)) + shift)
            if chance < 1:
                assert chance <= concentrated_delta(rho, 1.5)
