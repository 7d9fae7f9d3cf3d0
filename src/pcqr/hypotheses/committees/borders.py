"""Teachers that each look at one column and change their label at a few places of it: votes by binary search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.errors import DataError
from pcqr.hypotheses.committees.base import Arrays, Committee, IntArray, TeachesInBulk
from pcqr.records.arrays import Labels, Points

FloatArray = NDArray[np.float64]


class Borders(Committee):
    """For each column in use its sorted borders, where some teacher changes its label, with running sums of votes.

    The votes for 1 at x are `base` plus, for each column, the sum of all changes at borders below x[column]. One kind
    for thresholds, intervals, unions of intervals and stumps. O(log k) a column and query.
    """

    kind = "borders"

    def __init__(
        self, size: int, base: int, columns: IntArray, starts: IntArray, borders: FloatArray, ones: IntArray
    ) -> None:
        self.size, self.base = size, base
        self.columns, self.starts, self.borders, self.ones = columns, starts, borders, ones
        """Column `columns[c]` has the borders from `starts[c]` to `starts[c + 1]`; `ones`: all changes up to there."""

    @classmethod
    def of(cls, columns: IntArray, switches: FloatArray) -> Borders:
        """Teacher j says 0 far to the left in column `columns[j]`, and the other label after each of `switches[j]`.

        A switch at −∞ lies before every x, one at +∞ after: the first makes a teacher begin with 1, the second is none.
        """
        inside = np.isfinite(switches)
        change = np.where(np.arange(switches.shape[1]) % 2, -1, 1) * np.ones_like(switches, dtype=np.int64)
        column, place = np.broadcast_to(columns[:, None], switches.shape)[inside], switches[inside]
        order = np.lexsort((place, column))
        column, place, change_at = column[order], place[order], change[inside][order]
        first = _first_of_runs(column)
        new = np.flatnonzero(first | _first_of_runs(place))
        ones = np.cumsum(change_at)[np.append(new[1:], place.size) - 1] if new.size else change_at
        starts = np.append(np.flatnonzero(first[new]), new.size)
        before = np.append(0, ones)[starts[:-1]]
        ones = ones - np.repeat(before, np.diff(starts))
        base = int(change[switches == -np.inf].sum())
        return cls(switches.shape[0], base, column[new[starts[:-1]]], starts, place[new], ones)

    def counts(self, X: Points) -> IntArray:
        return _counts(
            np.ascontiguousarray(X), self.size, self.base, self.columns, self.starts, self.borders, self.ones
        )

    def arrays(self) -> Arrays:
        return {
            "kind": np.array(self.kind),
            "size": np.array(self.size),
            "base": np.array(self.base),
            "columns": self.columns,
            "starts": self.starts,
            "borders": self.borders,
            "ones": self.ones,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Borders:
        cls.checked(
            arrays, size=("i", 0), base=("i", 0), columns=("i", 1), starts=("i", 1), borders=("f", 1), ones=("i", 1)
        )
        found = cls(
            int(arrays["size"]),
            int(arrays["base"]),
            arrays["columns"].astype(np.int64),
            arrays["starts"].astype(np.int64),
            arrays["borders"].astype(np.float64),
            arrays["ones"].astype(np.int64),
        )
        if not found._is_possible():
            raise DataError("arrays", "those of a committee that can exist", "others")
        return found

    def _is_possible(self) -> bool:
        """Borders increase in each column, and whatever x is, from 0 to k teachers vote for 1."""
        counts, sizes = self.columns.size, np.diff(self.starts)
        if self.starts.size != counts + 1 or self.borders.size != self.ones.size:
            return False
        if self.starts[0] != 0 or self.starts[-1] != self.ones.size or (sizes < 1).any():
            return False
        if (self.columns < 0).any() or (np.diff(self.columns) < 1).any() or not np.isfinite(self.borders).all():
            return False
        rises = np.diff(self.borders) > 0
        rises[self.starts[1:-1] - 1] = True
        if not rises.all():
            return False
        least, most = self.base, self.base
        for start, end in zip(self.starts[:-1].tolist(), self.starts[1:].tolist(), strict=True):
            least += min(0, int(self.ones[start:end].min()))
            most += max(0, int(self.ones[start:end].max()))
        return least >= 0 and most <= self.size


class TeachesBorders(TeachesInBulk):
    """A class whose teachers switch their label at a few places of one column.

    `learn_parts` gives `switches`, one row a teacher as in `Borders.of`, and `columns`, unless all look at the first.
    """

    def learned(self, X: Points, y: Labels) -> list[float]:
        """The switches of a teacher that learns from all rows."""
        switches: list[float] = self.learn_parts(X, y, np.array([y.size]))["switches"][0].tolist()
        return switches

    def committee(self, teachers: Arrays, features: int) -> Borders:  # noqa: ARG002
        switches = teachers["switches"]
        return Borders.of(teachers.get("columns", np.zeros(switches.shape[0], dtype=np.int64)), switches)


def _first_of_runs(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.append(True, values[1:] != values[:-1])[: values.size]


@compiled
def _counts(
    X: Points, size: int, base: int, columns: IntArray, starts: IntArray, borders: FloatArray, ones: IntArray
) -> IntArray:
    """The votes for 0 and for 1 in each row. A teacher switches at c where x > c: as many borders are passed."""
    counts = np.empty((X.shape[0], 2), np.int64)
    for row in range(X.shape[0]):
        votes = base
        for c in range(columns.size):
            x = X[row, columns[c]]
            low, high = starts[c], starts[c + 1]
            while low < high:
                middle = (low + high) // 2
                if borders[middle] < x:
                    low = middle + 1
                else:
                    high = middle
            if low > starts[c]:
                votes += ones[low - 1]
        counts[row, 0], counts[row, 1] = size - votes, votes
    return counts
