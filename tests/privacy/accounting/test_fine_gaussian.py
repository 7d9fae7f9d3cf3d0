"""Discrete noise accounted as continuous noise: the distance between the two, and exact (ε, δ), from plain sums."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

from pcqr.errors import ParameterError
from pcqr.privacy.accounting.gaussian import (
    fine_gaussian_delta,
    fine_gaussian_epsilon,
    gaussian_delta,
    grid_delta,
    unit_steps_delta,
    unit_steps_epsilon,
)

Floats = NDArray[np.float64]


def exact_delta(scale: float, epsilon: float, shift: int) -> float:
    """Σ max(0, P(z) − e^ε·Q(z)) for Z + `shift` against Z."""
    reach = math.ceil(12 * scale)
    z = np.arange(-reach, reach + shift + 1)
    p, q = np.exp(-0.5 * ((z - shift) / scale) ** 2), np.exp(-0.5 * (z / scale) ** 2)
    mass = math.fsum(np.exp(-0.5 * (np.arange(-reach, reach + 1) / scale) ** 2))
    return math.fsum(np.maximum(0.0, p - math.exp(epsilon) * q)) / mass


def continuous_delta(mu: float, epsilon: float) -> float:
    return float(norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu))


@pytest.mark.parametrize("scale", [2.0, 2.7, 10.0, 150.0])
def test_rounded_and_discrete_draws_are_within_the_distance_that_is_accounted_for(scale: float) -> None:
    z = np.arange(-math.ceil(30 * scale), math.ceil(30 * scale) + 1)
    rounded = norm.cdf((z + 0.5) / scale) - norm.cdf((z - 0.5) / scale)
    rounded = np.where(z > 0, norm.sf((z - 0.5) / scale) - norm.sf((z + 0.5) / scale), rounded)
    bell = np.exp(-0.5 * (z / scale) ** 2)
    distance = 0.5 * math.fsum(np.abs(rounded - bell / math.fsum(bell)))
    assert 0.2 / (16 * scale**2) < distance < 1.0 / (16 * scale**2)


def test_the_continuous_figure_alone_does_not_hold_for_discrete_noise() -> None:
    epsilons = np.linspace(0.05, 1.5, 30)
    exact = np.array([exact_delta(2.0, float(epsilon), 1) for epsilon in epsilons])
    continuous = np.array([continuous_delta(0.5, float(epsilon)) for epsilon in epsilons])
    bound = np.array([fine_gaussian_delta(0.5, float(epsilon), 2.0, 1) for epsilon in epsilons])
    assert (exact > 1.02 * continuous).any()
    assert (exact <= bound).all()


@pytest.mark.parametrize("scale", [5.0, 40.0, 1000.0])
@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
def test_exact_discrete_noise_keeps_the_bound(scale: float, mu: float) -> None:
    shift = max(1, round(mu * scale))
    for epsilon in (0.0, 0.1, 1.0, 4.0):
        exact = exact_delta(scale, epsilon, shift)
        bound = fine_gaussian_delta(shift / scale, epsilon, scale, 1)
        assert exact <= bound
        assert (
            bound <= continuous_delta(shift / scale, epsilon) + 1.01 * (1 + math.exp(epsilon)) / (16 * scale**2) + 1e-10
        )


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-2])
@pytest.mark.parametrize("mu", [0.01, 0.3, 2.0])
def test_epsilon_is_the_least_that_keeps_delta(mu: float, delta: float) -> None:
    epsilon = fine_gaussian_epsilon(mu, delta, 2.0**40, 100_000)
    assert fine_gaussian_delta(mu, epsilon, 2.0**40, 100_000) <= delta
    if epsilon > 1e-6:
        assert fine_gaussian_delta(mu, epsilon * (1 - 1e-8), 2.0**40, 100_000) > delta
        assert continuous_delta(mu, epsilon) == pytest.approx(delta, rel=1e-3)


@pytest.mark.parametrize(("epsilon", "scale", "draws"), [(0.0, 2.0, 1), (1.0, 300.0, 7), (4.0, 2.0**25, 10**6)])
def test_the_grids_part_is_the_proofs_constant_and_is_added_once(epsilon: float, scale: float, draws: int) -> None:
    part = (1 + math.exp(epsilon)) * draws / (16 * scale**2)
    assert part <= grid_delta(epsilon, scale, draws) <= part * (1 + 1e-11)
    for beside in ((), (0.3,)):
        for ranged in (None, 0.4):
            whole = fine_gaussian_delta(0.7, epsilon, scale, draws, beside, ranged)
            assert whole == pytest.approx(gaussian_delta(0.7, epsilon, beside, ranged) + part, rel=1e-11)


@pytest.mark.parametrize("scale", [5.0, 40.0])
def test_discrete_noise_beside_a_randomised_response_keeps_the_bound(scale: float) -> None:
    """Both outcomes of the response and all integers, one by one."""
    shift, part = round(scale), 0.6
    linears = 1 / (1 + math.exp(-part))
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        exact = sum(
            weight * exact_delta(scale, epsilon - loss, shift)
            for weight, loss in ((linears, part), (1 - linears, -part))
        )
        bound = fine_gaussian_delta(shift / scale, epsilon, scale, 1, (part,))
        assert exact <= bound <= exact + 2.5 * (1 + math.exp(epsilon)) / (16 * scale**2)


@pytest.mark.parametrize("scale", [5.0, 40.0])
def test_discrete_noise_beside_two_outcomes_keeps_the_bound_of_their_range(scale: float) -> None:
    """Both outcomes, whose losses are t and t − r, and all integers, one by one, for many t."""
    shift, length = round(scale), 0.6
    for epsilon in (0.0, 0.3, 1.0, 3.0):
        exact = []
        for top in np.linspace(0.0, length, 31).tolist():
            linears = (math.exp(length) - math.exp(top)) / math.expm1(length)
            outcomes = ((linears, top), (1 - linears, top - length))
            exact.append(sum(weight * exact_delta(scale, epsilon - loss, shift) for weight, loss in outcomes))
        bound = fine_gaussian_delta(shift / scale, epsilon, scale, 1, (), length)
        slack = 2.5 * (1 + math.exp(epsilon)) / (16 * scale**2)
        assert max(exact) <= bound <= max(exact) * 1.001 + slack
        assert bound < fine_gaussian_delta(shift / scale, epsilon, scale, 1, (length,))


@pytest.mark.parametrize("beside", [(), (0.1,)])
def test_epsilon_beside_a_bounded_range_is_the_least_that_keeps_delta(beside: tuple[float, ...]) -> None:
    arguments = 2.0**40, 100_000, beside, 0.4
    epsilon = fine_gaussian_epsilon(0.1, 1e-6, *arguments)
    assert (
        fine_gaussian_delta(0.1, epsilon, *arguments) <= 1e-6 < fine_gaussian_delta(0.1, 0.99999 * epsilon, *arguments)
    )
    pure = fine_gaussian_epsilon(0.1, 1e-6, 2.0**40, 100_000, (*beside, 0.4))
    assert fine_gaussian_epsilon(0.1, 1e-6, 2.0**40, 100_000, beside) < epsilon < 0.95 * pure


@cache
def law_of_steps(scale: float, moved: int) -> tuple[Floats, Floats]:
    """The loss where `moved` coordinates move by one, and its chances: a convolution of positive terms, by direct sums.

    So each chance has nearly all its digits, however small it is; the law is cut off beyond 30σ a draw.
    """
    reach = math.ceil(30 * scale)
    bell = np.exp(-0.5 * (np.arange(-reach, reach + 1) / scale) ** 2)
    law = np.ones(1)
    for _ in range(moved):
        law = np.convolve(law, bell / bell.sum())
    sums = np.arange(law.size, dtype=np.float64) - moved * reach
    return np.asarray((moved + 2.0 * sums) / (2.0 * scale**2), dtype=np.float64), law


def exact_delta_of_steps(scale: float, moved: int, epsilon: float) -> float:
    """Σ P·max(0, 1 − e^{ε − loss})."""
    loss, law = law_of_steps(scale, moved)
    return math.fsum(law * -np.expm1(np.minimum(0.0, epsilon - loss)))


def largest_excess(scale: float, moved: int, bound: Callable[[float], float]) -> float:
    """The largest exact δ over `bound`, from ε = μ²/2 to 20μ beyond it, where δ is 10⁻⁹⁰: ten ε to a step of the loss.

    Where steps are small against μ only each so many of them is tried.
    """
    shift = math.sqrt(moved) / scale
    steps = np.unique(np.linspace(0, 20 * shift * scale**2, 60).astype(int))
    tried = shift**2 / 2 * (1 + 1e-9) + np.add.outer(steps, np.arange(10) / 10).ravel() / scale**2
    return max(exact_delta_of_steps(scale, moved, epsilon) / bound(epsilon) for epsilon in tried.tolist())


STEPS = [(2.0, 1), (2.0, 4), (2.5, 20), (5.0, 60), (9.0, 3)]


@pytest.mark.parametrize(("scale", "moved"), STEPS)
def test_steps_of_one_keep_their_bound_far_into_the_tail(scale: float, moved: int) -> None:
    assert 0.5 < largest_excess(scale, moved, partial(unit_steps_delta, scale, moved)) <= 1 + 1e-9


@pytest.mark.parametrize(("scale", "moved"), STEPS)
def test_the_continuous_figure_alone_does_not_hold_for_steps_of_one(scale: float, moved: int) -> None:
    assert largest_excess(scale, moved, partial(gaussian_delta, math.sqrt(moved) / scale)) > 1.001


@pytest.mark.parametrize(("share", "excess"), [(0.1, 1.3), (0.13, 1.04)])
def test_a_tenth_of_the_grids_term_is_refuted(share: float, excess: float) -> None:
    """`share`/σ² for 1/σ²: δ at ε = 9.85, 10⁻⁸⁵, is 37 % above a bound with a tenth."""

    def too_small(epsilon: float, share: float = share) -> float:
        return gaussian_delta(0.5, epsilon - share / 2.0**2)

    assert largest_excess(2.0, 1, too_small) > excess
    assert too_small(5.0, 1.0) == pytest.approx(unit_steps_delta(2.0, 1, 5.0), rel=1e-9), "the same, but for the share"


@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize(("scale", "moved"), [(2.0, 4), (5.0, 60), (40.0, 572)])
def test_the_epsilon_of_steps_of_one_keeps_delta_and_is_hardly_more_than_needed(
    scale: float, moved: int, delta: float
) -> None:
    epsilon = unit_steps_epsilon(scale, moved, delta)
    assert unit_steps_delta(scale, moved, epsilon) <= delta
    if moved < 100:
        assert exact_delta_of_steps(scale, moved, epsilon) <= delta
        assert exact_delta_of_steps(scale, moved, epsilon - 1.5 / scale**2) > delta
    assert unit_steps_delta(scale, moved, epsilon * (1 - 1e-6)) > delta


def test_steps_of_one_say_nothing_where_nothing_is_proved() -> None:
    assert unit_steps_delta(1.9, 5, 3.0) == math.inf, "noise of less than two steps"
    assert unit_steps_delta(10.0, 500, 2.49) == math.inf, "ε below μ²/2"
    assert unit_steps_epsilon(1.9, 5, 1e-6) == math.inf
    assert unit_steps_epsilon(10.0, 500, 0.9) == pytest.approx(2.5), "no less than μ²/2, whatever δ is"
    assert unit_steps_epsilon(2.0, 10**6, 1e-6) == math.inf
    with pytest.raises(ParameterError, match="moved"):
        unit_steps_delta(10.0, 0, 1.0)


def test_an_epsilon_beside_a_large_pure_release_is_found_where_noise_is_wide() -> None:
    """The grid's part allows any ε at this σ: the search starts at the largest that is computed."""
    assert fine_gaussian_epsilon(1.0, 0.1, 1e150, 1, (100.0,)) == pytest.approx(101.16, abs=0.01)


def test_coarse_noise_and_a_delta_below_the_distance_have_no_figure() -> None:
    assert fine_gaussian_delta(0.5, 1.0, 1.9, 1) == math.inf
    assert fine_gaussian_epsilon(0.5, 1e-6, 100.0, 1000) == math.inf
