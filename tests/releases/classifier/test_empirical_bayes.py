"""The posterior's mean against a plain one, the sums that are taken for it on the same noise, and what is refused."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.releases import Forbidden
from support.stages import guarantee_of

from pcqr.data.records import InMemory
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.gradient_sums import GRID
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.user_level import weighed
from pcqr.data.records.vectors import ColumnVectors, Directions, PredicateVectors
from pcqr.errors import ParameterError
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.privacy.composition import Sequence
from pcqr.privacy.entropy import SeededEntropy
from pcqr.privacy.noise import discrete_gaussians
from pcqr.releases.classifier import descent as linear
from pcqr.releases.classifier import empirical_bayes as module
from pcqr.releases.classifier.descent import balanced_weights, dp_gradient_descent, noisy_label_counts, shape_of
from pcqr.releases.classifier.empirical_bayes import EmpiricalBayes, _chances, _gradients, allows_empirical_bayes
from pcqr.releases.classifier.plan import ClassCountsStage, LinearStage
from pcqr.releases.classifier.run import publish

Floats = NDArray[np.float64]

M = 2**24
LARGEST = 2.0**10


def predicates_of(columns: int) -> list[Predicate]:
    """Three cuts through each number, but one through the last."""
    cuts = [Predicate(column, cut) for column in range(columns - 1) for cut in (-0.5, 0.3, 1.0)]
    return [*cuts, Predicate(columns - 1, 0.0)]


def rows_of(count: int, columns: int, seed: int) -> Floats:
    """Columns that vary together."""
    generator = np.random.default_rng(seed)
    return generator.normal(size=(count, columns)) + 0.5 * generator.normal(size=(count, 1))


def map_of(public: Floats, whitening: float = 0.4) -> FeatureMap:
    columns = public.shape[1]
    return FeatureMap(PredicateVectors.of(predicates_of(columns), columns, public, whitening), None, 256)


PUBLIC = rows_of(300, 4, 1)
FEATURES = map_of(PUBLIC)
ALIKE = map_of(rows_of(300, 4, 2))
"""A map of the same shape that is another one."""


def some_records(count: int, seed: int = 3) -> InMemory:
    X = rows_of(count, 4, seed)
    y = X[:, 0] - 0.5 * X[:, 1] + 0.5 * np.random.default_rng(seed).normal(size=count) > 0.1
    return InMemory(X, y.astype(np.int8))


def a_plan(records: int, sums: int = 2, *, multiplier: float = 3.0, features: FeatureMap = FEATURES) -> LinearStage:
    """No steps: a posterior."""
    return LinearStage(records, *shape_of(features), sums, M, multiplier * 2 * M, momentum=0.0, step_size=0.0)


def some_steps(records: int, features: FeatureMap = FEATURES) -> LinearStage:
    return replace(a_plan(records, 3, features=features), momentum=0.5, step_size=0.05)


def at_offset(array: Floats, offset: int) -> Floats:
    """A copy that begins 8·`offset` bytes after the beginning of a cache line."""
    room = np.full(array.size + 16, np.nan)
    first = -(room.ctypes.data // 8) % 8 + offset
    copy = room[first : first + array.size].reshape(array.shape)
    copy[:] = array
    return copy


# --------------------------------------------------------------------------------------------------------------
# The mean of the posterior, by the formulas of proofs/linear.md and numpy's linear algebra


def logistic(margins: Floats) -> Floats:
    return np.asarray(1.0 / (1.0 + np.exp(-margins)))


def pulls(margins: Floats) -> tuple[Floats, Floats]:
    """u and d: the slopes of both labels, cut at ½."""
    return np.minimum(1.0 - logistic(margins), 0.5), np.minimum(logistic(margins), 0.5)


def chances(margins: Floats) -> tuple[Floats, Floats]:
    """p, with p·u = (1 − p)·d, and p′: of a quotient of which half is cut."""
    up, down = pulls(margins)
    moving = logistic(margins) * (1.0 - logistic(margins))
    change = np.where(margins > 0.0, down, up) * moving / (up + down) ** 2
    return down / (up + down), change


class Plain:
    """Sums so far, and the mean of θ that they speak for. `adapts`: are variances found anew?"""

    def __init__(self, features: FeatureMap, public: Floats, *, adapts: bool = True) -> None:
        dense = features.dense
        assert isinstance(dense, PredicateVectors)
        assert dense.directions is not None
        vectors = dense.vectors(public).astype(np.float64)
        norms = np.linalg.norm(vectors, axis=1)
        self.phi = vectors / norms[:, None]
        squares = [holds * -fails for holds, fails in zip(dense.holding, dense.failing, strict=True)]
        usual = math.sqrt(256.0**2 + sum(squares)) / math.sqrt(np.mean(norms**2))  # of ‖u‖ and of ‖v‖
        self.B = dense.directions.matrix / 2.0**dense.directions.shift * usual
        columns = [predicate.feature for predicate in dense.predicates]
        self.groups = [[j for j, other in enumerate(columns) if other == column] for column in sorted(set(columns))]
        self.groups.append([len(columns)])
        self.variances, self.adapts = np.array([0.6] * (len(self.groups) - 1) + [50.0]), adapts
        self.sums: list[tuple[Floats, Floats, float]] = []
        self.theta = np.zeros(vectors.shape[1])

    def add(self, mean: Floats, deviation: float) -> None:
        self.sums.append((self.theta, mean, deviation))
        for _ in range(3):
            precision, pull = self.tangents()
            for _ in range(4):
                target = self.posterior(precision, pull)
            moved = np.abs(self.phi @ (target - self.theta)).max()
            self.theta = self.theta + (target - self.theta) * (1.0 if moved <= 3.0 else 3.0 / moved)

    def tangents(self) -> tuple[Floats, Floats]:
        phi, theta = self.phi, self.theta
        p, p_prime = chances(phi @ theta)
        precision, pull = np.zeros((theta.size, theta.size)), np.zeros(theta.size)
        for at, s, deviation in self.sums:
            u, d = pulls(phi @ at)
            gradients = phi * (p * u - (1.0 - p) * d)[:, None]
            J = phi.T @ np.diag(p_prime * (u + d)) @ phi / len(phi)
            R = np.cov(gradients.T, bias=True) / len(phi) + deviation**2 * np.eye(theta.size)
            precision += J.T @ np.linalg.solve(R, J)
            pull += J.T @ np.linalg.solve(R, s - gradients.mean(axis=0) + J @ theta)
        return precision, pull

    def posterior(self, precision: Floats, pull: Floats) -> Floats:
        shrunk = sum(
            self.B[group].T @ self.B[group] / variance
            for group, variance in zip(self.groups, self.variances, strict=True)
        )
        mean = np.linalg.solve(precision + shrunk, pull)
        covariance = np.linalg.inv(precision + shrunk)
        if self.adapts:
            for place, group in enumerate(self.groups):
                B = self.B[group]
                squares = float(np.sum((B @ mean) ** 2) + np.trace(B @ covariance @ B.T))
                self.variances[place] = (squares + 2 * 0.6) / (len(group) + 2 * 0.5)
        self.variances[-1] = 50.0
        return mean


def noisy_mean(phi: Floats, truth: Floats, at: Floats, deviation: float, seed: int) -> Floats:
    """A mean of slopes at the weights `at` if labels follow `truth`, and noise."""
    p, (u, d) = chances(phi @ truth)[0], pulls(phi @ at)
    gradients = phi.T @ (p * u - (1.0 - p) * d) / len(phi)
    return gradients + deviation * np.random.default_rng(seed).normal(size=truth.size)


@pytest.mark.parametrize("deviation", [1e-3, 0.01, 0.3])
@pytest.mark.parametrize(("rows", "columns", "whitening"), [(300, 4, 0.4), (60, 1, 0.4), (120, 3, 0.8)])
def test_the_mean_is_that_of_the_formulas(deviation: float, rows: int, columns: int, whitening: float) -> None:
    public = rows_of(rows, columns, 5)
    features = map_of(public, whitening)
    posterior, plain = EmpiricalBayes(features, public), Plain(features, public)
    truth = 3.0 * np.random.default_rng(6).normal(size=features.size)
    assert not posterior.weights.any()
    for seed in range(3):
        mean = noisy_mean(plain.phi, truth, posterior.weights, deviation, seed)
        posterior.add(mean, deviation)
        plain.add(mean, deviation)
        largest = np.abs(plain.theta).max()
        assert largest > 0.0
        np.testing.assert_allclose(posterior.weights, plain.theta, rtol=0.0, atol=1e-10 * largest)


def test_each_sum_counts_by_its_own_noise() -> None:
    """In whatever order loud and quiet ones come."""
    posterior, plain = EmpiricalBayes(FEATURES, PUBLIC), Plain(FEATURES, PUBLIC)
    for deviation in (0.1, 0.003, 0.03):
        mean = noisy_mean(plain.phi, np.full(FEATURES.size, 0.8), posterior.weights, deviation, 8)
        posterior.add(mean, deviation)
        plain.add(mean, deviation)
        np.testing.assert_allclose(posterior.weights, plain.theta, rtol=0.0, atol=1e-10 * np.abs(plain.theta).max())


def test_effects_are_moves_of_the_margin_of_a_usual_vector() -> None:
    """B·θ, in the plain one, against margins: u/‖u‖ times effects is φ·θ where ‖u‖ and ‖v‖ are as usual."""
    plain, theta = Plain(FEATURES, PUBLIC), np.random.default_rng(0).normal(size=FEATURES.size)
    dense = FEATURES.dense
    assert isinstance(dense, PredicateVectors)
    u, v = dense._entries(PUBLIC), dense.vectors(PUBLIC).astype(np.float64)
    usual_u, usual_v = (math.sqrt(np.mean(np.sum(w * w, axis=1))) for w in (u, v))
    np.testing.assert_allclose(u / usual_u @ plain.B @ theta, v / usual_v @ theta, atol=0.01)


def test_no_more_rows_are_in_use_than_time_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_ROWS", 200)
    mean, found = np.full(FEATURES.size, 0.05), []
    for public in (PUBLIC, PUBLIC[:200], PUBLIC[:199]):
        posterior = EmpiricalBayes(FEATURES, public)
        posterior.add(mean, 0.01)
        found.append(posterior.weights.tobytes())
    assert found[0] == found[1] != found[2]


# --------------------------------------------------------------------------------------------------------------
# Chances and slopes

MARGINS = st.lists(st.floats(-700.0, 700.0) | st.floats(-5.0, 5.0), min_size=1, max_size=20).map(np.array)


@given(margins=MARGINS)
def test_chances_and_how_they_change(margins: Floats) -> None:
    p, change = _chances(margins)
    h = 1e-5
    np.testing.assert_allclose(change, (_chances(margins + h)[0] - _chances(margins - h)[0]) / (2.0 * h), atol=1e-6)
    np.testing.assert_allclose(p, 1.0 - _chances(-margins)[0], atol=1e-15)
    np.testing.assert_allclose(p, chances(margins)[0], atol=1e-15)
    assert ((p >= 0.0) & (p <= 1.0) & (change >= 0.0)).all()


@given(margins=MARGINS)
def test_at_these_chances_the_mean_slope_is_0(margins: Floats) -> None:
    p, (up, down) = _chances(margins)[0], _gradients(margins)
    assert np.abs(p * up - (1.0 - p) * down).max() <= 1e-15
    for slope in (up, down):
        assert ((slope >= 0.0) & (slope <= 0.5)).all()
    assert (np.maximum(up, down) == 0.5).all(), "one of them is cut"


def test_chances_are_those_of_a_linear_classifier() -> None:
    theta = 4.0 * np.random.default_rng(2).normal(size=(1, FEATURES.size))
    published = LinearClassifier.of(FEATURES, 2, theta, np.zeros((1, 0, 1)))
    margins = published.decision_function(PUBLIC)
    assert margins.min() < -2.0 < 2.0 < margins.max()
    np.testing.assert_allclose(_chances(margins)[0], published.predict_proba(PUBLIC)[:, 1], rtol=1e-12)


def test_slopes_are_those_of_the_records() -> None:
    """One record's sum, over 2M, is its slope times φ, but for margins in 256ths and for whole numbers."""
    theta = 4.0 * np.random.default_rng(2).normal(size=FEATURES.size)
    dense = np.rint(theta * GRID).astype(np.int32)[None]
    points = PUBLIC[:60]
    phi = Plain(FEATURES, points).phi
    margins = phi @ theta
    assert margins.min() < -2.0 < 2.0 < margins.max()
    for label, gradients in ((1, _gradients(margins)[0]), (0, -_gradients(margins)[1])):
        for place, slope in enumerate(gradients):
            one = InMemory(points[place : place + 1], np.array([label], dtype=np.int8))
            total = one.gradient_sums(FEATURES, M).total(dense, np.zeros((1, 0, 1), dtype=np.int32))[0][0] / (2.0 * M)
            assert phi[place] @ total == pytest.approx(slope, abs=0.002)
            np.testing.assert_allclose(total, slope * phi[place], atol=0.002)


