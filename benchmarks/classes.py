"""Several classes: one tree, the linear classifier and `auto` on tables with 3 to 10 classes.

    python -m benchmarks.classes --data FOLDER [--tables diabetes,…] [--epsilons .1,1] [--methods linear,…] [--runs 5]

Covertype has 7 classes, diabetes130 has 3 (readmitted within 30 days, later, not), MNIST 10 (raw pixels; features from
a public encoder are in examples/mnist.py). δ = 10⁻⁶, replace-one; 75 % of the rows are private, 2,000 of the others are
public without their labels, the rest is scored, as in `benchmarks.tables`; MNIST has its own split, and its public rows
come out of the training part. Results are stored after every cell; a later run replaces the lines that it makes anew
and keeps the others. Seeds make a run repeatable. Writes a table of docs/classifier-results.md.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import markdown, mean_and_spread, parser_of, read_cases, wide_console, write_json
from benchmarks.pages import put_between
from benchmarks.tables import DIABETES, IDS, PUBLIC, Source, Task, set_apart
from pcqr import PrivateClassifier
from pcqr.data.schema import Column, Schema

Method = Literal["tree", "linear", "auto"]

METHODS: tuple[Method, ...] = get_args(Method)
TABLES = ("diabetes", "covertype", "mnist")
MNIST = "mnist.parquet"


def _places(labels: Any) -> NDArray[np.int8]:
    """Which label each is, in their order: 0, 1, …"""
    return np.unique(labels.to_numpy(), return_inverse=True)[1].astype(np.int8)


SOURCES = {
    "diabetes": Source(DIABETES, "readmitted", _places, drop=IDS),
    "covertype": Source("covertype.parquet", "Cover_Type", _places),
}
FILES = {name: source.file for name, source in SOURCES.items()} | {"mnist": MNIST}
EPSILONS = (0.1, 0.3, 1.0, 4.0)
DELTA = 1e-6
RESULTS = Path("benchmarks/results/classes.json")
PAGE = Path("docs/classifier-results.md")
HEADER = ("table", "classes", "commonest", "ε", "n·ε", *(f"`{method}`" for method in METHODS), "`auto` picks")


@dataclass(frozen=True)
class Case:
    """One table, ε and method: what was published, accuracy and seconds of every fit; `load` of the machine before."""

    table: str
    records: int
    classes: int
    majority: float
    epsilon: float
    method: str
    published: str
    accuracy: Sequence[float]
    seconds: Sequence[float]
    load: float

    @property
    def key(self) -> tuple[str, float, str]:
        return self.table, self.epsilon, self.method


Cases = Mapping[tuple[str, float, str], Case]


def load(name: str, folder: Path) -> Task:
    if name == "mnist":
        return mnist(folder)
    task = SOURCES[name].task(name, folder)
    return replace(task, classes=int(task.y.max()) + 1)


def mnist(folder: Path) -> Task:
    """The pixels as they are, for which public rows are taken out of the training part."""
    import pandas as pd  # noqa: PLC0415

    frame = pd.read_parquet(folder / MNIST)
    y, train, test = _places(frame["label"]), *(np.flatnonzero(frame["split"] == part) for part in ("train", "test"))
    public, train = set_apart(train)
    frame = frame.drop(columns=["label", "split"])
    pixels, schema = frame.to_numpy(), Schema(tuple(map(Column, frame.columns)))
    return Task("mnist", pixels[train], y[train], pixels[public], pixels[test], y[test], schema, classes=10)


def measure(task: Task, epsilon: float, method: Method, runs: int) -> Case:
    accuracy, seconds, load_before = [], [], os.getloadavg()[0]
    for seed in range(runs):
        start = time.perf_counter()
        classifier = PrivateClassifier(
            epsilon, DELTA, method=method, entropy=seed, classes=tuple(range(task.classes))
        ).fit(task.X, task.y, public=task.public)
        seconds.append(time.perf_counter() - start)
        accuracy.append(float(np.mean(classifier.predict(task.X_test) == task.y_test)))
    published = classifier.method_
    records = task.y.size
    return Case(
        task.name, records, task.classes, task.majority, epsilon, method, published, accuracy, seconds, load_before
    )


def stored(root: Path) -> dict[tuple[str, float, str], Case]:
    return {case.key: case for case in read_cases(root / RESULTS, Case)}


def store(cases: Cases) -> None:
    ordered = sorted(cases.values(), key=lambda case: (TABLES.index(case.table), case.epsilon, case.method))
    write_json(RESULTS, {"delta": DELTA, "public": PUBLIC}, [asdict(case) for case in ordered])


def table(root: Path) -> str:
    cases = stored(root)
    rows = []
    for name, epsilon in sorted({key[:2] for key in cases}, key=lambda key: (TABLES.index(key[0]), key[1])):
        found = {method: cases.get((name, epsilon, method)) for method in METHODS}
        some = next(case for case in found.values() if case is not None)
        auto = found["auto"]
        rows.append(
            [
                *(name, str(some.classes), f"{some.majority:.1%}", f"{epsilon:g}", f"{some.records * epsilon:,.0f}"),
                *(_accuracy(case) for case in found.values()),
                "" if auto is None else auto.published,
            ]
        )
    return markdown(HEADER, rows)


def _accuracy(case: Case | None) -> str:
    if case is None:
        return ""
    mean, spread = mean_and_spread(case.accuracy)
    error = "" if len(case.accuracy) < 2 else f" ±{100.0 * spread / len(case.accuracy) ** 0.5:.2f}"
    return f"{100.0 * mean:.2f}{error} ({len(case.accuracy)})"


def main() -> None:
    parser = parser_of("benchmarks.classes", __doc__, TABLES, EPSILONS)
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--redraw", action="store_true", help="run nothing, write the page again")
    given = parser.parse_args()
    console, cases = wide_console(), stored(Path())
    for name in () if given.redraw else given.tables:
        task = load(name, given.data)
        for epsilon in given.epsilons:
            for method in METHODS:
                if method in given.methods.split(","):
                    case = measure(task, epsilon, method, given.runs)
                    cases[case.key] = case
                    store(cases)
                    console.print(name, epsilon, method, case.published, _accuracy(case), f"{case.seconds[-1]:.0f} s")
    put_between(PAGE, "classes", table(Path()))


if __name__ == "__main__":
    main()
