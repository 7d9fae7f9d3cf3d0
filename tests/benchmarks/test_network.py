"""The network's search finds the best setting and reports fresh runs of it; its steps are the ones accounted for."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import network, peers
from benchmarks.network_search import (
    FINAL_SEEDS,
    MOST,
    PER_EPOCH,
    REPORT_SEEDS,
    SEARCH_SEEDS,
    STEPS,
    Cell,
    Job,
    Run,
    Setting,
    next_job,
    packed,
)
from benchmarks.network_training import Table, descend, load, train
from benchmarks.peers import Bits
from benchmarks.tables import Task
from pcqr.hypotheses import DecisionTrees
from pcqr.records.predicates import evaluate
from pcqr.schema import Column, Schema

START = Setting()
NOISES = {(per_epoch, steps): 1.0 for per_epoch in PER_EPOCH for steps in STEPS}
ROWS = 11

Score = Callable[[Setting, int], float]


def made(job: Job, accuracy: float) -> Run:
    table, epsilon = job.cell
    if not job.keep:
        return Run(table, epsilon, job.setting, job.noise, job.seed, (accuracy - 0.1, accuracy), 1.0)
    both = kept_rows(job.seed), ~kept_rows(job.seed)
    scores, rows = tuple(float(right.mean()) for right in both), tuple(packed(right) for right in both)
    return Run(table, epsilon, job.setting, job.noise, job.seed, (scores[0], scores[1]), 1.0, rows)


def kept_rows(seed: int) -> Bits:
    """Those that the last weights of a reported run have right; its mean weights have the others right."""
    right: Bits = np.arange(ROWS) % 5 < seed % 3 + 1
    return right


def finished(cell: Cell, score: Score, searches: int = 1_000) -> Cell:
    """`cell` after up to `searches` runs of the search and all that follow."""
    for number in range(1_000):
        job = next_job([cell], number < searches)
        if job is None:
            return cell
        cell.add(made(job, score(job.setting, job.seed)))
    raise AssertionError("The search does not end.")


def height(setting: Setting) -> float:
    """The best: predicates, 300 steps at a rate of 8/1000."""
    distance = abs(math.log2(setting.rate / 8e-3)) + abs(STEPS.index(setting.steps) - 1)
    return 0.9 - 0.01 * distance - 0.02 * (setting.inputs != "predicates") - 0.05 * (setting.optimizer != "adam")


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_the_search_climbs_to_the_best_setting_and_reports_fresh_runs_of_its_better_weights(epsilon: float) -> None:
    cell = finished(Cell("adult.npz", epsilon, NOISES, (START,)), lambda setting, _seed: height(setting))
    best = replace(START, inputs="predicates", steps=300, rate=8e-3)
    assert height(best) == pytest.approx(0.9)
    winner = cell.winner()
    assert winner is not None
    assert height(winner[0]) == pytest.approx(0.9)
    assert winner[1] == 1
    assert [run.seed for run in cell.report()] == list(REPORT_SEEDS)
    assert all(run.right for run in cell.report())
    assert cell.tried <= MOST
    seeds = {seed for setting, seed in cell.runs if setting == START}
    assert seeds & set(SEARCH_SEEDS) == set(SEARCH_SEEDS if epsilon == 0.1 else SEARCH_SEEDS[:1])


def test_the_seeds_of_the_report_are_none_that_anything_was_chosen_by() -> None:
    assert not set(REPORT_SEEDS) & {*SEARCH_SEEDS, *FINAL_SEEDS}
    assert not set(FINAL_SEEDS) & set(SEARCH_SEEDS)


def test_a_lucky_run_does_not_win() -> None:
    lucky = replace(START, inputs="columns")

    def score(setting: Setting, seed: int) -> float:
        return (0.99 if seed in SEARCH_SEEDS else 0.5) if setting == lucky else 0.8 if setting == START else 0.1

    winner = finished(Cell("adult.npz", 1.0, NOISES, (lucky, START)), score).winner()
    assert winner is not None
    assert winner[0] == START


def test_a_search_that_was_cut_short_is_finished_and_can_go_on() -> None:
    short = finished(Cell("adult.npz", 1.0, NOISES, (START,)), lambda setting, _seed: height(setting), searches=3)
    assert short.tried == 3
    assert short.report()
    again = Cell("adult.npz", 1.0, NOISES, (START,))
    for run in short.runs.values():
        again.add(Run.read(json.loads(json.dumps(asdict(run)))))
    finished(again, lambda setting, _seed: height(setting))
    assert again.tried > 3
    assert height(again.report()[0].setting) == pytest.approx(0.9)


def test_settings_without_a_known_noise_are_left_out() -> None:
    known = {(20, 600): 1.0}
    cell = finished(Cell("adult.npz", 1.0, known, (START,)), lambda _setting, _seed: 0.5)
    assert {(setting.per_epoch, setting.steps) for setting, _ in cell.runs} == {(20, 600)}


def test_the_cells_take_turns() -> None:
    cells = [Cell("adult.npz", epsilon, NOISES, (START,)) for epsilon in (0.3, 1.0, 4.0)]
    for _ in range(9):
        job = next_job(cells, searching=True)
        assert job is not None
        next(cell for cell in cells if cell.epsilon == job.epsilon).add(made(job, 0.5))
    assert [cell.tried for cell in cells] == [3, 3, 3]


def test_results_are_collected_with_the_rows_that_were_right(tmp_path: Path) -> None:
    cell = finished(Cell("adult.npz", 0.3, NOISES, (START,)), lambda setting, _seed: height(setting))
    (case,) = network.collect(list(cell.runs.values()), tmp_path)
    assert network.stored(tmp_path) == {("adult", 0.3): case}
    assert case.averaged
    right = [~kept_rows(seed) for seed in REPORT_SEEDS]  # the mean's, not those of the last weights
    assert case.accuracy == pytest.approx(np.mean(right, axis=1))
    assert case.tried == cell.tried
    counts = peers.read_counts(tmp_path / network.ROWS)
    np.testing.assert_array_equal(counts["adult", 0.3], np.sum(right, axis=0))
    other = finished(Cell("bank.npz", 0.3, NOISES, (START,)), lambda setting, _seed: height(setting))
    both = network.collect(list(other.runs.values()), tmp_path)
    assert [case.key for case in both] == [("adult", 0.3), ("bank", 0.3)]
    assert peers.read_counts(tmp_path / network.ROWS).keys() == {("adult", 0.3), ("bank", 0.3)}


def test_runs_that_were_not_finished_are_not_collected(tmp_path: Path) -> None:
    cell = Cell("adult.npz", 0.3, NOISES, (START,))
    job = cell.search()
    assert job is not None
    assert network.collect([made(job, 0.5)], tmp_path) == []


def small_task() -> Task:
    generator = np.random.default_rng(3)
    X = np.column_stack([generator.integers(-50, 40_000, 300), generator.integers(0, 2, 300), np.zeros(300)])
    y = (X[:, 0] > 15_000).astype(np.int8)
    schema = Schema(tuple(Column(name) for name in "abc"))
    return Task("adult", X[:150], y[:150], X[200:], X[150:200], y[150:200], schema)


def test_the_inputs_are_columns_and_predicates_standardised_by_public_rows(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    task = small_task()
    table = load(str(network.prepare(task, tmp_path)))
    predicates = DecisionTrees().prepared(task.public, None).predicates or ()

    def raw(X: np.ndarray) -> np.ndarray:
        return np.append(X[:, :2], evaluate(predicates, X), axis=1)  # the third column is the same in all public rows

    public = raw(task.public)
    for rows, X in ((table.rows, task.X), (table.test_rows, task.X_test)):
        wanted = np.clip((raw(X) - public.mean(axis=0)) / public.std(axis=0), -network.CAP, network.CAP)
        np.testing.assert_allclose(rows.cpu().numpy(), wanted, atol=1e-4)
    assert table.rows[:, table.part("columns")].shape[1] == 2
    assert table.rows[:, table.part("predicates")].shape[1] == len(predicates)


def tiny_table(rows: int = 60, columns: int = 4) -> Table:
    torch = pytest.importorskip("torch")
    pytest.importorskip("opacus")
    X = torch.randn(rows, columns, generator=torch.Generator().manual_seed(5))
    return Table(X, (X[:, 0] > 0.2).float(), X, X[:, 0] > 0.2, 2)


def test_a_step_adds_up_gradients_that_are_cut_one_by_one() -> None:
    table, setting = tiny_table(), Setting(per_epoch=1, steps=1, clip=0.3, rate=0.7, optimizer="sgd", activation="tanh")
    import torch

    model, last, mean = descend(table, setting, 0.0, 1)
    torch.manual_seed(1)
    torch.nn.utils.vector_to_parameters(fresh_weights(model), model.parameters())
    before = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    total, lengths = torch.zeros_like(before), []
    for row, label in zip(table.rows, table.labels, strict=True):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(model(row[None])[0, 0], label)
        slope = torch.cat([each.flatten() for each in torch.autograd.grad(loss, list(model.parameters()))])
        lengths.append(float(slope.norm()))
        total += slope * min(1.0, setting.clip / lengths[-1])
    assert max(lengths) > setting.clip
    np.testing.assert_allclose(last, before - setting.rate * total / len(table.rows), atol=1e-5)
    np.testing.assert_allclose(mean, last)  # of one


def fresh_weights(model: object) -> object:
    """The weights that a network of this shape begins with, at PyTorch's seed."""
    import torch

    layers = [layer for layer in model if isinstance(layer, torch.nn.Linear)]  # type: ignore[attr-defined]
    fresh = [torch.nn.Linear(layer.in_features, layer.out_features) for layer in layers]
    return torch.nn.utils.parameters_to_vector([each for layer in fresh for each in layer.parameters()])


@pytest.mark.parametrize("per_epoch", [1, 4])
def test_noise_is_in_units_of_the_clipping_norm_and_of_the_batch(per_epoch: int) -> None:
    table = tiny_table()
    setting = Setting(per_epoch=per_epoch, steps=1, clip=0.5, rate=2.0, optimizer="sgd")
    _, without, _ = descend(table, setting, 0.0, 1)
    _, noisy, _ = descend(table, setting, 1e4, 1)
    wanted = setting.rate * 1e4 * setting.clip * per_epoch / len(table.rows)
    assert float((noisy - without).std()) == pytest.approx(wanted, rel=0.05)  # 17,281 weights: 9 standard errors


def test_batches_are_a_share_of_the_records_and_may_be_empty() -> None:
    right = train(tiny_table(rows=3), Setting(per_epoch=10, steps=20, optimizer="adam"), 1.0, 0)
    assert [bits.shape for bits in right] == [(3,), (3,)]


def test_a_network_learns_a_line() -> None:
    last, mean = train(tiny_table(rows=400), Setting(per_epoch=10, steps=150), 0.1, 0)
    assert last.mean() > 0.95
    assert mean.mean() > 0.95
