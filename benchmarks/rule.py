"""Does `method="auto"` pick well on questions that the settings were not chosen on?

    python -m benchmarks.rule --data FOLDER [--tables married,newark,…] [--epsilons .03,.1] [--methods tree,linear]

A tree, a linear classifier and `auto`, δ = 10⁻⁶, replace-one, on the questions of `benchmarks.tables.HELD_OUT`, `UNSEEN`, `FRESH`
and `WIDER`, which the rule was settled with in view; splits and public rows as everywhere. `benchmarks.r_tables` asks
about other tables.
Regret is how far `auto` is behind the best of the three, which is known afterwards only. Results are stored after every
cell, one line a table, ε and method; a later run replaces the lines that it makes anew and keeps the others, and what
has not been run is empty in the tables. Seeds, one for each table, ε, method and run, make it repeatable; where `auto`
is nothing but a tree, or nothing but a linear classifier, it has the seeds of that method and is the same to the last bit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.accuracy import markdown, mean_and_spread, seed_of, show, wide_console, write_json
from benchmarks.pages import put_between
from benchmarks.tables import FRESH, HELD_OUT, PUBLIC, UNSEEN, WIDER, Task, load
from pcqr import AssumePublic, PrivateClassifier
from pcqr.planning.classifiers.rule import Choice, choose

METHODS: tuple[Choice, ...] = ("tree", "linear", "auto")
EPSILONS = (0.03, 0.1, 0.3, 1.0)
DELTA = 1e-6
RESULTS = Path("benchmarks/results/rule.json")
PAGE = Path("docs/classifiers.md")
QUESTIONS = {"rule": HELD_OUT, "unseen": UNSEEN, "fresh": FRESH, "wider": WIDER}
"""By the mark of their table on the page."""
NAMES = [*HELD_OUT, *UNSEEN, *FRESH, *WIDER]


@dataclass(frozen=True)
class Case:
    """One table, ε and method: accuracy and seconds of every fit; `load`: how busy the machine was before them."""

    table: str
    records: int
    columns: int
    epsilon: float
    method: Choice
    majority: float
    accuracy: Sequence[float]
    seconds: Sequence[float]
    load: float

    @property
    def key(self) -> tuple[str, float, str]:
        return self.table, self.epsilon, self.method


Cases = Mapping[tuple[str, float, str], Case]


def measure(task: Task, epsilon: float, method: Choice, runs: int) -> Case:
    accuracy, seconds, load_before = [], [], os.getloadavg()[0]
    named = choose(task.y.size, epsilon, 2) if method == "auto" else method
    seeded = named if named in METHODS else method
    for run in range(runs):
        start = time.perf_counter()
        classifier = PrivateClassifier(
            epsilon, DELTA, method=method, entropy=seed_of(task.name, epsilon, seeded, run), classes=(0, 1)
        )
        classifier.fit(task.X, task.y, public=AssumePublic(task.public))
        seconds.append(time.perf_counter() - start)
        accuracy.append(float(np.mean(classifier.predict(task.X_test) == task.y_test)))
    records, columns = task.X.shape
    return Case(task.name, records, columns, epsilon, method, task.majority, accuracy, seconds, load_before)


def stored(results: Path) -> dict[tuple[str, float, str], Case]:
    if not results.exists():
        return {}
    cases = [Case(**fields) for fields in json.loads(results.read_text(encoding="utf-8"))["cases"]]
    return {case.key: case for case in cases if case.method in METHODS}


def store(results: Path, cases: Cases, names: Sequence[str]) -> None:
    """In the order of `names`."""
    ordered = sorted(
        cases.values(), key=lambda case: (names.index(case.table), case.epsilon, METHODS.index(case.method))
    )
    write_json(results, {"delta": DELTA, "public": PUBLIC}, [asdict(case) for case in ordered])


def rows(cases: Cases, names: Iterable[str]) -> list[list[str]]:
    """One row a question and ε, and at the end what each method, always taken, loses to the best one on average."""
    found, lost = [], []
    for name in names:
        for epsilon in EPSILONS:
            cell = {method: cases[name, epsilon, method] for method in METHODS if (name, epsilon, method) in cases}
            if not cell:
                continue
            means = {method: 100 * mean_and_spread(case.accuracy)[0] for method, case in cell.items()}
            if len(cell) == len(METHODS):
                lost.append([max(means.values()) - means[method] for method in METHODS])
            any_case = next(iter(cell.values()))
            found.append(
                [
                    name,
                    f"{epsilon:g}",
                    f"{any_case.records * epsilon:,.0f}",
                    f"{100 * any_case.majority:.1f}",
                    *(f"{means[method]:.1f}" if method in means else "" for method in METHODS),
                    f"{lost[-1][-1]:.1f}" if len(cell) == len(METHODS) else "",
                ]
            )
    if not lost:
        return found
    return [*found, ["mean regret", "", "", "", *(f"{mean:.2f}" for mean in np.mean(lost, axis=0)), ""]]


BANDS = (0.0, 1_200.0, 3_000.0, 8_000.0, 30_000.0)
"""n·ε from which on `auto` does something else."""


def by_strength(cases: Cases, names: Iterable[str]) -> list[list[str]]:
    """What each method, always taken, loses on average to the best one, by n·ε; and where `auto` loses more than 1."""
    lost: list[tuple[float, list[float]]] = []
    for name in names:
        for epsilon in EPSILONS:
            cell = [cases[name, epsilon, method] for method in METHODS if (name, epsilon, method) in cases]
            if len(cell) == len(METHODS):
                means = [100 * mean_and_spread(case.accuracy)[0] for case in cell]
                lost.append((cell[0].records * epsilon, [max(means) - mean for mean in means]))
    found: list[list[str]] = []
    for low, high in (*pairwise((*BANDS, math.inf)), (BANDS[2], math.inf), (BANDS[3], math.inf), (0.0, math.inf)):
        inside = [each for strength, each in lost if low <= strength < high]
        if inside:
            span = f"{low:,.0f} to {high:,.0f}" if high < math.inf else f"from {low:,.0f} on" if low else "all"
            mean = [f"{number:.2f}" for number in np.mean(inside, axis=0)]
            found.append([span, str(len(inside)), *mean, str(sum(each[-1] > 1.0 for each in inside))])
    return found


BY_STRENGTH = ("n·ε", "cells", "tree", "linear", "`auto`", "above 1.0")
HEADER = ("question", "ε", "n·ε", "majority", "tree", "linear", "`auto`", "regret")


def parser_for(program: str, about: str | None, names: Iterable[str]) -> argparse.ArgumentParser:
    """The options of a comparison but for the folder of its tables; the first line of `about` describes it."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=(about or "").split("\n")[0])
    parser.add_argument("--tables", default=",".join(names))
    parser.add_argument("--epsilons", default=",".join(f"{epsilon:g}" for epsilon in EPSILONS))
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument(
        "--methods", default=",".join(METHODS), help="some of them; of the others what is stored is kept"
    )
    return parser


