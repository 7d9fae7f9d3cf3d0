"""How accurate is `PrivateClassifier(method="auto")`, beside logistic regression by DP-SGD on the same predicates?

    python -m benchmarks.classifiers --data FOLDER [--tables adult,bank,…] [--epsilons .1,1] [--ours] [--redraw]

Both in one run, on the same rows and the same public predicates, δ = 10⁻⁶, replace-one; splits: `benchmarks.trees`.
The peer (`pip install pcqr[bench]`) runs at the setting that `benchmarks.dp_sgd` found for it, for each table and ε by
itself, by accuracy on the test rows: in its favour. Ours has no setting but what `auto` makes of n and ε.

Results are stored after every ε, one line a table and ε; a later run replaces the lines that it makes anew. `--ours`
keeps the peer's runs, and the standard error that the test rows make of the difference, as they are on file. Then the
table of docs/classifiers.md and its picture are made from all of them. Seeds make a run repeatable; those of the peer
are none that its search has seen.

The second peer, a network, is not run here: its figures and the test rows that it had right are those that
`benchmarks.network` stored.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks import dp_sgd, network, trees
from benchmarks.accuracy import markdown, mean_and_spread, wide_console, write_json
from benchmarks.classifiers_picture import draw
from benchmarks.dp_sgd import DELTA, EPSILONS
from benchmarks.pages import put_between
from benchmarks.tables import PUBLIC, TABLES, Task, load
from pcqr import PrivateClassifier
from pcqr.planning.classifiers.rule import choose

TARGETS: Mapping[str, Sequence[float]] = {
    "adult": (83.5, 84.5, 85.4, 85.8, 86.1),
    "bank": (88.8, 89.4, 89.4, 89.5, 89.6),
    "covertype": (74.3, 77.5, 78.3, 79.5, 80.5),
    "diabetes": (61.0, 62.0, 62.5, 63.1, 63.3),
}
"""What the project asks for, δ = 10⁻⁶."""

RUNS, PEER_RUNS = {"adult": 20, "bank": 20, "diabetes": 10}, {"adult": 20, "bank": 20, "diabetes": 20}
FEWEST_RUNS = 5
FRESH = 5_000
"""The first seed of the peer: the search has seen none from here on."""
RESULTS = Path("benchmarks/results/classifiers.json")
PAGE = Path("docs/classifiers.md")
PICTURE = Path("docs/images/classifiers.png")

Rows = Sequence[NDArray[np.bool_]] | NDArray[np.bool_]
"""For each run, which test rows it labels rightly."""


@dataclass(frozen=True)
class Case:
    """One table at one ε: what `auto` chose, and the accuracies of all its runs and of the peer's.

    `row_error` is the standard error of the difference of the two mean accuracies that comes from the choice of the
    test rows; `network_row_error` is that of ours and the network's, None where no network was on file. `seconds` are
    those of our fits; `load` is the machine's load average before them: much above 0, and the seconds are too many.
    """

    table: str
    records: int
    epsilon: float
    majority: float
    method: str
    accuracy: Sequence[float]
    seconds: Sequence[float]
    load: float
    peer: Sequence[float]
    peer_setting: str
    row_error: float
    network_row_error: float | None = None

    @property
    def key(self) -> tuple[str, float]:
        return self.table, self.epsilon

    @property
    def lead(self) -> tuple[float, float, float]:
        return self.lead_on(self.peer, self.row_error)

    def lead_on(self, peer: Sequence[float], row_error: float | None) -> tuple[float, float, float]:
        """How far ours is ahead of a peer, and the standard error of that: of runs alone, and with the test rows'."""
        ours, theirs = figure(self.accuracy), figure(peer)
        of_runs = math.hypot(ours[1], theirs[1])
        return ours[0] - theirs[0], of_runs, math.nan if row_error is None else math.hypot(of_runs, 100 * row_error)

    @property
    def asked(self) -> float | None:
        return TARGETS[self.table][EPSILONS.index(self.epsilon)] if self.table in TARGETS else None

    def row(self) -> list[str]:
        ours = figure(self.accuracy)
        return [
            self.table,
            f"{self.epsilon:g}",
            f"{self.records * self.epsilon:,.0f}",
            self.method,
            f"**{ours[0]:.2f}** ±{ours[1]:.2f} ({len(self.accuracy)})",
            "" if self.asked is None else f"{self.asked:.1f}",
            *self._beside(self.peer, self.row_error),
        ]

    def network_row(self, found: network.Case | None) -> list[str]:
        """The columns of the second peer."""
        return ["", ""] if found is None else self._beside(found.accuracy, self.network_row_error)

    def _beside(self, peer: Sequence[float], row_error: float | None) -> list[str]:
        theirs, lead = figure(peer), self.lead_on(peer, row_error)
        of_rows = "" if row_error is None else f" (±{lead[2]:.2f})"
        return [f"{theirs[0]:.2f} ±{theirs[1]:.2f} ({len(peer)})", f"{lead[0]:+.2f} ±{lead[1]:.2f}{of_rows}"]


HEADER = ("table", "ε", "n·ε", "`auto` picks", "accuracy (runs)", "asked", "DP-SGD (runs)", "lead")
NETWORK_HEADER = ("network (runs)", "lead on it")