# --------------------------------------------------------------------------------------------------------------
# What it finds


def test_of_many_records_and_little_noise_it_finds_the_labels() -> None:
    """One column says it all, five others nothing."""
    public, X = rows_of(600, 6, 1), rows_of(5_000, 6, 2)
    features, y = map_of(public), (X[:, 0] > 0.3).astype(np.int8)
    plan = a_plan(5_000, multiplier=1.0, features=features)
    found = dp_gradient_descent(features, InMemory(X, y), plan, SeededEntropy(0), public=public)
    fresh = rows_of(2_000, 6, 3)
    assert np.mean(found.predict(fresh) == (fresh[:, 0] > 0.3)) > 0.99


def test_columns_that_say_nothing_are_shrunk_more_than_those_that_do() -> None:
    """Against weights with one and the same variance for all columns."""
    public, X = rows_of(600, 6, 1), rows_of(2_000, 6, 2)
    features = map_of(public)
    records = InMemory(X, (X[:, 0] + X[:, 1] > 0.5).astype(np.int8))
    plan = a_plan(2_000, multiplier=10.0, features=features)
    largest = 2.0 * M * 2_000
    alike = Plain(features, public, adapts=False)
    found = dp_gradient_descent(features, records, plan, SeededEntropy(4), public=public)
    entropy = SeededEntropy(4)
    for _ in range(2):
        at = np.rint(alike.theta * GRID).astype(np.int32)[None]
        total = records.gradient_sums(features, M).total(at, np.zeros((1, 0, 1), dtype=np.int32))[0][0]
        alike.add((total + discrete_gaussians(plan.scale, features.size, entropy)) / largest, plan.scale / largest)
    sizes = [
        np.array([np.linalg.norm(alike.B[group] @ theta) for group in alike.groups[:-1]])
        for theta in (np.array(found.weights[0]), alike.theta)
    ]
    remaining = sizes[0] / sizes[1]
    assert remaining[:2].min() > 1.3 * remaining[2:].max()
    assert sizes[0][:2].min() > 3.0 * sizes[0][2:].max()


