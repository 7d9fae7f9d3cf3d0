"""A committee of rectangles in the plane, as their edges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.errors import DataError
from pcqr.hypotheses.committees.base import Arrays, Committee, IntArray, of_width
from pcqr.records.arrays import Points

FloatArray = NDArray[np.float64]


class Boxes(Committee):
    """k rectangles: teacher j says 1 on left < x ≤ right, bottom < y ≤ top, in this order the row j of `edges`.

    An edge at ±∞ leaves that side open, or the rectangle empty. O(k) a query, whatever the edges are.
    """

    kind = "boxes"

    def __init__(self, edges: FloatArray) -> None:
        self.edges, self.size = edges, edges.shape[0]

    def counts(self, X: Points) -> IntArray:
        return _counts(of_width(X, 2), self.edges)

    def arrays(self) -> Arrays:
        return {"kind": np.array(self.kind), "edges": self.edges}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Boxes:
        cls.checked(arrays, edges=("f", 2))
        edges = arrays["edges"]
        if edges.shape[0] == 0 or edges.shape[1] != 4 or np.isnan(edges).any():
            raise DataError("arrays", "the edges of a committee of rectangles", "others")
        return cls(edges.astype(np.float64, "C"))


@compiled
def _counts(X: Points, edges: FloatArray) -> IntArray:
    """For each row, how many rectangles it lies outside of, and how many inside of."""
    counts = np.empty((X.shape[0], 2), np.int64)
    for i in range(X.shape[0]):
        x, y, inside = X[i, 0], X[i, 1], 0
        for t in range(edges.shape[0]):
            inside += (edges[t, 0] < x) & (x <= edges[t, 1]) & (edges[t, 2] < y) & (y <= edges[t, 3])
        counts[i, 0], counts[i, 1] = edges.shape[0] - inside, inside
    return counts
