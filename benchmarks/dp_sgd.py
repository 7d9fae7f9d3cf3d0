"""The peers of a published classifier by DP-SGD, as Opacus has it: a logistic regression and a network.

    python -m benchmarks.dp_sgd prepare FOLDER [--data FOLDER] [--tables adult,bank,…] [--epsilons .1,1]
    cd FOLDER && python -m benchmarks.dp_sgd_training . OUT.json [--workers N]
    python -m benchmarks.dp_sgd collect OUT.json

Needs `pip install pcqr[bench]` (PyTorch and Opacus). `prepare` writes what the training reads: a table's columns as
integers, public predicates on them, how public rows centre and scale them, the settings and the noise. The training
stands alone: it needs no pcqr, and an accelerator makes hours of it minutes. `collect` stores its figures, one line a
peer, table and ε, and for each test row how many of the runs had it right.

Settings. The results on file have them. Searches found them in the peers' favour, for each table and ε by itself, by
accuracy on the *test* rows, which no private learner could do: `tried` settings, `searched` the winner's accuracy in
the search. The figures are of fresh seeds, free of the luck of the search, not of its sight of the test rows.

The logistic regression sees predicates in standard units by the public rows and a constant, divided by their norm.
"few" has the predicates of trees. "many" has those of the linear classifier where n·ε is large, with more cuts through
a number and rarer categories. The network, two hidden layers of 128, sees columns that vary among the public rows and
the predicates of trees, in standard units, cut to ±`CAP`: or else a rare category would be hundreds of times as long as
a common one.

Noise. Opacus accounts for adding or removing a record. Replacing one moves a clipped sum by up to 2C instead of C, so
the noise here is 2σC, σ being what Opacus asks for at (ε, δ): the accountant "prv" where batches are sampled, with an
error of one per cent of ε, and "gdp" where nothing is sampled: there it is a bound, and the lower one of the two.
Without sampling, doubling is exact. With it, it is right to first order in the sampling rate q: with noise s·C, the
squares of the privacy loss add up over steps as the χ²-divergence of (1−q)·N(0, s²) + q·N(1, s²) from the same with
N(−1, s²), which is 4 sinh(1/s²)·q² ≈ 4q²/s²; a record that is added and counts double costs (e^{4/s²} − 1)·q² ≈ 4q²/s².
The second is the larger one where s is small, by a quarter at s = 3: `noise` is stored for the reader to see.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks import dp_sgd_training
from benchmarks.accuracy import mean_and_spread, read_cases, show, wide_console, write_json
from benchmarks.dp_sgd_training import HIDDEN, Job, Setting, unpacked
from benchmarks.leads import DELTA, EPSILONS, Key, read_counts, write_counts
from benchmarks.tables import TABLES, Task, load
from pcqr.data.records.predicates import Predicates, evaluate
from pcqr.data.records.vectors import LEAST_DEVIATION, UNIT, standard_entries
from pcqr.hypotheses import DecisionTrees
from pcqr.releases.classifier.feature_maps import linear_predicates

CAP = 4.0
RAREST = 0.0025
"""The least share of the public rows at which "many" has a category: that of linear classifiers where n·ε is large."""
RESULTS = Path("benchmarks/results/dp_sgd.json")
ROWS = {
    "logistic regression": Path("benchmarks/results/dp_sgd_rows.npz"),
    "the network": Path("benchmarks/results/network_rows.npz"),
}
"""By peer."""


@cache
def noise_multiplier(epsilon: float, per_epoch: int, steps: int) -> float:
    """2σ: the noise in units of C for replace-one at (ε, `DELTA`), sampling with q = 1/`per_epoch`."""
    from opacus.accountants.utils import get_noise_multiplier  # noqa: PLC0415

    options = {"accountant": "gdp"} if per_epoch == 1 else {"accountant": "prv", "eps_error": 0.01 * epsilon}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # gdp's, that sampling is approximated: here is none
        sigma: float = get_noise_multiplier(
            target_epsilon=epsilon,
            target_delta=DELTA,
            sample_rate=1.0 / per_epoch,
            steps=steps,
            epsilon_tolerance=0.002 * epsilon,
            **options,
        )
    return 2.0 * sigma


def prepare(task: Task, folder: Path) -> Path:
    """Write what the training reads of a table, small enough to carry."""
    few = DecisionTrees().prepared(task.public, None).predicates or ()
    many = linear_predicates(RAREST, task.y.size, task.public, None)
    kept = np.flatnonzero(np.ptp(task.public, axis=0) > 0.0)
    shown = evaluate(few, task.public)
    centre, scale = _standard(shown)
    kinds: dict[str, tuple[Predicates, Any, Any]] = {
        "few": (few, *standard_entries(few, task.public, LEAST_DEVIATION / 2.0)),
        "many": (many, *standard_entries(many, task.public, LEAST_DEVIATION)),
        "standard": (few, (1.0 - centre) * scale, -centre * scale),
    }
    centres, scales = _standard(task.public[:, kept])
    content: dict[str, Any] = {
        "X": integers(task.X[:, kept]),
        "y": task.y.astype(np.uint8),
        "X_test": integers(task.X_test[:, kept]),
        "y_test": task.y_test.astype(np.uint8),
        "unit": np.float32(UNIT),
        "centres": centres.astype(np.float32),
        "scales": scales.astype(np.float32),
        "cap": np.float32(CAP),
    }
    for kind, (predicates, holding, failing) in kinds.items():
        content[f"{kind} features"] = np.searchsorted(kept, [predicate.feature for predicate in predicates])
        content[f"{kind} cuts"] = np.array([predicate.cut for predicate in predicates], dtype=np.float32)
        content[f"{kind} holding"] = np.array(holding, dtype=np.float32)
        content[f"{kind} failing"] = np.array(failing, dtype=np.float32)
    path = folder / f"{task.name}.npz"
    np.savez_compressed(path, **content)
    return path


def _standard(values: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The means of the columns, and one over their standard deviations (0 where nothing varies)."""
    spread = values.std(axis=0, dtype=np.float64)
    return values.mean(axis=0, dtype=np.float64), np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0.0)


