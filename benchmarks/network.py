"""The second peer of a published classifier: a network by DP-SGD, as Opacus has it, tuned in its favour.

    python -m benchmarks.network prepare FOLDER [--data FOLDER] [--tables adult,bank,…] [--epsilons .1,1]
    python FOLDER/network_training.py FOLDER/adult.npz … OUT.json [--limit SECONDS] [--workers N]
    python -m benchmarks.network collect OUT.json

Needs `pip install pcqr[bench]` (PyTorch and Opacus). `prepare` writes what the training reads: a table's columns as
integers, how public rows centre and scale them and which predicates are asked, and the noise of every sampling rate and
number of steps. The training (`benchmarks.network_training`, which says what is Opacus's and how settings are chosen)
stands alone: it needs no pcqr, and an accelerator makes a day of it minutes. `collect` stores its figures, one line a
table and ε, and which test rows its reported runs had right; a later run replaces the lines that it makes anew.

Inputs: columns that vary among the public rows, standardised by them, and the predicates that the linear classifier
asks, likewise; cut to ±`CAP`, or else a rare category would be hundreds of times as long as a common one.

Noise: twice what Opacus asks for, since replacing a record moves a clipped sum by 2C: see `benchmarks.dp_sgd`, whose
remark on sampling holds here as well.
"""

from __future__ import annotations

import argparse
import base64
import itertools
import json
import math
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import network_training
from benchmarks.accuracy import mean_and_spread, show, wide_console, write_json
from benchmarks.dp_sgd import DELTA, EPSILONS, noise_multiplier
from benchmarks.network_training import PER_EPOCH, STEPS, Bits, Cell, Run, Setting
from benchmarks.tables import TABLES, FloatArray, Task, load
from pcqr.hypotheses import DecisionTrees
from pcqr.records.predicates import evaluate

CAP = 4.0
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
        X=_integers(task.X[:, kept]),
        y=task.y.astype(np.uint8),
        X_test=_integers(task.X_test[:, kept]),
        y_test=task.y_test.astype(np.uint8),
        features=np.searchsorted(kept, [predicate.feature for predicate in predicates]),
        cuts=np.array([predicate.cut for predicate in predicates], dtype=np.float32),
        centres=public.mean(axis=0).astype(np.float32),
        scales=np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0.0).astype(np.float32),
        cap=np.float32(CAP),
    )
    return path


def _integers(X: FloatArray) -> NDArray[np.signedinteger[Any]]:
    """One row a column, as 16-bit integers where they fit; all five tables have integers alone."""
    whole = X.T.astype(np.int32)
    if not np.array_equal(whole, X.T):
        raise AssertionError("A column has values that are no integers.")
    narrow = whole.astype(np.int16)
    return narrow if np.array_equal(narrow, whole) else whole


def prepare_noise(folder: Path, epsilons: Iterable[float]) -> None:
    """Add to `noise.json` what it lacks: rows (ε, batches an epoch, steps, noise in units of C)."""
    path = folder / "noise.json"
    rows = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    known = {(epsilon, per_epoch, steps) for epsilon, per_epoch, steps, _ in rows}
    for key in itertools.product(epsilons, PER_EPOCH, STEPS):
        if key not in known:
            rows.append([*key, noise_multiplier(*key)])
            path.write_text(json.dumps(sorted(rows)), encoding="utf-8")


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
    cases, rows = stored(root), _stored_rows(root)
    cells: dict[tuple[str, float], Cell] = {}
    for run in runs:
        cells.setdefault((run.table, run.epsilon), Cell(run.table, run.epsilon, {}, ())).add(run)
    for key, cell in cells.items():
        winner, reported = cell.winner(), cell.report()
        if winner and reported:
            cases[key] = Case.of(cell, reported, winner[1])
            bits = [base64.b64decode(run.right[winner[1]]) for run in reported]
            rows[_name(*key)] = np.array([np.frombuffer(each, dtype=np.uint8) for each in bits])
    ordered = sorted(cases.values(), key=lambda case: (TABLES.index(case.table), case.epsilon))
    write_json(root / RESULTS, {"delta": DELTA, "hidden": network_training.HIDDEN}, [asdict(case) for case in ordered])
    content: dict[str, Any] = {name: rows[name] for name in sorted(rows)}
    np.savez_compressed(root / ROWS, **content)
    return ordered


def stored(root: Path) -> dict[tuple[str, float], Case]:
    if not (root / RESULTS).exists():
        return {}
    cases = [Case.read(fields) for fields in json.loads((root / RESULTS).read_text(encoding="utf-8"))["cases"]]
    return {case.key: case for case in cases}


def right_rows(root: Path, table: str, epsilon: float, rows: int) -> Bits:
    """For each reported run which of the `rows` test rows it labels rightly."""
    bits: Bits = np.unpackbits(_stored_rows(root)[_name(table, epsilon)], axis=1, count=rows).astype(np.bool_)
    return bits


def _stored_rows(root: Path) -> dict[str, NDArray[np.uint8]]:
    if not (root / ROWS).exists():
        return {}
    with np.load(root / ROWS) as content:
        return {name: content[name] for name in content.files}


def _name(table: str, epsilon: float) -> str:
    return f"{table} {epsilon:g}"


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
        given.folder.mkdir(parents=True, exist_ok=True)
        for name in given.tables.split(","):
            console.print(f"{prepare(load(name, given.data), given.folder)}")
        prepare_noise(given.folder, map(float, given.epsilons.split(",")))
        shutil.copy(network_training.__file__, given.folder)
        return
    cases = collect([run for out in given.out for run in network_training.read(out)], Path())
    show(f"Networks, δ = {DELTA:g}; per cent, mean ± standard error", HEADER, [case.row() for case in cases], console)


if __name__ == "__main__":
    main()
