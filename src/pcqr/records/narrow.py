"""Records in one array of short numbers in memory: float32 and the like, as encoders of images and text make them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.records.arrays import Labels, Points, as_labels
from pcqr.records.in_memory import InMemory
from pcqr.records.source import Labelling, Positions, Records

_MOST_BYTES = 4


def is_narrow(kind: np.dtype[Any]) -> bool:
    """Are the numbers of this type shorter than float64, which then has each of them exactly?"""
    return kind.kind in "biuf" and kind.itemsize <= _MOST_BYTES


class Narrow(Records):
    """The rows of `X` with the labels `y`, read where they lie; float64 is made of them block by block.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Points as a table of finite numbers of at most 32 bits.
    y : array-like of shape (n,)
        Their labels, integers 0, …, C−1.
    labels : int, default 2
        C.

    Raises
    ------
    DataError
        When `X` is no table of finite numbers of such a type, or `y` has not one of the C labels for each row.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.records import Narrow
    >>> records = Narrow(np.array([[1.5, 5.0], [2.5, 5.0], [3.5, 4.0]], dtype=np.float32), [0, 1, 1])
    >>> records
    Narrow(3 records, 2 columns, 2 labels)
    >>> records.rows([2, 0]).gathered().X
    array([[3.5, 4. ],
           [1.5, 5. ]])
    """

    def __init__(self, X: NDArray[Any], y: Any, labels: int = 2) -> None:
        if not isinstance(X, np.ndarray) or not is_narrow(X.dtype):
            raise DataError("X", "an array of numbers of at most 32 bits", "something else")
        if X.ndim != 2 or 0 in X.shape:
            raise DataError("X", "a table with at least one row and one column", f"shape {X.shape}")
        found = as_labels(y, labels)
        if found.shape[0] != X.shape[0]:
            raise DataError("y", f"one label for each of the {X.shape[0]} rows of X", f"{found.shape[0]} labels")
        self._hold(X, found, labels)
        if not all(np.isfinite(X).all() for X, _ in self._cut(self.point_rows)):
            raise DataError("X", "finite numbers", "NaN or infinity")

    def blocks(self, rows: int) -> Iterator[tuple[Points, Labels]]:
        for X, y in self._cut(rows):
            yield _widened(X), y

    def rows(self, positions: Positions) -> Narrow:
        return self._with(self._X[positions], self._y[positions])

    def relabelled(self, labelling: Labelling) -> Narrow:
        found = np.concatenate([labelling.predict(X) for X, _ in self.blocks(self.point_rows)])
        return self._with(self._X, found)

    def kept(self) -> Narrow:
        return self._with(self._X.copy(), self._y.copy())

    def gathered(self) -> InMemory:
        return InMemory.of_checked(_widened(self._X), self._y, self.labels)

    def _cut(self, rows: int) -> Iterator[tuple[NDArray[Any], Labels]]:
        for start in range(0, self.size, rows):
            yield self._X[start : start + rows], self._y[start : start + rows]

    def _with(self, X: NDArray[Any], y: Labels) -> Narrow:
        """Checked already: what is made of checked records."""
        made = Narrow.__new__(Narrow)
        made._hold(X, y, self.labels)
        return made

    def _hold(self, X: NDArray[Any], y: Labels, labels: int) -> None:
        self._X, self._y, self.labels = X, y, labels
        self.size, self.width = X.shape


def _widened(X: NDArray[Any]) -> Points:
    """The same numbers in float64, −0 as 0."""
    points = np.array(X, dtype=np.float64, order="C")
    points += 0.0
    return points
