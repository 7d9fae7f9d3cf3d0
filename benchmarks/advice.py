"""What does each way of answering give on real tables, from 2,000 records on? The figures behind `pcqr plan`'s advice.

    python -m benchmarks.advice --data FOLDER [--tables adult,bank] [--records 5000] [--missing] [--summary]

Five tables, cut down to n records, at several (n, ε), δ = 10⁻⁶, m = 500 queries from the test part. For every cell and
method: the loss, in accuracy, against gradient boosting without privacy **on the same n records and the same queries**.
A query that gets no label counts as a coin in the loss; how many there were, and the accuracy of the answers that were
given, are stored beside it. A published classifier is scored on the whole test part.

Results are stored after every cell, one line a cell; a later run replaces the methods that it makes anew and keeps the
others. At the end, or with --summary alone, the small file that ships inside the package is made from the results and
from those of `benchmarks.classifiers` and `benchmarks.trees` (whole tables, many seeds). Seeds make a run repeatable.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import markdown, wide_console, write_json
from benchmarks.nothing_public import Frames, frames
from benchmarks.pages import put_between
from benchmarks.tables import TABLES, Task, load
from pcqr import (
    AgnosticRelease,
    BudgetExhausted,
    InfeasiblePlan,
    PrivateClassifier,
    SubsampleAggregate,
    UniversalRelease,
)
from pcqr.errors import NothingPublic
from pcqr.hypotheses import DecisionTrees, Stumps
from pcqr.releases.classifier.rule import trees_for

CELLS = (
    *((2_000, 1.0), (5_000, 1.0), (10_000, 1.0), (20_000, 1.0), (30_000, 3.0)),
    *((75_000, 1.0), (75_000, 4.0), (200_000, 2.0)),
)
"""(n, ε); a table takes part in those that it has the records for."""
DELTA, QUERIES = 1e-6, 500
RESULTS = Path("benchmarks/results/advice.json")
SUMMARY = Path("src/pcqr/advice/measured.json")
PAGE = Path("docs/choosing.md")

Labels = NDArray[np.int8]


@dataclass(frozen=True)
class Score:
    """One run: `loss` against boosting with a coin for every query without a label, and what was answered how well."""

    loss: float
    unanswered: float
    answered_accuracy: float | None
    seconds: float


@dataclass(frozen=True)
class Run:
    """One table cut down to n records, with boosting's labels for its test part; `queries` are rows of that part.

    `rows` are the same records and the same test part as typed frames that are not encoded.
    """

    task: Task
    rows: Frames
    boosting: Labels
    epsilon: float
    queries: NDArray[np.int64]
    seed: int


def published(run: Run, public: NDArray[np.float64] | None) -> Labels:
    """`PrivateClassifier` on the test part, its predicates from public rows or, without them, from the schema."""
    task = run.task
    trees = None if public is not None else trees_for(task.y.size, run.epsilon).prepared(None, task.schema)
    classifier = PrivateClassifier(run.epsilon, DELTA, trees=trees, entropy=run.seed, classes=(0, 1))
    labels: Labels = classifier.fit(task.X, task.y, public=public).predict(task.X_test)
    return labels


def asked(run: Run, release: Any, public: NDArray[np.float64] | None) -> tuple[Labels, NDArray[np.bool_]]:
    """(labels, which of them are real answers) for the queries, in order until the release halts."""
    labels, is_answer = np.zeros(QUERIES, np.int8), np.zeros(QUERIES, bool)
    release.fit(run.task.X, run.task.y, public=public)
    points = run.task.X_test[run.queries]
    reached = QUERIES
    try:
        release.predict(points)
    except BudgetExhausted as halted:
        reached = len(halted.answers)
    for position, point in enumerate(points[:reached]):  # from the log: one at a time the votes would take minutes
        answer = release.answer(point)
        if answer.label is not None:
            labels[position], is_answer[position] = answer.label, True
    return labels, is_answer


def _published(public: Callable[[Run], NDArray[np.float64] | None]) -> Callable[[Run], Score]:
    def measure(run: Run) -> Score:
        start = time.perf_counter()
        labels = published(run, public(run))
        seconds = time.perf_counter() - start
        truth = run.task.y_test
        accuracy = float(np.mean(labels == truth))
        return Score(float(np.mean(run.boosting == truth)) - accuracy, 0.0, accuracy, seconds)

    return measure


def _from_nothing(run: Run) -> Score:
    """`PrivateClassifier` with nothing public: a share of the budget buys the predicates."""
    start = time.perf_counter()
    classifier = PrivateClassifier(run.epsilon, DELTA, entropy=run.seed, classes=(0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingPublic)
        classifier.fit(run.rows.X, run.rows.y)
    labels = classifier.predict(run.rows.X_test)
    seconds = time.perf_counter() - start
    truth = run.task.y_test
    if not np.array_equal(run.rows.y_test, truth):
        raise AssertionError("Frames and encoded rows are split in the same way.")
    accuracy = float(np.mean(labels == truth))
    return Score(float(np.mean(run.boosting == truth)) - accuracy, 0.0, accuracy, seconds)


def _votes(make: Callable[..., Any], *, takes_public: bool) -> Callable[[Run], Score]:
    def measure(run: Run) -> Score:
        start = time.perf_counter()
        truth = run.task.y_test[run.queries]
        public = run.task.public if takes_public else None
        try:
            labels, is_answer = asked(run, make(epsilon=run.epsilon, delta=DELTA, entropy=run.seed), public)
        except InfeasiblePlan:
            labels, is_answer = np.zeros(QUERIES, np.int8), np.zeros(QUERIES, bool)
        seconds = time.perf_counter() - start
        right = (labels == truth) & is_answer
        unanswered = 1.0 - float(is_answer.mean())
        loss = float(np.mean(run.boosting[run.queries] == truth)) - float(right.mean()) - 0.5 * unanswered
        return Score(loss, unanswered, float(right.sum() / is_answer.sum()) if is_answer.any() else None, seconds)

    return measure


def _trees(release: type[Any], planned: int) -> Callable[..., Any]:
    return lambda **options: release(DecisionTrees(depth=2), queries=planned, **options)


def _stumps(release: type[Any], planned: int) -> Callable[..., Any]:
    return lambda **options: release(Stumps(), queries=planned, **options)


METHODS: Mapping[str, Callable[[Run], Score]] = {
    "published from nothing": _from_nothing,
    "published": _published(lambda run: run.task.public),
    "published from schema": _published(lambda _: None),
    "published from queries": _published(lambda run: run.task.X_test[run.queries]),
    "universal trees": _votes(_trees(UniversalRelease, QUERIES // 2), takes_public=True),
    "votes trees": _votes(_trees(AgnosticRelease, QUERIES), takes_public=True),
    "universal stumps": _votes(_stumps(UniversalRelease, QUERIES // 2), takes_public=False),
    "votes stumps": _votes(_stumps(AgnosticRelease, QUERIES), takes_public=False),
    "SubSamp stumps": _votes(_stumps(SubsampleAggregate, QUERIES), takes_public=False),
}
"""As the command line runs them. "from queries": the 500 queries are the public rows. Universal: half are votes."""


def without_privacy(task: Task) -> Labels:
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415

    labels: Labels = HistGradientBoostingClassifier(random_state=0).fit(task.X, task.y).predict(task.X_test)
    return labels


def cut_down(task: Task, whole: Frames, records: int) -> tuple[Task, Frames]:
    rows = np.random.default_rng(records).permutation(task.y.size)[:records]
    fewer = replace(whole, X=whole.X.iloc[rows], y=whole.y[rows])
    return replace(task, X=task.X[rows], y=task.y[rows]), fewer


def measure(task: Task, rows: Frames, boosting: Labels, epsilon: float, methods: Sequence[str]) -> dict[str, Any]:
    """One cell: every method of `methods`, each on the same queries as the others."""
    queries = np.random.default_rng((task.y.size, 0)).permutation(task.y_test.size)[:QUERIES]
    run = Run(task, rows, boosting, epsilon, queries, seed=0)
    scores = {name: _rounded(asdict(METHODS[name](run))) for name in methods}
    return {
        "table": task.name,
        "records": task.y.size,
        "epsilon": epsilon,
        "majority": round(task.majority, 5),
        "boosting": round(float(np.mean(boosting == task.y_test)), 5),
        "methods": scores,
    }


def _rounded(score: dict[str, Any]) -> dict[str, Any]:
    return {name: None if value is None else round(value, 5) for name, value in score.items()}


def stored() -> dict[tuple[str, int, float], dict[str, Any]]:
    if not RESULTS.exists():
        return {}
    cells = json.loads(RESULTS.read_text(encoding="utf-8"))["cases"]
    return {(cell["table"], cell["records"], cell["epsilon"]): cell for cell in cells}


def store(cells: Mapping[tuple[str, int, float], dict[str, Any]]) -> None:
    order = sorted(cells.values(), key=lambda cell: (TABLES.index(cell["table"]), cell["records"], cell["epsilon"]))
    write_json(RESULTS, {"delta": DELTA, "queries": QUERIES}, order)


def summary(root: Path = Path()) -> str:
    """The text of the file that ships: means over runs, by cell, of every way that `pcqr plan` advises on.

    From this benchmark; from `benchmarks.classifiers` "published" on whole tables, from `benchmarks.nothing_public`
    the same with nothing public, from `benchmarks.trees` "tree", all beside boosting on the whole table; from
    `benchmarks.few_records` "published" on few records.
    """
    measured, classifiers, nothing, trees, few = (
        json.loads((root / "benchmarks" / "results" / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("advice", "classifiers", "nothing_public", "trees", "few_records")
    )
    boosting = {case["table"]: case["gradient_boosting"] for case in trees["cases"]}
    cells: list[dict[str, Any]] = []

    def add(table: str, records: int, epsilon: float, ways: Mapping[str, Sequence[float]]) -> None:
        rounded = {way: [round(figure, 4) for figure in figures] for way, figures in ways.items()}
        cells.append({"table": table, "records": records, "epsilon": epsilon, "ways": rounded})

    for cell in measured["cases"]:
        room = cell["boosting"] - cell["majority"]
        ways = {}
        for way, run in cell["methods"].items():
            ways[way] = (run["loss"], room - run["loss"], run["unanswered"])
        add(cell["table"], cell["records"], cell["epsilon"], ways)
    for case in classifiers["cases"]:
        accuracy = float(np.mean(case["accuracy"]))
        figures = (boosting[case["table"]] - accuracy, accuracy - case["majority"], 0.0)
        add(case["table"], case["records"], case["epsilon"], {"published": figures})
    majority = {case["table"]: case["majority"] for case in classifiers["cases"]}
    for case in (case for case in nothing["cases"] if case["setting"] == "nothing" and case["table"] in majority):
        accuracy = float(np.mean(case["accuracy"]))
        figures = (boosting[case["table"]] - accuracy, accuracy - majority[case["table"]], 0.0)
        add(case["table"], case["records"], case["epsilon"], {"published from nothing": figures})
    for case in trees["cases"]:
        for epsilon, accuracies in case["accuracy"].items():
            accuracy = float(np.mean(accuracies))
            figures = (case["gradient_boosting"] - accuracy, accuracy - case["majority"], 0.0)
            add(case["table"], case["records"], float(epsilon), {"tree": figures})
    for case in few["cases"]:
        figures = (case["boosting"] - case["auto"], case["auto"] - case["majority"], 0.0)
        epsilon = few["settings"]["epsilon"]
        add(case["table"], round(case["n_epsilon"] / epsilon), epsilon, {"published": figures})
    lines = ",\n".join(json.dumps(cell) for cell in cells)
    return f'{{"delta": {DELTA}, "queries": {QUERIES},\n"cells": [\n{lines}\n]}}\n'


COLUMNS = ((2e3, 2e3), (5e3, 5e3), (1e4, 1e4), (2e4, 2e4), (7.5e4, 9e4), (3e5, 4e5))
"""n·ε from, to: the columns of the table in docs/choosing.md."""


def table(root: Path = Path()) -> str:
    """The least and the most loss over the tables, in points, for every method and n·ε."""
    cells = json.loads((root / RESULTS).read_text(encoding="utf-8"))["cases"]
    rows = []
    for method in METHODS:
        row = [method]
        for low, high in COLUMNS:
            near = [c for c in cells if low <= c["records"] * c["epsilon"] <= high and method in c["methods"]]
            losses = [100.0 * cell["methods"][method]["loss"] for cell in near]
            ends = dict.fromkeys(f"{end:.1f}" for end in (min(losses), max(losses))) if losses else ("–",)
            row.append(" to ".join(ends).replace("-", "−"))
        rows.append(row)
    bands = [f"{low:,.0f}" + ("" if low == high else f" to {high:,.0f}") for low, high in COLUMNS]
    return markdown(["way, n·ε =", *bands], rows)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.advice", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the Parquet files")
    parser.add_argument("--tables", default=",".join(TABLES), help="some of them")
    parser.add_argument("--methods", default=",".join(METHODS), help="some of them")
    parser.add_argument("--records", default=",".join(str(n) for n in sorted({n for n, _ in CELLS})), help="some n")
    parser.add_argument("--missing", action="store_true", help="only what is not stored yet")
    parser.add_argument("--summary", action="store_true", help=f"only make {SUMMARY} of what is stored")
    options = parser.parse_args()
    console = wide_console()
    for name in () if options.summary else options.tables.split(","):
        whole, whole_frames = load(name, options.data), frames(name, options.data)
        for records in (n for n in map(int, options.records.split(",")) if n <= whole.y.size):
            task, rows = cut_down(whole, whole_frames, records)
            boosting = without_privacy(task)
            for epsilon in (e for n, e in CELLS if n == records):
                cells, key = stored(), (name, records, epsilon)
                known = cells[key]["methods"] if key in cells else {}
                methods = [m for m in options.methods.split(",") if not (options.missing and m in known)]
                start = time.perf_counter()
                found = measure(task, rows, boosting, epsilon, methods)
                cells[key] = found | {"methods": known | found["methods"]}
                store(cells)
                losses = {m: round(100 * found["methods"][m]["loss"], 1) for m in methods}
                console.print(f"{name} n = {records:,} ε = {epsilon:g}: {time.perf_counter() - start:.0f} s, {losses}")
    SUMMARY.write_text(summary(), encoding="utf-8")
    put_between(PAGE, "ways", table())


if __name__ == "__main__":
    main()
