"""AUC beside DP-SGD: its steps in NumPy, the inputs it sees, and what is stored and said of the runs."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import auc, dp_sgd
from benchmarks.auc import (
    Case,
    Job,
    Table,
    dp_gradient_descent,
    inputs,
    keep,
    kept,
    missing,
    rows_of,
    standing,
    store,
    stored,
)
from benchmarks.classifiers import PAGE
from benchmarks.dp_sgd_training import MOMENTUM, Setting
from benchmarks.tables import Task
from pcqr.data.records.vectors import PredicateVectors
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses import DecisionTrees
from pcqr.releases.classifier.feature_maps import linear_predicates

ROOT = Path(__file__).parents[2]
SETTING = Setting("few", per_epoch=1, steps=2, clip=0.45, rate=6.0)


def small_task() -> Task:
    generator = np.random.default_rng(3)
    X = np.column_stack((generator.integers(-50, 40_000, 300), generator.integers(0, 2, 300))).astype(np.float64)
    y = (X[:, 0] > 15_000).astype(np.int8)
    return Task("adult", X[:150], y[:150], X[200:], X[150:200], y[150:200], Schema((Column("a"), Column("b"))))


def test_tables_are_read_as_they_were_kept(tmp_path: Path) -> None:
    task = small_task()
    found = kept(keep(task, tmp_path / "folder"))
    for name in Table._fields:
        np.testing.assert_array_equal(getattr(found, name), getattr(task, name))


@pytest.mark.parametrize("kind", ["few", "many"])
def test_a_regression_has_the_unit_vectors_of_linear_classifiers(kind: str) -> None:
    task = small_task()
    table = Table(task.X, task.y, task.public, task.X_test, task.y_test)
    found = inputs(table, kind)
    predicates = (
        linear_predicates(dp_sgd.RAREST, task.y.size, task.public, None)
        if kind == "many"
        else DecisionTrees().prepared(task.public, None).predicates or ()
    )
    assert all(
        rows.shape == (len(X), len(predicates) + 1) for rows, X in zip(found, (task.X, task.X_test), strict=True)
    )
    np.testing.assert_allclose(np.linalg.norm(found[0], axis=1), 1.0, rtol=1e-6)
    if kind == "many":
        plain = PredicateVectors.of(predicates, 2, task.public, whitening=0.0)
        wanted = plain.vectors(task.X_test).astype(np.float64)
        np.testing.assert_allclose(found[1], wanted / np.linalg.norm(wanted, axis=1, keepdims=True), atol=1e-6)


@pytest.mark.parametrize("averaged", [False, True])
def test_a_step_adds_up_gradients_that_are_cut_one_by_one(averaged: bool) -> None:
    """Noise apart, the second step has the slopes 1/(1 + e^margin), cut at C, of every record."""
    vectors = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = (vectors[:, 0] > 0.2).astype(np.int8)
    signed = vectors * (2.0 * labels[:, None] - 1.0)
    first = SETTING.rate * SETTING.clip * signed.mean(axis=0)
    gradients = np.minimum(1.0 / (1.0 + np.exp(signed @ first)), SETTING.clip)
    assert 5 < np.sum(gradients < SETTING.clip) < 45
    second = first + MOMENTUM * first + SETTING.rate * (gradients[:, None] * signed).mean(axis=0)
    found = dp_gradient_descent(vectors, labels, replace(SETTING, averaged=averaged), 0.0, 0)
    np.testing.assert_allclose(found, second, rtol=1e-4)  # the mean of one: the last half of two
    alone = dp_gradient_descent(vectors, labels, replace(SETTING, averaged=averaged, steps=1), 0.0, 0)
    np.testing.assert_allclose(alone, first, rtol=1e-4)


@pytest.mark.parametrize("per_epoch", [1, 4])
def test_noise_is_in_units_of_the_clipping_norm_and_of_the_batch(per_epoch: int) -> None:
    """Without records that pull anywhere, a step moves the weights by rate·noise·C/(q·n)."""
    setting = Setting("few", per_epoch=per_epoch, steps=1, clip=0.5, rate=2.0)
    weights = dp_gradient_descent(np.zeros((40, 10_000), np.float32), np.zeros(40, np.int8), setting, 3.0, 1)
    assert float(weights.std()) == pytest.approx(2.0 * 3.0 * 0.5 * per_epoch / 40, rel=0.05)  # 7 standard errors


def test_a_batch_has_each_record_with_probability_q() -> None:
    """At weights 0 each chosen record pulls by ½; 4,000 of them at q = ¼, so 1,000 ± 27."""
    setting = Setting("few", per_epoch=4, steps=1, clip=0.5, rate=1.0)
    rows, labels = np.eye(4_000, dtype=np.float32), np.ones(4_000, np.int8)
    weights = dp_gradient_descent(rows, labels, setting, 0.0, 2)
    moved = weights != 0.0
    np.testing.assert_allclose(weights[moved], 0.5 * 4 / 4_000, rtol=1e-5)
    assert abs(int(moved.sum()) - 1_000) < 5 * 27


@pytest.mark.parametrize("learner", auc.LEARNERS)
def test_a_run_ranks_test_rows_that_it_can_tell_apart(learner: str, tmp_path: Path) -> None:
    generator = np.random.default_rng(4)
    X = generator.integers(0, 100, (9_000, 2)).astype(np.float64)
    y = (X[:, 0] + generator.normal(scale=10.0, size=9_000) > 50).astype(np.int8)
    task = Task("adult", X[:7_000], y[:7_000], X[7_000:7_500], X[7_500:], y[7_500:], Schema((Column("a"), Column("b"))))
    keep(task, tmp_path)
    peer = dp_sgd.stored(ROOT, "logistic regression")["adult", 1.0]
    case = auc.measure(Job(learner, "adult", 1.0, 3), tmp_path, peer)
    (area, accuracy) = case.runs["3"]
    assert (case.records, case.key) == (7_000, (learner, "adult", 1.0))
    assert 0.93 < area < 0.99
    assert 0.85 < accuracy < 0.95
    assert case == auc.measure(Job(learner, "adult", 1.0, 3), tmp_path, peer)


def test_runs_are_added_to_those_on_file_and_the_others_are_missing(tmp_path: Path) -> None:
    for run in (2, 0):
        store(Case("auto", "bank", 100, 0.1, {f"{run}": (0.75, 0.9)}), tmp_path)
    store(Case("auto", "adult", 100, 0.1, {"0": (0.7, 0.8)}), tmp_path)
    assert list(stored(tmp_path)["auto", "bank", 0.1].runs) == ["0", "2"]
    jobs = list(missing(["bank", "flights"], [0.1], 3, tmp_path))
    assert [job.table for job in jobs] == ["flights"] * 6 + ["bank"] * 4
    assert [(job.learner, job.run) for job in jobs[6:]] == [
        ("auto", 1),
        *(("logistic regression", k) for k in range(3)),
    ]
    assert len(list(missing(["flights"], [0.1], None, tmp_path))) == 2 * auc.FEWEST_RUNS


def test_the_table_has_leads_with_their_standard_errors(tmp_path: Path) -> None:
    filed = ROOT / dp_sgd.RESULTS
    (tmp_path / filed.parent.relative_to(ROOT)).mkdir(parents=True)
    (tmp_path / dp_sgd.RESULTS).write_text(filed.read_text(encoding="utf-8"), encoding="utf-8")
    near = float(np.mean(dp_sgd.stored(ROOT, "logistic regression")["bank", 0.1].accuracy))
    store(Case("auto", "bank", 33_908, 0.1, {"0": (0.75, 0.9), "1": (0.77, 0.9)}), tmp_path)
    assert rows_of(tmp_path) == [], "nothing stands beside it"
    store(Case("logistic regression", "bank", 33_908, 0.1, {"0": (0.7, near), "1": (0.72, near)}), tmp_path)
    assert rows_of(tmp_path) == [
        [
            *("bank", "0.1", "3,391", "tree and linear", "**0.7600** ±0.0100 (2)", "0.7100 ±0.0100 (2)"),
            f"+0.0500 ±{math.sqrt(2) * 0.01:.4f}",
        ]
    ]
    assert "ahead in 1 of 1 cells and behind in 0. " in standing(tmp_path)
    assert "by 0.0 standard errors (root mean square over the cells), at most by 0.0." in standing(tmp_path)
    store(Case("auto", "bank", 33_908, 0.1, {"0": (0.6, 0.9), "1": (0.62, 0.9)}), tmp_path)
    assert "ahead in 0 of 1 cells and behind in 1: bank at 0.1 (0.1000). " in standing(tmp_path)


def test_the_page_shows_what_is_on_file() -> None:
    assert f"<!-- auc -->\n{auc.page(ROOT)}\n<!-- end of auc -->" in (ROOT / PAGE).read_text(encoding="utf-8")
