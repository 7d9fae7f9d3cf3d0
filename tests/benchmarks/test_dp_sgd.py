"""The peer's search finds the best rate wherever it lies; its steps are the clipped ones that Opacus accounts for."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import dp_sgd, peers
from benchmarks.dp_sgd_search import BATCHES, CLIPS, RUNGS, VECTORS, Seeds, Setting, search, starts
from benchmarks.dp_sgd_training import Result, Table, load, packed, right, train
from benchmarks.peers import noise_multiplier
from benchmarks.tables import Task
from pcqr.planning.classifiers.linear import linear_predicates
from pcqr.records.vectors import PredicateVectors
from pcqr.schema import Column, Schema

START = Setting(per_epoch=10, steps=4, clip=0.5, rate=1.0)


@pytest.mark.parametrize("rung", [-3, 0, 2, 4])
@pytest.mark.parametrize("averaged", [False, True])
def test_the_search_climbs_to_the_best_rate_and_no_further(rung: int, averaged: bool) -> None:
    asked: set[float] = set()

    def score(setting: Setting, _seed: int) -> tuple[float, float]:
        height = math.log(setting.rate, 3)
        accuracy = 0.9 - 0.01 * abs(height - rung) - (setting.clip != START.clip)
        if setting.clip == START.clip:
            asked.add(round(height))
        return (accuracy - 0.005, accuracy) if averaged else (accuracy, accuracy - 0.005)

    found = search(score, [START], Seeds(search=2, final=1, report=1))
    assert found.setting.rate == pytest.approx(3.0**rung)
    assert found.setting.averaged == averaged
    assert found.accuracy == pytest.approx(0.9)
    assert asked == set(range(min(-1, rung - 1), max(1, rung + 1) + 1))


def test_a_ladder_that_only_rises_ends() -> None:
    found = search(lambda setting, _seed: (setting.rate, 0.0), [START], Seeds(search=1, final=1, report=1))
    assert found.tried == len(CLIPS) * 2 * RUNGS


def test_other_clipping_norms_are_tried_with_the_best_batches() -> None:
    def score(setting: Setting, _seed: int) -> tuple[float, float]:
        distance = setting.rate * setting.clip
        return 0.9 - 0.1 * (setting.per_epoch == 1) - abs(math.log(distance / 0.5)) + 0.01 * setting.clip, 0.0

    starts = [Setting(1, 4, 0.5, 1.0), START]
    best = search(score, starts, Seeds(search=1, final=1, report=1)).setting
    assert (best.per_epoch, best.clip, best.rate) == (10, 1.0, 0.5)


def test_a_lucky_run_does_not_win_the_search() -> None:
    """A setting that is best on the seeds of the search alone loses to one that is good on all."""

    def score(setting: Setting, seed: int) -> tuple[float, float]:
        lucky = setting.per_epoch == 1 and setting.rate == 1.0 and setting.clip == START.clip
        accuracy = (0.9 if seed == 0 else 0.5) if lucky else 0.8 if setting.rate == 1.0 else 0.1
        return accuracy, 0.0

    starts = [START, Setting(1, 4, START.clip, 1.0)]
    found = search(score, starts, Seeds(search=1, final=3, report=1))
    assert found.setting.per_epoch == START.per_epoch


def test_the_search_begins_with_all_batches_and_both_kinds_of_vectors() -> None:
    begin = starts(10_000, dict.fromkeys(BATCHES, 20.0))
    assert {(start.per_epoch, start.steps, start.vectors) for start in begin} == {
        (*batches, kind) for batches in BATCHES for kind in VECTORS
    }
    full = begin[0]
    noise = 20.0 * full.clip / 10_000 * full.rate / (1 - full.momentum) * math.sqrt(full.steps)
    assert full.rate == 12.0 or noise == pytest.approx(1.0)


def small_task() -> Task:
    generator = np.random.default_rng(3)
    rare = np.arange(300) % 50 == 0  # in two of the public rows: too few for trees
    X = np.column_stack([generator.integers(-50, 40_000, 300), generator.integers(0, 2, 300), rare]).astype(np.float64)
    y = (X[:, 0] > 15_000).astype(np.int8)
    schema = Schema(tuple(Column(name) for name in "abc"))
    return Task("adult", X[:150], y[:150], X[200:], X[150:200], y[150:200], schema)


def test_many_are_the_vectors_of_the_head_without_directions(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    task = small_task()
    table = load(str(dp_sgd.prepare(task, tmp_path)))
    predicates = linear_predicates(dp_sgd.RAREST, task.y.size, task.public, None)
    plain = PredicateVectors.of(predicates, 3, task.public, whitening=0.0)
    for rows, X in ((table.rows, task.X), (table.test_rows, task.X_test)):
        wanted = plain.vectors(X).astype(np.float64)
        wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
        np.testing.assert_allclose(rows["many"].cpu().numpy(), wanted, atol=1e-6)
        assert rows["few"].shape[1] < wanted.shape[1]


def result(**changes: Any) -> Result:
    counts = packed(np.array([0, 2, 1, 2], dtype=np.uint8))
    return replace(Result("adult", 0.1, 8, START, 3.0, [0.75, 0.5], 0.95, 7, 1.0, 0.1, counts), **changes)


def test_results_are_collected_with_the_rows_that_were_right(tmp_path: Path) -> None:
    assert Result.read(json.loads(json.dumps(asdict(result())))) == result()
    dp_sgd.collect([result()], tmp_path)
    cases = dp_sgd.collect([result(table="bank", accuracy=[1.0])], tmp_path)
    assert [case.table for case in cases] == ["adult", "bank"]
    assert dp_sgd.stored(tmp_path)["adult", 0.1] == result(right="")
    np.testing.assert_array_equal(peers.read_counts(tmp_path / dp_sgd.ROWS)["adult", 0.1], [0, 2, 1, 2])


def descend(
    vectors: np.ndarray, labels: np.ndarray, setting: Setting, noise: float, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    torch = pytest.importorskip("torch")
    pytest.importorskip("opacus")
    rows = {setting.vectors: torch.from_numpy(vectors)}
    table = Table(rows, torch.from_numpy(labels.astype(np.float32)), rows, torch.from_numpy(labels > 0))
    last, mean = train(table, setting, noise, seed)
    np.testing.assert_array_equal(right(table, setting, last), (vectors @ last.numpy() > 0) == labels)
    return last.numpy(), mean.numpy()


def test_a_step_adds_up_gradients_that_are_cut_one_by_one() -> None:
    """Noise apart, the second step has the slopes 1/(1 + e^margin), cut at C, of every record."""
    generator = np.random.default_rng(0)
    vectors = generator.normal(size=(50, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    labels = (vectors[:, 0] > 0.2).astype(np.int8)
    signed = vectors * (2.0 * labels[:, None] - 1.0)
    clip, rate = 0.45, 6.0
    setting = Setting(per_epoch=1, steps=2, clip=clip, rate=rate, momentum=0.9)
    first = rate * clip * signed.mean(axis=0)
    slopes = np.minimum(1.0 / (1.0 + np.exp(signed @ first)), clip)
    assert 5 < np.sum(slopes < clip) < 45
    second = first + 0.9 * first + rate * (slopes[:, None] * signed).mean(axis=0)
    last, mean = descend(vectors, labels, setting, 0.0, 0)
    np.testing.assert_allclose(last, second, rtol=1e-4)
    np.testing.assert_allclose(mean, second, rtol=1e-4)  # of one: the last half of two


def test_noise_is_in_units_of_the_clipping_norm_and_of_the_batch() -> None:
    """Without records that pull anywhere, the weights are a random walk of steps rate·noise·C/(q·n)."""
    vectors, labels = np.zeros((40, 2_000), dtype=np.float32), np.zeros(40, dtype=np.int8)
    setting = Setting(per_epoch=4, steps=9, clip=0.5, rate=2.0, momentum=0.0)
    last, _ = descend(vectors, labels, setting, 3.0, 1)
    assert np.std(last) == pytest.approx(3 * 2.0 * 3.0 * 0.5 / 10, rel=0.1)  # 3 = √9 steps; 6 standard errors


def test_empty_batches_are_steps_of_noise() -> None:
    vectors, labels = np.eye(3, dtype=np.float32), np.array([0, 1, 1], dtype=np.int8)
    last, mean = descend(vectors, labels, Setting(per_epoch=3, steps=30, clip=1.0, rate=0.1), 1.0, 0)
    assert np.isfinite(last).all()
    assert np.isfinite(mean).all()


def test_the_noise_is_twice_what_a_gaussian_needs_for_an_added_record() -> None:
    """(1, 10⁻⁶) by μ-GDP: μ = 0.2367 (Balle and Wang 2018)."""
    pytest.importorskip("opacus")
    assert noise_multiplier(1.0, 1, 100) == pytest.approx(2.0 * 10.0 / 0.2367, rel=5e-3)
    assert noise_multiplier(1.0, 10, 100) > 2.0 * 1.0 / 0.2367
