"""The descent: exact sums of bounded integers, the loop against a plain one, refusals before noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.releases import Forbidden

from pcqr.accounting import concentrated_epsilon
from pcqr.algorithms import linear
from pcqr.algorithms.linear import LARGEST_WEIGHT, linear_descent, linear_guarantee, one_against_rest
from pcqr.entropy import SeededEntropy
from pcqr.errors import DataError, ParameterError
from pcqr.mechanisms.fine_gaussian import fine_gaussian_epsilon
from pcqr.noise import discrete_gaussians
from pcqr.plan import DescentStage
from pcqr.records import InMemory
from pcqr.records.features import UNIT, LinearFeatures
from pcqr.records.predicates import Predicate
from pcqr.records.sums import largest_factors

M = 2**20
FEATURES = LinearFeatures.of([Predicate(f, cut) for f in range(3) for cut in (-0.5, 0.2, 1.0)], 3)


def some_records(count: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    X = np.random.default_rng(seed).normal(size=(count, 3))
    return X, (X[:, 0] - 0.5 * X[:, 1] > 0.1).astype(np.int8)


def a_plan(records: int, steps: int, *, scale: float = 2.0 * M) -> DescentStage:
    return DescentStage(records, len(FEATURES.predicates), steps, M, scale, momentum=0.5, step_size=0.05)


def phi_of(X: NDArray[np.float64]) -> NDArray[np.int64]:
    """φ by its definition."""
    holds = np.stack([X[:, each.feature] > each.cut for each in FEATURES.predicates], axis=1)
    return np.column_stack(
        [np.where(holds, np.array(FEATURES.holding), np.array(FEATURES.failing)), np.full(X.shape[0], UNIT)]
    )


@given(norm=st.integers(1, 2**40), bound=st.integers(1, 2**24))
def test_the_largest_factor_is_exactly_that(norm: int, bound: int) -> None:
    factor = int(largest_factors(np.array([norm]), bound)[0])
    assert factor**2 * norm <= bound**2 < (factor + 1) ** 2 * norm


@given(seed=st.integers(0, 2**32), size=st.sampled_from([0.0, 0.01, 3.0, 1e6]), blocks=st.sampled_from([1, 3, 5]))
def test_one_vector_a_record_whatever_the_others_are(seed: int, size: float, blocks: int) -> None:
    """The sum over a table is the sum of what each record gives alone: integers, so to the last digit."""
    X, y = some_records(20, seed)
    weights = size * np.random.default_rng(seed).normal(size=(blocks, FEATURES.size))
    classes, labels = (2, y) if blocks == 1 else (blocks, np.arange(20, dtype=np.int8) % blocks)
    whole = InMemory(X, labels, classes).sums(FEATURES, M).total(weights)
    alone = [InMemory(X[i : i + 1], labels[i : i + 1], classes).sums(FEATURES, M).total(weights) for i in range(20)]
    np.testing.assert_array_equal(whole, np.sum(alone, axis=0))


@given(seed=st.integers(0, 2**32), size=st.sampled_from([0.0, 0.5, 5.0, 50.0]))
def test_a_records_vector_is_its_clipped_logistic_gradient(seed: int, size: float) -> None:
    X, y = some_records(1, seed)
    weights = size * np.random.default_rng(seed).normal(size=FEATURES.size)
    phi, sign = phi_of(X)[0], 2 * int(y[0]) - 1
    norm = float(np.linalg.norm(phi))
    residual = 1.0 / (1.0 + math.exp(sign * float(weights @ phi) / norm))
    wanted = sign * 2.0 * min(0.5, residual) * M * phi / norm
    found = InMemory(X, y).sums(FEATURES, M).total(weights[None])[0]
    assert float(np.linalg.norm(found - wanted)) <= 2.0 * norm, "a factor is cut to an integer"
    assert int((found**2).sum()) <= M**2


@pytest.mark.parametrize("weight", [LARGEST_WEIGHT, -LARGEST_WEIGHT, 1e300, math.nan, math.inf])
def test_no_weights_make_a_vector_longer_than_the_bound(weight: float) -> None:
    X, y = some_records(40, 0)
    with np.errstate(invalid="ignore", over="ignore"):
        for i in range(40):
            for classes, blocks in ((2, 1), (3, 3)):
                summands = InMemory(X[i : i + 1], y[i : i + 1], classes).sums(FEATURES, M)
                found = summands.total(np.full((blocks, FEATURES.size), weight))
                assert int((found**2).sum()) <= M**2


def plain_descent(X: NDArray[np.float64], y: NDArray[np.int8], plan: DescentStage, seed: int) -> NDArray[np.float64]:
    """The same with matrices and floats, on the same noise."""
    entropy, phi = SeededEntropy(seed), phi_of(X)
    unit, signs = phi / np.linalg.norm(phi, axis=1)[:, None], 2.0 * y - 1.0
    theta, velocity, path = np.zeros(FEATURES.size), np.zeros(FEATURES.size), []
    for _ in range(plan.steps):
        residual = np.minimum(0.5, 1.0 / (1.0 + np.exp(signs * (unit @ theta))))
        noisy = (signs * residual) @ unit + discrete_gaussians(plan.scale, FEATURES.size, entropy) / (2.0 * M)
        velocity = plan.momentum * velocity + plan.step_size * noisy
        theta = theta + velocity
        path.append(theta)
    kept: Sequence[NDArray[np.float64]] = path[plan.steps - -(-plan.steps // 4) :]
    mean: NDArray[np.float64] = np.mean(kept, axis=0)
    return mean


@pytest.mark.parametrize("steps", [1, 2, 9, 10])
def test_the_loop_is_gradient_descent_with_this_noise(steps: int) -> None:
    X, y = some_records(300, 1)
    found = linear_descent(FEATURES, InMemory(X, y), a_plan(300, steps), SeededEntropy(5))
    np.testing.assert_allclose(found.weights, plain_descent(X, y, a_plan(300, steps), 5), atol=1e-3, rtol=1e-3)


def test_the_order_of_the_records_does_not_matter() -> None:
    X, y = some_records(200, 2)
    order = np.random.default_rng(0).permutation(200)
    plan = a_plan(200, 5)
    assert linear_descent(FEATURES, InMemory(X, y), plan, SeededEntropy(1)) == linear_descent(
        FEATURES, InMemory(X[order], y[order]), plan, SeededEntropy(1)
    )


def test_it_learns() -> None:
    X, y = some_records(3000, 3)
    X_test, y_test = some_records(1000, 4)
    plan = a_plan(3000, 60, scale=2.0 * M * 30.0)
    found = linear_descent(FEATURES, InMemory(X, y), plan, SeededEntropy(0))
    assert np.mean(found.predict(X_test) == y_test) > 0.85


@given(seed=st.integers(0, 2**32), size=st.sampled_from([0.0, 0.5, 5.0, 50.0]))
def test_of_several_classes_the_gradients_are_cut_together(seed: int, size: float) -> None:
    X, _ = some_records(1, seed)
    weights = size * np.random.default_rng(seed).normal(size=(4, FEATURES.size))
    phi = phi_of(X)[0]
    norm, signs = float(np.linalg.norm(phi)), np.array([-1.0, -1.0, 1.0, -1.0])
    slopes = 2.0 / (1.0 + np.exp(signs * (weights @ phi) / norm))
    slopes /= max(1.0, float(np.linalg.norm(slopes)))
    wanted = M / norm * (signs * slopes)[:, None] * phi
    found = InMemory(X, np.array([2], dtype=np.int8), 4).sums(FEATURES, M).total(weights)
    assert float(np.linalg.norm(found - wanted)) <= 4.0 * norm, "factors are cut to integers"
    assert int((found**2).sum()) <= M**2


def test_it_learns_three_classes() -> None:
    def labels(X: NDArray[np.float64]) -> NDArray[np.int8]:
        return np.where(X[:, 0] > 0.2, 2, np.where(X[:, 1] > 0.2, 1, 0)).astype(np.int8)

    (X, _), (X_test, _) = some_records(3000, 3), some_records(1000, 4)
    plan = replace(a_plan(3000, 60, scale=2.0 * M * 20.0), classes=3)
    found = one_against_rest(FEATURES, InMemory(X, labels(X), 3), plan, SeededEntropy(0))
    assert np.mean(found.predict(X_test) == labels(X_test)) > 0.9
    assert linear_guarantee(plan, 1e-6).epsilon >= linear_guarantee(replace(plan, classes=2), 1e-6).epsilon


@pytest.mark.parametrize(("classes", "blocks"), [(2, 1), (3, 3), (20, 20)])
def test_every_class_has_draws_of_its_own_and_they_are_accounted_for(classes: int, blocks: int) -> None:
    plan = replace(a_plan(50, 7, scale=2.0 * M * 20.0), classes=classes)
    assert plan.draws == 7 * FEATURES.size * blocks
    mu = math.sqrt(7) / 20.0
    stated = linear_guarantee(replace(plan, bound=500, scale=2e4), 1e-4)
    assert stated.epsilon == pytest.approx(fine_gaussian_epsilon(mu, 1e-4, 2e4, plan.draws), rel=1e-9)
    assert stated.epsilon > 1.0000001 * fine_gaussian_epsilon(mu, 1e-4, 2e4, plan.draws // 2 or 1)


def test_no_two_classes_share_their_noise() -> None:
    """After one step from 0 the weights, scaled back, are the sums and one draw for each coordinate of each block."""
    X, _ = some_records(60, 5)
    y = np.arange(60, dtype=np.int8) % 3
    plan = replace(a_plan(60, 1, scale=2.0 * M * 20.0), classes=3)
    found = one_against_rest(FEATURES, InMemory(X, y, 3), plan, SeededEntropy(0))
    weights = np.array([member.weights for member in found.members])
    sums = InMemory(X, y, 3).sums(FEATURES, M).total(np.zeros_like(weights))
    noise = np.rint(weights * plan.sensitivity / plan.step_size - sums).astype(np.int64)
    drawn = discrete_gaussians(plan.scale, plan.draws, SeededEntropy(0)).reshape(noise.shape)
    assert (noise == drawn).all()
    assert len(set(noise.ravel().tolist())) == noise.size


def test_each_number_of_classes_has_its_own_function() -> None:
    X, y = some_records(50, 0)
    with pytest.raises(ParameterError, match="2 classes"):
        linear_descent(FEATURES, InMemory(X, y), replace(a_plan(50, 1), classes=3), Forbidden())
    with pytest.raises(ParameterError, match="at least 3 classes"):
        one_against_rest(FEATURES, InMemory(X, y), a_plan(50, 1), Forbidden())


def test_a_plan_for_other_numbers_is_refused_before_noise_is_drawn() -> None:
    X, y = some_records(50, 0)
    with pytest.raises(ParameterError, match="a plan for 50 records"):
        linear_descent(FEATURES, InMemory(X, y), a_plan(49, 1), Forbidden())
    with pytest.raises(DataError, match="y must be records with 2 labels"):
        linear_descent(FEATURES, InMemory(X, y, 3), a_plan(50, 1), Forbidden())
    narrow = DescentStage(50, 2, 1, M, 1.0, 0.5, 1.0)
    with pytest.raises(ParameterError, match="a plan for 9 predicates"):
        linear_descent(FEATURES, InMemory(X, y), narrow, Forbidden())


def test_records_that_cannot_be_used_are_refused_before_noise_is_drawn() -> None:
    X, y = some_records(50, 0)
    for bad_X, bad_y, name in ((X, y[:-1], "y"), (X, y + 1, "y"), (X[:, :2], y, "X"), (X * np.inf, y, "X")):
        with np.errstate(invalid="ignore"), pytest.raises(DataError, match=f"^{name} must"):
            linear_descent(FEATURES, InMemory(bad_X, bad_y), a_plan(50, 1), Forbidden())


def test_the_guarantee_is_that_of_all_steps_at_twice_the_bound() -> None:
    plan = a_plan(50, 40, scale=60.0 * M)
    mu = math.sqrt(40) * 2 * M / (60.0 * M)
    stated = linear_guarantee(plan, 1e-6)
    assert stated.epsilon == pytest.approx(fine_gaussian_epsilon(mu, 1e-6, 60.0 * M, 40 * FEATURES.size), rel=1e-9)
    assert (stated.delta, stated.proof) == (1e-6, "linear")
    assert stated.epsilon < concentrated_epsilon(mu**2 / 2, 1e-6)


@pytest.mark.parametrize("steps", [3, 7, 40, 333])
def test_the_shift_of_all_steps_is_rounded_up(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def watched(shift: float, *_: object) -> float:
        asked.append(shift)
        return math.inf

    monkeypatch.setattr(linear, "fine_gaussian_epsilon", watched)
    plan = a_plan(50, steps, scale=61.7 * M)
    linear_guarantee(plan, 1e-6)
    squared = steps * (Fraction(plan.sensitivity) / Fraction(plan.scale)) ** 2
    (shift,) = asked
    assert squared * (1 + Fraction(18, 10**13)) < Fraction(shift) ** 2 < squared * (1 + Fraction(1, 10**11))


def test_on_a_coarse_grid_the_guarantee_is_that_of_zcdp() -> None:
    plan = DescentStage(50, 9, 40, 10, 600.0, 0.5, 0.1)
    rho = 40 * 20**2 / (2 * 600.0**2)
    assert linear_guarantee(plan, 1e-6).epsilon == pytest.approx(concentrated_epsilon(rho, 1e-6), rel=1e-9)
