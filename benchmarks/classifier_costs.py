"""How long does a published classifier take to fit, and how much memory? One method after the other, one process each.

    python -m benchmarks.classifier_costs --data FOLDER

At δ = 10⁻⁶ with the system's entropy, the table encoded and the compiled kernels loaded before; planning and predicates
included. Seconds of this machine, and its load average before each fit: run it on an idle one. Writes the table of
docs/classifier-results.md.
"""

from __future__ import annotations

import os
import resource
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.accuracy import markdown, parser_of, read_cases, run_alone, wide_console, write_json
from benchmarks.pages import put_between
from benchmarks.tables import load
from pcqr import PrivateClassifier
from pcqr.releases.classifier.rule import Choice

DELTA = 1e-6
FITS: tuple[tuple[str, float, Choice], ...] = (
    ("adult", 0.1, "tree"),
    ("adult", 0.1, "linear"),
    *(("adult", epsilon, "auto") for epsilon in (0.03, 0.1, 0.3, 1.0, 4.0)),
    *(("covertype", epsilon, "auto") for epsilon in (0.03, 0.1, 1.0)),
)
RESULTS = Path("benchmarks/results/classifier_costs.json")
PAGE = Path("docs/classifier-results.md")


@dataclass(frozen=True)
class Cost:
    """One fit: its seconds, the most memory that the process had, and the machine's load average before."""

    table: str
    epsilon: float
    method: str
    records: int
    seconds: float
    megabytes: float
    load: float

    def row(self) -> list[str]:
        return [
            f"{self.table} ({self.records:,})",
            self.method,
            f"{self.epsilon:g}",
            f"{self.seconds:.1f} s",
            f"{self.megabytes:,.0f} MB",
        ]


HEADER = ("table (records)", "method", "ε", "one fit", "memory")


def measure(job: tuple[str, float, Choice, Path]) -> Cost:
    name, epsilon, method, folder = job
    task = load(name, folder)

    def fit(rows: int) -> None:
        classifier = PrivateClassifier(epsilon, DELTA, method=method, classes=(0, 1))
        classifier.fit(task.X[:rows], task.y[:rows], public=task.public)

    fit(2_000)
    before, start = os.getloadavg()[0], time.perf_counter()
    fit(task.y.size)
    seconds = time.perf_counter() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Cost(name, epsilon, method, task.y.size, seconds, memory, before)


def table(root: Path) -> str:
    return markdown(HEADER, [cost.row() for cost in read_cases(root / RESULTS, Cost)])


def main() -> None:
    given = parser_of("benchmarks.classifier_costs", __doc__).parse_args()
    console, costs = wide_console(), []
    for fit in FITS:
        costs.append(run_alone(measure, (*fit, given.data)))
        console.print("  ".join(costs[-1].row()), f"(load {costs[-1].load:.1f})", highlight=False)
    write_json(RESULTS, {"delta": DELTA, "cores": os.cpu_count()}, [asdict(cost) for cost in costs])
    put_between(PAGE, "costs", table(Path()))


if __name__ == "__main__":
    main()
