"""GroupedRecords with several rows, on diabetes130: what it costs to protect all rows of a patient together.

    python -m benchmarks.user_level diabetes130.parquet [--epsilons .1,.3,1,4] [--arms persons,…] [--runs 3]

71,518 patients in 101,766 rows; is a patient readmitted? Split by patients: three quarters with all their rows are
private, patients with 2,000 rows of the rest are public, without labels, and the others are scored. (In a split by rows
two fifths of the rows that are scored have their patient among the private ones.) `PrivateClassifier(method="auto")`,
δ = 10⁻⁶. Arms: `rows`, which protects one row; `one row`, the naive fix, one row a patient and the rest thrown away;
`user_level`, weights that add up to one; `persons, 3 rows`, where a patient of r rows counts min(r, 3)/3. Seeds make a
run repeatable (NOT PRIVATE). Results are stored after every run; a later one replaces what it makes anew. Writes a
table of docs/user-level.md.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import markdown, read_cases, write_json
from benchmarks.pages import put_between
from pcqr import Groups, PrivateClassifier, Schema

DELTA, PUBLIC, SHARE = 1e-6, 2_000, 0.75
RESULTS, PAGE = Path("benchmarks/results/user_level.json"), Path("docs/user-level.md")
ARMS = {
    "rows": "one row",
    "one row": "a person: one row of each, the rest thrown away",
    "persons": "a person: `groups=ids`",
    "persons, 3 rows": "a person: `groups=Groups(ids, rows=3)`",
}
HEADER = ("ε protects", "ε", "right, of rows", "right, a person's mean", "runs")

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Run:
    """One fit: the share of the scored rows that is right, and its mean over the persons scored, in percent."""

    arm: str
    epsilon: float
    seed: int
    rows: float
    user_level: float
    seconds: float

    @property
    def key(self) -> tuple[float, int, int]:
        return self.epsilon, list(ARMS).index(self.arm), self.seed


@dataclass(frozen=True)
class Split:
    """The table by patients: private, public and scored rows, encoded, and whose they are."""

    X: NDArray[np.float64]
    y: NDArray[np.int8]
    ids: Integers
    public: NDArray[np.float64]
    X_test: NDArray[np.float64]
    y_test: NDArray[np.int8]
    ids_test: Integers

    @classmethod
    def read(cls, path: Path) -> Split:
        import pandas as pd  # noqa: PLC0415

        frame = pd.read_parquet(path)
        y = (frame["readmitted"] != "NO").to_numpy().astype(np.int8)
        ids = np.unique(frame["patient_nbr"].to_numpy(), return_inverse=True)[1]
        frame = frame.drop(columns=["readmitted", "encounter_id", "patient_nbr"])
        counts = np.bincount(ids)
        order = np.random.default_rng(0).permutation(counts.size)
        rest = np.random.default_rng(1).permutation(order[int(SHARE * counts.size) :])
        shown = rest[: 1 + int(np.searchsorted(np.cumsum(counts[rest]), PUBLIC))]
        part = np.zeros(counts.size, dtype=np.int8)
        part[rest], part[shown] = 2, 1
        train, public, test = (np.flatnonzero(part[ids] == which) for which in (0, 1, 2))
        schema = Schema.from_public(frame.iloc[public])
        X, X_public, X_test = (schema.encode(frame.iloc[rows]) for rows in (train, public, test))
        return cls(X, y[train], ids[train], X_public, X_test, y[test], ids[test])


def measured(split: Split, arm: str, epsilon: float, seed: int) -> Run:
    X, y, given = split.X, split.y, dict[str, Any]()
    if arm == "one row":
        shuffled = np.random.default_rng(seed).permutation(y.size)
        chosen = shuffled[np.unique(split.ids[shuffled], return_index=True)[1]]
        X, y = X[chosen], y[chosen]
    elif arm != "rows":
        given = {"groups": Groups(split.ids, rows=3 if arm == "persons, 3 rows" else 1)}
    began = time.perf_counter()
    classifier = PrivateClassifier(epsilon, DELTA, entropy=seed, classes=(0, 1))
    classifier.fit(X, y, public=split.public, **given)
    seconds = time.perf_counter() - began
    right = classifier.predict(split.X_test) == split.y_test
    weights = 1.0 / np.bincount(split.ids_test)[split.ids_test]
    shares = right.mean(), np.average(right, weights=weights)
    rows, user_level = (round(100.0 * float(share), 3) for share in shares)
    return Run(arm, epsilon, seed, rows, user_level, round(seconds, 1))


def table(runs: list[Run]) -> str:
    lines = []
    for epsilon in sorted({run.epsilon for run in runs}):
        for arm, words in ARMS.items():
            if these := [run for run in runs if (run.epsilon, run.arm) == (epsilon, arm)]:
                figures = (f"{mean(getattr(run, name) for run in these):.2f}" for name in ("rows", "persons"))
                lines.append((words, f"{epsilon:g}", *figures, str(len(these))))
    return markdown(HEADER, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="diabetes130 as a Parquet file")
    parser.add_argument("--epsilons", default=".1,.3,1,4")
    parser.add_argument("--arms", default="; ".join(ARMS), help="separated by semicolons")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    runs = read_cases(RESULTS, Run)
    split = Split.read(options.file)
    for seed in range(options.runs):
        for epsilon in map(float, options.epsilons.split(",")):
            for arm in map(str.strip, options.arms.split(";")):
                found = measured(split, arm, epsilon, seed)
                print(found, flush=True)
                runs = sorted([*(run for run in runs if run.key != found.key), found], key=lambda run: run.key)
                write_json(RESULTS, {"delta": DELTA, "public": PUBLIC}, list(map(asdict, runs)))
                put_between(PAGE, "persons", table(runs))


if __name__ == "__main__":
    main()
