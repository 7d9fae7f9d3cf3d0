"""Teachers that each look at one column and change their label at a few places of it: votes by binary search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.errors import DataError
from pcqr.hypotheses.committees.base import Arrays, Committee, IntArray, TeachesInBulk, of_width
from pcqr.records.arrays import Labels, Points

FloatArray = NDArray[np.float64]


class Borders(Committee):
    """For each column in use its sorted borders, where some teacher changes its label, with running sums of votes.

    The votes for 1 at x are `base` plus, for each column, the sum of all changes at borders below x[column]. One kind
    for thresholds, intervals, unions of intervals and stumps. O(log k) a column and query.
    """

    kind = "borders"

    def __init__(
        self,
        size: int,
        features: int,
        base: int,
        columns: IntArray,
        starts: IntArray,
        borders: FloatArray,
        ones: IntArray,
    ) -> None:
        self.size, self.features, self.base = size, features, base
        self.columns, self.starts, self.borders, self.ones = columns, starts, borders, ones
        """Column `columns[c]` has the borders from `starts[c]` to `starts[c + 1]`; `ones`: all changes up to there."""

    @classmethod
    def of(cls, columns: IntArray, switches: FloatArray, features: int) -> Borders:
        """Teacher j says 0 far to the left in column `columns[j]`, and the other label after each of `switches[j]`.

        A switch at −∞ lies before every x, one at +∞ after: the first makes a teacher begin with 1, the second is none.
        """
        change = np.broadcast_to(np.where(np.arange(switches.shape[1]) % 2, -1, 1), switches.shape)
        base = int(change[switches == -np.inf].sum())
        inside = np.isfinite(switches)
        column, border = np.broadcast_to(columns[:, None], switches.shape)[inside], switches[inside]
        order = np.lexsort((border, column))
        column, border, sums = column[order], border[order], np.cumsum(change[inside][order])
        is_last = np.ones(border.size, dtype=np.bool_)  # of those at one border
        is_last[:-1] = (column[1:] != column[:-1]) | (border[1:] != border[:-1])
        column, border, sums = column[is_last], border[is_last], sums[is_last]
        used, starts = np.unique(column, return_index=True)
        ones = sums - np.repeat(np.append(0, sums)[starts], np.diff(starts, append=border.size))
        return cls(switches.shape[0], features, base, used, np.append(starts, border.size), border, ones)

    def counts(self, X: Points) -> IntArray:
        points = of_width(X, self.features)
        return _counts(points, self.size, self.base, self.columns, self.starts, self.borders, self.ones)

    def arrays(self) -> Arrays:
        return {
            "kind": np.array(self.kind),
            "size": np.array(self.size),
            "features": np.array(self.features),
            "base": np.array(self.base),
            "columns": self.columns,
            "starts": self.starts,
            "borders": self.borders,
            "ones": self.ones,
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Borders:
        numbers, vectors = ("size", "features", "base"), ("columns", "starts", "ones")
        cls.checked(arrays, **dict.fromkeys(numbers, ("i", 0)), **dict.fromkeys(vectors, ("i", 1)), borders=("f", 1))
        size, features, base = (int(arrays[name]) for name in numbers)
        columns, starts, ones = (arrays[name].astype(np.int64) for name in vectors)
        found = cls(size, features, base, columns, starts, arrays["borders"].astype(np.float64), ones)
        if not (found._is_in_order() and found._is_possible()):
            raise DataError("arrays", "those of a committee that can exist", "others")
        return found

    def _is_in_order(self) -> bool:
        """Columns increase, each has borders, and its borders increase."""
        columns, starts, borders = self.columns, self.starts, self.borders
        if starts.size != columns.size + 1 or starts[0] != 0 or not starts[-1] == borders.size == self.ones.size:
            return False
        # Neighbours are compared, not subtracted: differences overflow.
        if not ((starts[1:] > starts[:-1]).all() and (columns[1:] > columns[:-1]).all() and np.isfinite(borders).all()):
            return False
        rises = borders[1:] > borders[:-1]
        rises[starts[1:-1] - 1] = True
        return bool(rises.all() and (columns >= 0).all() and (columns < self.features).all())

    def _is_possible(self) -> bool:
        """Whatever x is, from 0 to k teachers vote for 1, k ≥ 1: the columns of x are free."""
        lows, highs = (each.reduceat(self.ones, self.starts[:-1]) for each in (np.minimum, np.maximum))
        least = self.base + sum(min(0, low) for low in lows.tolist())
        most = self.base + sum(max(0, high) for high in highs.tolist())
        return self.size >= 1 and least >= 0 and most <= self.size


class TeachesBorders(TeachesInBulk):
    """A class whose teachers switch their label at a few places of one column.

    `learn_parts` gives `switches`, one row a teacher as in `Borders.of`, and `columns`, unless all look at the first.
    """

    def learned(self, X: Points, y: Labels) -> list[float]:
        """The switches of a teacher that learns from all rows."""
        switches: list[float] = self.learn_parts(X, y, np.array([y.size]))["switches"][0].tolist()
        return switches

    def committee(self, teachers: Arrays, features: int) -> Borders:
        switches = teachers["switches"]
        columns = teachers.get("columns", np.zeros(switches.shape[0], dtype=np.int64))
        return Borders.of(columns, switches, features)


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
