"""The column of a table that holds the labels, whose names are public: each label read by itself (proofs/table.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.data.schema.cells import Cells, mapped, read, text_of
from pcqr.data.schema.column import Column, Entries
from pcqr.errors import DataError


@dataclass(frozen=True)
class LabelColumn:
    """The column `name`, with the declared `names` of the labels; None: they are 0 and 1.

    Names that were not declared are never read off the records: they would be published without being paid for.
    """

    name: str
    names: tuple[Any, ...] | None = None

    @property
    def count(self) -> int:
        """C."""
        return 2 if self.names is None else len(self.names)

    @cached_property
    def column(self) -> Column:
        """The column as cells are read by it."""
        return Column(self.name) if self.names is None else Column(self.name, "categorical", self.names)

    def places(self, read: Callable[[Column], Entries]) -> NDArray[np.int8] | None:
        """0, 1, … for each cell, which `read` makes entries of; None where a cell is no label."""
        try:
            entries = read(self.column)
        except DataError:
            return None
        is_label = np.isin(entries, (0.0, 1.0)) if self.names is None else entries < len(self.names)
        return entries.astype(np.int8) if is_label.all() else None


def places_among(names: Iterable[Any], labels: Cells) -> NDArray[np.int64]:
    """Return the place of each of the `labels` among `names`, −1 for none of them. No error quotes a label."""
    place = {text_of(read(name)): place for place, name in enumerate(names)}
    try:
        return np.array(mapped(labels, lambda reading: place.get(text_of(reading), -1)), dtype=np.int64)
    except TypeError:
        raise DataError("y", "numbers, truth values or texts", "labels of another type") from None


# ---------------------------------------------------------------------------------------------------------------------
# How many rows that are called public are rows of the private table?
#
# What is found here is a private statistic. It is for the data holder alone, before anything is drawn: to refuse, or to
# warn on a terminal. It must never reach an asker, a file, or an error of `answer` and `predict`.
#
# Rows are compared bit by bit after encoding. Near-copies cannot be seen: rounded values, a column shuffled, added or
# left out, rows made from private ones by a model.


_MIX = np.uint64(0x9E3779B97F4A7C15)  # odd, with well-spread bits: 2⁶⁴ over the golden ratio


def rows_in(shown: NDArray[np.float64], private: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which rows of `shown` equal some row of `private`, bit by bit, −0 taken as 0.

    Both are encoded tables of one width. Hashes find the candidates, the rows themselves decide; the time grows with
    the cells of both tables, plus a sort of the hashes.
    """
    seen, kept = _hashes(shown), _hashes(private)
    found = np.isin(seen, kept)
    if found.any():
        rows = {row.tobytes() for row in _plain(private[np.isin(kept, seen[found])])}
        found[found] = [row.tobytes() in rows for row in _plain(shown[found])]
    return found


def is_mostly_private(coinciding: int, shown: NDArray[np.float64]) -> bool:
    """Are `coinciding` rows more than half of `shown`? Then they are no public rows."""
    return 2 * coinciding > len(shown)


def mixed(columns: Iterable[NDArray[np.uint64]]) -> NDArray[np.uint64]:
    """One hash for each row, a column at a time. Shifts come before products: small whole numbers as floats have zeros
    in all their low bits, and a product alone would keep them there."""
    hashes: NDArray[np.uint64] | None = None
    for column in columns:
        hashes = np.zeros(column.size, dtype=np.uint64) if hashes is None else hashes
        hashes ^= column
        hashes ^= hashes >> np.uint64(32)
        hashes *= _MIX
    return np.empty(0, dtype=np.uint64) if hashes is None else hashes


def _hashes(table: NDArray[np.float64]) -> NDArray[np.uint64]:
    return mixed(_plain(column).view(np.uint64) for column in table.T)


def _plain(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Contiguous, with one zero: −0 + 0 = 0, and nothing else changes."""
    return np.ascontiguousarray(values, dtype=np.float64) + 0.0
