"""What was measured: one file a run, written when it ends, so that an interrupted comparison goes on where it was."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import pcqr
from pcqr.bench.inside import settings_for
from pcqr.bench.methods import Method, python_of
from pcqr.bench.outside.task import NOT_ASKED, STARTED_BY, UNANSWERED
from pcqr.bench.tables import LabelArray, Raw, Task, queries_of
from pcqr.data.schema import Schema
from pcqr.errors import DataError
from pcqr.files import write_whole
from pcqr.hypotheses import DecisionTrees

FORMAT = 1
BEFORE = "accuracy_queries"
"""A figure in older files, where a query without a label counted as the label that the method gave most often."""


@dataclass(frozen=True)
class Cell:
    """What a run measures. `epsilon` is 0 for methods without privacy. `fingerprint` tells tables of one name apart.

    `public_rows` is the number of public rows that methods get. None: all. 0: nothing is public.
    """

    table: str
    fingerprint: str
    method: str
    epsilon: float
    delta: float
    queries: int
    seed: int
    public_rows: int | None = None

    @property
    def file(self) -> str:
        """The name of its file: readable, and another one for every cell."""
        words = re.sub(r"[^A-Za-z0-9.]+", "_", f"{self.table}-{self.method}-{self.epsilon:g}-{self.seed}")
        facts = {name: value for name, value in asdict(self).items() if value is not None}
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        return f"{words}-{digest[:10]}.json"


@dataclass(frozen=True)
class Run:
    """What came of it: figures, or why there are none (`failed`). `limit`: the seconds that it might take.

    `accuracy` counts a row without a label as a guess (`pcqr.bench.running.score`), `answered` is the share of `rows`
    that got one. `score` is the share of right answers on the queries alone, where a query without a label counts half.
    `processor_seconds` are those of all threads, which unlike the others do not grow when the machine is busy.
    """

    cell: Cell
    accuracy: float | None = None
    accuracy_answered: float | None = None
    score: float | None = None
    answered: float | None = None
    rows: int | None = None
    fit_seconds: float | None = None
    label_seconds: float | None = None
    processor_seconds: float | None = None
    megabytes: int | None = None
    note: str = ""
    failed: str | None = None
    limit: float | None = None
    command: str = ""
    version: str = ""

    @classmethod
    def read(cls, fields: dict[str, Any]) -> Run:
        fields = {**fields, "cell": Cell(**fields["cell"])}
        if BEFORE not in fields:
            return cls(**fields)
        guessed = fields.pop(BEFORE)
        return cls(**fields)._with_score(guessed)

    def _with_score(self, guessed: float | None) -> Run:
        """Return this run with its score, computed from the figures of older files where these are enough."""
        if self.answered is None or self.rows is None or self.answered == 1.0:
            return replace(self, score=guessed)
        if self.rows > self.cell.queries:  # some of all test rows have no label, and which is not known
            return self
        return replace(self, score=self.answered * (self.accuracy_answered or 0.0) + 0.5 * (1.0 - self.answered))

    @property
    def has_begun(self) -> bool:
        """Is the run kept? Not if its library is not installed, or if something that it needs is not public."""
        return self.failed is None or not self.failed.startswith(("not installed", "needs "))

    @property
    def was_stopped(self) -> bool:
        """By the time limit."""
        return self.failed is not None and self.failed.startswith("stopped after")


class Runs:
    """Those of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "runs"
        self._folder.mkdir(parents=True, exist_ok=True)

    def find(self, cell: Cell) -> Run | None:
        path = self._folder / cell.file
        return _read_run(path) if path.exists() else None

    def store(self, run: Run) -> None:
        write_whole(self._folder / run.cell.file, json.dumps({"format": FORMAT} | asdict(run), indent=1) + "\n")

    def all(self) -> list[Run]:
        return sorted((_read_run(path) for path in self._folder.glob("*.json")), key=lambda run: _order(run.cell))


