"""The linear classifier's privacy, exactly: sensitivity over all records, Rényi divergences and (ε, δ) of whole steps.

A step's law is that of the code's own integer sum plus independent discrete Gaussians, whose law is written down in
`pcqr.audit.exact.integers`. Feature maps are small and M is chosen so that the bound 2M is attained.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from numpy.typing import NDArray

from pcqr.accounting import DiscreteGaussianEvent
from pcqr.accounting.renyi import divergence
from pcqr.algorithms.linear import linear_guarantee
from pcqr.audit.exact.integers import NoiseLaw
from pcqr.plan import DescentStage
from pcqr.records import InMemory
from pcqr.records.features import LARGEST_ENTRY, UNIT, LinearFeatures
from pcqr.records.predicates import Predicate
from pcqr.records.sums import Summands

Record = tuple[tuple[float, ...], int]
Vector = tuple[int, ...]

HOSTILE = (0.0, 1e-3, -1e-3, 1.0, -1.0, 30.0, -30.0, 1e12, -1e12)
DELTAS = (1e-8, 1e-4, 1e-2)


def features_of(holding: Vector, failing: Vector) -> LinearFeatures:
    """One predicate x[j] > 0 for each column j."""
    return LinearFeatures(
        tuple(Predicate(j, 0.0) for j in range(len(holding))), holding, failing, features=len(holding)
    )


def summands(features: LinearFeatures, records: list[Record], bound: int) -> Summands:
    X, y = np.array([x for x, _ in records]), np.array([label for _, label in records], dtype=np.int8)
    return InMemory(X, y).sums(features, bound)


def total(summed: Summands, *weights: float) -> Vector:
    return tuple(summed.total(np.array([weights], dtype=np.float64))[0].tolist())


def all_records(columns: int) -> list[Record]:
    return [(x, y) for x in itertools.product((-1.0, 1.0), repeat=columns) for y in (0, 1)]


@pytest.mark.parametrize(
    ("holding", "failing"),
    [
        ((192,), (0,)),
        ((LARGEST_ENTRY, -LARGEST_ENTRY, 3), (-LARGEST_ENTRY, 0, -700)),
        ((0, 0), (0, 0)),
        ((1, -1, LARGEST_ENTRY), (0, 0, 0)),
    ],
)
@pytest.mark.parametrize("bound", [1, 319, 320, 5000, 2**24])
def test_no_replacement_moves_a_sum_by_more_than_twice_the_bound(holding: Vector, failing: Vector, bound: int) -> None:
    """Every pair of neighbours, beside a third record that stays: the exact squared distance of the integer sums."""
    features, columns = features_of(holding, failing), len(holding)
    records, farthest = all_records(columns), 0
    tables = [summands(features, [records[-1], record], bound) for record in records]
    for direction in itertools.product((-1.0, 0.0, 1.0), repeat=2):
        for size in HOSTILE:
            weights = tuple(size * each for each in (direction * columns)[: columns + 1])
            sums = [total(table, *weights) for table in tables]
            for first, second in itertools.combinations(sums, 2):
                farthest = max(farthest, sum((a - b) ** 2 for a, b in zip(first, second, strict=True)))
    assert farthest <= (2 * bound) ** 2
    if bound == 2**24:
        assert farthest > (1 - 1e-3) * (2 * bound) ** 2, "2M is what it takes"


@pytest.mark.parametrize("bound", [300, 5000, 2**24])
def test_with_several_classes_neither(bound: int) -> None:
    """Four blocks of weights, one column: all blocks together move by at most 2M."""
    features, farthest = features_of((700,), (-LARGEST_ENTRY,)), 0
    tables = [
        InMemory(np.array([[x]]), np.array([y], dtype=np.int8), 4).sums(features, bound)
        for x in (-1.0, 1.0)
        for y in range(4)
    ]
    for sizes in itertools.product((0.0, 1.0, -40.0, 1e12), repeat=4):
        weights = np.outer(sizes, (1.0, 0.3))
        sums = [table.total(weights).reshape(-1).tolist() for table in tables]
        for first, second in itertools.combinations(sums, 2):
            farthest = max(farthest, sum((a - b) ** 2 for a, b in zip(first, second, strict=True)))
    assert farthest <= (2 * bound) ** 2
    if bound == 2**24:
        assert farthest > (1 - 1e-3) * (2 * bound) ** 2


# --------------------------------------------------------------------------------------------------------------
# Whole steps. φ = (192, 256) where the predicate holds: ‖φ‖ = 320 = M, so the factor is at most 1 and 2M is attained.

TWO = features_of((192,), (0,))
HELD: tuple[float, ...] = (1.0,)
NEIGHBOURS: tuple[list[Record], list[Record]] = ([(HELD, 1), (HELD, 1)], [(HELD, 1), (HELD, 0)])
M = 320


def shift_of_a_step() -> Vector:
    """How far the sums at θ = 0 are apart on the two neighbours."""
    first, second = (total(summands(TWO, records, M), 0.0, 0.0) for records in NEIGHBOURS)
    return tuple(a - b for a, b in zip(first, second, strict=True))


def test_the_neighbours_attain_the_sensitivity() -> None:
    shift = shift_of_a_step()
    assert sum(each**2 for each in shift) == (2 * M) ** 2 == DescentStage(2, 1, 1, M, 1.0, 0.0, 1.0).sensitivity ** 2


def noise(scale: float) -> NDArray[np.float64]:
    """P(z) on a symmetric support."""
    return NoiseLaw("discrete_gaussian", scale).measure.weights


def shifted_pair(scale: float, shift: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The laws of `shift` + Z and of Z on a common support that misses next to nothing of either."""
    law, room = noise(scale), np.zeros(abs(shift))
    ahead, behind = np.concatenate([room, law]), np.concatenate([law, room])
    return (ahead, behind) if shift >= 0 else (behind, ahead)


