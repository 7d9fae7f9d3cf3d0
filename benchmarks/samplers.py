"""What one exact draw costs, class by class, beside its target, and how the cost grows with the number of records.

    python -m benchmarks.samplers [--fast] [--json]

Every class is timed on records with a planted concept and 20 % label noise, at η = ½ (an ε = 1 choice). Columns:

    draw     median seconds of a draw at the largest n
    target   seconds that the design allows it there
    growth   least-squares slope of ln(seconds of the fastest draw) against ln(n) over all sizes timed
    promise  the exponent that the design promises, logarithms left aside
    compile  seconds of the first call ever, which compiles the kernels or reads them from numba's cache

Read the seconds on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from pcqr.hypotheses import Halfspaces, HypothesisClass, Intervals, Rectangles, Stumps, Thresholds, UnionsOfIntervals

INVERSE_TEMPERATURE = 0.5
LABEL_NOISE = 0.2
DRAWS = 7
WARM_UP_RECORDS = 20

FloatArray = NDArray[np.float64]
Concept = Callable[[FloatArray], NDArray[np.bool_]]


@dataclass(frozen=True)
class Case:
    """A class, the concept planted in its data, the sizes to time it at, and what is asked of it at the largest."""

    name: str
    hypotheses: HypothesisClass
    features: int
    concept: Concept
    sizes: tuple[int, ...]
    target_seconds: float
    target_growth: float
    """The exponent of n in the cost that is promised, logarithms left aside."""

    def records(self, count: int) -> tuple[FloatArray, NDArray[np.int64]]:
        generator = np.random.default_rng(count)
        X = generator.random((count, self.features))
        flipped = generator.random(count) < LABEL_NOISE
        return X, (self.concept(X) ^ flipped).astype(np.int64)


@dataclass(frozen=True)
class Result:
    """Median seconds of a draw at each size, and their growth: what the columns show."""

    name: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    compile_seconds: float
    growth: float
    target_seconds: float | None
    target_growth: float

    @property
    def is_met(self) -> bool | None:
        return None if self.target_seconds is None else self.seconds[-1] <= self.target_seconds


def in_odd_tenths(X: FloatArray) -> NDArray[np.bool_]:
    """The odd tenths of [0, 1]: five intervals."""
    odd: NDArray[np.bool_] = np.floor(10.0 * X[:, 0]) % 2 == 1
    return odd


CASES = (
    Case("thresholds", Thresholds(), 1, lambda X: X[:, 0] > 0.4, (62_500, 250_000, 1_000_000), 1.0, 1.0),
    Case("intervals", Intervals(), 1, lambda X: abs(X[:, 0] - 0.5) < 0.2, (62_500, 250_000, 1_000_000), 2.0, 1.0),
    Case("unions of 5", UnionsOfIntervals(5), 1, in_odd_tenths, (12_500, 25_000, 50_000, 100_000), 3.0, 1.0),
    Case("stumps, p = 50", Stumps(), 50, lambda X: X[:, 7] > 0.4, (12_500, 25_000, 50_000, 100_000), 5.0, 1.0),
    Case("rectangles", Rectangles(), 2, lambda X: abs(X - 0.5).max(axis=1) < 0.3, (75, 150, 300), 10.0, 3.0),
    Case("halfspaces", Halfspaces(), 2, lambda X: X.sum(axis=1) > 0.9, (250, 500, 1_000, 2_000), 10.0, 2.0),
)


def seconds_of_draw(case: Case, count: int) -> float:
    X, y = case.records(count)
    start = time.perf_counter()
    case.hypotheses.sample(X, y, INVERSE_TEMPERATURE)
    return time.perf_counter() - start


def slope(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    return statistics.linear_regression([math.log(n) for n in sizes], [math.log(s) for s in seconds]).slope


def measure(case: Case, *, fast: bool, tick: Callable[[str], None]) -> Result:
    """`fast` times the same class on an eighth of the records, where no target is set."""
    sizes = tuple(n // 8 for n in case.sizes) if fast else case.sizes
    compile_seconds = seconds_of_draw(case, WARM_UP_RECORDS)
    timings = []
    for count in sizes:
        tick(f"{case.name}, n = {count:,}")
        timings.append([seconds_of_draw(case, count) for _ in range(DRAWS)])
    return Result(
        name=case.name,
        sizes=sizes,
        seconds=tuple(map(statistics.median, timings)),
        compile_seconds=compile_seconds,
        growth=slope(sizes, [min(draws) for draws in timings]),
        target_seconds=None if fast else case.target_seconds,
        target_growth=case.target_growth,
    )


def run(*, fast: bool, console: Console) -> list[Result]:
    columns = (TextColumn("{task.description:40}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=sum(len(case.sizes) for case in CASES))
        done = -1

        def tick(description: str) -> None:
            nonlocal done
            done += 1
            progress.update(task, description=description, completed=done)

        return [measure(case, fast=fast, tick=tick) for case in CASES]


def as_table(results: Sequence[Result]) -> Table:
    table = Table(title=f"One exact draw at η = {INVERSE_TEMPERATURE} (median of {DRAWS})", caption=machine())
    table.add_column("class", no_wrap=True)
    for heading in ("n", "draw (s)", "target", "growth", "promise", "compile"):
        table.add_column(heading, justify="right")
    for result in results:
        style = {True: "green", False: "red", None: "default"}[result.is_met]
        table.add_row(
            result.name,
            f"{result.sizes[-1]:,}",
            f"[{style}]{result.seconds[-1]:.3f}",
            "–" if result.target_seconds is None else f"{result.target_seconds:g}",
            f"n^{result.growth:.2f}",
            f"n^{result.target_growth:g}",
            f"{result.compile_seconds:.2f}",
        )
    return table


def machine() -> str:
    return f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}, numpy {np.__version__}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.samplers", description=__doc__.splitlines()[0])
    parser.add_argument("--fast", action="store_true", help="an eighth of the records: a trial run without targets")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON instead of a table")
    options = parser.parse_args(arguments)
    results = run(fast=options.fast, console=Console(stderr=True))
    if options.json:
        print(json.dumps({"machine": machine(), "results": [asdict(result) for result in results]}, indent=2))
    else:
        Console().print(as_table(results))


if __name__ == "__main__":
    main()
