"""Noisy sums: their law against sums over all values, and what gives itself away."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcqr.audit.exact import Unverifiable, verify
from pcqr.audit.exact.events import NoiseLaw
from pcqr.audit.exact.sums import HalfSpace, NoisySum, Shown, SumCase, SumGame, SumLaw, Vector, game_of
from pcqr.privacy.accounting import DiscreteGaussianEvent
from pcqr.privacy.accounting.renyi import divergence
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.noise import discrete_gaussian, discrete_gaussians

SCALE = 0.9


def game(first: Vector, second: Vector, scale: float = SCALE) -> SumGame:
    law = NoiseLaw("discrete_gaussian", scale)
    return SumGame(SumLaw(NoisySum(first, law), ()), SumLaw(NoisySum(second, law), ()))


def laws(shift: Vector, reach: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """P(z) and Q(z) of `shift` + Z and of Z, on all z with entries up to `reach`."""
    bell = {z: math.exp(-0.5 * (z / SCALE) ** 2) for z in range(-60, 61)}
    total = math.fsum(bell.values())
    points = list(itertools.product(range(-reach, reach + 1), repeat=len(shift)))
    first, second = (
        np.array([math.prod(bell[z - d] / total for z, d in zip(point, moved, strict=True)) for point in points])
        for moved in (shift, (0,) * len(shift))
    )
    return first, second


# --------------------------------------------------------------------------------------------------------------
# The law of one noisy sum


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=2), st.floats(0.0, 6.0))
def test_delta_is_that_of_the_best_event(shift: list[int], epsilon: float) -> None:
    p, q = laws(tuple(shift), 12)
    best = float(np.maximum(0.0, p - math.exp(epsilon) * q).sum())
    elsewhere = (7,) * len(shift)
    moved = tuple(a + d for a, d in zip(elsewhere, shift, strict=True))
    for found in (game(moved, elsewhere), game(elsewhere, moved)):
        assert found.delta_at(epsilon) == pytest.approx(best, abs=1e-12)


@pytest.mark.parametrize("order", [1.3, 2.0, 3.7])
@pytest.mark.parametrize("shift", [(1,), (2, -1)])
def test_renyi_divergences(shift: Vector, order: float) -> None:
    p, q = laws(shift, 18)
    plain = math.log(math.fsum(np.exp(order * np.log(p) + (1.0 - order) * np.log(q)))) / (order - 1.0)
    found = game(shift, (0,) * len(shift)).divergence(order)
    assert found == pytest.approx(plain, rel=1e-10)
    bound = divergence(DiscreteGaussianEvent(SCALE / math.hypot(*shift)), order)
    assert found <= bound * (1.0 + 1e-12)
    if order == 2.0:
        assert found == pytest.approx(bound), "attained where α·d is an integer"


def test_the_best_event_is_a_half_space() -> None:
    shift, second = (3, 4), (10, -5)
    found, epsilon = game((13, -1), second), 2.5
    plane = found.tell_tale(epsilon)
    p, q = laws(shift, 12)
    points = itertools.product(range(-12, 13), repeat=2)
    beyond = [plane.holds([z + b for z, b in zip(point, second, strict=True)]) for point in points]
    assert p[beyond].sum() - math.exp(epsilon) * q[beyond].sum() == pytest.approx(found.delta_at(epsilon), abs=1e-12)
    assert str(HalfSpace((3, 0, -4), 7)) == "+3·θ[0] -4·θ[2] > 7"


def test_equal_sums_tell_nothing_and_no_noise_is_pure() -> None:
    same = game((1, 2), (1, 2))
    assert same.delta_at(0.0) == same.divergence(2.0) == same.epsilon_at(0.0) == 0.0
    assert game((1, 2), (1, 1)).epsilon_at(0.0) == math.inf
    reached = game((1, 2), (1, 1)).epsilon_at(1e-3)
    assert game((1, 2), (1, 1)).delta_at(reached) <= 1e-3 < game((1, 2), (1, 1)).delta_at(reached - 1e-6)


@pytest.mark.parametrize("shift", [(1,), (3,), (1, -1), (2, 0, -1)])
def test_laplace_noise_against_all_values(shift: Vector) -> None:
    law = NoiseLaw("discrete_laplace", 1.5)
    found = game_of(*(SumLaw(NoisySum(each, law), ()) for each in (shift, (0,) * len(shift))))
    reach = 40
    p, q = np.ones(1), np.ones(1)
    for each in shift:
        z = np.arange(-reach, reach + 1)
        bell = [np.tanh(0.5 / law.scale) * np.exp(-np.abs(z - moved) / law.scale) for moved in (each, 0)]
        p, q = np.outer(p, bell[0]).ravel(), np.outer(q, bell[1]).ravel()
    for epsilon in (0.0, 0.3, 1.0):
        assert found.delta_at(epsilon) == pytest.approx(np.maximum(0.0, p - math.exp(epsilon) * q).sum(), abs=1e-10)
    largest = sum(map(abs, shift)) / law.scale
    assert found.epsilon_at(0.0) == pytest.approx(largest)
    assert np.log(p / q).max() == pytest.approx(largest)
    plain = math.log(math.fsum(np.exp(2.5 * np.log(p) - 1.5 * np.log(q)))) / 1.5
    assert found.divergence(2.5) == pytest.approx(plain, rel=1e-8)
    corner = found.tell_tale(0.0)
    assert corner.holds(shift)
    assert not corner.holds((0,) * len(shift))


# --------------------------------------------------------------------------------------------------------------
# What runs of code give away

Run = Callable[[int, Entropy], tuple[float, ...]]


def noisy(given: int, entropy: Entropy, scale: float = 5.0) -> Any:
    return np.array([given, 2]) + discrete_gaussians(scale, 2, entropy)


def honest(given: int, entropy: Entropy) -> tuple[float, ...]:
    return tuple(0.5 * noisy(given, entropy))


def shows_more(given: int, entropy: Entropy) -> tuple[float, ...]:
    return (*noisy(given, entropy), float(given))


def divides_by_a_secret(given: int, entropy: Entropy) -> tuple[float, ...]:
    return tuple(noisy(given, entropy) / (1.0 + given))


def noise_by_a_secret(given: int, entropy: Entropy) -> tuple[float, ...]:
    return tuple(noisy(given, entropy, 5.0 + given))


def verdict(run: Run) -> Any:
    claimed = Guarantee(1.0, 1e-2)
    return verify(SumCase("", claimed, [(0, 1)], partial(Shown, run), event=DiscreteGaussianEvent(5.0)))


def test_a_function_of_the_noisy_sum_is_as_private_as_the_sum() -> None:
    found = verdict(honest)
    assert found.passed
    assert [each.exact for each in found.divergences] == pytest.approx([each.claimed for each in found.divergences])
    assert found.witness.answers == (True,)
    assert 0 < found.truncated < 1e-80


@pytest.mark.parametrize("run", [shows_more, divides_by_a_secret, noise_by_a_secret])
def test_whatever_else_is_shown_is_found(run: Run) -> None:
    found = verdict(run)
    assert not found.passed
    assert found.epsilon == math.inf
    assert found.delta == 1.0


def two_sums(given: int, entropy: Entropy) -> tuple[float, ...]:
    return (*noisy(given, entropy), *noisy(given, entropy))


def a_coin_too(given: int, entropy: Entropy) -> tuple[float, ...]:
    return (*noisy(given, entropy), float(entropy.below(2, 1)[0]))


def other_noise_too(given: int, entropy: Entropy) -> tuple[float, ...]:
    return (*noisy(given, entropy), float(discrete_gaussian(0.1, entropy) > 0))


def float_sums(given: int, entropy: Entropy) -> tuple[float, ...]:
    return tuple(0.1 * given + discrete_gaussians(5.0, 1, entropy))


@pytest.mark.parametrize("run", [two_sums, a_coin_too, other_noise_too])
def test_more_than_one_sum_is_refused(run: Run) -> None:
    with pytest.raises(Unverifiable, match="one sum"):
        verdict(run)


def test_noise_on_floats_is_refused() -> None:
    with pytest.raises(Unverifiable, match="integers"):
        verdict(float_sums)
