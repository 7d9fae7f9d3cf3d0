"""How accurate is `PrivateClassifier(method="auto")`, beside logistic regression and a network by DP-SGD?

    python -m benchmarks.classifiers --data FOLDER [--tables adult,bank,…] [--epsilons .1,1] [--again] [--redraw]

All on the same rows, δ = 10⁻⁶, replace-one; splits: `benchmarks.tables`. Only ours runs here, and has no setting but
what `auto` makes of public numbers. The peers are those of `benchmarks.dp_sgd`, tuned for each table and ε by itself,
by accuracy on the test rows: in their favour. Their figures are on file, and for each test row how many of their runs
had it right; so are ours, and the standard error that the test rows make of a lead is paired.

Every run is stored when it ends. A later run goes on where this one stopped, and does anew what `--again` names. Then
the table of docs/classifier-results.md, what docs/classifiers.md says of the peers, and its picture are made from all
that is on file (`--redraw`: nothing else). Seeds, one for each table, ε and run, make it repeatable.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks import dp_sgd, limits, trees
from benchmarks.accuracy import markdown, parser_of, read_cases, seed_of, wide_console, write_json
from benchmarks.classifiers_picture import draw
from benchmarks.leads import DELTA, EPSILONS, Key, Peer, Runs, lead, lines, read_counts, write_counts
from benchmarks.pages import put_between
from benchmarks.tables import PUBLIC, TABLES, Task, load
from pcqr import PrivateClassifier
from pcqr.planning.classifiers.rule import Construction, choose

RUNS, FEWEST_RUNS = {"adult": 20, "bank": 20, "diabetes": 10}, 5
RESULTS = Path("benchmarks/results/classifiers.json")
ROWS = Path("benchmarks/results/classifiers_rows.npz")
PAGE, SUMMARY = Path("docs/classifier-results.md"), Path("docs/classifiers.md")
PICTURE = Path("docs/images/classifiers.png")


@dataclass(frozen=True)
class Case:
    """One table at one ε: what `auto` chose, and the accuracies of all its runs.

    `seconds` are those of the fits; `load` is the machine's load average before the first: much above 0, and the
    seconds are too many.
    """

    table: str
    records: int
    epsilon: float
    majority: float
    method: str
    accuracy: Sequence[float]
    seconds: Sequence[float]
    load: float

    @property
    def key(self) -> Key:
        return self.table, self.epsilon


def named(chosen: Construction) -> str:
    """Return what is published, for a cell of the table."""
    parts = ["tree"] * chosen.has_tree + ["linear"] * bool(chosen.maps)
    return " and ".join(parts) + (", ferns" if "some ferns" in chosen.maps else "")


def measure(task: Task, epsilon: float, root: Path) -> Case:
    """Go on with the runs on file until there are enough."""
    method = named(choose(task.y.size, epsilon))
    begun = Case(task.name, task.y.size, epsilon, task.majority, method, (), (), os.getloadavg()[0])
    case = stored(root).get(begun.key, begun) if begun.key in read_counts(root / ROWS) else begun
    for run in range(len(case.accuracy), RUNS.get(task.name, FEWEST_RUNS)):
        start = time.perf_counter()
        classifier = PrivateClassifier(epsilon, DELTA, entropy=seed_of(*case.key, run), classes=(0, 1))
        classifier.fit(task.X, task.y, public=task.public)
        seconds = time.perf_counter() - start
        right = classifier.predict(task.X_test) == task.y_test
        case = replace(case, accuracy=(*case.accuracy, float(right.mean())), seconds=(*case.seconds, round(seconds, 3)))
        counts = read_counts(root / ROWS)
        earlier = counts[case.key] if run else np.zeros(right.size, dtype=np.uint8)
        write_counts(root / ROWS, counts | {case.key: earlier + right})
        store(stored(root) | {case.key: case}, root)
    return case


def forget(key: Key, root: Path) -> None:
    """Take what is on file of ours, so that it is measured anew."""
    store({other: case for other, case in stored(root).items() if other != key}, root)
    write_counts(root / ROWS, {other: counts for other, counts in read_counts(root / ROWS).items() if other != key})


def stored(root: Path) -> dict[Key, Case]:
    return {case.key: case for case in read_cases(root / RESULTS, Case)}


def store(cases: Mapping[Key, Case], root: Path) -> None:
    ordered = sorted(cases.values(), key=lambda case: (TABLES.index(case.table), case.epsilon))
    write_json(root / RESULTS, {"delta": DELTA, "public": PUBLIC}, [asdict(case) for case in ordered])


def ours(root: Path) -> dict[Key, Runs]:
    return _runs({key: case.accuracy for key, case in stored(root).items()}, root / ROWS)


def peers(root: Path) -> list[Peer]:
    return [
        Peer(name, _runs({key: case.accuracy for key, case in dp_sgd.stored(root, name).items()}, root / rows))
        for name, rows in dp_sgd.ROWS.items()
    ]


def _runs(accuracy: Mapping[Key, Sequence[float]], rows: Path) -> dict[Key, Runs]:
    counts = read_counts(rows)
    return {key: Runs(values, counts.get(key)) for key, values in accuracy.items()}


HEADER = (
    *("table", "ε", "n·ε", "`auto` publishes", "accuracy (runs)"),
    *("logistic regression (runs)", "lead on it", "network (runs)", "lead on it"),
)


def table(root: Path) -> str:
    """The rows of docs/classifiers.md, from the results under `root`; a field is empty where nothing is on file."""
    cases, own, others = stored(root), ours(root), peers(root)
    records = {case.table: case.records for case in dp_sgd.stored(root, "the network").values()}
    rows = []
    for name, epsilon in ((name, epsilon) for name in TABLES if name in records for epsilon in EPSILONS):
        key = name, epsilon
        mine = own.get(key)
        rows.append(
            [
                name,
                f"{epsilon:g}",
                f"{records[name] * epsilon:,.0f}",
                cases[key].method if key in cases else "",
                f"**{mine.mean:.2f}** ±{mine.error:.2f} ({mine.count})" if mine else "",
            ]
        )
        for peer in others:
            runs = peer.runs.get(key)
            rows[-1].append(f"{runs.mean:.2f} ±{runs.error:.2f} ({runs.count})" if runs else "")
            rows[-1].append(f"{lead(mine, runs)}" if mine and runs else "")
    return markdown(HEADER, rows)


def standing(root: Path) -> str:
    """What the table says, in words: where a peer is ahead."""
    without = ", ".join(f"{name} {100 * value:.1f}" for name, value in without_privacy(root).items())
    return "\n".join(
        [
            *lines(ours(root), peers(root)),
            f"- Without privacy, by gradient boosting: {without}.",
        ]
    )


def without_privacy(root: Path) -> dict[str, float]:
    """The accuracy of gradient boosting, on the same columns and test rows: the best of all settings on file."""
    found = {name: case.accuracy for name, case in limits.stored(root).items()}
    for case in read_cases(root / trees.RESULTS, trees.Case.of):
        found[case.table] = max(found.get(case.table, 0.0), case.gradient_boosting)
    return {name: found[name] for name in TABLES if name in found}


def main() -> None:
    parser = parser_of("benchmarks.classifiers", __doc__, TABLES, EPSILONS)
    parser.add_argument("--again", action="store_true", help="forget what is on file of these tables and ε")
    parser.add_argument("--redraw", action="store_true", help="run nothing, write the page and the picture again")
    given = parser.parse_args()
    console, root = wide_console(), Path()
    for name in () if given.redraw else given.tables:
        task = load(name, given.data)
        for epsilon in given.epsilons:
            if given.again:
                forget((name, epsilon), root)
            case = measure(task, epsilon, root)
            figures = f"{100 * np.mean(case.accuracy):.2f}  {min(case.seconds):.1f} s a fit"
            console.print(f"{name}  {epsilon:g}  {case.method}  {figures}", highlight=False)
    put_between(root / PAGE, "accuracy", table(root))
    put_between(root / SUMMARY, "standing", standing(root))
    draw(list(stored(root).values()), peers(root), without_privacy(root), root / PICTURE)
    console.print(table(root), markup=False, highlight=False, soft_wrap=True)
    console.print(standing(root), markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
