"""The Rényi form of the sparse vector against its exact law (proofs/sparse_vector.md)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import nbinom
from support.exact import Floats, Query, SparseVectorLaw, best_adversary, gaussian_support, tail_and_head

from pcqr.mechanisms.sparse_vector import RenyiSparseVector, normal_tail

SMALL = RenyiSparseVector(threshold=4, threshold_scale=1.5, query_scale=1.2, head_start=0, unstable=2, slack=1e-3)
MANY = RenyiSparseVector.calibrate(1.0, 1e-6, 40, 1000, 0.01)


def factors(parameters: RenyiSparseVector, u: int, step: int, order: float) -> tuple[float, float]:
    """A = p^α·q^{1−α} and 1 − B, B = (1−p)^α·(1−q)^{1−α}, for q = F(u), p = F(u + step)."""
    gap = np.array([-u - step, -u])
    (p, q), (p_stable, q_stable) = tail_and_head(gap, parameters.query_scale, parameters.head_start)
    fails = float(p * (p / q) ** (order - 1))
    if p == 1:
        return fails, 1.0
    log_p, log_q = (np.log1p(-p), np.log1p(-q)) if p < 0.5 else (np.log(p_stable), np.log(q_stable))
    return fails, -math.expm1(log_p + (order - 1) * (log_p - log_q))


def moment(parameters: RenyiSparseVector, u: int, order: float, unstable: int, rounds: int) -> float:
    """Σ P^α·Q^{1−α} over the answers when ρ is known and one query, always at position u, is asked `rounds` times."""
    fails, ends = factors(parameters, u, 2, order)
    remaining = np.ones(unstable + 1)
    for _ in range(rounds):
        remaining[1:] = fails * remaining[:-1] + (1 - ends) * remaining[1:]
    return float(remaining[-1])


# --------------------------------------------------------------------------------------------------------------
# The price of one unstable answer


@given(
    query_scale=st.floats(0.05, 1e4),
    head_start=st.integers(0, 50),
    order=st.floats(1.001, 300.0),
    position=st.floats(-3.0, 30.0),
    step=st.integers(0, 2),
)
def test_no_position_costs_more_than_stated(
    query_scale: float, head_start: int, order: float, position: float, step: int
) -> None:
    parameters = replace(SMALL, query_scale=query_scale, head_start=head_start)
    assume((order - 1) * parameters.unstable_cost(order) < 600)  # or it is no float
    stated = math.exp((order - 1) * parameters.unstable_cost(order))
    for u in (0, -1, -2, -3, math.floor(-position * query_scale)):
        fails, ends = factors(parameters, u, step, order)
        assert fails <= stated * ends * (1 + 1e-9)


@pytest.mark.parametrize("order", [1.5, 4.0, 25.0])
@pytest.mark.parametrize("query_scale", [1.2, 30.0])
def test_every_integer_position_of_the_head_and_the_tail(order: float, query_scale: float) -> None:
    for head_start in (0, 3):
        parameters = replace(SMALL, query_scale=query_scale, head_start=head_start)
        stated = math.exp((order - 1) * parameters.unstable_cost(order))
        costs = {(u, s): factors(parameters, u, s, order) for u in range(-int(12 * query_scale), 3) for s in (1, 2)}
        reached = {at: fails / ends for at, (fails, ends) in costs.items()}
        assert max(reached.values()) <= stated * (1 + 1e-9)
        assert all(reached[u, 1] <= reached[u, 2] * (1 + 1e-12) for u in range(-int(12 * query_scale), 3))


@pytest.mark.parametrize("unstable", [1, 2, 5])
@pytest.mark.parametrize("order", [2.0, 12.0])
def test_the_price_is_attained_and_a_wrong_constant_is_too_small(unstable: int, order: float) -> None:
    """Far out in the tail, asked again and again: no smaller E, no larger scale explains what is reached there."""
    parameters = replace(SMALL, query_scale=4.0, unstable=unstable)
    rounds = 5000 * unstable
    reached = math.log(moment(parameters, -30, order, unstable, rounds)) / (order - 1)
    stated = unstable * parameters.unstable_cost(order)
    assert 0.98 * stated < reached <= stated
    assert (unstable - 1) * parameters.unstable_cost(order) < reached
    assert unstable * replace(parameters, query_scale=1.3 * 4.0).unstable_cost(order) < reached
    assert moment(parameters, -30, order, unstable + 1, 2 * rounds) > math.exp((order - 1) * stated)


@pytest.mark.parametrize("head_start", [20, 25])
def test_the_head_is_paid_for(head_start: int) -> None:
    parameters = replace(SMALL, query_scale=4.0, head_start=head_start, unstable=1)
    reached = math.log(moment(parameters, -2, 2.0, 1, 50))
    assert reached == pytest.approx(parameters.unstable_cost(2.0), rel=1e-9)
    assert reached > replace(parameters, head_start=head_start - 1).unstable_cost(2.0)


def test_the_price_is_that_of_waiting_for_a_poisson_event() -> None:
    """D_α of exponential waiting times with rates e^{2c} and 1, by quadrature."""
    c, order = 0.2, 3.0
    rate = math.exp(2 * c)
    t = np.linspace(0, 60, 2_000_001)
    density = np.exp(order * (math.log(rate) - rate * t) - (1 - order) * t)
    integral = float((density[1:] + density[:-1]).sum() / 2 * (t[1] - t[0]))
    assert replace(SMALL, query_scale=1 / c).unstable_cost(order) == pytest.approx(
        math.log(integral) / (order - 1), rel=1e-6
    )


# --------------------------------------------------------------------------------------------------------------
# Adaptive adversaries


def best_moment(law: SparseVectorLaw, menu: Sequence[Query], order: float, rounds: int) -> float:
    """The largest Σ P^α·Q^{1−α} over (ρ, answers) that an adversary reaches; ρ on one side, ρ + 1 on the other."""

    def powers(p: Floats, q: Floats) -> Floats:
        """p(z)^α·q(z − 1)^{1−α}, 0 where p is 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found: Floats = np.where(p[1:] > 0, p[1:] * (p[1:] / q[:-1]) ** (order - 1), 0.0)
        return found

    table = [
        (
            powers(law.stable(query.distance), law.stable(query.neighbour)),
            powers(law.unstable(query.distance), law.unstable(query.neighbour)),
        )
        for query in menu
    ]

    def value(measure: Floats, unstable_remaining: int, rounds_remaining: int) -> float:
        if unstable_remaining == 0 or rounds_remaining == 0:
            return float(measure.sum())
        return max(
            value(measure * stable, unstable_remaining, rounds_remaining - 1)
            + value(measure * unstable, unstable_remaining - 1, rounds_remaining - 1)
            for stable, unstable in table
        )

    return value(powers(law.initial, law.initial), law.parameters.unstable, rounds)


