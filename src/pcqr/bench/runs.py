"""What was measured: one file a run, written when it ends, so that an interrupted comparison goes on where it was."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pcqr.errors import DataError
from pcqr.files import write_whole

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
        return _read(path) if path.exists() else None

    def store(self, run: Run) -> None:
        write_whole(self._folder / run.cell.file, json.dumps({"format": FORMAT} | asdict(run), indent=1) + "\n")

    def all(self) -> list[Run]:
        return sorted((_read(path) for path in self._folder.glob("*.json")), key=lambda run: _order(run.cell))


def write_results(path: Path, runs: Iterable[Run]) -> None:
    """All runs in one file."""
    write_whole(path, json.dumps({"format": FORMAT, "runs": [asdict(run) for run in runs]}, indent=1) + "\n")


def read_results(path: Path) -> list[Run]:
    """What `write_results` wrote."""
    return [Run.read(fields) for fields in json.loads(path.read_text(encoding="utf-8"))["runs"]]


def _read(path: Path) -> Run:
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        if fields.pop("format") != FORMAT:
            raise ValueError
        return Run.read(fields)
    except (ValueError, KeyError, TypeError):
        raise DataError(str(path), "a run that this version of pcqr has stored", "another file") from None


def _order(cell: Cell) -> tuple[Any, ...]:
    return cell.table, cell.method, cell.epsilon, cell.seed, cell.file