def figure(accuracy: Sequence[float]) -> tuple[float, float]:
    """Mean and its standard error, per cent."""
    mean, spread = mean_and_spread(accuracy)
    return 100 * mean, 100 * spread / math.sqrt(len(accuracy))


def measure(task: Task, peer: dp_sgd.Peer, epsilon: float) -> Case:
    load_before = os.getloadavg()[0]
    ours, seconds = our_runs(task, epsilon)
    setting = dp_sgd.stored()[task.name, epsilon].setting
    seeds = range(FRESH, FRESH + PEER_RUNS.get(task.name, FEWEST_RUNS))
    theirs = [peer.answers(epsilon, setting, seed) == task.y_test for seed in seeds]
    return Case(
        table=task.name,
        records=task.y.size,
        epsilon=epsilon,
        majority=task.majority,
        method=choose(task.y.size, epsilon, 2),
        accuracy=[float(right.mean()) for right in ours],
        seconds=seconds,
        load=load_before,
        peer=[float(right.mean()) for right in theirs],
        peer_setting=str(setting),
        row_error=paired_error(ours, theirs),
        network_row_error=network_row_error(task, epsilon, ours),
    )


def measure_ours(task: Task, before: Case) -> Case:
    load_before = os.getloadavg()[0]
    ours, seconds = our_runs(task, before.epsilon)
    method = choose(task.y.size, before.epsilon, 2)
    accuracy = [float(right.mean()) for right in ours]
    error = network_row_error(task, before.epsilon, ours)
    return replace(before, method=method, accuracy=accuracy, seconds=seconds, load=load_before, network_row_error=error)


def paired_error(ours: Rows, theirs: Rows) -> float:
    """The standard error of the difference of two mean accuracies that comes from the choice of the test rows."""
    difference = np.mean(ours, axis=0) - np.mean(theirs, axis=0)
    return float(difference.std(ddof=1)) / math.sqrt(difference.size)


def network_row_error(task: Task, epsilon: float, ours: Rows) -> float | None:
    if (task.name, epsilon) not in network.stored(Path()):
        return None
    return paired_error(ours, network.right_rows(Path(), task.name, epsilon, task.y_test.size))


def our_runs(task: Task, epsilon: float) -> tuple[list[NDArray[np.bool_]], list[float]]:
    """For each seed which test rows are right, and the seconds of the fit."""
    ours, seconds = [], []
    for seed in range(RUNS.get(task.name, FEWEST_RUNS)):
        start = time.perf_counter()
        classifier = PrivateClassifier(epsilon, DELTA, entropy=seed, classes=(0, 1))
        classifier.fit(task.X, task.y, public=task.public)
        seconds.append(time.perf_counter() - start)
        ours.append(classifier.predict(task.X_test) == task.y_test)
    return ours, seconds


def stored(root: Path) -> dict[tuple[str, float], Case]:
    path = root / RESULTS
    if not path.exists():
        return {}
    cases = [Case(**fields) for fields in json.loads(path.read_text(encoding="utf-8"))["cases"]]
    return {case.key: case for case in cases}


def store(case: Case) -> None:
    """Put `case` among those on file, which another run may have added to."""
    cases = stored(Path()) | {case.key: case}
    ordered = sorted(cases.values(), key=lambda case: (TABLES.index(case.table), case.epsilon))
    write_json(RESULTS, {"delta": DELTA, "public": PUBLIC}, [asdict(case) for case in ordered])


def table(root: Path) -> str:
    """The rows of docs/classifiers.md, from the results under `root`; the network's columns where it has any."""
    cases, networks = stored(root).values(), network.stored(root)
    if not networks:
        return markdown(HEADER, [case.row() for case in cases])
    rows = [[*case.row(), *case.network_row(networks.get(case.key))] for case in cases]
    return markdown((*HEADER, *NETWORK_HEADER), rows)


def limits(root: Path) -> dict[str, float]:
    """The accuracy of gradient boosting without privacy, on the same columns and the same test rows, by table."""
    cases = json.loads((root / trees.RESULTS).read_text(encoding="utf-8"))["cases"]
    return {case["table"]: case["gradient_boosting"] for case in cases}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.classifiers", description=(__doc__ or "").split("\n")[0]
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the Parquet files")
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--epsilons", default=",".join(f"{epsilon:g}" for epsilon in EPSILONS))
    parser.add_argument("--ours", action="store_true", help="run ours alone, and keep what is on file of the peer")
    parser.add_argument("--redraw", action="store_true", help="run nothing, write the page and the picture again")
    given = parser.parse_args()
    console = wide_console()
    for name in () if given.redraw else given.tables.split(","):
        task = load(name, given.data)
        peer = None if given.ours else dp_sgd.Peer.of(task)
        for epsilon in map(float, given.epsilons.split(",")):
            case = measure_ours(task, stored(Path())[name, epsilon]) if peer is None else measure(task, peer, epsilon)
            console.print("  ".join(case.row()), f"  {min(case.seconds):.1f} s", highlight=False)
            store(case)
    put_between(PAGE, "accuracy", table(Path()))
    draw(list(stored(Path()).values()), limits(Path()), PICTURE)
    console.print(table(Path()), markup=False, highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
