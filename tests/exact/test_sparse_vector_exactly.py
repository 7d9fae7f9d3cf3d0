"""The sparse vectors' guarantees against their exact laws (proofs/sparse_vector.md)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom
from support.exact import (
    Query,
    SparseVectorLaw,
    best_adversary,
    geometric_at_least,
    laplace_at_least,
    laplace_support,
)

from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, PaperSparseVector

FIGURES = OneSidedSparseVector(threshold=10, threshold_scale=1 / 0.5, query_scale=1 / 0.25, unstable=1)


def log_ratio(law: SparseVectorLaw, first: Sequence[int], second: Sequence[int], answers: Sequence[bool]) -> float:
    return math.log(law.transcript(first, answers) / law.transcript(second, answers))


def excess(law: SparseVectorLaw, first: Sequence[int], second: Sequence[int], answers: Sequence[bool]) -> float:
    """P − e^ε·Q of one transcript at the claimed ε: above the claimed δ it refutes the claim."""
    claimed = math.exp(law.parameters.guarantee.epsilon)
    return law.transcript(first, answers) - claimed * law.transcript(second, answers)


# --------------------------------------------------------------------------------------------------------------
# One-sided


@pytest.mark.parametrize(("unstable", "expected"), [(1, 1.0), (2, 1.5)])
def test_the_bound_is_attained(unstable: int, expected: float) -> None:
    parameters = replace(FIGURES, unstable=unstable)
    reached = log_ratio(
        SparseVectorLaw(parameters),
        [1] * 20 + [0] * unstable,
        [0] * 20 + [1] * unstable,
        [True] * 20 + [False] * unstable,
    )
    assert reached == pytest.approx(expected, abs=5e-6)
    assert parameters.guarantee.epsilon == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize(("threshold", "unstable", "rounds"), [(0, 1, 3), (2, 1, 4), (2, 2, 4), (5, 2, 3)])
def test_no_adaptive_adversary_exceeds_delta_at_epsilon(threshold: int, unstable: int, rounds: int) -> None:
    parameters = replace(FIGURES, threshold=threshold, unstable=unstable)
    w = threshold
    menu = [Query(0, 0, flips=True), Query(0, 1), Query(1, 0), Query(w, w + 1), Query(w + 1, w), Query(w + 6, w + 5)]
    reached = best_adversary(SparseVectorLaw(parameters), menu, parameters.guarantee.epsilon, rounds)
    assert 0 < reached <= parameters.guarantee.delta


def test_without_flips_the_answers_are_purely_private() -> None:
    menu = [Query(d, d + step) for d in (1, 9, 11, 14) for step in (-1, 1)]
    assert best_adversary(SparseVectorLaw(FIGURES), menu, FIGURES.guarantee.epsilon, rounds=3) <= 1e-12


def test_delta_is_the_chance_that_a_flip_can_pass_at_all() -> None:
    law = SparseVectorLaw(FIGURES)
    can_pass = law.initial[law.stable(0) > 0].sum()
    assert FIGURES.guarantee.delta == pytest.approx(can_pass, rel=1e-11)


@pytest.mark.parametrize("unstable", [1, 2])
def test_one_more_unstable_answer_breaks_it(unstable: int) -> None:
    """The paper's loop `c ≤ T` gives T + 1 unstable answers."""
    parameters = OneSidedSparseVector(threshold=40, threshold_scale=2.0, query_scale=4.0, unstable=unstable)
    law, w, count = SparseVectorLaw(parameters), 40, unstable + 1
    first, second = [w + 1] * 20 + [w] * count, [w] * 20 + [w + 1] * count
    within = excess(law, first[:-1], second[:-1], [True] * 20 + [False] * unstable)
    beyond = excess(law, first, second, [True] * 20 + [False] * count)
    assert within <= parameters.guarantee.delta < beyond


def test_the_gap_between_top_and_second_breaks_it() -> None:
    """The paper's distance moves by 2 when one teacher changes its vote."""
    parameters = OneSidedSparseVector(threshold=40, threshold_scale=2.0, query_scale=4.0, unstable=1)
    law, w, answers = SparseVectorLaw(parameters), 40, [True] * 20 + [False]
    assert excess(law, [w + 1] * 20 + [w], [w] * 20 + [w + 1], answers) <= 0
    assert excess(law, [w + 2] * 20 + [w], [w] * 20 + [w + 2], answers) > 1e5 * parameters.guarantee.delta


# --------------------------------------------------------------------------------------------------------------
# The paper's form


def printed_epoch(scale: float, threshold: float, distances: tuple[float, float, float]) -> float:
    """P(stable, stable, ⊥) in one epoch of the printed algorithm: continuous Laplace noise λ and 2λ."""

    def above(t: float) -> float:
        return 0.5 * math.exp(-t / (2 * scale)) if t >= 0 else 1 - 0.5 * math.exp(t / (2 * scale))

    def density(rho: float) -> float:
        first, second, third = (threshold + rho - d for d in distances)
        return math.exp(-abs(rho) / scale) / (2 * scale) * above(first) * above(second) * (1 - above(third))

    kinks = sorted({-40 * scale, 0.0, *(d - threshold for d in distances), 40 * scale})
    return math.fsum(quad(density, low, high, epsabs=0, epsrel=1e-11)[0] for low, high in itertools.pairwise(kinks))


def test_the_printed_epoch_costs_more_than_it_claims() -> None:
    def cost(threshold: float) -> float:
        return math.log(printed_epoch(4, threshold, (3, 3, 23)) / printed_epoch(4, threshold, (1, 1, 25)))

    assert cost(23) == pytest.approx(0.7296, abs=5e-5)
    assert cost(23) > 2 / 4
    costs = {w: cost(w) for w in np.arange(15.0, 25.0, 0.5)}
    assert max(costs.values()) == pytest.approx(0.736, abs=5e-4)
    assert max(costs, key=lambda w: costs[w]) == 19.5


