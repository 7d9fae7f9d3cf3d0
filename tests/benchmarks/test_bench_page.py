"""What docs/comparison.md says about `pcqr bench` is what is on file, and it says where another is ahead."""

from __future__ import annotations

from pathlib import Path

from benchmarks.bench import PAGE, RESULTS, collect, page, standing, store
from pcqr.bench.report import summaries
from pcqr.bench.runs import Cell, Run, Runs, read_results

ROOT = Path(__file__).parents[2]


def run(method: str, accuracy: float, epsilon: float = 1.0, table: str = "adult") -> Run:
    return Run(Cell(table, "f", method, epsilon, 1e-6, 500, 0), accuracy, accuracy, accuracy, 1.0, 80, 1.0, 1.0, 1.0, 9)


def test_it_says_who_is_ahead() -> None:
    runs = [
        run("linear", 0.8),
        run("tree", 0.7),
        run("dp-sgd-logistic", 0.75),
        run("linear", 0.6, 0.1),
        run("dp-sgd-logistic", 0.65, 0.1),
    ]
    (line,) = standing(summaries([*runs, run("individual-knn-removed", 0.9), run("boosting", 0.95, 0.0)]))
    assert "ours is ahead at ε = 1 (linear 80.0, dp-sgd-logistic 75.0)" in line
    assert "**another is ahead** at ε = 0.1 (linear 60.0, dp-sgd-logistic 65.0)" in line


def test_later_runs_replace_earlier_ones(tmp_path: Path) -> None:
    (tmp_path / RESULTS).parent.mkdir(parents=True)
    store([run("linear", 0.8), run("tree", 0.7)], tmp_path)
    Runs(tmp_path / "new").store(run("linear", 0.9))
    found = collect([tmp_path / "new"], tmp_path)
    assert {each.cell.method: each.accuracy for each in found} == {"linear": 0.9, "tree": 0.7}
    assert "### UCI Adult" in page(found)


def test_the_page_is_what_is_on_file() -> None:
    assert page(read_results(ROOT / RESULTS)) in (ROOT / PAGE).read_text(encoding="utf-8")