def write_results(path: Path, runs: Iterable[Run]) -> None:
    """All runs in one file."""
    write_whole(path, json.dumps({"format": FORMAT, "runs": [asdict(run) for run in runs]}, indent=1) + "\n")


def read_results(path: Path) -> list[Run]:
    """What `write_results` wrote."""
    return [Run.read(fields) for fields in json.loads(path.read_text(encoding="utf-8"))["runs"]]


def _read_run(path: Path) -> Run:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        if fields.pop("format") != FORMAT:
            raise ValueError
        return Run.read(fields)
    except (ValueError, KeyError, TypeError):
        raise DataError(str(path), "a run that this version of pcqr has stored", "another file") from None


def _order(cell: Cell) -> tuple[Any, ...]:
    return cell.table, cell.method, cell.epsilon, cell.seed, cell.file


# ---------------------------------------------------------------------------------------------------------------------
# One run of one method in a process of its own: what is handed to it, how long it may take, how it is scored.
#
# What a method writes to standard error is shown on request only: a library's words may have been made of records.


CARRIED = "pcqr_outside"
"""What `pcqr.bench.outside` is called where pcqr is not."""
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")


@dataclass(frozen=True)
class Bench:
    """Where runs are made: a folder for this process alone, since it holds records, and what holds for all runs."""

    folder: Path
    environments: Path
    time_limit: float
    show_errors: bool = False

    def put(self, task: Task) -> None:
        """Write a table where processes find it; an earlier one of this name is replaced."""
        place = self.folder / task.name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        np.savez(place / "arrays.npz", X=task.X, y=task.y.astype(np.int64), public=task.public, X_test=task.X_test)
        predicates = (DecisionTrees().prepared(task.public, None).predicates or ()) if len(task.public) else ()
        about = {
            "classes": task.classes,
            "columns": columns_of(task.schema),
            "predicates": [[int(each.feature), float(each.cut)] for each in predicates],
            "schema": task.schema.to_dict(),
            "texts": None if task.raw is None else _put_raw(place, task.raw),
        }
        (place / "about.json").write_text(json.dumps(about), encoding="utf-8")

    def run(self, task: Task, method: Method, cell: Cell) -> Run:
        """One run, whatever becomes of it; `put` was called for the task before."""
        if task.raw is not None and method.needs is not None:
            return Run(cell, failed=f"needs {method.needs}")
        python = python_of(method.environment, self.environments)
        if python is None:
            return Run(cell, failed=f"not installed: pcqr bench --install {method.environment}")
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        asked = queries_of(len(task.X_test), cell.queries, cell.seed)
        given = {
            "method": method.name,
            "table": str(self.folder / task.name),
            "asked": asked.tolist(),
            "epsilon": cell.epsilon,
            "delta": cell.delta,
            "seed": cell.seed,
            "settings": settings_for(method.name, task.y.size, cell.epsilon, cell.delta),
        }
        (folder / "run.json").write_text(json.dumps(given), encoding="utf-8")
        failed = self._process([str(python), "-m", self._module(method), str(folder)], method)
        found = _read(folder / "outcome.json") or {"failed": failed or "ended without an outcome"}
        failed = found.get("failed", failed)
        if failed is not None:
            return Run(cell, failed=failed)
        labels = np.load(folder / "labels.npy", allow_pickle=False)
        costs = ("fit_seconds", "label_seconds", "processor_seconds", "megabytes", "note")
        times = {name: found[name] for name in costs}
        return Run(cell, **score(labels, task.y_test, asked), **times)

    def _module(self, method: Method) -> str:
        if method.module is None:
            return "pcqr.bench.worker"
        outside = Path(__file__).parent / "outside"
        shutil.copytree(outside, self.folder / CARRIED, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__*__"))
        (self.folder / CARRIED / "__init__.py").touch()
        return f"{CARRIED}.{method.module}"

    def _process(self, line: Sequence[str], method: Method) -> str | None:
        """Why it did not come to its end; None: it did."""
        paths = [str(self.folder)]
        if method.environment is None:
            own = [str(Path.cwd())] if method.family == "own" else []
            paths = [str(Path(pcqr.__file__).parents[1]), *own, *filter(None, [os.environ.get("PYTHONPATH")])]
        process = subprocess.Popen(  # noqa: S603
            line,
            cwd=None if method.environment is None else self.folder,
            env=os.environ
            | dict.fromkeys(ONE_THREAD, "1")
            | {"PYTHONPATH": os.pathsep.join(paths), STARTED_BY: str(os.getpid())},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=None if self.show_errors else subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            status = process.wait(timeout=self.time_limit)
        except subprocess.TimeoutExpired:
            return f"stopped after {self.time_limit:g} s"
        finally:
            _end(process)
        return None if status == 0 else f"ended with status {status}"


def _put_raw(place: Path, raw: Raw) -> dict[str, list[str] | None]:
    """Write cells by columns, and texts by their places in the list of texts. Return the lists, None for numbers."""
    texts: dict[str, list[str] | None] = {}
    arrays: dict[str, Any] = {}
    for number, (name, private) in enumerate(raw.X.items()):
        both = np.concatenate([private, raw.X_test[name]])
        texts[name] = None
        if both.dtype == object:
            texts[name] = known = sorted({text for text in both if text is not None})
            places = {text: position for position, text in enumerate(known)}
            both = np.array([places.get(text, len(known)) for text in both], dtype=np.int32)
        arrays[f"X_{number}"], arrays[f"X_test_{number}"] = np.split(both, [len(private)])
    np.savez(place / "raw.npz", **arrays)
    return texts


def _end(process: subprocess.Popen[bytes]) -> None:
    """The process and all that it has started, also where it has ended itself and left others behind.

    They are one group, whose number is the process's and is given to no other while one of the group is there.
    """
    with suppress(ProcessLookupError, PermissionError):  # none is left; macOS says the latter of one that has ended
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def score(labels: Any, truth: LabelArray, asked: Any) -> dict[str, Any]:
    """Accuracy on all rows that were asked about, on those that got a label, and the score on the queries.

    In `accuracy` a row without a label counts as if it had the label that the method has given most often (label 0
    where it gave none): anyone who sees its answers can guess as well. In `score` it counts half.
    """
    given = labels[labels >= 0]
    guess = int(np.bincount(given).argmax()) if given.size else 0
    guessed = np.where(labels == UNANSWERED, guess, labels)
    about = labels != NOT_ASKED
    right = guessed == truth
    answered = labels >= 0
    half = np.where(labels == UNANSWERED, 0.5, right)
    return {
        "accuracy": float(right[about].mean()),
        "accuracy_answered": float(right[answered].mean()) if answered.any() else None,
        "score": float(half[asked].mean()),
        "answered": float(answered[about].mean()),
        "rows": int(about.sum()),
    }


def columns_of(schema: Schema) -> list[dict[str, Any]]:
    """The columns as `pcqr.bench.outside.task.Column` has them."""
    found, first = [], 0
    for column in schema.columns:
        low, high = column.limits or (None, None)
        kind = "codes" if column.kind == "categorical" else "number"
        width = column.width if kind == "codes" else 1
        found.append(_column(column.name, kind, first, width, low, high))
        if kind == "number" and column.width == 2:
            found.append(_column(f"{column.name} is missing", "codes", first + 1, 1, 0.0, 1.0))
        first += column.width
    return found


def _column(name: str, kind: str, first: int, width: int, low: float | None, high: float | None) -> dict[str, Any]:
    size = 0 if kind == "number" else max(2, width)
    bounds = (0.0, float(size - 1)) if kind == "codes" else (low, high)
    return {"name": name, "kind": kind, "first": first, "width": width, "size": size} | dict(
        zip(("low", "high"), bounds, strict=True)
    )


def _read(path: Path) -> dict[str, Any]:
    with suppress(OSError, ValueError):
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content
    return {}