@pytest.mark.parametrize("sums", [1, 2, 5])
def test_where_noise_hides_everything_weights_stay_near_0(sums: int) -> None:
    records = some_records(100)
    plan = replace(a_plan(100, sums), scale=2.0**50)
    found = dp_gradient_descent(FEATURES, records, plan, SeededEntropy(1), public=PUBLIC)
    assert 0.0 <= np.abs(found.weights).max() < 0.01
    little = dp_gradient_descent(FEATURES, records, a_plan(100, sums), SeededEntropy(1), public=PUBLIC)
    assert np.abs(little.weights).max() > 0.1


# --------------------------------------------------------------------------------------------------------------
# The sums


def by_hand(records: InMemory, plan: LinearStage, entropy: SeededEntropy) -> LinearClassifier:
    """The first sum is taken at 0, each other one at the posterior's mean after the one before."""
    posterior = EmpiricalBayes(FEATURES, PUBLIC)
    sums, nothing = records.gradient_sums(FEATURES, M), np.zeros((1, 0, 1), dtype=np.int32)
    for _ in range(plan.steps):
        at = np.rint(np.clip(posterior.weights, -LARGEST, LARGEST) * GRID).astype(np.int32)[None]
        total = sums.total(at, nothing)[0][0]
        noise = discrete_gaussians(plan.scale, FEATURES.size, entropy)
        posterior.add((total + noise) / (2.0 * M * records.size), plan.scale / (2.0 * M * records.size))
    return LinearClassifier.of(FEATURES, 2, np.clip(posterior.weights, -LARGEST, LARGEST)[None], np.zeros((1, 0, 1)))


