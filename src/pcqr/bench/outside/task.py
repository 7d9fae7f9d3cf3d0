"""One run, as it is handed to a method in another process: numbers in, labels out. Needs NumPy alone.

A folder holds `run.json` and, when the run has ended, `labels.npy` and `outcome.json`. The labels of the test rows are
in neither: no method sees them, and all are scored by one judge.
"""

from __future__ import annotations

import json
import math
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

NOT_ASKED, UNANSWERED = -2, -1
"""In the labels of a run: a test row that was not asked about, and one that got no label."""

STARTED_BY = "PCQR_BENCH_STARTED_BY"
"""The variable of the environment that has the number of the process which starts a run."""

Points = NDArray[np.float64]
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Column:
    """One column of the table as it is encoded: a number, or `size` categories in `width` places from `first` on."""

    name: str
    kind: str
    first: int
    width: int
    size: int
    low: float | None
    high: float | None

    def values(self, X: Points) -> Points:
        """A number a row: the column itself, or the place of the category."""
        places = X[:, self.first : self.first + self.width]
        found: Points = places[:, 0] if self.width == 1 else np.argmax(places, axis=1).astype(np.float64)
        return found


@dataclass
class Task:
    """The private records, all that is public, and what is asked for.

    `public` rows have no labels. `asked` are places among the test rows: what is asked of methods that answer queries.
    `predicates` are public questions (column, cut): does x[column] exceed the cut? They are made of the public rows.
    `settings` are what pcqr has found for the method from public numbers. Where nothing is public, `raw` and `raw_test`
    are the cells by columns: numbers with NaN for gaps, or texts with None for gaps. Then only methods without privacy
    may use the encoded rows.
    """

    method: str
    X: Points
    y: Labels
    public: Points
    X_test: Points
    asked: Labels
    classes: int
    columns: tuple[Column, ...]
    predicates: tuple[tuple[int, float], ...]
    schema: Mapping[str, Any] | None
    epsilon: float
    delta: float
    seed: int
    settings: Mapping[str, Any]
    raw: Mapping[str, NDArray[Any]] | None = None
    raw_test: Mapping[str, NDArray[Any]] | None = None
    begun: float = field(default_factory=time.perf_counter)
    begun_processing: float = field(default_factory=time.process_time)
    trained: float | None = None

    @classmethod
    def read(cls, folder: Path) -> Task:
        run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        table = Path(run["table"])
        about = json.loads((table / "about.json").read_text(encoding="utf-8"))
        with np.load(table / "arrays.npz", allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in ("X", "y", "public", "X_test")}
        raw, raw_test = (_cells(table, about["texts"], part) for part in ("X", "X_test"))
        return cls(
            method=run["method"],
            **arrays,
            raw=raw,
            raw_test=raw_test,
            asked=np.array(run["asked"], dtype=np.int64),
            classes=about["classes"],
            columns=tuple(Column(**column) for column in about["columns"]),
            predicates=tuple((int(place), float(cut)) for place, cut in about["predicates"]),
            schema=about["schema"],
            epsilon=run["epsilon"],
            delta=run["delta"],
            seed=run["seed"],
            settings=run["settings"],
        )

    @property
    def queries(self) -> Any:
        """Return the test rows that are asked: encoded or, where nothing is public, as cells by columns."""
        if self.raw_test is None:
            return self.X_test[self.asked]
        return {name: values[self.asked] for name, values in self.raw_test.items()}

    @property
    def records(self) -> int:
        return int(self.y.size)

    def begin(self) -> None:
        """Training begins here: what was loaded before is not counted."""
        self.begun, self.begun_processing = time.perf_counter(), time.process_time()

    def fitted(self) -> None:
        """Training ends here, and the time for labels begins."""
        self.trained = time.perf_counter()

    def native(self, X: Points) -> Points:
        """Rows with one value a column: numbers, and the places of categories."""
        return np.stack([column.values(X) for column in self.columns], axis=1)

    def with_every_category(self) -> tuple[Points, Labels]:
        """Public rows as `native` has them, made up: numbers of public rows, each category with each label."""
        most = max((column.size for column in self.columns), default=1) or 1
        rows = self.native(self.public[np.arange(most) % len(self.public)])
        for place, column in enumerate(self.columns):
            if column.size:
                rows[:, place] = np.arange(most) % column.size
        return np.tile(rows, (self.classes, 1)), np.repeat(np.arange(self.classes), most)

    def held(self, X: Points) -> Points:
        """Which predicates hold in each row: zeros and ones."""
        features = [place for place, _ in self.predicates]
        return (X[:, features] > np.array([cut for _, cut in self.predicates])).astype(np.float64)

    def among_asked(self, labels: Labels) -> Labels:
        """Labels of the queries alone, put into their places among the test rows."""
        placed = np.full(len(self.X_test), NOT_ASKED, dtype=np.int64)
        placed[self.asked] = labels
        return placed


def _cells(table: Path, texts: Mapping[str, Any] | None, part: str) -> dict[str, NDArray[Any]] | None:
    """Return the columns of one part of a table as unencoded cells, or None where there is none."""
    if texts is None:
        return None
    found: dict[str, NDArray[Any]] = {}
    with np.load(table / "raw.npz", allow_pickle=False) as stored:
        for number, (name, known) in enumerate(texts.items()):
            values = stored[f"{part}_{number}"]
            found[name] = values if known is None else np.array([*known, None], dtype=object)[values]
    return found


