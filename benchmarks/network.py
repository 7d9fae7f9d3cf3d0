"""The second peer of a published classifier: a network by DP-SGD, as Opacus has it, tuned in its favour.

    python -m benchmarks.network prepare FOLDER [--data FOLDER] [--tables adult,bank,…] [--epsilons .1,1]
    cd FOLDER && python -m benchmarks.network_training adult.npz … OUT.json [--limit SECONDS] [--workers N]
    python -m benchmarks.network collect OUT.json

Needs `pip install pcqr[bench]` (PyTorch and Opacus). `prepare` writes what the training reads: a table's columns as
integers, how public rows centre and scale them and which predicates are asked, and the noise of every sampling rate and
number of steps. The training stands alone: it needs no pcqr, and an accelerator makes a day of it minutes. `collect`
stores its figures, one line a table and ε, and for each test row how many of the reported runs had it right; a later
run replaces the lines that it makes anew.

Inputs: columns that vary among the public rows, standardised by them, and the predicates that a tree
asks, likewise; cut to ±`CAP`, or else a rare category would be hundreds of times as long as a common one.

Noise: twice what Opacus asks for, since replacing a record moves a clipped sum by 2C: see `benchmarks.peers`.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import mean_and_spread, show, wide_console, write_json
from benchmarks.network_search import PER_EPOCH, STEPS, Cell, Run, Setting
from benchmarks.network_training import HIDDEN, read
from benchmarks.peers import DELTA, EPSILONS, Counts, carry, integers, prepare_noise, read_counts, write_counts
from benchmarks.tables import TABLES, Task, load
from pcqr.hypotheses import DecisionTrees
from pcqr.records.predicates import evaluate

CAP = 4.0
BATCHES = tuple(itertools.product(PER_EPOCH, STEPS))
RESULTS = Path("benchmarks/results/network.json")
ROWS = Path("benchmarks/results/network_rows.npz")


def prepare(task: Task, folder: Path) -> Path:
    """Write what the training reads of a table, small enough to carry."""
    predicates = DecisionTrees().prepared(task.public, None).predicates or ()
    kept = np.flatnonzero(np.ptp(task.public, axis=0) > 0.0)
    public = np.append(task.public[:, kept], evaluate(predicates, task.public), axis=1)
    spread = public.std(axis=0)
    path = folder / f"{task.name}.npz"
    np.savez_compressed(
        path,
        X=integers(task.X[:, kept]),
        y=task.y.astype(np.uint8),
        X_test=integers(task.X_test[:, kept]),
        y_test=task.y_test.astype(np.uint8),
        features=np.searchsorted(kept, [predicate.feature for predicate in predicates]),
        cuts=np.array([predicate.cut for predicate in predicates], dtype=np.float32),
        centres=public.mean(axis=0).astype(np.float32),
        scales=np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0.0).astype(np.float32),
        cap=np.float32(CAP),
    )
    return path


@dataclass(frozen=True)
class Case:
    """One table at one ε: the winner's setting, its accuracies on fresh seeds and their mean in the search.

    `averaged`: the mean of the weights after each of the last half of the steps, or else the last weights. `noise` is
    the standard deviation of the noise in units of C, `tried` the number of settings, each with both kinds of weights,
    `fit_seconds` those of one run where several shared an accelerator.
    """

    table: str
    epsilon: float
    setting: Setting
    averaged: bool
    noise: float
    accuracy: Sequence[float]
    searched: float
    tried: int
    fit_seconds: float

    @classmethod
    def read(cls, fields: Mapping[str, Any]) -> Case:
        return cls(**{**fields, "setting": Setting(**fields["setting"])})

    @classmethod
    def of(cls, cell: Cell, runs: Sequence[Run], which: int) -> Case:
        """From the search in `cell` and the winner's `runs` on fresh seeds, with its last or its mean weights."""
        first = runs[0]
        return cls(
            table=first.table,
            epsilon=first.epsilon,
            setting=first.setting,
            averaged=which == 1,
            noise=first.noise,
            accuracy=[run.accuracy[which] for run in runs],
            searched=cell.mean((first.setting, which)),
            tried=cell.tried,
            fit_seconds=float(np.mean([run.seconds for run in runs])),
        )

    @property
    def key(self) -> tuple[str, float]:
        return self.table, self.epsilon

    @property
    def standard_error(self) -> float:
        return mean_and_spread(self.accuracy)[1] / math.sqrt(len(self.accuracy))

    def row(self) -> list[str]:
        return [
            self.table,
            f"{self.epsilon:g}",
            f"{100 * mean_and_spread(self.accuracy)[0]:.2f} ±{100 * self.standard_error:.2f}",
            f"{len(self.accuracy)}",
            f"{100 * self.searched:.2f}",
            f"{self.setting}, {'mean' if self.averaged else 'last'}",
            f"{self.tried}",
            f"{self.fit_seconds:.1f} s",
        ]


