"""Does `method="auto"` pick well? A tree, a linear classifier and `auto` on tables and questions of all kinds.

    python -m benchmarks.rule --data FOLDER --csv FOLDER [--tables married,…] [--methods tree,auto] [--redraw]

δ = 10⁻⁶, replace-one; splits and public rows as everywhere. The questions of `benchmarks.tables.IN_VIEW` and
`benchmarks.r_tables.IN_VIEW` had been looked at when the rule was settled. Those of `benchmarks.r_tables.HELD_OUT` are
about tables that nobody had looked at, and were committed with the rule before the first run.

A later call goes on where this one stopped (`--again`: measures anew). Seeds, one for each table, ε, method and run,
make it repeatable. Where `auto` is nothing but a tree it has the seeds of the tree and is the same to the last bit.
The tables of the pages are made from all that is on file (`--redraw`: nothing else).
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks import r_tables, tables
from benchmarks.accuracy import markdown, mean_and_spread, parser_of, read_cases, seed_of, wide_console, write_json
from benchmarks.pages import put_between
from benchmarks.tables import PUBLIC, Task
from pcqr import AssumePublic, PrivateClassifier
from pcqr.releases.classifier.rule import FERNS_FROM, LINEAR_FROM, PILOTS_FROM, Choice, choose

METHODS: tuple[Choice, ...] = ("tree", "linear", "auto")
EPSILONS = (0.03, 0.1, 0.3, 1.0)
DELTA = 1e-6
RESULTS = Path("benchmarks/results/rule.json")
PAGE = Path("docs/classifier-results.md")
PAGES = (Path("docs/classifiers.md"), PAGE)
"""Where means are shown."""
IN_VIEW = (*tables.IN_VIEW, *r_tables.IN_VIEW)
HELD_OUT = tuple(r_tables.HELD_OUT)
NAMES = (*IN_VIEW, *HELD_OUT)

Key = tuple[str, float, str]


@dataclass(frozen=True)
class Case:
    """One table, ε and method, and the accuracies of its runs."""

    table: str
    records: int
    columns: int
    epsilon: float
    method: Choice
    majority: float
    accuracy: Sequence[float]

    @property
    def key(self) -> Key:
        return self.table, self.epsilon, self.method

    @property
    def mean(self) -> float:
        """Per cent."""
        return 100.0 * mean_and_spread(self.accuracy)[0]


@dataclass(frozen=True)
class Job:
    """One run."""

    table: str
    epsilon: float
    method: Choice
    run: int


Cases = Mapping[Key, Case]


def load(name: str, data: Path, csv: Path) -> Task:
    return tables.load(name, data) if name in tables.IN_VIEW else r_tables.load(name, csv)


def measure(job: Job, task: Task) -> Case:
    """Fit once and score."""
    chosen = choose(task.y.size, job.epsilon, job.method)
    seeded = job.method if chosen.maps else "tree"
    seed = seed_of(job.table, job.epsilon, seeded, job.run)
    classifier = PrivateClassifier(job.epsilon, DELTA, method=job.method, entropy=seed, classes=(0, 1))
    classifier.fit(task.X, task.y, public=AssumePublic(task.public))
    right = float(np.mean(classifier.predict(task.X_test) == task.y_test))
    records, columns = task.X.shape
    return Case(task.name, records, columns, job.epsilon, job.method, task.majority, (right,))


@lru_cache(maxsize=2)
def _loaded(name: str, data: Path, csv: Path) -> Task:
    return load(name, data, csv)


def _measured(data: Path, csv: Path, job: Job) -> Case:
    return measure(job, _loaded(job.table, data, csv))


def stored(results: Path = RESULTS) -> dict[Key, Case]:
    return {case.key: case for case in read_cases(results, Case)}


def store(cases: Cases, results: Path = RESULTS) -> None:
    ordered = sorted(
        cases.values(), key=lambda case: (NAMES.index(case.table), case.epsilon, METHODS.index(case.method))
    )
    write_json(results, {"delta": DELTA, "public": PUBLIC}, [asdict(case) for case in ordered])


def wanted(given: argparse.Namespace, cases: Cases) -> Iterator[Job]:
    """The runs that are not on file. Those of one table follow each other, so that each is read once or twice."""
    for name in given.tables:
        for epsilon in given.epsilons:
            for method in (each for each in METHODS if each in given.methods.split(",")):
                done = cases.get((name, epsilon, method))
                yield from (
                    Job(name, epsilon, method, run) for run in range(len(done.accuracy) if done else 0, given.runs)
                )


def run(given: argparse.Namespace) -> None:
    """Make the runs, a process each, and store them in their order."""
    console, cases = wide_console(), stored()
    if given.again:
        named = (given.tables, given.epsilons, given.methods.split(","))
        cases = {
            key: case
            for key, case in cases.items()
            if not all(part in some for part, some in zip(key, named, strict=True))
        }
    jobs = list(wanted(given, cases))
    found: dict[Job, Case] = {}
    for count, (ended, case) in enumerate(_results(jobs, given), 1):
        found[ended] = case
        job = ended
        while job in found:  # runs are stored in their order: how many are on file says which are missing
            new = found.pop(job)
            earlier = cases[new.key].accuracy if new.key in cases else ()
            cases[new.key] = replace(new, accuracy=(*earlier, *new.accuracy))
            job = replace(job, run=job.run + 1)
        if count % 20 == 0 or count == len(jobs):
            console.print(f"{count:,} of {len(jobs):,} runs")
            store(cases)


def _results(jobs: Sequence[Job], given: argparse.Namespace) -> Iterator[tuple[Job, Case]]:
    """Each run and what came of it, in any order."""
    if given.jobs == 1:
        yield from ((job, _measured(given.data, given.csv, job)) for job in jobs)
        return
    with ProcessPoolExecutor(given.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        job_of = {pool.submit(_measured, given.data, given.csv, job): job for job in jobs}
        yield from ((job_of[done], done.result()) for done in as_completed(job_of))


# The page --------------------------------------------------------------------------------------------------------

BANDS = (0.0, LINEAR_FROM, 10_000.0, FERNS_FROM, PILOTS_FROM)
BY_BAND = ("n·ε", "cells", *(f"`{method}`" for method in METHODS))
HEADER = ("question", "ε", "n·ε", "commoner label", *(f"`{method}`" for method in METHODS))


def by_band(cases: Cases, names: Iterable[str]) -> list[list[str]]:
    """The mean accuracy of each method by n·ε, over the cells that all of them have."""
    cells: list[tuple[float, list[float]]] = []
    for name in names:
        for epsilon in EPSILONS:
            three = [cases[name, epsilon, method] for method in METHODS if (name, epsilon, method) in cases]
            if len(three) == len(METHODS):
                cells.append((three[0].records * epsilon, [case.mean for case in three]))
    rows: list[list[str]] = []
    spans = [*pairwise((*BANDS, math.inf)), (0.0, math.inf)]
    for low, high in spans:
        inside = [means for n_epsilon, means in cells if low <= n_epsilon < high]
        if inside:
            span = f"{low:,.0f} to {high:,.0f}" if high < math.inf else f"from {low:,.0f} on" if low else "all"
            rows.append([span, str(len(inside)), *(f"{mean:.2f}" for mean in np.mean(inside, axis=0))])
    return rows


def by_question(cases: Cases, names: Iterable[str]) -> list[list[str]]:
    """One row a question and ε. What has not been run is empty."""
    rows = []
    for name in names:
        for epsilon in EPSILONS:
            cell = {method: cases[name, epsilon, method] for method in METHODS if (name, epsilon, method) in cases}
            if cell:
                some = next(iter(cell.values()))
                known = [name, f"{epsilon:g}", f"{some.records * epsilon:,.0f}", f"{100 * some.majority:.1f}"]
                rows.append([*known, *(f"{cell[method].mean:.1f}" if method in cell else "" for method in METHODS)])
    return rows


def redraw() -> None:
    cases = stored()
    for page in PAGES:
        put_between(page, "held-out-by-band", markdown(BY_BAND, by_band(cases, HELD_OUT)))
    put_between(PAGE, "held-out", markdown(HEADER, by_question(cases, HELD_OUT)))
    put_between(PAGE, "in-view", markdown(HEADER, by_question(cases, IN_VIEW)))


def main() -> None:
    parser = parser_of("benchmarks.rule", __doc__, NAMES, EPSILONS)
    parser.add_argument("--csv", type=Path, default=Path(), help="the folder of the CSV files (benchmarks.r_tables)")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--again", action="store_true", help="forget what is on file of these tables, ε and methods")
    parser.add_argument("--redraw", action="store_true", help="run nothing, write the page again")
    given = parser.parse_args()
    if not given.redraw:
        run(given)
    redraw()


if __name__ == "__main__":
    main()
