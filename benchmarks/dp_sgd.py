"""The peer of a published classifier: logistic regression by DP-SGD, as Opacus has it, tuned in its favour.

    python -m benchmarks.dp_sgd prepare FOLDER [--data FOLDER] [--tables adult,bank,…] [--epsilons .1,1]
    cd FOLDER && python -m benchmarks.dp_sgd_training adult.npz … OUT.json [--limit SECONDS] [--workers N]
    python -m benchmarks.dp_sgd collect OUT.json

Needs `pip install pcqr[bench]` (PyTorch and Opacus). `prepare` writes what the training reads: a table's columns as
integers, public predicates on them, and the noise of every number of batches and steps. The training stands alone: an
accelerator makes a day of it minutes. `collect` stores its figures, one line a table and ε, and for each test row how
many of the reported runs had it right; a later run replaces the lines that it makes anew.

The vectors: predicates in standard units by the public rows and a constant, divided by their norm; no whitening, no
ferns. "few" has the predicates of trees. "many" has those of the linear classifier where n·ε is large, with more cuts
through a number and rarer categories. Clipping, sampling and noise: `benchmarks.private_descent`. Settings:
`benchmarks.dp_sgd_search`. Why the noise is doubled: `benchmarks.peers`.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import mean_and_spread, show, wide_console, write_json
from benchmarks.dp_sgd_search import BATCHES, CLIPS, LADDER, VECTORS
from benchmarks.dp_sgd_training import Result, read, unpacked
from benchmarks.peers import DELTA, EPSILONS, carry, integers, prepare_noise, read_counts, write_counts
from benchmarks.tables import TABLES, Task, load
from pcqr.hypotheses import DecisionTrees
from pcqr.planning.classifiers.linear import linear_predicates
from pcqr.records.predicates import Predicates
from pcqr.records.vectors import LEAST_DEVIATION, UNIT, standard_entries

RAREST = 0.0025
"""The least share of the public rows at which "many" has a category: that of linear classifiers where n·ε is large."""
RESULTS = Path("benchmarks/results/dp_sgd.json")
ROWS = Path("benchmarks/results/dp_sgd_rows.npz")


def prepare(task: Task, folder: Path) -> Path:
    """Write what the training reads of a table, small enough to carry."""
    kinds: dict[str, tuple[Predicates, float]] = {
        VECTORS[0]: (DecisionTrees().prepared(task.public, None).predicates or (), LEAST_DEVIATION / 2.0),
        VECTORS[1]: (linear_predicates(RAREST, task.y.size, task.public, None), LEAST_DEVIATION),
    }
    kept = sorted({predicate.feature for predicates, _ in kinds.values() for predicate in predicates})
    content: dict[str, Any] = {
        "X": integers(task.X[:, kept]),
        "y": task.y.astype(np.uint8),
        "X_test": integers(task.X_test[:, kept]),
        "y_test": task.y_test.astype(np.uint8),
        "unit": np.float32(UNIT),
    }
    for kind, (predicates, least_deviation) in kinds.items():
        holding, failing = standard_entries(predicates, task.public, least_deviation)
        content[f"{kind} features"] = np.searchsorted(kept, [predicate.feature for predicate in predicates])
        content[f"{kind} cuts"] = np.array([predicate.cut for predicate in predicates], dtype=np.float32)
        content[f"{kind} holding"] = np.array(holding, dtype=np.float32)
        content[f"{kind} failing"] = np.array(failing, dtype=np.float32)
    path = folder / f"{task.name}.npz"
    np.savez_compressed(path, **content)
    return path


HEADER = ("table", "ε", "accuracy", "runs", "in the search", "winner of the search", "tried", "one fit")


def row(case: Result) -> list[str]:
    mean, spread = mean_and_spread(case.accuracy)
    return [
        case.table,
        f"{case.epsilon:g}",
        f"{100 * mean:.2f} ±{100 * spread / math.sqrt(len(case.accuracy)):.2f}",
        f"{len(case.accuracy)}",
        f"{100 * case.searched:.2f}",
        f"{case.setting}",
        f"{case.tried}",
        f"{case.fit_seconds:.1f} s",
    ]


def collect(results: Sequence[Result], root: Path) -> list[Result]:
    """Put `results` among those under `root`."""
    cases, counts = stored(root), read_counts(root / ROWS)
    for result in results:
        cases[result.table, result.epsilon] = result
        counts[result.table, result.epsilon] = unpacked(result.right)
    ordered = sorted(cases.values(), key=lambda case: (TABLES.index(case.table), case.epsilon))
    settings = {"delta": DELTA, "batches": BATCHES, "clips": CLIPS, "ladder": LADDER, "vectors": VECTORS}
    write_json(root / RESULTS, settings, [{**asdict(case), "right": ""} for case in ordered])
    write_counts(root / ROWS, counts)
    return ordered


def stored(root: Path) -> dict[tuple[str, float], Result]:
    """By table and ε; their `right` is empty, it is in `ROWS`."""
    if not (root / RESULTS).exists():
        return {}
    cases = [Result.read(fields) for fields in json.loads((root / RESULTS).read_text(encoding="utf-8"))["cases"]]
    return {(case.table, case.epsilon): case for case in cases}


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
        carry(given.folder)
        for name in given.tables.split(","):
            console.print(f"{prepare(load(name, given.data), given.folder)}")
        prepare_noise(given.folder, map(float, given.epsilons.split(",")), BATCHES)
        return
    cases = collect([result for out in given.out for result in read(out)], Path())
    title = f"Logistic regression by DP-SGD, δ = {DELTA:g}; per cent, mean ± standard error"
    show(title, HEADER, [row(case) for case in cases], console)


if __name__ == "__main__":
    main()
