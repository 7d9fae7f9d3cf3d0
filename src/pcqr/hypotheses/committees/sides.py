"""A committee of half-planes, as directed lines; some teachers may say the same everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.hypotheses.committees.base import Arrays, Committee, IntArray, of_width
from pcqr.hypotheses.orientation import count_left
from pcqr.records.arrays import Labels, Points

FloatArray = NDArray[np.float64]

LINE = -1
"""In place of a label, for a teacher that is a directed line."""


class Sides(Committee):
    """k half-planes. Exact for all finite points; O(k) a query.

    Parameters
    ----------
    lines : array of shape (k, 4)
        Row j is (x, y) of the tail and (x, y) of the head of teacher j's line (`Halfspace`).
    constants : array of shape (k,)
        The label of a teacher that says the same everywhere, whose line does not count; `LINE` for all others.
    """

    kind = "sides"

    def __init__(self, lines: FloatArray, constants: Labels) -> None:
        self.lines, self.constants, self.size = lines, constants, constants.size
        self._directed = np.ascontiguousarray(lines[constants == LINE])
        self._always = int((constants == 1).sum())

    def counts(self, X: Points) -> IntArray:
        ones = self._always + count_left(self._directed, of_width(X, 2))
        return np.column_stack((self.size - ones, ones))

    def arrays(self) -> Arrays:
        return {"kind": np.array(self.kind), "lines": self.lines, "constants": self.constants}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Sides:
        cls.checked(arrays, lines=("f", 2), constants=("i", 1))
        lines, constants = arrays["lines"], arrays["constants"]
        fits = (
            constants.size >= 1
            and lines.shape == (constants.size, 4)
            and bool(np.isfinite(lines).all() and np.isin(constants, (LINE, 0, 1)).all())
            and bool((lines[:, :2] != lines[:, 2:]).any(axis=1)[constants == LINE].all())
        )
        if not fits:
            raise DataError("arrays", "the lines of a committee of half-planes", "others")
        return cls(lines.astype(np.float64, "C"), constants.astype(np.int8))
