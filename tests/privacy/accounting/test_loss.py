"""Privacy loss distributions against closed forms, and against the traps of the library that convolves them."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import pytest
from scipy.stats import binom, norm

from pcqr.privacy.accounting import ApproximateEvent, BoundedRangeEvent, GaussianEvent, PureEvent, Repeated, compose
from pcqr.privacy.accounting.events import Ledger, Release
from pcqr.privacy.accounting.loss import distribution, reserve


def gaussian_delta(noise_multiplier: float, count: int, epsilon: float) -> float:
    """Balle and Wang 2018, Theorem 5; `count` Gaussians are one with a multiplier smaller by the root of it."""
    spread = math.sqrt(count) / noise_multiplier
    return float(norm.cdf(spread / 2 - epsilon / spread) - math.exp(epsilon) * norm.cdf(-spread / 2 - epsilon / spread))


def response_delta(epsilon: float, count: int, total: float) -> float:
    """Kairouz, Oh and Viswanath 2015: the loss of `count` randomised responses is (count − 2j)·ε, j binomial."""
    truth = binom(count, 1.0 / (1.0 + math.exp(epsilon)))
    losses = [(j, (count - 2 * j) * epsilon) for j in range(count + 1)]
    return math.fsum(truth.pmf(j) * -math.expm1(total - loss) for j, loss in losses if loss > total)


@pytest.mark.parametrize("delta", [1e-5, 1e-9])
@pytest.mark.parametrize(("sigma", "count"), [(1.0, 1), (5.0, 1), (20.0, 100)])
def test_gaussians_meet_the_analytic_formula(sigma: float, count: int, delta: float) -> None:
    epsilon = compose([Repeated(GaussianEvent(sigma), count)], delta, accountant="PLD").epsilon
    assert gaussian_delta(sigma, count, epsilon) <= delta
    assert gaussian_delta(sigma, count, epsilon * 0.999) > delta


def test_sensitivity_is_not_doubled() -> None:
    """A library that takes 'replace one' for two steps would state the curve of half the multiplier."""
    epsilon = compose([GaussianEvent(4.0)], 1e-6, accountant="PLD").epsilon
    assert gaussian_delta(4.0, 1, epsilon) == pytest.approx(1e-6, rel=1e-3)
    assert gaussian_delta(2.0, 1, epsilon) > 1e-3


@pytest.mark.parametrize(("each", "count"), [(0.3, 10), (0.1, 100), (0.05, 1000)])
def test_pure_events_meet_the_optimal_composition(each: float, count: int) -> None:
    epsilon = compose([Repeated(PureEvent(each), count)], 1e-6, accountant="PLD").epsilon
    assert response_delta(each, count, epsilon) <= 1e-6
    assert response_delta(each, count, epsilon * 0.9999) > 1e-6


@pytest.mark.parametrize(("each", "count"), [(0.1, 100), (0.05, 1000), (0.01, 20_000)])
def test_the_reserve_covers_what_the_fourier_transforms_lose(each: float, count: int) -> None:
    pure = PureEvent(each)
    convolved = distribution(pure, each).self_compose(count)
    lost = max(response_delta(each, count, e) - convolved.get_delta_for_epsilon(e) for e in (0.5, 2.0, 4.0, 6.0))
    assert 10.0 * lost < reserve(Ledger.of([Repeated(pure, count)]))


@pytest.mark.parametrize(
    "release", [PureEvent(0.1), BoundedRangeEvent(0.2), ApproximateEvent(0.1, 1e-8), GaussianEvent(10.0)]
)
def test_a_count_is_a_loop(release: Release) -> None:
    """dp-accounting 0.6's own accountant forgets the count of a randomised response; convolutions must not."""
    looped = one = distribution(release, 1.0 / 1024)
    for _ in range(9):
        looped = looped.compose(one)
    counted = one.self_compose(10)
    assert counted.get_epsilon_for_delta(1e-6) == pytest.approx(looped.get_epsilon_for_delta(1e-6), rel=1e-6)
    assert counted.get_epsilon_for_delta(1e-6) > 1.5 * one.get_epsilon_for_delta(1e-6)


def test_the_grid_rounds_a_loss_up() -> None:
    rough = distribution(PureEvent(0.1), 0.03)
    assert rough.get_epsilon_for_delta(0.0) == pytest.approx(0.12)


@pytest.mark.parametrize("delta", [0.1, 0.5])
@pytest.mark.parametrize(("strong", "weak", "epsilon"), [(60, 40, 0.7071067811865476), (20, 20, 1.224744871391589)])
def test_epsilon_is_not_too_small_on_a_fine_grid(strong: int, weak: int, epsilon: float, delta: float) -> None:
    """dp-accounting's solver drifts along its grid: δ was exceeded by 2·10⁻¹¹ here. The truth is a double sum."""
    stated = compose(
        [Repeated(PureEvent(epsilon), strong), Repeated(PureEvent(epsilon / 4), weak)], delta, accountant="PLD"
    )

    def chances(count: int, bound: float) -> list[Decimal]:
        p = 1 / (1 + (-Decimal(bound)).exp())
        return [Decimal(math.comb(count, j)) * p**j * (1 - p) ** (count - j) for j in range(count + 1)]

    with localcontext() as context:
        context.prec = 40
        total = Decimal(0)
        for i, a in enumerate(chances(strong, epsilon)):
            for j, b in enumerate(chances(weak, epsilon / 4)):
                loss = Decimal(epsilon) * (2 * i - strong) + Decimal(epsilon / 4) * (2 * j - weak)
                excess = loss - Decimal(stated.epsilon)
                if excess > 0:
                    total += a * b * (1 - (-excess).exp())
        assert total <= Decimal(delta)
