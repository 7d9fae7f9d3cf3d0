"""How accurate is a published linear classifier on real tables, at which ε, and what does it cost to fit?

    python -m benchmarks.linear --data FOLDER [--tables adult,bank,…] [--seeds 5] [--json FILE]

One rule for every table and every ε: `plan_linear(n, B, ε, δ)` on the predicates that trees have (`DecisionTrees()`),
δ = 10⁻⁶, replace-one. Each accuracy is a mean ± standard deviation over runs, on test rows that no part of the fit has
seen; splits as in `benchmarks.trees`. Seconds are those of one fit at the largest ε with the system's entropy, the
table encoded and the kernels compiled before, planning included. Accuracies are seeded so that a run can be repeated.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from benchmarks.accuracy import mean_and_spread, show, wide_console, write_json
from benchmarks.tables import PUBLIC, TABLES, Task, load
from pcqr.algorithms.linear import linear_descent
from pcqr.entropy import Entropy, SeededEntropy, SystemEntropy
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.linear import LinearFeatures, LinearHypothesis
from pcqr.planning.linear import plan_linear

EPSILONS = (0.03, 0.1, 0.3, 1.0, 4.0)
DELTA = 1e-6
SEEDS = 5
RESULTS = Path("benchmarks/results/linear.json")


@dataclass(frozen=True)
class Case:
    """One table: its sizes, steps and accuracies of every run at each ε, and the seconds of one fit under `load`."""

    table: str
    records: int
    predicates: int
    steps: Mapping[str, int]
    accuracy: Mapping[str, Sequence[float]]
    majority: float
    seconds: float
    load: float

    def row(self) -> list[str]:
        runs = [mean_and_spread(values) for values in self.accuracy.values()]
        return [
            self.table,
            f"{self.records:,}",
            f"{self.predicates}",
            *(f"{100 * mean:.2f} ±{100 * spread:.2f}" for mean, spread in runs),
            f"{100 * self.majority:.1f}",
            f"{self.seconds:.1f} s",
        ]


def measure(task: Task, seeds: int) -> Case:
    predicates = DecisionTrees().prepared(task.public, None).predicates or ()
    features = LinearFeatures.of(predicates, task.X.shape[1], task.public)

    def fit(epsilon: float, entropy: Entropy) -> LinearHypothesis:
        plan = plan_linear(task.y.size, len(predicates), epsilon, DELTA)
        return linear_descent(features, task.X, task.y, plan, entropy)

    accuracy = {
        f"{epsilon:g}": [
            float(np.mean(fit(epsilon, SeededEntropy(seed)).predict(task.X_test) == task.y_test))
            for seed in range(seeds)
        ]
        for epsilon in EPSILONS
    }
    load, start = os.getloadavg()[0], time.perf_counter()
    fit(EPSILONS[-1], SystemEntropy())
    return Case(
        table=task.name,
        records=task.y.size,
        predicates=len(predicates),
        steps={f"{epsilon:g}": plan_linear(task.y.size, len(predicates), epsilon, DELTA).steps for epsilon in EPSILONS},
        accuracy=accuracy,
        majority=task.majority,
        seconds=time.perf_counter() - start,
        load=load,
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the Parquet files")
    parser.add_argument("--tables", default=",".join(TABLES), help=f"some of {','.join(TABLES)}")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs at each ε")
    parser.add_argument("--json", type=Path, default=RESULTS, help=f"where the results go ({RESULTS})")
    options = parser.parse_args()
    console = wide_console()
    cases = []
    for name in options.tables.split(","):
        with console.status(name):
            cases.append(measure(load(name, options.data), options.seeds))
    write_json(
        options.json, {"seeds": options.seeds, "public": PUBLIC, "delta": DELTA}, [asdict(case) for case in cases]
    )
    header = ["table", "records", "predicates", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "majority", "fit"]
    title = f"Linear, δ = {DELTA:g}; mean ± standard deviation of {options.seeds} runs, per cent"
    show(title, header, [case.row() for case in cases], console)


if __name__ == "__main__":
    main()
