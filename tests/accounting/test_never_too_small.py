"""Where float64 would round a figure down, or lose it: losses between two points of a grid, chances that underflow."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pcqr.accounting import ApproximateEvent, BoundedRangeEvent, PureEvent, concentrated_delta, concentrated_epsilon
from pcqr.accounting.gaussian import gaussian_delta
from pcqr.accounting.loss import distribution
from pcqr.errors import ParameterError


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
