"""What docs/comparison.md says about `pcqr bench` is what is on file, and it says where another is ahead, if one is."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.bench import ANOTHER, NEITHER, OURS, PAGE, RESULTS, collect, difference, page, standing, store
from pcqr.bench.report import summaries
from pcqr.bench.running import Cell, Run, Runs, read_results

ROOT = Path(__file__).parents[2]


def run(method: str, accuracy: float, epsilon: float = 1.0, *, seed: int = 0, score: float | None = None) -> Run:
    cell = Cell("adult", "f", method, epsilon, 1e-6, 500, seed)
    score = accuracy if score is None else score
    return Run(cell, accuracy, accuracy, score, 1.0, 500, 1.0, 1.0, 1.0, 9)


def runs(method: str, *accuracies: float, epsilon: float = 1.0) -> list[Run]:
    return [run(method, accuracy, epsilon, seed=seed) for seed, accuracy in enumerate(accuracies)]


def test_it_says_who_is_ahead_and_by_how_much() -> None:
    found = [
        *runs("linear", 0.78, 0.82),
        *runs("tree", 0.7, 0.7),
        *runs("dp-sgd-logistic", 0.73, 0.77),
        *runs("linear", 0.6, 0.6, epsilon=0.1),
        *runs("dp-sgd-logistic", 0.66, 0.64, epsilon=0.1),
        *runs("linear", 0.6, 0.7, epsilon=0.3),
        *runs("dp-sgd-logistic", 0.7, 0.65, epsilon=0.3),
    ]
    (line,) = standing(summaries([*found, *runs("majority", 0.95, 0.95, epsilon=0.0)]))
    assert f"{OURS} at ε = 1 (linear 80.0, dp-sgd-logistic 75.0: +5.00 ± 0.71)" in line  # √(.05 / 1,000)
    assert f"{NEITHER} at ε = 0.3 (linear 65.0, dp-sgd-logistic 67.5: −2.50 ± 7.50)" in line
    assert f"{ANOTHER} at ε = 0.1 (linear 60.0, dp-sgd-logistic 65.0: −5.00 ± 1.00)" in line


def test_queries_that_are_asked_one_at_a_time_are_judged_by_their_score() -> None:
    found = [run("subsamp", 0.9, seed=seed, score=0.6) for seed in (0, 1)]
    found += [run("gnmax", 0.7, seed=seed) for seed in (0, 1)]
    found += [run("individual-knn-removed", 0.9, seed=seed) for seed in (0, 1)]  # another unit of privacy
    (line,) = standing(summaries(found))
    assert line.startswith("- *adult*, one query at a time, score on the queries: **another is ahead**")
    assert "(subsamp 60.0, gnmax 70.0: −10.00 ± 1.00)" in line
    assert standing(summaries([run("universal", 0.7), *found[2:]])) == []  # one run has no standard error


def test_differences_are_those_of_runs_with_the_same_queries() -> None:
    ours, other = summaries([*runs("linear", 0.9, 0.6, 0.7), *runs("mst", 0.8, 0.6)])
    assert difference(ours, other, "accuracy") == pytest.approx((0.05, 0.05))
    close, far = summaries([*runs("linear", 0.502, 0.502), *runs("mst", 0.5, 0.5)])
    assert difference(close, far, "accuracy") == pytest.approx((0.002, 0.002**0.5 / 1_000**0.5))


def test_later_runs_replace_earlier_ones(tmp_path: Path) -> None:
    (tmp_path / RESULTS).parent.mkdir(parents=True)
    store([run("linear", 0.8), run("tree", 0.7)], tmp_path)
    Runs(tmp_path / "new").store(run("linear", 0.9))
    found = collect([tmp_path / "new"], tmp_path)
    assert {each.cell.method: each.accuracy for each in found} == {"linear": 0.9, "tree": 0.7}
    assert "### UCI Adult" in page(found)


def test_the_page_is_what_is_on_file() -> None:
    assert page(read_results(ROOT / RESULTS)) in (ROOT / PAGE).read_text(encoding="utf-8")