@pytest.mark.parametrize("sums", [1, 2, 5])
@pytest.mark.parametrize("multiplier", [0.5, 3.0, 100.0])
def test_a_run_is_a_loop_by_hand_on_the_same_noise(sums: int, multiplier: float) -> None:
    records, plan = some_records(500), a_plan(500, sums, multiplier=multiplier)
    entropies = SeededEntropy(5), SeededEntropy(5)
    found = dp_gradient_descent(FEATURES, records, plan, entropies[0], public=PUBLIC)
    assert found == by_hand(records, plan, entropies[1])
    assert entropies[0].bytes(64) == entropies[1].bytes(64), "nothing else is drawn"


def test_a_run_with_plain_sums_and_a_plain_posterior() -> None:
    """No part of it is the library's but vectors and noise."""
    records, plan = some_records(400), a_plan(400, 3)
    found = dp_gradient_descent(FEATURES, records, plan, SeededEntropy(7), public=PUBLIC)
    entropy, plain, phi = SeededEntropy(7), Plain(FEATURES, PUBLIC), Plain(FEATURES, records.X).phi
    for _ in range(plan.steps):
        up, down = pulls(phi @ plain.theta)
        gradients = np.where(records.y == 1, up, -down) @ phi
        noise = discrete_gaussians(plan.scale, plan.dense, entropy) / (2.0 * M)
        plain.add((gradients + noise) / 400.0, 3.0 / 400.0)
    np.testing.assert_allclose(found.weights[0], plain.theta, atol=0.02 * np.abs(plain.theta).max())