def test_the_printed_epoch_on_the_integers_costs_more_than_it_claims_too() -> None:
    """The same gaps and thresholds with discrete Laplace noise, as paper mode draws it."""
    law = SparseVectorLaw(PaperSparseVector(threshold=23, scale=4.0, unstable=1, queries=100, slack=1e-6))
    reached = log_ratio(law, [3, 3, 23], [1, 1, 25], [True, True, False])
    assert reached == pytest.approx(0.7277, abs=5e-5)
    assert reached > 2 / 4


@pytest.mark.parametrize("threshold", [10.0, 19.5, 23.0])
def test_the_printed_epoch_with_the_distance_to_instability_costs_what_it_claims(threshold: float) -> None:
    """The same votes: gaps (3, 3, 23) and (1, 1, 25) are distances (1, 1, 11) and (0, 0, 12)."""
    ratio = printed_epoch(4, threshold, (1, 1, 11)) / printed_epoch(4, threshold, (0, 0, 12))
    assert abs(math.log(ratio)) <= 2 / 4


def test_an_epoch_on_the_integers_attains_its_bound() -> None:
    parameters = PaperSparseVector(threshold=40, scale=4.0, unstable=1, queries=100, slack=1e-6)
    answers = [True] * 20 + [False]
    reached = log_ratio(SparseVectorLaw(parameters), [1] * 20 + [0], [0] * 20 + [1], answers)
    assert reached <= 2 / 4 + 1e-9
    assert reached == pytest.approx(2 / 4, abs=1e-3)
    twice = log_ratio(SparseVectorLaw(parameters), [2] * 20 + [0], [0] * 20 + [2], answers)
    assert twice > 1.9 * 2 / 4, "the gap between top and second costs 4/λ"


@pytest.mark.parametrize(("threshold", "unstable"), [(4, 1), (4, 2), (9, 2)])
def test_no_adaptive_adversary_exceeds_the_paper_form(threshold: int, unstable: int) -> None:
    parameters = PaperSparseVector(threshold=threshold, scale=2.0, unstable=unstable, queries=4, slack=1e-6)
    w = threshold
    menu = [Query(0, 0, flips=True), Query(0, 1), Query(1, 0), Query(w, w + 1), Query(w + 1, w)]
    reached = best_adversary(SparseVectorLaw(parameters), menu, parameters.guarantee.epsilon, rounds=4)
    assert 0 < reached <= parameters.guarantee.delta


@pytest.mark.parametrize(("scale", "threshold"), [(0.4, 0), (2.0, 3), (7.5, 40)])
def test_the_chance_that_a_flip_passes_in_closed_form(scale: float, threshold: int) -> None:
    z, mass = laplace_support(scale)
    summed = math.fsum(mass * laplace_at_least(threshold + 1 + z, 2 * scale))
    parameters = PaperSparseVector(threshold, scale, unstable=1, queries=1, slack=0.1)
    assert parameters.passing_at_zero == pytest.approx(summed, rel=1e-12)
    assert parameters.passing_at_zero <= 2 / 3 * math.exp(-threshold / (2 * scale))


@pytest.mark.parametrize("epochs", [1, 10, 300])
@pytest.mark.parametrize("epoch_epsilon", [0.02, 0.3])
@pytest.mark.parametrize("slack", [1e-6, 1e-2])
def test_advanced_composition_covers_the_worst_epochs(epochs: int, epoch_epsilon: float, slack: float) -> None:
    """Randomised response dominates every pure ε₀-DP epoch; its T-fold hockey stick is a binomial sum."""
    parameters = PaperSparseVector(10**9, 2 / epoch_epsilon, unstable=epochs, queries=10**6, slack=slack)
    stated = parameters.guarantee
    ones = np.arange(epochs + 1)
    truth = 1 / (1 + math.exp(-epoch_epsilon))
    p, q = binom.pmf(ones, epochs, truth), binom.pmf(ones, epochs, 1 - truth)
    assert np.maximum(0.0, p - math.exp(stated.epsilon) * q).sum() <= stated.delta + 1e-12


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 1.0, 4.0])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 0.03])
@pytest.mark.parametrize(("unstable", "queries"), [(1, 1), (1, 1000), (20, 1000), (4000, 10**6), (50, 10)])
def test_the_papers_constants_give_what_the_paper_claims(
    epsilon: float, delta: float, unstable: int, queries: int
) -> None:
    parameters = PaperSparseVector.from_paper(epsilon, delta, unstable, queries)
    assert parameters.guarantee.within(epsilon, delta)
    assert parameters.scale == pytest.approx(math.sqrt(32 * unstable * math.log(2 / delta)) / epsilon)
    assert parameters.threshold == math.ceil(2 * parameters.scale * math.log(2 * queries / delta))


# --------------------------------------------------------------------------------------------------------------
# The laws themselves


@pytest.mark.parametrize("scale", [0.3, 2.0, 11.0])
def test_the_laws_of_the_noise(scale: float) -> None:
    z, mass = laplace_support(scale)
    assert math.fsum(mass) == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(laplace_at_least(z, scale), mass[::-1].cumsum()[::-1], rtol=1e-9, atol=1e-15)
    half = mass[z >= 0] / mass[z >= 0].sum()
    np.testing.assert_allclose(geometric_at_least(z[z >= 0], scale), half[::-1].cumsum()[::-1], rtol=1e-9, atol=1e-15)
