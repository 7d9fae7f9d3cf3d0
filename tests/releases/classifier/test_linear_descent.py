"""DP gradient descent: the loop against a plain one on the same noise, its guarantee, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from support.releases import Forbidden
from support.stages import guarantee_of

from pcqr.data.records import InMemory
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.gradient_sums import GRID, on_grid
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import PredicateVectors
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.privacy import composition
from pcqr.privacy.accounting import Composed, PureEvent, concentrated_epsilon
from pcqr.privacy.accounting.gaussian import fine_gaussian_epsilon
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.noise import discrete_gaussians
from pcqr.releases.classifier import descent as linear
from pcqr.releases.classifier.descent import dp_gradient_descent, shape_of
from pcqr.releases.classifier.empirical_bayes import LARGEST_WEIGHT
from pcqr.releases.classifier.plan import LinearStage, MapName

M = 2**24
PUBLIC = np.random.default_rng(9).normal(size=(50, 3))
DENSE = PredicateVectors.of([Predicate(f, cut) for f in range(3) for cut in (-0.5, 0.2, 1.0)], 3, PUBLIC)
FERNS = Ferns.of(PUBLIC, range(3), count=24, depth=3, seed=1)
MAPS = {
    "both": FeatureMap(DENSE, FERNS, 128),
    "dense": FeatureMap(DENSE, None, 256),
    "ferns": FeatureMap(None, FERNS, 0),
}
EACH_MAP = pytest.mark.parametrize("features", MAPS.values(), ids=MAPS)
BOTH = MAPS["both"]


def some_records(count: int, seed: int, classes: int = 2) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    X = np.random.default_rng(seed).normal(size=(count, 3))
    if classes == 2:
        return X, (X[:, 0] - 0.5 * X[:, 1] > 0.1).astype(np.int8)
    return X, np.where(X[:, 0] > 0.2, 2, np.where(X[:, 1] > 0.2, 1, 0)).astype(np.int8)


def a_plan(features: FeatureMap, records: int, steps: int, *, multiplier: float = 1.0, classes: int = 2) -> LinearStage:
    scale = multiplier * 2 * M
    return LinearStage(records, *shape_of(features), steps, M, scale, momentum=0.5, step_size=0.05, classes=classes)


def phi_of(features: FeatureMap, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """φ by its definition: unit vectors."""
    parts = []
    if features.dense is not None:
        v = features.dense.vectors(X).astype(float)
        parts.append(math.sqrt(features.share / 256) * v / np.linalg.norm(v, axis=1, keepdims=True))
    if features.ferns is not None:
        for cells in features.ferns.cells(X):
            one_hot = np.eye(1 << features.depth)[cells]
            parts.append(math.sqrt((1 - features.share / 256) / features.count) * one_hot)
    return np.concatenate(parts, axis=1)


def plain_descent(features: FeatureMap, records: InMemory, plan: LinearStage, seed: int) -> NDArray[np.float64]:
    """The same with matrices and floats, on the same noise."""
    entropy, phi = SeededEntropy(seed), phi_of(features, records.X)
    theta, velocity = np.zeros((2, plan.blocks, phi.shape[1]))
    path = []
    for _ in range(plan.steps):
        margins = phi @ theta.T
        if plan.classes == 2:
            signs = 2.0 * records.y[:, None] - 1.0
            residuals = signs * np.minimum(1.0, 2.0 / (1.0 + np.exp(signs * margins)))
        else:
            odds = np.exp(margins)
            residuals = 2.0 * (np.eye(plan.classes)[records.y] - odds / odds.sum(axis=1, keepdims=True))
            residuals /= np.maximum(1.0, np.linalg.norm(residuals, axis=1, keepdims=True))
        noise = discrete_gaussians(plan.scale, theta.size, entropy).reshape(theta.shape)
        velocity = plan.momentum * velocity + plan.step_size * (residuals.T @ phi + noise / M) / 2.0
        theta = theta + velocity
        path.append(theta)
    kept: Sequence[NDArray[np.float64]] = path[plan.steps - -(-plan.steps // 4) :]
    mean: NDArray[np.float64] = np.mean(kept, axis=0)
    return mean


def theta_of(published: LinearClassifier) -> NDArray[np.float64]:
    cells = published.tables * np.array(published.scales)[:, None, None]
    return np.concatenate([np.array(published.weights), cells.reshape(published.blocks, -1)], axis=1)


@EACH_MAP
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("steps", [1, 9, 10])
def test_the_loop_is_gradient_descent_with_this_noise(features: FeatureMap, classes: int, steps: int) -> None:
    records = InMemory(*some_records(300, 1, classes), classes)
    plan = a_plan(features, 300, steps, classes=classes)
    found, plain = (
        dp_gradient_descent(features, records, plan, SeededEntropy(5)),
        plain_descent(features, records, plan, 5),
    )
    cells = plain[:, features.size :]
    np.testing.assert_allclose(found.weights, plain[:, : features.size], atol=0.01 * np.abs(plain).max())
    np.testing.assert_allclose(theta_of(found)[:, features.size :], cells, atol=0.02 * np.abs(plain).max())


@EACH_MAP
@pytest.mark.parametrize("classes", [2, 3])
def test_margins_of_mostly_ferns_are_a_quarter_longer_and_labels_the_same(features: FeatureMap, classes: int) -> None:
    """By a public factor after the last sum, so that the noise and what is asked of the records are the same."""
    (X, y), plan = some_records(300, 1, classes), a_plan(features, 300, 9, classes=classes)
    names: tuple[MapName, ...] = ("plain", "some ferns", "dense", "mostly ferns")
    entropies = [SeededEntropy(5) for _ in names]
    short, *others, long = (
        dp_gradient_descent(features, InMemory(X, y, classes), replace(plan, features=name), entropy)
        for name, entropy in zip(names, entropies, strict=True)
    )
    assert others == [short, short]
    assert len({entropy.bytes(8) for entropy in entropies}) == 1, "as much noise"
    points = np.random.default_rng(2).normal(size=(500, 3))
    np.testing.assert_allclose(long.decision_function(points), 1.25 * short.decision_function(points), atol=1e-4)
    np.testing.assert_array_equal(long.predict(points), short.predict(points))


def test_the_order_of_the_records_does_not_matter() -> None:
    X, y = some_records(200, 2)
    order = np.random.default_rng(0).permutation(200)
    plan = a_plan(BOTH, 200, 5)
    assert dp_gradient_descent(BOTH, InMemory(X, y), plan, SeededEntropy(1)) == dp_gradient_descent(
        BOTH, InMemory(X[order], y[order]), plan, SeededEntropy(1)
    )


@EACH_MAP
@pytest.mark.parametrize("classes", [2, 3])
def test_it_learns(features: FeatureMap, classes: int) -> None:
    X, y = some_records(3000, 3, classes)
    X_test, y_test = some_records(1000, 4, classes)
    plan = a_plan(features, 3000, 60, multiplier=20.0, classes=classes)
    found = dp_gradient_descent(features, InMemory(X, y, classes), plan, SeededEntropy(0))
    assert np.mean(found.predict(X_test) == y_test) > 0.85


@pytest.mark.parametrize("classes", [2, 3])
def test_every_coordinate_of_every_block_has_a_draw_of_its_own_in_empty_cells_too(
    classes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After one step from 0 the weights, scaled back, are the sums and one draw for each coordinate of each block."""
    X, y = some_records(5, 5, classes)
    plan = a_plan(BOTH, 5, 1, multiplier=20.0, classes=classes)
    parts: list[Any] = []
    monkeypatch.setattr(linear, "LinearClassifier", type("Seen", (), {"of": lambda *given: parts.extend(given[-2:])}))
    dp_gradient_descent(BOTH, InMemory(X, y, classes), plan, SeededEntropy(0))
    weights = np.concatenate([part.reshape(plan.blocks, -1) for part in parts], axis=1)
    nothing = np.zeros(parts[0].shape, dtype=np.int32), np.zeros(parts[1].shape, dtype=np.int32)
    sums = InMemory(X, y, classes).gradient_sums(BOTH, M).total(*nothing)
    total = np.concatenate([part.reshape(plan.blocks, -1) for part in sums], axis=1)
    noise = np.rint(weights * plan.sensitivity / plan.step_size - total).astype(np.int64)
    drawn = discrete_gaussians(plan.scale, plan.draws, SeededEntropy(0)).reshape(noise.shape)
    assert (total == 0).sum() > 10, "cells without a record"
    assert (noise == drawn).all()
    assert len(set(noise.ravel().tolist())) == noise.size == plan.draws


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_step_is_what_its_formula_says_to_the_last_bit(momentum: float) -> None:
    """The compiled loop against whole arrays: speed and weights, cut to ±2¹⁰, and these in units of 2⁻²⁰."""
    rng = np.random.default_rng(8)
    velocity, weights = rng.normal(size=(2, 3, 500)) * [[[1.0]], [[900.0]]]
    noisy, rate = rng.integers(-(2**40), 2**40, size=(3, 500)), 0.7 / 2**33
    noisy[:, 0], velocity[:, 0], weights[:, 0] = 0, 0.0, [0.5 / GRID, 1.5 / GRID, -0.5 / GRID]
    moved, speed, rounded = weights.copy(), velocity.copy(), np.empty(weights.shape, dtype=np.int32)
    linear._advance(noisy, rate, momentum, GRID, speed, moved, rounded)
    assert (speed == momentum * velocity + rate * noisy).all()
    assert (moved == np.clip(weights + speed, -(2.0**10), 2.0**10)).all()
    assert (np.abs(moved) == 2.0**10).any()
    assert (rounded == on_grid(moved)).all()