HEADER = ("table", "ε", "accuracy", "runs", "in the search", "winner of the search", "tried", "one fit")


def collect(runs: Sequence[Run], root: Path) -> list[Case]:
    """Put the figures of `runs` among those under `root`, and which test rows their reported runs had right."""
    cases, counts = stored(root), read_counts(root / ROWS)
    cells: dict[tuple[str, float], Cell] = {}
    for run in runs:
        cells.setdefault((run.table, run.epsilon), Cell(run.table, run.epsilon, {}, ())).add(run)
    for key, cell in cells.items():
        winner, reported = cell.winner(), cell.report()
        if winner and reported:
            cases[key] = Case.of(cell, reported, winner[1])
            counts[key] = rightly_labelled(reported, winner[1])
    ordered = sorted(cases.values(), key=lambda case: (TABLES.index(case.table), case.epsilon))
    write_json(root / RESULTS, {"delta": DELTA, "hidden": HIDDEN}, [asdict(case) for case in ordered])
    write_counts(root / ROWS, counts)
    return ordered


def rightly_labelled(runs: Sequence[Run], which: int) -> Counts:
    """For each test row, in how many of `runs` the last (0) or the mean (1) weights had it right."""
    bits = np.unpackbits([np.frombuffer(base64.b64decode(run.right[which]), dtype=np.uint8) for run in runs], axis=1)
    rows = round(int(bits[0].sum()) / runs[0].accuracy[which])  # the last byte is filled up with zeros
    counts: Counts = bits[:, :rows].sum(axis=0, dtype=np.uint8)
    return counts


def stored(root: Path) -> dict[tuple[str, float], Case]:
    if not (root / RESULTS).exists():
        return {}
    cases = [Case.read(fields) for fields in json.loads((root / RESULTS).read_text(encoding="utf-8"))["cases"]]
    return {case.key: case for case in cases}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.network", description=(__doc__ or "").split("\n")[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    preparing = verbs.add_parser("prepare", help="write what the training reads")
    preparing.add_argument("folder", type=Path)
    preparing.add_argument("--data", type=Path, default=Path("../shared/data"), help="the folder of the Parquet files")
    preparing.add_argument("--tables", default=",".join(TABLES))
    preparing.add_argument("--epsilons", default=",".join(f"{epsilon:g}" for epsilon in EPSILONS))
    collecting = verbs.add_parser("collect", help="store what the training made")
    collecting.add_argument("out", type=Path, nargs="*", help="none: show what is stored")
    given = parser.parse_args()
    console = wide_console()
    if given.verb == "prepare":
        carry(given.folder)
        for name in given.tables.split(","):
            console.print(f"{prepare(load(name, given.data), given.folder)}")
        prepare_noise(given.folder, map(float, given.epsilons.split(",")), BATCHES)
        return
    cases = collect([run for out in given.out for run in read(out)], Path())
    show(f"Networks, δ = {DELTA:g}; per cent, mean ± standard error", HEADER, [case.row() for case in cases], console)


if __name__ == "__main__":
    main()
