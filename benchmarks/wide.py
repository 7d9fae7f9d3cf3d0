"""A table as wide as MNIST, 60,000 records of 784 columns: how long does each estimator take, or why does it refuse?

    python -m benchmarks.wide

Made-up images: every pixel is dark with the same chance for all labels but for a block of 60 that tells one apart, and
every value is a whole number from 0 to 255. At ε = 2, δ = 10⁻⁶, 2,000 public rows. Each fit has a process of its own
with the compiled kernels loaded before. "First sign" is when the first progress is told, for who listens; a refusal
comes before anything is drawn. Run it on an idle machine. Writes a table of docs/classifier-results.md.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.accuracy import markdown, read_cases, run_alone, wide_console, write_json
from benchmarks.pages import put_between
from pcqr import (
    AgnosticRelease,
    AssumePublic,
    PrivateClassifier,
    SemiPrivateLearner,
    SubsampleAggregate,
    UniversalRelease,
    progress,
)
from pcqr.errors import PcqrError
from pcqr.hypotheses import DecisionTrees, Stumps

RECORDS, COLUMNS, PUBLIC = 60_000, 784, 2_000
EPSILON, DELTA = 2.0, 1e-6
INFORMATIVE, DARK, SHIFT = 60, 0.2, 0.2
RESULTS = Path("benchmarks/results/wide.json")
PAGE = Path("docs/classifier-results.md")

Make = Callable[[tuple[int, ...]], Any]
ESTIMATORS: dict[str, Make] = {
    "`PrivateClassifier(method='tree')`": lambda c: PrivateClassifier(EPSILON, DELTA, method="tree", classes=c),
    "`PrivateClassifier(method='linear')`": lambda c: PrivateClassifier(EPSILON, DELTA, method="linear", classes=c),
    "`PrivateClassifier(method='linear')`, 10 classes": lambda c: PrivateClassifier(
        EPSILON, DELTA, method="linear", classes=c
    ),
    "`SemiPrivateLearner(DecisionTrees())`": lambda c: SemiPrivateLearner(DecisionTrees(), epsilon=EPSILON, classes=c),
    "`SubsampleAggregate()`, stumps": lambda c: SubsampleAggregate(Stumps(), epsilon=EPSILON, delta=DELTA, classes=c),
    "`AgnosticRelease()`, stumps": lambda c: AgnosticRelease(Stumps(), epsilon=EPSILON, delta=DELTA, classes=c),
    "`AgnosticRelease(DecisionTrees())`": lambda c: AgnosticRelease(
        DecisionTrees(), epsilon=EPSILON, delta=DELTA, classes=c
    ),
    "`UniversalRelease(DecisionTrees())`": lambda c: UniversalRelease(
        DecisionTrees(), epsilon=EPSILON, delta=DELTA, classes=c
    ),
}
HEADER = ("estimator", "first sign", "the whole fit", "end")


@dataclass(frozen=True)
class Fit:
    """One fit: seconds until the first progress was told (None: never), until the end, and how it ended."""

    estimator: str
    first_sign: float | None
    seconds: float
    refusal: str | None
    load: float

    def row(self) -> list[str]:
        sign = "none" if self.first_sign is None else f"{self.first_sign:.1f} s"
        return [self.estimator, sign, f"{self.seconds:.1f} s", self.refusal or "fitted"]


def images(rows: int, classes: int, seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """`rows` made-up images and their labels. Each label darkens a block of columns of its own."""
    rng = np.random.default_rng(seed)
    y = rng.integers(classes, size=rows)
    dark = np.full((classes, COLUMNS), DARK)
    for label in range(classes):
        dark[label, label * INFORMATIVE : (label + 1) * INFORMATIVE] += SHIFT
    X = np.where(rng.random((rows, COLUMNS)) < dark[y], rng.integers(128, 256, (rows, COLUMNS)), 0)
    return X.astype(np.float64), y


def measure(name: str) -> Fit:
    classes = 10 if "10 classes" in name else 2
    X, y = images(RECORDS, classes, 0)
    public, _ = images(PUBLIC, classes, 1)
    labels = tuple(range(classes))

    def fit(rows: int) -> float | None:
        signs: list[float] = []
        start = time.perf_counter()
        with progress.reporting(lambda _: signs.append(time.perf_counter() - start)):
            ESTIMATORS[name](labels).fit(X[:rows], y[:rows], public=AssumePublic(public))
        return signs[0] if signs else None

    refusal, sign, load = None, None, os.getloadavg()[0]
    with suppress(PcqrError):  # too few records for some: the kernels are loaded all the same
        fit(3_000)
    start = time.perf_counter()
    try:
        sign = fit(RECORDS)
    except PcqrError as refused:
        refusal = str(refused)
    return Fit(name, sign, time.perf_counter() - start, refusal, load)


def table(root: Path) -> str:
    return markdown(HEADER, [fit.row() for fit in read_cases(root / RESULTS, Fit)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.wide", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--redraw", action="store_true", help="write the table of an earlier run again")
    given = parser.parse_args()
    if not given.redraw:
        console, fits = wide_console(), []
        for name in ESTIMATORS:
            fits.append(run_alone(measure, name))
            console.print("  ".join(fits[-1].row()), f"(load {fits[-1].load:.1f})", highlight=False)
        write_json(RESULTS, {"epsilon": EPSILON, "delta": DELTA, "records": RECORDS}, [asdict(fit) for fit in fits])
    put_between(PAGE, "wide", table(Path()))


if __name__ == "__main__":
    main()