def test_weights_are_cut_before_they_meet_the_records() -> None:
    X, y = some_records(50, 5)
    plan = replace(a_plan(BOTH, 50, 8), step_size=1e12)
    found = dp_gradient_descent(BOTH, InMemory(X, y), plan, SeededEntropy(0))
    assert np.abs(theta_of(found)).max() == LARGEST_WEIGHT


def test_a_plan_for_other_numbers_is_refused_before_noise_is_drawn() -> None:
    records = InMemory(*some_records(50, 0))
    with pytest.raises(ParameterError, match="a plan for 50 records"):
        dp_gradient_descent(BOTH, records, a_plan(BOTH, 49, 1), Forbidden())
    with pytest.raises(DataError, match="y must be records with 3 labels"):
        dp_gradient_descent(BOTH, records, a_plan(BOTH, 50, 1, classes=3), Forbidden())
    for name in ("dense", "ferns"):
        with pytest.raises(ParameterError, match="this feature map"):
            dp_gradient_descent(BOTH, records, a_plan(MAPS[name], 50, 1), Forbidden())
    good = a_plan(BOTH, 50, 1)
    changes: list[dict[str, Any]] = [{"share": 127}, {"depth": 2}, {"ferns": 5}, {"dense": 9}]
    for change in changes:
        with pytest.raises(ParameterError, match="this feature map"):
            dp_gradient_descent(BOTH, records, replace(good, **change), Forbidden())
    with pytest.raises(DataError, match="3 column"):
        dp_gradient_descent(BOTH, InMemory(np.zeros((50, 2)), np.zeros(50, dtype=np.int8)), good, Forbidden())


