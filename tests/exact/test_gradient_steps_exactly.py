"""The linear classifier's privacy, exactly: Rényi divergences and (ε, δ) of whole steps, one and two.

A step's law is that of the code's own integer sum plus independent discrete Gaussians, whose law is written down in
`pcqr.audit.exact.events`. Feature maps are small, and M is such that the bound 2M is attained, or nearly.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from pcqr.audit.exact.events import NoiseLaw
from pcqr.data.records import InMemory
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.gradient_sums import GradientSums, on_grid
from pcqr.data.records.vectors import ColumnVectors
from pcqr.privacy.accounting import DiscreteGaussianEvent
from pcqr.privacy.accounting.renyi import divergence
from pcqr.privacy.composition import account_for
from pcqr.releases.classifier.descent import shape_of
from pcqr.releases.classifier.plan import LinearStage

DELTAS = (1e-8, 1e-4, 1e-2)
M = 256
TWO = FeatureMap(ColumnVectors((0.0,), (3.0,), 1, constant=4), None, 256)
"""v = (3, 4) at x = 1, so its multiple is of length 255 where M = 256."""
ONE = FeatureMap(ColumnVectors((0.0,), (0.0,), 1, constant=1), None, 256)
"""v = (0, 1): only the last coordinate says anything, so a history is one integer; 2M is attained."""


def neighbours(features: FeatureMap) -> list[GradientSums]:
    """Two records at x = 1, both of label 1 on one side; on the other the second is of label 0."""
    return [
        InMemory(np.ones((2, 1)), np.array([1, label], dtype=np.int8)).gradient_sums(features, M) for label in (1, 0)
    ]


def total(sums: GradientSums, *weights: float) -> list[int]:
    found, _ = sums.total(on_grid(np.array([weights])), np.zeros((1, 0, 1), dtype=np.int32))
    return [int(each) for each in found[0]]


def stage(features: FeatureMap, steps: int, scale: float, step_size: float = 1.0) -> LinearStage:
    return LinearStage(2, *shape_of(features), steps, M, scale, momentum=0.0, step_size=step_size)


def shift_of_a_step() -> list[int]:
    """How far the sums at θ = 0 are apart on the two neighbours."""
    first, second = (total(sums, 0.0, 0.0) for sums in neighbours(TWO))
    return [a - b for a, b in zip(first, second, strict=True)]


def test_the_neighbours_nearly_attain_the_sensitivity() -> None:
    bound = stage(TWO, 1, 1.0).sensitivity
    assert bound == 2 * M
    assert 0.99 * bound < math.hypot(*shift_of_a_step()) <= bound


def noise(scale: float) -> NDArray[np.float64]:
    """P(z) on a symmetric support."""
    return NoiseLaw("discrete_gaussian", scale).measure.weights


def shifted_pair(scale: float, shift: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The laws of `shift` + Z and of Z on a common support that misses next to nothing of either."""
    law, room = noise(scale), np.zeros(shift)
    return np.concatenate([room, law]), np.concatenate([law, room])


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
        assert total_divergence > 0.98 * bound


def delta_of_a_step(scale: float, epsilon: float, shift: list[int]) -> float:
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
    claimed = account_for(stage(TWO, 1, scale).sums, delta)
    assert delta_of_a_step(scale, claimed.epsilon, shift) <= claimed.delta
    assert delta_of_a_step(0.7 * scale, claimed.epsilon, shift) > claimed.delta


def delta_of_two_steps(scale: float, epsilon: float, step_size: float) -> float:
    """P − e^ε·Q over the pairs of noisy sums with a loss above ε; the second sum depends on the first, as in a run."""
    law = noise(scale)
    reach = (law.size - 1) // 2
    tails = np.append(law[::-1].cumsum()[::-1], 0.0)
    tables = neighbours(ONE)
    first, second = (total(table, 0.0, 0.0)[-1] for table in tables)
    assert first - second == 2 * M
    likely = math.ceil(7.0 * scale)
    found = float(tails[reach + likely])  # all that is left out on the side where the loss is large
    for noisy in range(second - likely, first + likely):
        p, q = (float(law[noisy - each + reach]) for each in (first, second))
        a, b = (total(table, 0.0, step_size / (2 * M) * noisy)[-1] for table in tables)
        remaining = epsilon - ((noisy - second) ** 2 - (noisy - first) ** 2) / (2.0 * scale**2)
        if a == b:
            found += max(0.0, p - math.exp(epsilon) * q)
            continue
        assert a > b
        least = math.floor((2.0 * scale**2 * remaining + a * a - b * b) / (2.0 * (a - b))) + 1
        at_a, at_b = (float(tails[min(max(least - each + reach, 0), law.size)]) for each in (a, b))
        found += p * at_a - math.exp(epsilon) * q * at_b
    return found


@pytest.mark.parametrize("step_size", [1e-6, 0.3])
def test_two_adaptive_steps_keep_their_claim_and_less_noise_does_not(step_size: float) -> None:
    delta, scale = 1e-4, 2.5 * M
    claimed = account_for(stage(ONE, 2, scale, step_size).sums, delta)
    kept, broken = (delta_of_two_steps(share * scale, claimed.epsilon, step_size) for share in (1.0, 0.7))
    assert kept <= claimed.delta
    if step_size < 1e-3:  # the weights hardly move, so both steps attain the sensitivity
        assert broken > claimed.delta
    else:
        assert 0.0 < broken < delta_of_two_steps(0.7 * scale, claimed.epsilon, 1e-6), "the weights do move"