@pytest.mark.parametrize("order", [1.5, 3.0, 8.0])
@pytest.mark.parametrize("parameters", [SMALL, replace(SMALL, head_start=1, query_scale=3.0)])
def test_no_adaptive_adversary_exceeds_the_divergence(parameters: RenyiSparseVector, order: float) -> None:
    w = parameters.threshold
    menu = [Query(d, d + step) for d in (w - 2, w + 2, w + 6) for step in (-1, 1)]
    reached = best_moment(SparseVectorLaw(parameters), menu, order, rounds=5)
    stated = math.exp((order - 1) * parameters.divergence(order))
    assert math.exp((order - 1) * order / (2 * parameters.threshold_scale**2)) < reached <= stated


@pytest.mark.parametrize(
    "parameters",
    [
        SMALL,
        replace(SMALL, unstable=1, threshold=2),
        replace(SMALL, head_start=1, threshold=3),
        replace(SMALL, slack=0.05, threshold=6, query_scale=2.5),
    ],
)
def test_no_adaptive_adversary_exceeds_delta_at_epsilon(parameters: RenyiSparseVector) -> None:
    w = parameters.threshold
    menu = [Query(0, 0, flips=True), Query(0, 1), Query(1, 0), Query(w, w + 1), Query(w + 1, w), Query(w + 3, w + 2)]
    stated = parameters.guarantee
    reached = best_adversary(SparseVectorLaw(parameters), menu, stated.epsilon, rounds=4)
    assert 0 < reached <= stated.delta


def patient_adversary(parameters: RenyiSparseVector, unstable: int, epsilon: float) -> float:
    """The exact hockey stick at ε when ρ is known and a query far out is asked until `unstable` answers are ⊥.

    How many answers are stable on the way is negative binomial on each neighbour.
    """
    far = math.ceil(9 * parameters.query_scale)
    (p, q), _ = tail_and_head(np.array([far, far + 2]), parameters.query_scale, parameters.head_start)
    stable = np.unique(np.geomspace(1, 8 * unstable / q, 60_000).astype(np.int64)) - 1
    below_p, below_q = nbinom.cdf(stable, unstable, p), nbinom.cdf(stable, unstable, q)
    return float((below_p - math.exp(epsilon) * below_q).max())  # the likelihood ratio decreases in their number


def test_a_patient_adversary_stays_below_and_a_wrong_scale_does_not() -> None:
    known = replace(MANY, threshold_scale=1e6)  # leaves all of ε to the answers
    epsilon, slack = known.guarantee.epsilon, known.slack
    assert 0 < patient_adversary(known, known.unstable, epsilon) <= slack
    assert patient_adversary(replace(known, query_scale=known.query_scale / 1.3), known.unstable, epsilon) > 10 * slack
    assert patient_adversary(known, 2 * known.unstable, epsilon) > 10 * slack


# --------------------------------------------------------------------------------------------------------------
# Labels that flip


@pytest.mark.parametrize("scale", [0.3, 1.5, 15.0])
def test_the_chance_that_a_flip_can_pass(scale: float) -> None:
    z, mass = gaussian_support(scale)
    for w in range(math.ceil(8 * scale)):
        can_pass = math.fsum(mass[z < -w])
        assert normal_tail(w + 1, scale) * 0.999 <= can_pass <= normal_tail(w, scale)


def test_a_flip_passes_as_rarely_as_stated_and_a_wrong_threshold_breaks_it() -> None:
    law = SparseVectorLaw(MANY)
    chance = 1 - math.fsum(law.initial * law.unstable(0) ** MANY.unstable)
    stated = MANY.guarantee.delta - MANY.slack
    assert chance <= stated
    too_low = replace(MANY, threshold=int(MANY.threshold / 1.3))
    lower = SparseVectorLaw(too_low)
    assert math.fsum(lower.initial[lower.stable(0) > 0]) > 10 * stated


def test_noise_above_zero_would_need_a_larger_threshold() -> None:
    """ν = j − G is as good as −max(0, G − j) for the answers, but lets labels that flip pass by its own strength."""
    law = SparseVectorLaw(MANY)
    fails, _ = tail_and_head(MANY.head_start - law.z - MANY.threshold, MANY.query_scale, 0)
    chance = 1 - math.fsum(law.initial * fails**MANY.unstable)
    assert chance > 1.5 * (MANY.guarantee.delta - MANY.slack)
