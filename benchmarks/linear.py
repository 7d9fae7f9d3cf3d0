"""How accurate is a published linear classifier on real tables, at which ε, and what does it cost to fit?

    python -m benchmarks.linear --data FOLDER [--tables adult,bank,…] [--seeds 5] [--json FILE] [--costs]

One rule for every table and every ε: `plan_linear(n, B, ε, δ)` on the predicates that trees have (`DecisionTrees()`),
δ = 10⁻⁶, replace-one. Each accuracy is a mean ± standard deviation over runs, on test rows that no part of the fit has
seen; splits as in `benchmarks.trees`. Seconds are those of one fit at the largest ε with the system's entropy, the
table encoded and the kernels compiled before, planning included. Accuracies are seeded so that a run can be repeated.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.accuracy import mean_and_spread, show, wide_console, write_json
from benchmarks.tables import PUBLIC, TABLES, Task, load
from pcqr.algorithms.linear import linear_descent
from pcqr.entropy import Entropy, SeededEntropy, SystemEntropy
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.linear import LinearFeatures, LinearHypothesis
from pcqr.plan import LinearPlan
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


@dataclass(frozen=True)
class Fit:
    """What all fits of a table share."""

    task: Task
    features: LinearFeatures

    @classmethod
    def of(cls, task: Task) -> Fit:
        predicates = DecisionTrees().prepared(task.public, None).predicates or ()
        return cls(task, LinearFeatures.of(predicates, task.X.shape[1], task.public))

    def plan(self, epsilon: float) -> LinearPlan:
        return plan_linear(self.task.y.size, len(self.features.predicates), epsilon, DELTA)

    def __call__(self, epsilon: float, entropy: Entropy) -> LinearHypothesis:
        return linear_descent(self.features, self.task.X, self.task.y, self.plan(epsilon), entropy)

    def accuracy(self, epsilon: float, seed: int) -> float:
        return float(np.mean(self(epsilon, SeededEntropy(seed)).predict(self.task.X_test) == self.task.y_test))

    def cost(self) -> tuple[float, float]:
        """Seconds of one fit, and the machine's load average before it."""
        few = replace(self.plan(EPSILONS[-1]), records=8, steps=1)
        linear_descent(self.features, self.task.X[:8], self.task.y[:8], few, SystemEntropy())  # loads what is needed
        load, start = os.getloadavg()[0], time.perf_counter()
        self(EPSILONS[-1], SystemEntropy())
        return time.perf_counter() - start, load


def measure(task: Task, seeds: int) -> Case:
    fit = Fit.of(task)
    accuracy = {f"{epsilon:g}": [fit.accuracy(epsilon, seed) for seed in range(seeds)] for epsilon in EPSILONS}
    seconds, busy = fit.cost()
    return Case(
        table=task.name,
        records=task.y.size,
        predicates=len(fit.features.predicates),
        steps={f"{epsilon:g}": fit.plan(epsilon).steps for epsilon in EPSILONS},
        accuracy=accuracy,
        majority=task.majority,
        seconds=seconds,
        load=busy,
    )


def measured_again(case: Case, folder: Path) -> Case:
    """`case` with the cost of a fit on this machine, now."""
    seconds, busy = Fit.of(load(case.table, folder)).cost()
    return replace(case, seconds=seconds, load=busy)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.linear", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the Parquet files")
    parser.add_argument("--tables", default=",".join(TABLES), help=f"some of {','.join(TABLES)}")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="runs at each ε")
    parser.add_argument("--json", type=Path, default=RESULTS, help=f"where the results go ({RESULTS})")
    parser.add_argument("--costs", action="store_true", help="measure the seconds again, keep the accuracies")
    options = parser.parse_args()
    console = wide_console()
    cases, seeds = [], options.seeds
    if options.costs:
        written = json.loads(options.json.read_text())
        seeds = written["settings"]["seeds"]
        cases = [measured_again(Case(**fields), options.data) for fields in written["cases"]]
    else:
        for name in options.tables.split(","):
            with console.status(name):
                cases.append(measure(load(name, options.data), seeds))
    write_json(options.json, {"seeds": seeds, "public": PUBLIC, "delta": DELTA}, [asdict(case) for case in cases])
    header = ["table", "records", "predicates", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "majority", "fit"]
    title = f"Linear, δ = {DELTA:g}; mean ± standard deviation of {seeds} runs, per cent"
    show(title, header, [case.row() for case in cases], console)


if __name__ == "__main__":
    main()
