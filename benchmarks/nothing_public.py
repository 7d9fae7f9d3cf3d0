"""How accurate is `PrivateClassifier` with nothing public, beside the same with 2,000 public rows?

    python -m benchmarks.nothing_public --data FOLDER [--tables adult,bank] [--epsilons .1,1] [--again] [--redraw]

δ = 10⁻⁶, replace-one, the splits of `benchmarks.classifiers`, whose runs with 2,000 public rows are on file. *Nothing*
gets a typed frame; *shifted* the same with every number moved by 50 of its standard deviations, in all rows. How
much of the budget buys what was settled with the test rows of these tables in view.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks import classifiers
from benchmarks.accuracy import markdown, parser_of, read_cases, seed_of, write_json
from benchmarks.leads import DELTA, EPSILONS
from benchmarks.pages import put_between
from benchmarks.tables import DIABETES_BY_ENCOUNTER, SOURCES, TRAIN_SHARE, set_apart
from pcqr import PrivateClassifier
from pcqr.datasets import adult_table, load_adult
from pcqr.errors import NothingPublic

TABLES, RUNS = ("adult", "bank", "diabetes"), 5
SHIFT = 50.0
RESULTS = Path("benchmarks/results/nothing_public.json")
PAGE = Path("docs/classifier-results.md")

Key = tuple[str, float, bool]


class Frames(NamedTuple):
    """Rows as typed frames that nobody has encoded, and their labels."""

    X: pd.DataFrame
    y: Any
    X_test: pd.DataFrame
    y_test: Any


@dataclass(frozen=True)
class Case:
    """One table at one ε: the accuracies of all runs, and the seconds of the fits."""

    table: str
    records: int
    epsilon: float
    is_shifted: bool
    accuracy: Sequence[float]
    seconds: Sequence[float]

    @property
    def key(self) -> Key:
        return self.table, self.epsilon, self.is_shifted


def frames(name: str, folder: Path) -> Frames:
    """Return the rows that `benchmarks.classifiers` fits and scores."""
    if name == "adult":
        adult = load_adult()
        kinds = {column.name: float if column.kind == "numeric" else "str" for column in adult.schema.columns}
        train, rest = (pd.DataFrame(adult_table(part))[list(kinds)].astype(kinds) for part in ("train", "test"))
        _, test = set_apart(np.arange(adult.y_test.size))
        return Frames(train, adult.y_train, rest.iloc[test], adult.y_test[test])
    source = DIABETES_BY_ENCOUNTER if name == "diabetes" else SOURCES[name]
    frame = pd.read_parquet(folder / source.file)
    y = np.asarray(source.is_one(frame[source.label]), dtype=np.int8)
    frame = frame.drop(columns=[source.label, *source.drop])
    private, rest = np.split(np.random.default_rng(0).permutation(y.size), [int(TRAIN_SHARE * y.size)])
    _, test = set_apart(rest)
    return Frames(frame.iloc[private], y[private], frame.iloc[test], y[test])


def shifted(task: Frames) -> Frames:
    """Return the rows with every number moved by 50 standard deviations of the private rows."""
    numbers = task.X.select_dtypes("number").columns
    by = SHIFT * task.X[numbers].std()
    X, X_test = (rows.assign(**{name: rows[name] + by[name] for name in numbers}) for rows in (task.X, task.X_test))
    return Frames(X, task.y, X_test, task.y_test)


def measure(name: str, task: Frames, epsilon: float, *, is_shifted: bool) -> Case:
    accuracy, seconds = [], []
    for run in range(RUNS):
        classifier = PrivateClassifier(epsilon, DELTA, entropy=seed_of(name, epsilon, is_shifted, run), classes=(0, 1))
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingPublic)
            classifier.fit(task.X, task.y)
        seconds.append(round(time.perf_counter() - start, 3))
        accuracy.append(float((classifier.predict(task.X_test) == task.y_test).mean()))
    return Case(name, task.y.size, epsilon, is_shifted, accuracy, seconds)


def stored(root: Path) -> dict[Key, Case]:
    return {case.key: case for case in read_cases(root / RESULTS, Case)}


def store(cases: Mapping[Key, Case], root: Path) -> None:
    write_json(root / RESULTS, {"delta": DELTA}, [asdict(cases[key]) for key in sorted(cases)])


HEADER = ("table", "ε", "n·ε", "2,000 public rows (runs)", "nothing public (runs)", "difference", "shifted")


def table(root: Path) -> str:
    """Return the rows of the page, from all that is on file."""
    cases, references = stored(root), classifiers.stored(root)
    lines, gaps = [], []
    for key in sorted(key for key in cases if not key[2]):
        own, reference, moved = cases[key], references[key[:2]], cases.get((*key[:2], True))
        gap = _percent(own.accuracy) - _percent(reference.accuracy)
        error = math.hypot(_error(own.accuracy), _error(reference.accuracy))
        gaps.append((own.records * own.epsilon, gap))
        lines.append(
            (
                own.table,
                f"{own.epsilon:g}",
                f"{own.records * own.epsilon:,.0f}",
                f"{_percent(reference.accuracy):.2f} ({len(reference.accuracy)})",
                f"{_percent(own.accuracy):.2f} ({len(own.accuracy)})",
                f"{gap:+.2f} ± {error:.2f}",
                "" if moved is None else f"{_percent(moved.accuracy):.2f}",
            )
        )
    low, high = ([gap for size, gap in gaps if (size >= 3_000) == is_large] for is_large in (False, True))
    told = f"Mean difference: {np.mean(low):+.2f} below n·ε = 3,000, {np.mean(high):+.2f} from there on."
    return f"{markdown(HEADER, lines)}\n\n{told}"


def _percent(accuracy: Sequence[float]) -> float:
    return 100.0 * float(np.mean(accuracy))


def _error(accuracy: Sequence[float]) -> float:
    return 100.0 * float(np.std(accuracy, ddof=1)) / math.sqrt(len(accuracy))


def main() -> None:
    parser = parser_of("benchmarks.nothing_public", __doc__, TABLES, EPSILONS)
    parser.add_argument("--again", action="store_true", help="forget what is on file of these tables and ε")
    parser.add_argument("--redraw", action="store_true", help="run nothing, write the page again")
    given = parser.parse_args()
    root = Path()
    for name in () if given.redraw else given.tables:
        task = frames(name, given.data)
        for is_shifted, rows in ((False, task), (True, shifted(task))):
            for epsilon in given.epsilons:
                if given.again or (name, epsilon, is_shifted) not in stored(root):
                    case = measure(name, rows, epsilon, is_shifted=is_shifted)
                    store(stored(root) | {case.key: case}, root)
    put_between(root / PAGE, "nothing public", table(root))


if __name__ == "__main__":
    main()