@pytest.mark.parametrize("scale", [2.0 * M, 5.3 * M, 19.0 * M])
def test_a_steps_renyi_divergence_is_within_its_zcdp(scale: float) -> None:
    """Both coordinates: divergences of independent coordinates add up, as logarithms of exact sums."""
    for order in (1.01, 1.5, 2.0, 4.0, 16.0):
        total_divergence = 0.0
        for shift in shift_of_a_step():
            p, q = shifted_pair(scale, shift)
            both = (p > 0) & (q > 0)
            logs = order * np.log(p[both]) - (order - 1.0) * np.log(q[both])
            total_divergence += (logs.max() + math.log(np.exp(logs - logs.max()).sum())) / (order - 1.0)
        bound = divergence(DiscreteGaussianEvent(scale / (2 * M)), order)
        assert total_divergence <= bound * (1.0 + 1e-9)
        assert total_divergence > 0.99 * bound


def delta_of_a_step(scale: float, epsilon: float, shift: Vector) -> float:
    """max over events of P − e^ε·Q for one step whose two coordinates move by `shift`, exactly.

    The loss is Σ_j (2·z_j·d_j − d_j²)/(2σ²) at z = d + Z: for each z₁ the best event holds z₂ from a threshold on.
    """
    (p1, q1), (p2, q2) = (shifted_pair(scale, each) for each in shift)
    d1, d2 = shift
    assert d1 > 0
    assert d2 > 0
    reach = (noise(scale).size - 1) // 2
    z1 = np.arange(p1.size) - reach
    tails_p, tails_q = (np.append(law[::-1].cumsum()[::-1], 0.0) for law in (p2, q2))
    threshold = (2.0 * scale**2 * epsilon + d1**2 + d2**2 - 2.0 * z1 * d1) / (2.0 * d2)
    start = np.clip(np.floor(threshold).astype(np.int64) + 1 + reach, 0, p2.size)
    return float((p1 * tails_p[start]).sum() - math.exp(epsilon) * (q1 * tails_q[start]).sum())


@pytest.mark.parametrize("multiplier", [1.0, 3.0])
@pytest.mark.parametrize("delta", DELTAS)
def test_one_step_keeps_its_claim_and_less_noise_does_not(multiplier: float, delta: float) -> None:
    scale, shift = multiplier * 2 * M, shift_of_a_step()
    claimed = linear_guarantee(DescentStage(2, 1, 1, M, scale, 0.0, 1.0), delta)
    assert delta_of_a_step(scale, claimed.epsilon, shift) <= claimed.delta
    assert delta_of_a_step(0.7 * scale, claimed.epsilon, shift) > claimed.delta


# --------------------------------------------------------------------------------------------------------------
# Two adaptive steps. φ = (0, 256) = M: only the last coordinate says anything, so a history is one integer.

ONE = features_of((0,), (0,))


def delta_of_two_steps(scale: float, epsilon: float, step_size: float) -> float:
    """P − e^ε·Q over the pairs of noisy sums with a loss above ε; the second sum depends on the first, as in a run."""
    law = noise(scale)
    reach = (law.size - 1) // 2
    tails = np.append(law[::-1].cumsum()[::-1], 0.0)
    tables = [summands(ONE, records, UNIT) for records in NEIGHBOURS]
    first, second = (total(table, 0.0, 0.0)[-1] for table in tables)
    assert first - second == 2 * UNIT
    likely = math.ceil(7.0 * scale)
    found = float(tails[reach + likely])  # all that is left out on the side where the loss is large
    for noisy in range(second - likely, first + likely):
        p, q = (float(law[noisy - each + reach]) for each in (first, second))
        a, b = (total(table, 0.0, step_size / (2 * UNIT) * noisy)[-1] for table in tables)
        left = epsilon - ((noisy - second) ** 2 - (noisy - first) ** 2) / (2.0 * scale**2)
        if a == b:
            found += max(0.0, p - math.exp(epsilon) * q)
            continue
        assert a > b
        least = math.floor((2.0 * scale**2 * left + a * a - b * b) / (2.0 * (a - b))) + 1
        at_a, at_b = (float(tails[min(max(least - each + reach, 0), law.size)]) for each in (a, b))
        found += p * at_a - math.exp(epsilon) * q * at_b
    return found


@pytest.mark.parametrize("step_size", [1e-6, 0.3])
def test_two_adaptive_steps_keep_their_claim_and_less_noise_does_not(step_size: float) -> None:
    delta, scale = 1e-4, 2.5 * UNIT
    claimed = linear_guarantee(DescentStage(2, 1, 2, UNIT, scale, 0.0, step_size), delta)
    kept, broken = (delta_of_two_steps(share * scale, claimed.epsilon, step_size) for share in (1.0, 0.7))
    assert kept <= claimed.delta
    if step_size < 1e-3:  # the weights hardly move, so both steps attain the sensitivity
        assert broken > claimed.delta
    else:
        assert 0.0 < broken < delta_of_two_steps(0.7 * scale, claimed.epsilon, 1e-6), "the weights do move"