def compare(
    given: argparse.Namespace,
    load: Callable[[str, Path], Task],
    questions: Mapping[str, Collection[str]],
    results: Path,
    summed: Mapping[str, Collection[str]],
) -> None:
    """Measure what is asked for, store it in `results` and fill the page's tables: `questions`, by their marks.

    The questions of `summed` are summed up by n·ε.
    """
    names = [name for asked in questions.values() for name in asked]
    console, cases = wide_console(), stored(results)
    for name in filter(None, given.tables.split(",")):
        task = load(name, given.data)
        for epsilon in map(float, given.epsilons.split(",")):
            for method in (each for each in METHODS if each in given.methods.split(",")):
                case = measure(task, epsilon, method, given.runs)
                console.print(*map(str, case.key), f"{100 * np.mean(case.accuracy):.2f}", f"{case.seconds[0]:.1f} s")
                cases[case.key] = case
                store(results, cases, names)
    for mark, asked in questions.items():
        put_between(PAGE, mark, markdown(HEADER, rows(stored(results), asked)))
    for mark, asked in summed.items():
        put_between(PAGE, mark, markdown(BY_STRENGTH, by_strength(stored(results), asked)))
    show(f"A tree, a linear classifier and auto, δ = {DELTA:g}, per cent", HEADER, rows(cases, names), console)


def main() -> None:
    parser = parser_for("benchmarks.rule", __doc__, NAMES)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the Parquet files")
    compare(parser.parse_args(), load, QUESTIONS, RESULTS, {"rule-by-strength": NAMES})


if __name__ == "__main__":
    main()
