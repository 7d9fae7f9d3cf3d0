"""Noisy majorities: the code's decision for every value of the noise, and what one answer is said to cost."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.errors import ParameterError
from pcqr.mechanisms import noisy_max as mechanism
from pcqr.mechanisms.noisy_max import ExponentialMax, GaussianMax, LaplaceMax, NoisyMax
from pcqr.privacy.accounting import BoundedRangeEvent, DiscreteGaussianEvent, PureEvent
from pcqr.privacy.entropy import SeededEntropy


def votes(ones: int, teachers: int) -> NDArray[np.int64]:
    return np.array([teachers - ones, ones])


def noised(monkeypatch: pytest.MonkeyPatch, z: int, ones: int, teachers: int) -> int:
    def scripted(scale: float, _: object) -> int:
        assert scale == 2.5
        return z

    monkeypatch.setattr(mechanism, "discrete_gaussian", scripted)
    return GaussianMax(2.5).decide(votes(ones, teachers), SeededEntropy(0))


@pytest.mark.parametrize("teachers", [1, 4, 7])
def test_the_sign_of_the_noisy_half_gap_decides(monkeypatch: pytest.MonkeyPatch, teachers: int) -> None:
    for ones in range(teachers + 1):
        for z in range(-teachers - 2, teachers + 3):
            half_gap = Fraction(ones - (teachers - ones), 2) + z
            assert noised(monkeypatch, z, ones, teachers) == (half_gap > 0), "a tie, which needs k even, is a 0"


@pytest.mark.parametrize(
    ("noise", "drawn"), [(GaussianMax(2.5), "discrete_gaussians"), (LaplaceMax(2.5), "discrete_laplaces")]
)
@pytest.mark.parametrize("labels", [3, 4])
def test_the_first_of_the_largest_noisy_counts_wins(
    monkeypatch: pytest.MonkeyPatch, noise: NoisyMax, drawn: str, labels: int
) -> None:
    """Every noise within reach of a tie, on counts that are all different: 2, 1, 0 and 3."""
    counts = np.array([2, 1, 0, 3])[:labels]
    for z in itertools.product(range(-2, 3), repeat=labels):
        monkeypatch.setattr(
            mechanism, drawn, lambda scale, count, _, z=z: np.array(z[:count]) if scale == 2.5 else None
        )
        assert noise.decide(counts, SeededEntropy(0)) == int(np.argmax(counts + z))


def test_two_labels_have_laplace_noise_on_both_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mechanism, "discrete_laplaces", lambda *_: np.array([3, -1]))
    assert [LaplaceMax(1.0).decide(votes(ones, 9), SeededEntropy(0)) for ones in (6, 7)] == [0, 1]


def log_weights(noise: ExponentialMax, ones: int, teachers: int) -> tuple[float, float]:
    caught: list[NDArray[np.float64]] = []

    def catch(weights: NDArray[np.float64], _: object) -> int:
        caught.append(weights)
        return 1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "weighted_choice", catch)
        assert noise.decide(votes(ones, teachers), SeededEntropy(0)) == 1
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
    assert 0 < range_between(noise, ones, teachers) <= Fraction(noise.event(teachers, 2).epsilon)


def several_log_weights(noise: ExponentialMax, counts: list[int]) -> list[Fraction]:
    caught = np.zeros(len(counts))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanism, "weighted_choice", lambda weights, _: np.copyto(caught, weights))
        noise.decide(np.array(counts), SeededEntropy(0))
    assert caught.max() == 0.0
    return [Fraction(float(weight)) for weight in caught]


@given(
    eta=st.floats(2.0**-50, 2.0**50),
    counts=st.lists(st.integers(0, 10**12) | st.integers(0, 3), min_size=3, max_size=5),
    places=st.permutations(range(3)),
)
def test_the_stated_range_covers_rounding_for_several_labels(eta: float, counts: list[int], places: list[int]) -> None:
    """The loss of a label is the change of its log-weight, less that of the normaliser, which all labels share."""
    counts[places[0]] += 1
    moved = list(counts)
    moved[places[0]], moved[places[1]] = moved[places[0]] - 1, moved[places[1]] + 1
    noise = ExponentialMax(eta)
    before, after = several_log_weights(noise, counts), several_log_weights(noise, moved)
    losses = [b - a for a, b in zip(before, after, strict=True)]
    assert max(losses) - min(losses) <= Fraction(noise.event(sum(counts), len(counts)).epsilon)


def test_without_its_share_for_rounding_the_range_would_be_too_small() -> None:
    noise, teachers = ExponentialMax(0.1), 10**9 + 1
    exceeded = [range_between(noise, ones, teachers) > 2 * Fraction(0.1) for ones in range(100)]
    assert any(exceeded)


def test_events() -> None:
    assert GaussianMax(3.0).event(101, 2) == DiscreteGaussianEvent(3.0)
    event = ExponentialMax(0.25).event(101, 2)
    assert isinstance(event, BoundedRangeEvent)
    assert 0.5 < event.epsilon < 0.5 * (1 + 1e-11)
    assert GaussianMax(3.0).event(101, 3).noise_multiplier == pytest.approx(3.0 / math.sqrt(2.0), rel=1e-11)
    for labels in (2, 3, 10):
        charged = LaplaceMax(20.0).event(250, labels)
        assert isinstance(charged, PureEvent)
        assert 0.1 <= charged.epsilon < 0.1 * (1 + 1e-11), "2γ, and not γ"


@pytest.mark.parametrize("value", [0.0, -1.0, math.inf, math.nan, 2.0**51, True, "2.0"])
def test_what_cannot_be_drawn_is_refused(value: Any) -> None:
    with pytest.raises(ParameterError, match="scale"):
        GaussianMax(value)
    with pytest.raises(ParameterError, match="scale"):
        LaplaceMax(value)
    with pytest.raises(ParameterError, match="inverse_temperature"):
        ExponentialMax(value)