# --------------------------------------------------------------------------------------------------------------
# The guarantee


@pytest.mark.parametrize("classes", [2, 3])
def test_the_guarantee_is_that_of_all_steps_at_twice_the_bound(classes: int) -> None:
    plan = a_plan(BOTH, 50, 40, multiplier=30.0, classes=classes)
    assert plan.draws == 40 * (DENSE.size + 24 * 8) * (1 if classes == 2 else 3)
    mu = math.sqrt(40) / 30.0
    stated = guarantee_of(plan, 50, 1e-6)
    assert stated.epsilon == pytest.approx(fine_gaussian_epsilon(mu, 1e-6, plan.scale, plan.draws), rel=1e-9)
    assert (stated.delta, stated.proof) == (1e-6, "linear")
    assert stated.epsilon < concentrated_epsilon(mu**2 / 2, 1e-6)


def test_all_draws_are_accounted_for() -> None:
    """On a coarse grid the number of cells shows in ε."""
    plan = replace(a_plan(BOTH, 50, 7), bound=512, scale=2e4)
    mu = math.sqrt(7) * 1024 / 2e4
    stated = guarantee_of(plan, 50, 1e-4)
    assert stated.epsilon == pytest.approx(fine_gaussian_epsilon(mu, 1e-4, 2e4, plan.draws), rel=1e-9)
    assert stated.epsilon > 1.0000001 * fine_gaussian_epsilon(mu, 1e-4, 2e4, 7 * DENSE.size)


@pytest.mark.parametrize("steps", [3, 7, 40, 333])
def test_the_shift_of_all_steps_is_rounded_up(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def watched(shift: float, *_: object, **__: object) -> float:
        asked.append(shift)
        return math.inf

    monkeypatch.setattr(composition, "fine_gaussian_epsilon", watched)
    plan = a_plan(BOTH, 50, steps, multiplier=30.85)
    guarantee_of(plan, 50, 1e-6)
    squared = steps * (Fraction(plan.sensitivity) / Fraction(plan.scale)) ** 2
    (shift,) = asked
    assert squared * (1 + Fraction(18, 10**13)) < Fraction(shift) ** 2 < squared * (1 + Fraction(1, 10**11))


def test_on_a_coarse_grid_the_guarantee_is_that_of_zcdp() -> None:
    plan = replace(a_plan(BOTH, 50, 40), bound=8, scale=600.0)
    rho = 40 * 16**2 / (2 * 600.0**2)
    assert guarantee_of(plan, 50, 1e-6).epsilon == pytest.approx(concentrated_epsilon(rho, 1e-6), rel=1e-9)


def test_other_releases_beside_the_sums_are_paid_for() -> None:
    plan = a_plan(BOTH, 50, 40, multiplier=30.0)
    by_itself, beside = (
        guarantee_of(plan, 50, 1e-6),
        composition.account_for(Composed((plan.sums, PureEvent(0.05))), 1e-6),
    )
    assert by_itself.epsilon < beside.epsilon <= by_itself.epsilon + 0.05 * (1 + 1e-9)
