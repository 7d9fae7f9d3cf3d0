"""What was measured on real tables: how far each way of answering falls behind boosting without privacy.

The figures come from `benchmarks/results` (`python -m benchmarks.advice` measures and makes measured.json). A cell is
one table at one (n, ε). Cells are looked up by n·ε, which decides most of what a private learner can do: those within a
factor of `NEAR` of what is asked, on whatever tables there are, else the nearest. They are no bounds: another table
may do better or worse.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

NEAR = 2.0
"""Cells whose n·ε is within this factor of the one that is asked for count as near it."""

FAR = 10.0
"""Cells whose n·ε is at least this many times the one that is asked for say nothing about it."""


@dataclass(frozen=True)
class Cell:
    """One way of answering, on one table at one (n, ε): means over runs. All figures but n and ε are shares.

    `loss`: accuracy of boosting without privacy minus that of the answers, where a query without an answer counts as a
    coin. `gain`: accuracy minus that of the more common label. `unanswered`: the share of such queries.
    """

    way: str
    table: str
    records: int
    epsilon: float
    loss: float
    gain: float
    unanswered: float

    @property
    def strength(self) -> float:
        """n·ε."""
        return self.records * self.epsilon

    @property
    def place(self) -> tuple[str, int, float]:
        """Where it was measured: the table, n and ε."""
        return self.table, self.records, self.epsilon


@dataclass(frozen=True)
class Measured:
    """The least and the most of each figure over the cells near n·ε; `tables` are their names.

    `extrapolated`: nothing was measured near, and these are the nearest cells.
    """

    cells: tuple[Cell, ...]
    extrapolated: bool

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(sorted({cell.table for cell in self.cells}))

    @property
    def loss(self) -> tuple[float, float]:
        return _ends([cell.loss for cell in self.cells])

    @property
    def gain(self) -> tuple[float, float]:
        return _ends([cell.gain for cell in self.cells])

    @property
    def unanswered(self) -> tuple[float, float]:
        return _ends([cell.unanswered for cell in self.cells])

    @property
    def strength(self) -> tuple[float, float]:
        return _ends([cell.strength for cell in self.cells])

    @property
    def mean_loss(self) -> float:
        return math.fsum(cell.loss for cell in self.cells) / len(self.cells)

    def where(self, other: Measured) -> Measured | None:
        """The cells on tables and at sizes where `other` was measured, too; None where there are none."""
        theirs = {cell.place for cell in other.cells}
        both = tuple(cell for cell in self.cells if cell.place in theirs)
        return replace(self, cells=both) if both else None

    def beside(self, other: Measured) -> tuple[float, float] | None:
        """(mean loss, that of `other`) over the cells where both were measured; None where there are none."""
        ours, theirs = self.where(other), other.where(self)
        return None if ours is None or theirs is None else (ours.mean_loss, theirs.mean_loss)


def measured_near(way: str, strength: float) -> Measured | None:
    """What was measured of `way` near n·ε = `strength`, or next to it where nothing was.

    None where it never was, or at `FAR` times as much alone.
    """
    known = [cell for cell in cells() if cell.way == way and cell.strength < FAR * strength]
    if not known:
        return None
    near = [cell for cell in known if strength / NEAR <= cell.strength <= strength * NEAR]
    if near:
        return Measured(tuple(near), extrapolated=False)
    nearest = min((cell.strength for cell in known), key=lambda other: abs(math.log(other / strength)))
    beside = tuple(cell for cell in known if nearest / NEAR <= cell.strength <= nearest * NEAR)
    return Measured(beside, extrapolated=True)


@cache
def cells() -> tuple[Cell, ...]:
    """All that was measured."""
    written = json.loads(files("pcqr.planning.questions").joinpath("measured.json").read_text(encoding="utf-8"))
    return tuple(
        Cell(way, cell["table"], cell["records"], cell["epsilon"], loss, gain, unanswered)
        for cell in written["cells"]
        for way, (loss, gain, unanswered) in cell["ways"].items()
    )


def queries_measured() -> int:
    """m, for the ways that answer by votes."""
    written = json.loads(files("pcqr.planning.questions").joinpath("measured.json").read_text(encoding="utf-8"))
    return int(written["queries"])


def _ends(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)
