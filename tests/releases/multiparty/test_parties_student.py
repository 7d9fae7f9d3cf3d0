"""The student: its steps, its rounding, and how far one party can move it, against the bounds of proofs/parties.md."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcqr import ParameterError
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import ColumnVectors
from pcqr.releases.multiparty.plan import PartiesStage
from pcqr.releases.multiparty.run import Floats, chances, curvature_of, learned_weights, unit_vectors, whole_weights

MAP = FeatureMap(ColumnVectors((0.0,), (3.0,), 1, constant=4), None, 256)
"""v = (3x, 4)."""


def unit(rng: np.random.Generator, points: int, coordinates: int) -> Floats:
    vectors = rng.normal(size=(points, coordinates)) + rng.normal(size=coordinates)
    return np.asarray(vectors / np.sqrt((vectors * vectors).sum(axis=1, keepdims=True)))


def stage(vectors: Floats, **given: Any) -> PartiesStage:
    points, coordinates = vectors.shape
    usual = {"records": 100, "parties": 7, "penalty": 0.05, "curvature": curvature_of(vectors), "steps": 60}
    usual |= {"scale": 1.0, "grid": 2**20, "points": points, "coordinates": coordinates}
    return PartiesStage(**(usual | given))


def test_vectors_have_length_one_or_nothing() -> None:
    assert unit_vectors(MAP, np.array([[1.0], [-1.0], [0.0]])).tolist() == [[0.6, 0.8], [-0.6, 0.8], [0.0, 1.0]]
    ferned = FeatureMap(MAP.dense, Ferns((Predicate(0, 0.0),), depth=1, features=1), 128)
    with pytest.raises(ParameterError, match="dense part alone"):
        unit_vectors(ferned, np.array([[1.0]]))


@given(seed=st.integers(0, 10**6), points=st.integers(1, 30), coordinates=st.integers(1, 8))
@settings(max_examples=60)
def test_the_curvature_is_bounded_from_above_and_not_by_much(seed: int, points: int, coordinates: int) -> None:
    vectors = unit(np.random.default_rng(seed), points, coordinates)
    largest = float(np.linalg.eigvalsh(vectors.T @ vectors / points)[-1])
    assert largest <= curvature_of(vectors) <= largest * coordinates**0.125 * (1.0 + 1e-6)


def test_chances_are_those_of_the_logistic_function_and_of_softmax() -> None:
    scores = np.array([[-700.0], [-3.0], [0.0], [2.0], [800.0]])
    assert chances(scores)[:, 0] == pytest.approx([0.0, 1 / (1 + math.exp(3)), 0.5, 1 / (1 + math.exp(-2)), 1.0])
    likely = chances(np.array([[1.0, 2.0, -1.0], [900.0, 0.0, -900.0]]))
    total = math.exp(1) + math.exp(2) + math.exp(-1)
    assert likely[0] == pytest.approx([math.exp(1) / total, math.exp(2) / total, math.exp(-1) / total])
    assert likely[1] == pytest.approx([1.0, 0.0, 0.0])


@pytest.mark.parametrize("labels", [2, 3])
def test_the_steps_are_those_of_plain_gradient_descent(labels: int) -> None:
    rng = np.random.default_rng(labels)
    vectors = unit(rng, 6, 3)
    plan = stage(vectors, labels=labels, steps=5)
    counts = rng.multinomial(7, np.full(labels, 1 / labels), size=6)
    weights = [[0.0] * 3 for _ in range(plan.blocks)]
    for _ in range(plan.steps):
        gradients = [[plan.penalty * w for w in block] for block in weights]
        for phi, votes in zip(vectors.tolist(), counts.tolist(), strict=True):
            scores = [sum(w * f for w, f in zip(block, phi, strict=True)) for block in weights]
            if labels == 2:
                scores = [0.0, *scores]
            odds = [math.exp(score) for score in scores]
            gaps = [odd / sum(odds) - count / 7 for odd, count in zip(odds, votes, strict=True)]
            for block, gap in enumerate(gaps[1:] if labels == 2 else gaps):
                gradients[block] = [s + gap * f / 6 for s, f in zip(gradients[block], phi, strict=True)]
        steepest = plan.penalty + (0.25 if labels == 2 else 0.5) * plan.curvature
        weights = [
            [w - s / steepest for w, s in zip(*pair, strict=True)] for pair in zip(weights, gradients, strict=True)
        ]
    assert learned_weights(vectors, counts / 7, plan) == pytest.approx(np.array(weights), rel=1e-9)
    whole = whole_weights(vectors, counts, plan)
    assert whole.dtype == np.int64
    assert np.abs(whole - 2**20 * np.array(weights)).max() <= 0.51


@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("penalty", [2.0, 0.003])
def test_the_weights_are_near_the_minimiser_and_their_rounding_within_the_slack(labels: int, penalty: float) -> None:
    """The same steps in long doubles: the errors of all steps add up to at most η/λ (proofs/parties.md)."""
    rng = np.random.default_rng(5)
    vectors = unit(rng, 40, 6)
    plan = stage(vectors, labels=labels, penalty=penalty, steps=2_000)
    shares = rng.multinomial(7, np.full(labels, 1 / labels), size=40) / 7
    targets = (shares[:, 1:] if labels == 2 else shares).astype(np.longdouble)
    exact, phi = np.zeros((plan.blocks, 6), dtype=np.longdouble), vectors.astype(np.longdouble)
    for _ in range(plan.steps):
        scores = phi @ exact.T
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        likely = 1 / (1 + np.exp(-scores)) if labels == 2 else odds / odds.sum(axis=1, keepdims=True)
        gradient = (likely - targets).T @ phi / 40 + np.longdouble(penalty) * exact
        exact = exact - gradient / np.longdouble(plan.smoothness)
    found = learned_weights(vectors, shares, plan)
    assert float(np.sqrt(((found - exact) ** 2).sum())) <= plan.slip / penalty
    assert float(np.sqrt((gradient**2).sum())) < 1e-4
    assert float(np.sqrt((exact**2).sum())) <= 2.0 / penalty


@given(seed=st.integers(0, 10**6), labels=st.integers(2, 4), steps=st.sampled_from([1, 2, 7, 60]))
@settings(max_examples=80)
def test_one_party_never_moves_the_student_by_more_than_the_sensitivity(seed: int, labels: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit(rng, int(rng.integers(1, 12)), int(rng.integers(1, 5)))
    plan = stage(vectors, labels=labels, steps=steps, penalty=float(10.0 ** rng.uniform(-4, 1)))
    said = rng.integers(labels, size=(plan.parties, plan.points))
    instead = said.copy()
    instead[0] = rng.integers(labels, size=plan.points)
    found = [
        whole_weights(vectors, np.stack([(ballots == label).sum(axis=0) for label in range(labels)], axis=1), plan)
        for ballots in (said, instead)
    ]
    assert math.sqrt(float(((found[0] - found[1]) ** 2).sum())) <= plan.sensitivity


@pytest.mark.parametrize("labels", [2, 3])
def test_the_sensitivity_is_attained_but_for_the_slope_of_the_loss(labels: int) -> None:
    """All points alike, one party changes its mind on all of them, and a penalty that leaves little else."""
    vectors = np.ones((5, 1))
    plan = stage(vectors, labels=labels, penalty=50.0, curvature=1.0 + 2.0**-20)
    counts = np.zeros((5, labels), dtype=np.int64)
    counts[:, 0], counts[:, 1] = 3, 4
    moved = counts.copy()
    moved[:, 0], moved[:, 1] = 4, 3
    gap = whole_weights(vectors, counts, plan) - whole_weights(vectors, moved, plan)
    assert 0.98 * plan.sensitivity < math.sqrt(float((gap**2).sum())) <= plan.sensitivity


@given(
    parties=st.integers(1, 10**6),
    points=st.integers(1, 2**20),
    coordinates=st.integers(1, 2**16),
    penalty=st.floats(1e-4, 1e4),
    curvature=st.floats(1e-6, 1.0),
    labels=st.integers(2, 127),
)
def test_the_sensitivity_is_no_less_than_in_exact_arithmetic(
    parties: int, points: int, coordinates: int, penalty: float, curvature: float, labels: int
) -> None:
    plan = PartiesStage(10**6, parties, points, coordinates, penalty, curvature, 1, 1.0, 2**20, labels)
    blocks, moved = (1, 1) if labels == 2 else (labels, 2)
    error = Fraction(1, 2**50) * (points + (coordinates + 5) / Fraction(penalty) + 2 * blocks + 30)
    root = _below_root(moved * Fraction(curvature))
    exact = 2**20 * (root / (Fraction(penalty) * parties) + 2 * error / Fraction(penalty))
    assert Fraction(plan.sensitivity) >= exact + _below_root(Fraction(coordinates * blocks))
    assert Fraction(plan.smoothness) >= Fraction(penalty) + Fraction(1, 4 if labels == 2 else 2) * Fraction(curvature)


def _below_root(value: Fraction) -> Fraction:
    """√value, rounded down to thirty digits."""
    shift = 10**30
    return Fraction(math.isqrt(int(value * shift * shift)), shift)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"parties": 101}, "parties"),
        ({"points": 2**20 + 1}, "points"),
        ({"curvature": 1.1}, "curvature"),
        ({"grid": 3}, "power of two"),
        ({"penalty": 0.0}, "penalty"),
        ({"penalty": 1e-16}, "penalty"),
        ({"penalty": 1e-9, "grid": 2**40}, "penalty"),
        ({"scale": 2.0**51}, "scale"),
        ({"labels": 1}, "labels"),
    ],
)
def test_what_a_stage_refuses(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        replace(stage(np.ones((3, 1)), curvature=1.0), **changed)
