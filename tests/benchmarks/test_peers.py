"""DP-SGD beside pcqr is run fairly: its inputs, the clipped steps that are accounted for, and their noise."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import auc, dp_sgd
from benchmarks.dp_sgd import carry, noise_multiplier
from benchmarks.dp_sgd_training import MOMENTUM, Setting, Table, dp_gradient_descent, load, train
from benchmarks.tables import Task
from pcqr.data.records.predicates import evaluate
from pcqr.data.records.vectors import PredicateVectors
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses import DecisionTrees
from pcqr.releases.classifier.feature_maps import linear_predicates

ROOT = Path(__file__).parents[2]


BLOCKED = "import sys; sys.modules.update(dict.fromkeys(('pcqr', 'rich', 'scipy', 'sklearn')));"


REGRESSION = Setting("few", per_epoch=1, steps=2, clip=0.45, rate=6.0)


NETWORK = Setting("both", per_epoch=1, steps=1, clip=0.5, rate=2.0, activation="tanh")


def small_task() -> Task:
    generator = np.random.default_rng(3)
    rare = np.arange(300) % 50 == 0  # in two of the public rows: too few for trees
    columns = (generator.integers(-50, 40_000, 300), generator.integers(0, 2, 300), rare, np.zeros(300))
    X = np.column_stack(columns).astype(np.float64)
    y = (X[:, 0] > 15_000).astype(np.int8)
    schema = Schema(tuple(Column(name) for name in "abcd"))
    return Task("adult", X[:150], y[:150], X[200:], X[150:200], y[150:200], schema)


def test_a_regression_has_the_vectors_of_linear_classifiers_without_directions(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    task = small_task()
    table = load(dp_sgd.prepare(task, tmp_path))
    predicates = linear_predicates(dp_sgd.RAREST, task.y.size, task.public, None)
    plain = PredicateVectors.of(predicates, 4, task.public, whitening=0.0)
    for part, X in (("X", task.X), ("X_test", task.X_test)):
        wanted = plain.vectors(X).astype(np.float64)
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
        np.testing.assert_allclose(table.rows(part, "many").cpu().numpy(), wanted, atol=1e-6)
        assert table.rows(part, "few").shape[1] < wanted.shape[1]


def test_a_network_has_columns_and_predicates_standardised_by_public_rows(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    task = small_task()
    table = load(dp_sgd.prepare(task, tmp_path))
    predicates = DecisionTrees().prepared(task.public, None).predicates or ()

    def raw(X: np.ndarray) -> np.ndarray:
        return np.append(X[:, :3], evaluate(predicates, X), axis=1)  # the last column is the same in all public rows

    public = raw(task.public)
    for part, X in (("X", task.X), ("X_test", task.X_test)):
        wanted = np.clip((raw(X) - public.mean(axis=0)) / public.std(axis=0), -dp_sgd.CAP, dp_sgd.CAP)
        np.testing.assert_allclose(table.rows(part, "both").cpu().numpy(), wanted, atol=1e-4)
        np.testing.assert_array_equal(table.rows(part, "columns"), table.rows(part, "both")[:, :3])
        np.testing.assert_array_equal(table.rows(part, "predicates"), table.rows(part, "both")[:, 3:])


class Made(Table):
    """A table whose inputs are handed in."""

    def rows(self, _part: str, _inputs: str) -> Any:
        return self.content["rows"]


def made(rows: np.ndarray, labels: np.ndarray) -> Made:
    torch = pytest.importorskip("torch")
    pytest.importorskip("opacus")
    y = torch.from_numpy(labels.astype(np.int8))
    return Made({"rows": torch.from_numpy(rows.astype(np.float32)), "y": y, "y_test": y})


def normal(rows: int = 60, columns: int = 4) -> Made:
    X = np.random.default_rng(5).normal(size=(rows, columns))
    return made(X, X[:, 0] > 0.2)


def test_a_regressions_step_adds_up_gradients_that_are_cut_one_by_one() -> None:
    """Noise apart, the second step has the slopes 1/(1 + e^margin), cut at C, of every record."""
    vectors = np.random.default_rng(0).normal(size=(50, 4))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = vectors[:, 0] > 0.2
    signed = vectors * (2.0 * labels[:, None] - 1.0)
    clip, rate = REGRESSION.clip, REGRESSION.rate
    first = rate * clip * signed.mean(axis=0)
    gradients = np.minimum(1.0 / (1.0 + np.exp(signed @ first)), clip)
    assert 5 < np.sum(gradients < clip) < 45
    second = first + 0.9 * first + rate * (gradients[:, None] * signed).mean(axis=0)
    table = made(vectors, labels)
    _, (last, mean) = dp_gradient_descent(table, REGRESSION, 0.0, 0)
    np.testing.assert_allclose(last, second, rtol=1e-4)
    np.testing.assert_allclose(mean, second, rtol=1e-4)  # of one: the last half of two
    np.testing.assert_array_equal(train(table, REGRESSION, 0.0, 0), (vectors @ second > 0) == labels)


@pytest.mark.parametrize("per_epoch", [1, 4])
def test_noise_is_in_units_of_the_clipping_norm_and_of_the_batch(per_epoch: int) -> None:
    """Without records that pull anywhere, a step moves the weights by rate·noise·C/(q·n)."""
    setting = Setting("few", per_epoch=per_epoch, steps=1, clip=0.5, rate=2.0)
    table = made(np.zeros((40, 10_000)), np.zeros(40))
    _, (last, _) = dp_gradient_descent(table, setting, 3.0, 1)
    assert float(last.std()) == pytest.approx(2.0 * 3.0 * 0.5 * per_epoch / 40, rel=0.05)  # 7 standard errors


@pytest.mark.parametrize("averaged", [False, True])
def test_a_network_learns_a_line(averaged: bool) -> None:
    setting = replace(NETWORK, per_epoch=10, steps=150, clip=1.0, rate=2e-3, averaged=averaged)
    assert train(normal(400), setting, 0.1, 0).mean() > 0.95


@pytest.mark.parametrize("setting", [REGRESSION, NETWORK])
def test_empty_batches_are_steps_of_noise(setting: Setting) -> None:
    _, weights = dp_gradient_descent(normal(3), replace(setting, per_epoch=10, steps=20), 1.0, 0)
    assert all(np.isfinite(each.numpy()).all() for each in weights)


def test_the_noise_is_twice_what_a_gaussian_needs_for_an_added_record() -> None:
    """(1, 10⁻⁶) by μ-GDP: μ = 0.2367 (Balle and Wang 2018)."""
    pytest.importorskip("opacus")
    assert noise_multiplier(1.0, 1, 100) == pytest.approx(2.0 * 10.0 / 0.2367, rel=5e-3)
    assert noise_multiplier(1.0, 10, 100) > 2.0 * 1.0 / 0.2367


def test_the_training_needs_neither_pcqr_nor_what_it_needs(tmp_path: Path) -> None:
    carry(tmp_path)
    command = [sys.executable, "-c", f"{BLOCKED} import benchmarks.dp_sgd_training as made; print(made.__file__)"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)  # noqa: S603
    assert Path(found.stdout.strip()) == tmp_path / "benchmarks" / "dp_sgd_training.py"


@pytest.mark.parametrize("averaged", [False, True])
def test_a_step_adds_up_gradients_that_are_cut_one_by_one(averaged: bool) -> None:
    """Noise apart, the second step has the slopes 1/(1 + e^margin), cut at C, of every record."""
    vectors = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = (vectors[:, 0] > 0.2).astype(np.int8)
    signed = vectors * (2.0 * labels[:, None] - 1.0)
    first = REGRESSION.rate * REGRESSION.clip * signed.mean(axis=0)
    gradients = np.minimum(1.0 / (1.0 + np.exp(signed @ first)), REGRESSION.clip)
    assert 5 < np.sum(gradients < REGRESSION.clip) < 45
    second = first + MOMENTUM * first + REGRESSION.rate * (gradients[:, None] * signed).mean(axis=0)
    found = auc.dp_gradient_descent(vectors, labels, replace(REGRESSION, averaged=averaged), 0.0, 0)
    np.testing.assert_allclose(found, second, rtol=1e-4)  # the mean of one: the last half of two
    alone = auc.dp_gradient_descent(vectors, labels, replace(REGRESSION, averaged=averaged, steps=1), 0.0, 0)
    np.testing.assert_allclose(alone, first, rtol=1e-4)


def test_a_batch_has_each_record_with_probability_q() -> None:
    """At weights 0 each chosen record pulls by ½; 4,000 of them at q = ¼, so 1,000 ± 27."""
    setting = Setting("few", per_epoch=4, steps=1, clip=0.5, rate=1.0)
    rows, labels = np.eye(4_000, dtype=np.float32), np.ones(4_000, np.int8)
    weights = auc.dp_gradient_descent(rows, labels, setting, 0.0, 2)
    moved = weights != 0.0
    np.testing.assert_allclose(weights[moved], 0.5 * 4 / 4_000, rtol=1e-5)
    assert abs(int(moved.sum()) - 1_000) < 5 * 27