@pytest.mark.parametrize("sums", [1, 3])
def test_every_coordinate_of_every_sum_has_a_draw(sums: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums that a posterior is given, less their noise, are those at the mean that it had before."""
    drawn: list[NDArray[np.int64]] = []
    stated: list[Floats] = []
    given_sums: list[tuple[Floats, float]] = []
    genuine = EmpiricalBayes.add

    def watched_draws(scale: float, count: int, entropy: Any) -> Any:
        drawn.append(discrete_gaussians(scale, count, entropy))
        return drawn[-1]

    def watched_sums(self: EmpiricalBayes, mean: Floats, deviation: float) -> None:
        stated.append(self.weights)
        given_sums.append((mean, deviation))
        genuine(self, mean, deviation)

    monkeypatch.setattr(linear, "discrete_gaussians", watched_draws)
    monkeypatch.setattr(EmpiricalBayes, "add", watched_sums)
    records, plan = some_records(200), a_plan(200, sums, multiplier=2.0)
    dp_gradient_descent(FEATURES, records, plan, SeededEntropy(2), public=PUBLIC)
    assert [noise.size for noise in drawn] == [plan.coordinates] * sums
    assert sum(noise.size for noise in drawn) == plan.draws
    assert len(set(np.concatenate(drawn).tolist())) == plan.draws
    largest, nothing = 2 * M * 200, np.zeros((1, 0, 1), dtype=np.int32)
    for at, noise, (mean, deviation) in zip(stated, drawn, given_sums, strict=True):
        total = records.gradient_sums(FEATURES, M).total(np.rint(at * GRID).astype(np.int32)[None], nothing)[0][0]
        assert (np.rint(mean * largest).astype(np.int64) - noise == total).all()
        assert deviation == plan.scale / largest == 2.0 / 200


def test_each_run_begins_anew() -> None:
    records, plan = some_records(300), a_plan(300)
    first = dp_gradient_descent(FEATURES, records, plan, SeededEntropy(3), public=PUBLIC)
    assert dp_gradient_descent(FEATURES, records, plan, SeededEntropy(4), public=PUBLIC) != first
    assert dp_gradient_descent(FEATURES, records, plan, SeededEntropy(3), public=PUBLIC) == first


def test_a_posterior_costs_what_steps_cost() -> None:
    plan = a_plan(400, 2)
    assert guarantee_of(plan, 400) == guarantee_of(replace(plan, momentum=0.5, step_size=0.1), 400)


@pytest.mark.parametrize(
    ("target", "farthest"), [(np.nan, 0.0), (np.inf, 0.0), (-np.inf, 0.0), (1e300, 3.0), (-1e9, 3.0), (1e-3, None)]
)
def test_weights_go_no_farther_than_tangents_may_be_trusted(
    target: float, farthest: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The margin of no public row moves by more than 3 at one tangent, and what is no number counts as 0."""
    monkeypatch.setattr(module, "TANGENTS", 1)
    monkeypatch.setattr(EmpiricalBayes, "_posterior", lambda self, *_: np.full(self.weights.size, target))
    posterior = EmpiricalBayes(FEATURES, PUBLIC)
    posterior.add(np.zeros(FEATURES.size), 1.0)
    if farthest is None:
        assert (posterior.weights == target).all()
        return
    margins = Plain(FEATURES, PUBLIC).phi @ posterior.weights
    assert np.abs(margins).max() == pytest.approx(farthest)
    assert np.abs(posterior.weights).max() <= LARGEST


def test_weights_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LONGEST_STEP", 1e9)
    monkeypatch.setattr(EmpiricalBayes, "_posterior", lambda self, *_: np.full(self.weights.size, -1e5))
    posterior = EmpiricalBayes(FEATURES, PUBLIC)
    posterior.add(np.zeros(FEATURES.size), 1.0)
    assert (posterior.weights == -LARGEST).all()


def test_a_run_goes_on_after_weights_that_are_no_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if rounding had left an inverse without a value: no warning, all weights are 0, and later sums count."""
    posterior = EmpiricalBayes(FEATURES, PUBLIC)
    with monkeypatch.context() as patched:
        patched.setattr(module, "inverse", lambda matrix: np.full_like(matrix, np.nan))
        found = dp_gradient_descent(FEATURES, some_records(50), a_plan(50, 3), SeededEntropy(0), public=PUBLIC)
        posterior.add(np.full(FEATURES.size, 0.1), 0.01)
    assert not posterior.weights.any()
    assert found.weights == ((0.0,) * FEATURES.size,)
    posterior.add(np.full(FEATURES.size, 0.1), 0.01)
    assert posterior.weights.any()


def test_public_rows_of_another_population_do_no_harm() -> None:
    """Records far from all public rows, of one label: undamped steps would end anywhere."""
    records = InMemory(np.full((400, PUBLIC.shape[1]), 1.5), np.ones(400))
    for seed in range(5):
        found = dp_gradient_descent(FEATURES, records, a_plan(400, multiplier=4.0), SeededEntropy(seed), public=PUBLIC)
        assert found.predict(records.X).all()


# --------------------------------------------------------------------------------------------------------------
# The same bits


def test_where_public_rows_and_sums_lie_changes_no_bit() -> None:
    """Nor does what was computed between."""
    generator = np.random.default_rng(4)
    means, found, kept = generator.normal(size=(2, FEATURES.size)) / 20.0, set(), []
    for offset in range(8):
        posterior = EmpiricalBayes(map_of(at_offset(PUBLIC, offset)), at_offset(PUBLIC, 7 - offset))
        weights = []
        for k, mean in enumerate(means):
            posterior.add(at_offset(mean, (3 * offset + k) % 8), 0.01)
            weights.append(posterior.weights.tobytes())
            other = EmpiricalBayes(ALIKE, PUBLIC[: 60 + 7 * offset])
            other.add(generator.normal(size=ALIKE.size), 0.1)
            kept.append(np.linalg.inv(generator.normal(size=(11 + offset, 11 + offset))) @ np.ones(11 + offset))
        found.add(b"".join(weights))
    assert len(found) == 1


def test_a_linear_classifier_is_the_same_wherever_public_rows_and_records_lie() -> None:
    some, plan, found = some_records(120), a_plan(120), []
    for offset in range(4):
        records = InMemory(at_offset(some.X, 2 * offset + 1), some.y)
        found.append(dp_gradient_descent(FEATURES, records, plan, SeededEntropy(1), public=at_offset(PUBLIC, offset)))
    assert all(each == found[0] for each in found)


# --------------------------------------------------------------------------------------------------------------
# What is refused, before noise is drawn


@pytest.mark.parametrize("public", [None, PUBLIC[:0], PUBLIC[:, :3]], ids=["none", "no row", "three columns"])
def test_empirical_bayes_needs_public_rows_as_the_map_was_made_of(public: Floats | None) -> None:
    told = "public must be public rows of 4 columns, as the map was made of"
    with pytest.raises(ParameterError, match=told):
        dp_gradient_descent(FEATURES, some_records(50), a_plan(50), Forbidden(), public=public)
    with pytest.raises(ParameterError, match=told):
        EmpiricalBayes(FEATURES, public)


def test_steps_do_without_public_rows() -> None:
    records, steps = some_records(50), some_steps(50)
    expected = dp_gradient_descent(FEATURES, records, steps, SeededEntropy(0))
    assert dp_gradient_descent(FEATURES, records, steps, SeededEntropy(0), public=PUBLIC) == expected


DENSE = FEATURES.dense
FERNS = Ferns.of(PUBLIC, range(4), count=5, depth=2, seed=0)


@pytest.mark.parametrize(
    "features",
    [
        FeatureMap(DENSE, FERNS, 128),
        FeatureMap(None, FERNS, 0),
        map_of(PUBLIC, 0.0),
        map_of(PUBLIC[:39]),
        FeatureMap(PredicateVectors.of(predicates_of(4), 4), None, 256),
        FeatureMap(ColumnVectors.of(PUBLIC, 4), None, 256),
        FeatureMap(ColumnVectors.of(PUBLIC), None, 256),
    ],
    ids=["with ferns", "ferns alone", "as it is", "few rows", "no rows", "columns", "columns as they are"],
)
def test_other_maps_have_no_empirical_bayes(features: FeatureMap) -> None:
    assert not allows_empirical_bayes(features)
    with pytest.raises(ParameterError, match="features must be a feature map of predicates, seen through public"):
        EmpiricalBayes(features, PUBLIC)
    if features.ferns is None:
        with pytest.raises(ParameterError, match="features must be a feature map of predicates, seen through public"):
            dp_gradient_descent(features, some_records(50), a_plan(50, features=features), Forbidden(), public=PUBLIC)


def wide_map(size: int) -> FeatureMap:
    predicates = tuple(Predicate(0, float(cut)) for cut in range(size - 1))
    directions = Directions.of(np.eye(size, dtype=np.int16), 0)
    return FeatureMap(PredicateVectors(predicates, (9,) * (size - 1), (-9,) * (size - 1), 1, directions), None, 256)


def test_a_map_may_be_too_wide() -> None:
    assert allows_empirical_bayes(wide_map(400))
    assert EmpiricalBayes(wide_map(400), np.arange(20.0)[:, None]).weights.shape == (400,)
    assert not allows_empirical_bayes(wide_map(401))
    with pytest.raises(ParameterError, match="features must be a feature map of predicates"):
        EmpiricalBayes(wide_map(401), np.arange(20.0)[:, None])


def test_just_as_many_rows_as_directions_need_are_enough() -> None:
    """Four for each of ten predicates."""
    assert allows_empirical_bayes(map_of(PUBLIC[:40]))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"momentum": 0.5}, "step_size must be a finite number > 0"),
        ({"classes": 3}, "step_size must be a finite number > 0"),
        ({"ferns": 4, "depth": 2, "share": 128}, "step_size must be a finite number > 0"),
        ({"momentum": -0.1}, r"momentum must be a number in \[0, 1\)"),
        ({"momentum": 1.0, "step_size": 0.1}, r"momentum must be a number in \[0, 1\)"),
        ({"momentum": math.nan}, "momentum must be"),
        ({"step_size": -0.1}, "step_size must be"),
        ({"step_size": math.nan}, "step_size must be"),
        ({"step_size": math.inf}, "step_size must be"),
        ({"step_size": "posterior"}, "step_size must be"),
    ],
)
def test_stages_that_make_no_sense(change: dict[str, Any], told: str) -> None:
    """A posterior has two classes, no ferns, and neither steps nor momentum."""
    with pytest.raises(ParameterError, match=told):
        replace(a_plan(50), **change)


def test_a_stage_without_steps_is_a_posterior() -> None:
    assert a_plan(50).is_empirical_bayes
    assert LinearStage.from_json(a_plan(50).to_json()) == a_plan(50)
    assert LinearStage.from_json(a_plan(50).to_json()).is_empirical_bayes
    for change in ({}, {"momentum": 0.0}, {"step_size": 5e-324}, {"classes": 3}):
        assert not replace(some_steps(50), **change).is_empirical_bayes


def test_weights_of_labels_move_probabilities_by_their_odds() -> None:
    """The weighted sums are read as such: what is undone is near the probabilities of records without weights."""
    records = some_records(20_000)
    plan = a_plan(20_000, 2, multiplier=0.01)
    plain = dp_gradient_descent(FEATURES, records, plan, SeededEntropy(0), public=PUBLIC)
    rows = rows_of(500, 4, 9)
    wanted = plain.predict_proba(rows)
    for by_label in ((64, 16), (16, 64)):
        found = dp_gradient_descent(
            FEATURES, weighed(records, by_label), plan, SeededEntropy(0), public=PUBLIC
        ).predict_proba(rows)
        undone = found / np.array(by_label)
        undone /= undone.sum(axis=1, keepdims=True)
        assert np.abs(undone - wanted).mean() < 0.06 < np.abs(found - wanted).mean()


@pytest.mark.parametrize("by_label", [(1.0, 1.0), (0.25, 1.0), (1.0, 1 / 64)])
def test_balanced_labels_count_alike_whatever_the_sums_leave_open(by_label: tuple[float, float]) -> None:
    """Sums that say nothing: among weighted public rows both labels are equally common, but for some per cent."""
    posterior = EmpiricalBayes(FEATURES, PUBLIC, by_label, is_balanced=True)
    for _ in range(3):
        posterior.add(np.full(FEATURES.size, 1e-3), 1e3)
    found = LinearClassifier.of(FEATURES, 2, posterior.weights[None], np.zeros((1, 0, 1))).predict_proba(PUBLIC)
    undone = found / np.array(by_label)
    undone /= undone.sum(axis=1, keepdims=True)
    assert undone[:, 1].mean() * by_label[1] == pytest.approx(undone[:, 0].mean() * by_label[0], rel=0.05)


def test_balanced_labels_are_held_alike_against_noisy_sums_that_say_otherwise() -> None:
    """A sum that pulls all margins up, with much noise: without balance the mean margin follows it."""
    assert FEATURES.dense is not None
    pull, margins = FEATURES.dense.vectors(PUBLIC).astype(float).mean(axis=0), []
    for is_balanced in (False, True):
        posterior = EmpiricalBayes(FEATURES, PUBLIC, is_balanced=is_balanced)
        for _ in range(2):
            posterior.add(0.2 * pull / np.linalg.norm(pull), 0.02)
        found = LinearClassifier.of(FEATURES, 2, posterior.weights[None], np.zeros((1, 0, 1)))
        margins.append(abs(float(found.decision_function(PUBLIC).mean())))
    assert margins[1] < 0.3 * margins[0]


def test_a_run_says_that_weights_are_balanced() -> None:
    """The parts of the plan on the same words: counts of labels with their noise, and sums of weighted records."""
    records, counts, plan = some_records(2_000), ClassCountsStage(50.0), a_plan(2_000)
    trees, entropy = DecisionTrees(depth=1, predicates=(Predicate(0, 0.0),)), SeededEntropy(3)
    run = publish(Sequence((counts, plan)), trees, records, SeededEntropy(3), maps={"plain": FEATURES}, public=PUBLIC)
    noisy = noisy_label_counts(records, counts, entropy)
    assert noisy[1] != records.label_counts()[1]
    source = weighed(records, balanced_weights(noisy, 50.0))
    assert run == dp_gradient_descent(FEATURES, source, plan, entropy, public=PUBLIC, is_balanced=True)
