"""Noisy majorities: the code's decision for every value of the noise, and what one answer is said to cost."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.accounting import BoundedRangeEvent, DiscreteGaussianEvent
from pcqr.entropy import SeededEntropy, SystemEntropy
from pcqr.errors import ParameterError
from pcqr.peers.noisy_max import mechanism
from pcqr.peers.noisy_max.mechanism import ExponentialMax, GaussianMax


def noised(monkeypatch: pytest.MonkeyPatch, z: int, ones: int, teachers: int) -> int:
    def scripted(scale: float, _: object) -> int:
        assert scale == 2.5
        return z

    monkeypatch.setattr(mechanism, "discrete_gaussian", scripted)
    return GaussianMax(2.5).decide(ones, teachers, SeededEntropy(0))


@pytest.mark.parametrize("teachers", [1, 4, 7])
def test_the_sign_of_the_noisy_half_gap_decides(monkeypatch: pytest.MonkeyPatch, teachers: int) -> None:
    for ones in range(teachers + 1):
        for z in range(-teachers - 2, teachers + 3):
            half_gap = Fraction(ones - (teachers - ones), 2) + z
            assert noised(monkeypatch, z, ones, teachers) == (half_gap > 0), "a tie, which needs k even, is a 0"


def test_an_odd_number_of_teachers_prefers_no_label(monkeypatch: pytest.MonkeyPatch) -> None:
    for ones in range(8):
        for z in range(-9, 10):
            assert noised(monkeypatch, z, ones, 7) == 1 - noised(monkeypatch, -z, 7 - ones, 7)


def log_weights(noise: ExponentialMax, ones: int, teachers: int) -> tuple[float, float]:
    caught: list[NDArray[np.float64]] = []

    def catch(weights: NDArray[np.float64], _: object) -> int:
        caught.append(weights)
        return 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "weighted_choice", catch)
        assert noise.decide(ones, teachers, SeededEntropy(0)) == 1
    return float(caught[0][0]), float(caught[0][1])


@pytest.mark.parametrize("teachers", [1, 4, 7])
def test_odds_are_those_of_the_gap_between_the_counts(teachers: int) -> None:
    for ones in range(teachers + 1):
        zero, one = log_weights(ExponentialMax(0.3), ones, teachers)
        assert one - zero == pytest.approx(0.3 * (ones - (teachers - ones)), abs=1e-15)
        assert max(zero, one) == 0.0, "so that nothing is lost when the maximum is subtracted"


def range_between(noise: ExponentialMax, ones: int, teachers: int) -> Fraction:
    """How far the logit that is drawn with moves between `ones` and `ones` + 1 votes, exactly."""
    before, after = (
        Fraction(one) - Fraction(zero)
        for zero, one in (log_weights(noise, votes, teachers) for votes in (ones, ones + 1))
    )
    return after - before


@given(
    eta=st.floats(2.0**-50, 2.0**50),
    teachers=st.integers(1, 10**12),
    share=st.floats(0.0, 1.0),
)
def test_the_stated_range_covers_the_rounding_of_the_weights(eta: float, teachers: int, share: float) -> None:
    noise = ExponentialMax(eta)
    ones = min(teachers - 1, int(share * teachers))
    assert 0 < range_between(noise, ones, teachers) <= Fraction(noise.event(teachers).epsilon)


def test_without_its_share_for_rounding_the_range_would_be_too_small() -> None:
    noise, teachers = ExponentialMax(0.1), 10**9 + 1
    exceeded = [range_between(noise, ones, teachers) > 2 * Fraction(0.1) for ones in range(100)]
    assert any(exceeded)


def test_events() -> None:
    assert GaussianMax(3.0).event(101) == DiscreteGaussianEvent(3.0)
    event = ExponentialMax(0.25).event(101)
    assert isinstance(event, BoundedRangeEvent)
    assert 0.5 < event.epsilon < 0.5 * (1 + 1e-11)


def test_short_floats_are_kept_as_long_ones() -> None:
    eta: Any = np.float16(0.1)
    assert type(ExponentialMax(eta).inverse_temperature) is float
    assert type(GaussianMax(eta).scale) is float


@pytest.mark.parametrize("noise", [GaussianMax(2.0), ExponentialMax(1.0), ExponentialMax(2.0**50)], ids=str)
def test_clear_majorities_win(noise: GaussianMax | ExponentialMax) -> None:
    for entropy in (SystemEntropy(), SeededEntropy(0)):
        assert noise.decide(10_001, 10_001, entropy) == 1
        assert noise.decide(0, 10_001, entropy) == 0


def test_a_coin_decides_a_tie_of_the_exponential_form() -> None:
    entropy = SeededEntropy(0)
    assert {ExponentialMax(1.0).decide(5, 10, entropy) for _ in range(64)} == {0, 1}


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan, 2.0**51, True, "2.0"])
def test_what_cannot_be_drawn_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match="scale"):
        GaussianMax(value)
    with pytest.raises(ParameterError, match="inverse_temperature"):
        ExponentialMax(value)