def integers(X: NDArray[np.float64]) -> NDArray[np.signedinteger[Any]]:
    """One row a column, as 16-bit integers where they fit; all five tables have integers alone."""
    whole = X.T.astype(np.int32)
    if not np.array_equal(whole, X.T):
        raise AssertionError("A column has values that are no integers.")
    narrow = whole.astype(np.int16)
    return narrow if np.array_equal(narrow, whole) else whole


def prepare_jobs(folder: Path, tables: Collection[str], epsilons: Collection[float], root: Path) -> None:
    """Write the runs to make, and put the training beside them: `benchmarks.dp_sgd_training` runs in `folder`, too."""
    jobs = []
    for case in (case for peer in ROWS for case in stored(root, peer).values()):
        if case.table in tables and case.epsilon in epsilons:
            noise = noise_multiplier(case.epsilon, case.setting.per_epoch, case.setting.steps)
            jobs.append(Job(case.peer, case.table, case.epsilon, case.setting, noise, len(case.accuracy)))
    (folder / "jobs.json").write_text(json.dumps(list(map(asdict, jobs))), encoding="utf-8")
    carry(folder)


def carry(folder: Path) -> None:
    (folder / "benchmarks").mkdir(parents=True, exist_ok=True)
    for name in ("__init__.py", "dp_sgd_training.py"):
        shutil.copy(Path(dp_sgd_training.__file__).with_name(name), folder / "benchmarks")


@dataclass(frozen=True)
class Case:
    """One peer on one table at one ε: the winner of `tried` settings, its accuracies on fresh seeds and in the search.

    `noise` is the standard deviation of the noise in units of C, `fit_seconds` those of one run where several shared
    an accelerator.
    """

    peer: str
    table: str
    epsilon: float
    records: int
    setting: Setting
    noise: float
    accuracy: Sequence[float]
    searched: float
    tried: int
    fit_seconds: float

    @classmethod
    def of(cls, *, setting: Mapping[str, Any], **fields: Any) -> Case:
        return cls(setting=Setting(**setting), **fields)

    def row(self) -> list[str]:
        mean, spread = mean_and_spread(self.accuracy)
        return [
            *(self.peer, self.table, f"{self.epsilon:g}"),
            f"{100 * mean:.2f} ±{100 * spread / math.sqrt(len(self.accuracy)):.2f}",
            f"{len(self.accuracy)}",
            f"{100 * self.searched:.2f}",
            ", ".join(f"{name} {value}" for name, value in asdict(self.setting).items() if value is not None),
            f"{self.tried}",
            f"{self.fit_seconds:.1f} s",
        ]


HEADER = ("peer", "table", "ε", "accuracy", "runs", "in the search", "winner of the search", "tried", "one fit")


def stored(root: Path, peer: str) -> dict[Key, Case]:
    """By table and ε."""
    cases = read_cases(root / RESULTS, Case.of)
    return {(case.table, case.epsilon): case for case in cases if case.peer == peer}


def collect(made: Sequence[Mapping[str, Any]], root: Path) -> list[Case]:
    """Put the runs of the training in the place of those under `root`."""
    cases, rows = {peer: stored(root, peer) for peer in ROWS}, {peer: read_counts(root / ROWS[peer]) for peer in ROWS}
    for case in made:
        key, job = (case["table"], case["epsilon"]), Job.read({name: case[name] for name in Job.__annotations__})
        if cases[job.peer][key].setting != job.setting:
            raise AssertionError(f"{job.peer} at {key}: the runs are of another setting than the one on file.")
        anew = {"noise": job.noise, "accuracy": case["accuracy"], "fit_seconds": case["fit_seconds"]}
        cases[job.peer][key] = replace(cases[job.peer][key], **anew)
        rows[job.peer][key] = unpacked(case["right"])
    ordered = [found for peer in ROWS for _, found in sorted(cases[peer].items(), key=_place)]
    write_json(root / RESULTS, {"delta": DELTA, "hidden": HIDDEN}, [asdict(case) for case in ordered])
    for peer, counts in rows.items():
        write_counts(root / ROWS[peer], counts)
    return ordered


def _place(cell: tuple[Key, Case]) -> tuple[int, float]:
    return TABLES.index(cell[0][0]), cell[0][1]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dp_sgd", description=(__doc__ or "").split("\n")[0])
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
        names = given.tables.split(",")
        prepare_jobs(given.folder, names, list(map(float, given.epsilons.split(","))), Path())
        for name in names:
            console.print(f"{prepare(load(name, given.data), given.folder)}")
        return
    cases = collect([case for out in given.out for case in json.loads(out.read_text(encoding="utf-8"))], Path())
    title = f"DP-SGD, δ = {DELTA:g}; per cent, mean ± standard error"
    show(title, HEADER, [case.row() for case in cases], console)


if __name__ == "__main__":
    main()