Run = Callable[[Task], Labels]
"""The labels of the test rows: 0, 1, …, or `UNANSWERED`, or `NOT_ASKED`."""


def carry_out(folder: Path, run: Run, *, tells: tuple[type[Exception], ...] = (), note: str = "") -> int:
    """Run a method on the task in `folder` and write what came of it; the exit status.

    Of an error only its type is written, since its words may have been made of records; of those in `tells` the words
    as well.
    """
    threading.Thread(target=_end_with, args=(_starter(),), daemon=True).start()
    task = Task.read(folder)
    try:
        labels = np.asarray(run(task), dtype=np.int64)
        if labels.shape != (len(task.X_test),) or labels.min() < NOT_ASKED or labels.max() >= task.classes:
            raise ValueError("labels of another shape, or of other values, than the task has")
    except Exception as error:
        traceback.print_exc()
        words = f": {error}" if isinstance(error, tells) else ""
        _write(folder, {"failed": f"{type(error).__name__}{words}"})
        return 1
    ended = time.perf_counter()
    trained = ended if task.trained is None else task.trained
    np.save(folder / "labels.npy", labels.astype(np.int16), allow_pickle=False)
    _write(
        folder,
        {
            "fit_seconds": round(trained - task.begun, 3),
            "label_seconds": round(ended - trained, 3),
            "processor_seconds": round(time.process_time() - task.begun_processing, 3),
            "megabytes": peak_megabytes(),
            "note": note,
        },
    )
    return 0


def peak_megabytes() -> int | None:
    """The most memory that this process has had, libraries and table included.

    Not `ru_maxrss`, where Linux tells: that begins with what the process which started this one had.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="utf-8")
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) // 1024
    except (OSError, StopIteration):
        pass
    try:
        import resource  # noqa: PLC0415
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak // (1 << 20) if sys.platform == "darwin" else peak // 1024


def _starter() -> int:
    """The process that waits for this one; it may be gone before this one has come so far as to ask for its parent."""
    return int(os.environ.get(STARTED_BY) or os.getppid())


def _end_with(parent: int) -> None:
    """Whoever started this run is gone, killed perhaps: nobody waits for it any more, nor for what it has started."""
    while os.getppid() == parent:
        time.sleep(1.0)
    if sys.platform != "win32" and os.getpgrp() == os.getpid():
        os.killpg(os.getpid(), signal.SIGTERM)
    os.kill(os.getpid(), signal.SIGTERM)


def _write(folder: Path, outcome: Mapping[str, Any]) -> None:
    (folder / "outcome.json").write_text(json.dumps(outcome), encoding="utf-8")


# ---------------------------------------------------------------------------------------------------------------------
# What a budget for *replace one record* is for a library that accounts for adding or removing one.
#
# Replacing is removing and adding: whatever one record moves by at most Δ, replacing one moves by at most 2Δ. So a
# Gaussian mechanism that is μ-GDP for adding or removing is 2μ-GDP for replacing, and ρ-zCDP becomes 4ρ-zCDP.


def delta_of(epsilon: float, mu: float) -> float:
    """δ(ε) of a Gaussian mechanism whose sensitivity is μ standard deviations (Balle and Wang 2018)."""
    return _normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * _normal(-mu / 2 - epsilon / mu)


def largest_mu(epsilon: float, delta: float) -> float:
    """The most that a Gaussian mechanism may move, in standard deviations, to be (ε, δ)-DP."""
    return largest(lambda mu: delta_of(epsilon, mu) <= delta, 1e-9, 1e3)


def largest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest number in (low, high) for which `holds` is true; it is true below it, and false above."""
    if not holds(low):
        raise ValueError("No noise that is tried is enough for this ε and δ.")
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _normal(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))


# ---------------------------------------------------------------------------------------------------------------------
# Public predicates as vectors, for linear models and networks.


LEAST_DEVIATION = 0.1
CAP = 4.0
CONSTANT = 3.0
"""Beside predicates in standard units: with 1 the labels' shares are learned too late. Found on Adult and bank."""

Map = Callable[[Points], Points]


def unit_vectors(task: Task) -> Map:
    """Predicates in standard units by the public rows and a constant, divided by their norm."""
    shown = task.held(task.public)
    centre, scale = shown.mean(axis=0), 1.0 / np.maximum(shown.std(axis=0), LEAST_DEVIATION)

    def vectors(X: Points) -> Points:
        entries = np.column_stack([(task.held(X) - centre) * scale, np.full(len(X), CONSTANT)])
        made: Points = entries / np.linalg.norm(entries, axis=1, keepdims=True)
        return made

    return vectors


def standard_vectors(task: Task) -> Map:
    """Columns that vary among the public rows, and predicates, in standard units by them, cut at ±`CAP`."""
    kept = np.flatnonzero(np.ptp(task.public, axis=0) > 0.0)

    def both(X: Points) -> Points:
        return np.column_stack([X[:, kept], task.held(X)])

    shown = both(task.public)
    centre, scale = shown.mean(axis=0), 1.0 / np.maximum(shown.std(axis=0), 1e-9)

    def vectors(X: Points) -> Points:
        made: Points = np.clip((both(X) - centre) * scale, -CAP, CAP)
        return made

    return vectors
