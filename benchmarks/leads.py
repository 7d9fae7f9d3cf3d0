"""How far one method is ahead of another, with the standard error of that, and what a table of such leads says."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.accuracy import mean_and_spread
from benchmarks.dp_sgd_training import Counts

DELTA = 1e-6
EPSILONS = (0.03, 0.1, 0.3, 1.0, 4.0)

Key = tuple[str, float]
"""A table and ε."""


def read_counts(path: Path) -> dict[Key, Counts]:
    """By table and ε: for each test row, in how many of the runs it was right."""
    if not path.exists():
        return {}
    with np.load(path) as content:
        return {(name.split(" ")[0], float(name.split(" ")[1])): content[name] for name in content.files}


def write_counts(path: Path, counts: Mapping[Key, Counts]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    content: dict[str, Any] = {f"{table} {epsilon:g}": counts[table, epsilon] for table, epsilon in sorted(counts)}
    np.savez_compressed(path, **content)


@dataclass(frozen=True)
class Runs:
    """The accuracies of some runs, and for each test row how many of them had it right (None: not on file)."""

    accuracy: Sequence[float]
    right: Counts | None

    @property
    def count(self) -> int:
        return len(self.accuracy)

    @property
    def mean(self) -> float:
        """Per cent."""
        return 100.0 * mean_and_spread(self.accuracy)[0]

    @property
    def error(self) -> float:
        """The standard error of the mean, per cent."""
        return 100.0 * mean_and_spread(self.accuracy)[1] / math.sqrt(self.count)


@dataclass(frozen=True)
class Peer:
    """Another method, by table and ε."""

    name: str
    runs: Mapping[Key, Runs]


@dataclass(frozen=True)
class Lead:
    """Points, the standard error that runs make of them, and that of runs and test rows together."""

    points: float
    of_runs: float
    of_all: float | None

    @property
    def error(self) -> float:
        return self.of_runs if self.of_all is None else self.of_all

    @property
    def is_behind(self) -> bool:
        """By more than one standard error."""
        return self.points < -self.error

    def __str__(self) -> str:
        brackets = "" if self.of_all is None else f" (±{self.of_all:.2f})"
        return f"{self.points:+.2f} ±{self.of_runs:.2f}{brackets}"


def lead(ours: Runs, theirs: Runs) -> Lead:
    of_runs, of_rows = math.hypot(ours.error, theirs.error), paired_error(ours, theirs)
    return Lead(ours.mean - theirs.mean, of_runs, None if of_rows is None else math.hypot(of_runs, of_rows))


def paired_error(ours: Runs, theirs: Runs) -> float | None:
    """The standard error of the difference of two means that comes from the choice of the test rows, per cent."""
    if ours.right is None or theirs.right is None:
        return None
    difference = ours.right / ours.count - theirs.right / theirs.count
    return 100.0 * float(difference.std(ddof=1)) / math.sqrt(difference.size)


def lines(ours: Mapping[Key, Runs], peers: Sequence[Peer]) -> list[str]:
    """One line on each peer."""
    found = []
    for peer in peers:
        leads = {key: lead(runs, peer.runs[key]) for key, runs in ours.items() if key in peer.runs}
        behind = [
            f"{name} at {epsilon:g} ({-each.points:.2f}, {-each.points / each.error:.1f} of them)"
            for (name, epsilon), each in leads.items()
            if each.is_behind
        ]
        ahead = sum(each.points > each.error for each in leads.values())
        found.append(
            f"- Beside {peer.name}, by more than one standard error: ahead in {ahead} of {len(leads)} cells, behind in "
            f"{len(behind)}{_list(behind)}."
        )
    return found


def _list(cells: Sequence[str]) -> str:
    return f", by so many points: {', '.join(cells)}" if cells else ""
