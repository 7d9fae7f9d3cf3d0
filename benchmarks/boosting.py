"""How accurate are boosted exact trees on real tables, at which ε, and how long does a fit take?

    python -m benchmarks.boosting --data FOLDER [--tables adult,bank,…] [--epsilons .1,1] [--seeds 5]

One rule for every table and every ε, `plan_boosting`, at δ = 10⁻⁶, replace-one. Accuracy: per cent, mean ± standard
deviation over draws, on test rows that no part of the fit has seen; tables, splits and predicates are those of
`benchmarks.trees`. Results are stored after every fit, one line a table and ε; a later run replaces the lines that it
makes anew and keeps the others.

Randomness is seeded so that a run can be repeated; neither accuracy nor time depends on it.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console

from benchmarks.accuracy import mean_and_spread, show, wide_console, write_json
from benchmarks.tables import TABLES, Task, load
from pcqr.algorithms.boosting import boost
from pcqr.entropy import SeededEntropy
from pcqr.hypotheses import DecisionTrees
from pcqr.planning.boosting import plan_boosting

DELTA = 1e-6
EPSILONS = (0.03, 0.1, 0.3, 1.0, 4.0)
TARGETS: Mapping[str, Mapping[float, float]] = {
    "adult": {0.3: 85.4, 1.0: 85.8, 4.0: 86.1},
    "bank": {4.0: 89.6},
    "diabetes": {1.0: 63.1, 4.0: 63.3},
    "covertype": {0.1: 77.5, 0.3: 78.3, 1.0: 79.5, 4.0: 80.5},
}
"""What the project asks of the best of its published classifiers, where boosting is meant to be that."""

RESULTS = Path("benchmarks/results/boosting.json")


@dataclass(frozen=True)
class Case:
    """One table at one ε: the plan's settings, the accuracy and the seconds of every fit.

    `load` is the machine's load average before the last fit: much above 0, and the seconds are too many.
    """

    table: str
    epsilon: float
    rounds: int
    depth: int
    offered: int
    accuracy: Sequence[float]
    seconds: Sequence[float]
    load: float

    @property
    def key(self) -> tuple[str, float]:
        return self.table, self.epsilon

    def row(self) -> list[str]:
        mean, spread = mean_and_spread(self.accuracy)
        asked = TARGETS.get(self.table, {}).get(self.epsilon)
        return [
            self.table,
            f"{self.epsilon:g}",
            f"{self.rounds} × depth {self.depth}, {self.offered} offered",
            f"{100 * mean:.2f} ±{100 * spread:.2f}" if len(self.accuracy) > 1 else f"{100 * mean:.2f}",
            "" if asked is None else f"{asked:.1f}",
            f"{len(self.accuracy)}",
            f"{min(self.seconds):.1f} s",
        ]


HEADER = ("table", "ε", "plan", "accuracy", "asked", "fits", "fastest fit")


def fit(task: Task, epsilon: float, seed: int) -> tuple[float, float]:
    """(accuracy, seconds) of one fit, the making of predicates included."""
    start = time.perf_counter()
    predicates = DecisionTrees().prepared(task.public, None).predicates or ()
    plan = plan_boosting(task.y.size, len(predicates), epsilon, DELTA)
    published = boost(task.X, task.y, predicates, plan, SeededEntropy(seed))
    seconds = time.perf_counter() - start
    return float(np.mean(published.predict(task.X_test) == task.y_test)), seconds


def measure(task: Task, epsilon: float, seeds: int) -> Case:
    predicates = DecisionTrees().prepared(task.public, None).predicates or ()
    plan = plan_boosting(task.y.size, len(predicates), epsilon, DELTA)
    load_before = os.getloadavg()[0]
    fits = [fit(task, epsilon, seed) for seed in range(seeds)]
    accuracy, seconds = zip(*fits, strict=True)
    return Case(task.name, epsilon, plan.rounds, plan.depth, plan.offered, accuracy, seconds, load_before)


def stored() -> dict[tuple[str, float], Case]:
    if not RESULTS.exists():
        return {}
    cases = [Case(**fields) for fields in json.loads(RESULTS.read_text())["cases"]]
    return {case.key: case for case in cases}


def store(cases: Mapping[tuple[str, float], Case]) -> list[Case]:
    ordered = sorted(cases.values(), key=lambda case: (TABLES.index(case.table), case.epsilon))
    write_json(RESULTS, {"delta": DELTA, "cores": os.cpu_count()}, [asdict(case) for case in ordered])
    return ordered


def run(tables: Sequence[str], epsilons: Sequence[float], folder: Path, seeds: int, console: Console) -> list[Case]:
    cases = stored()
    for name in tables:
        task = load(name, folder)
        for epsilon in epsilons:
            case = measure(task, epsilon, seeds)
            console.print("  ".join(case.row()), highlight=False)
            cases[case.key] = case
            store(cases)
    return store(cases)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.boosting", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the Parquet files")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--epsilons", default=",".join(f"{epsilon:g}" for epsilon in EPSILONS))
    parser.add_argument("--seeds", type=int, default=5)
    given = parser.parse_args()
    console = wide_console()
    epsilons = [float(epsilon) for epsilon in given.epsilons.split(",")]
    cases = run(given.tables.split(","), epsilons, given.data, given.seeds, console)
    show(f"Boosted exact trees, δ = {DELTA:g}", HEADER, [case.row() for case in cases], console)


if __name__ == "__main__":
    main()
