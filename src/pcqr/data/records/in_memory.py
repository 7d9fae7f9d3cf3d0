"""Records in one array in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pcqr.data.records.arrays import Labels, Points, as_labels, as_points
from pcqr.data.records.source import Labelling, Positions, Records
from pcqr.data.schema.raw import RawColumn, RawTable, Texts
from pcqr.errors import DataError


class InMemory(Records):
    """The rows of `X` with the labels `y`, read where they lie.

    Parameters
    ----------
    X : array-like of shape (n, p)
        Points as a table of finite numbers. A vector is one column.
    y : array-like of shape (n,)
        Their labels, integers 0, …, C−1.
    labels : int, default 2
        C.

    Raises
    ------
    DataError
        When `X` is no table of finite numbers, or `y` has not one of the C labels for each row.

    Examples
    --------
    >>> from pcqr.data.records import InMemory
    >>> records = InMemory([[1.0, 5.0], [2.0, 5.0], [3.0, 4.0]], [0, 1, 1])
    >>> records
    InMemory(3 records, 2 columns, 2 labels)
    >>> records.label_counts()
    array([1, 2])
    >>> records.rows([2, 0]).X
    array([[3., 4.],
           [1., 5.]])
    """

    X: Points
    y: Labels

    def __init__(self, X: ArrayLike, y: Any, labels: int = 2) -> None:
        points, found = as_points(X), as_labels(y, labels)
        if found.shape[0] != points.shape[0]:
            raise DataError("y", f"one label for each of the {points.shape[0]} rows of X", f"{found.shape[0]} labels")
        self._hold(points, found, labels)

    @classmethod
    def of_checked(cls, X: Points, y: Labels, labels: int) -> InMemory:
        """What is made of checked records. It is not judged again: a refusal now would depend on what they say."""
        made = cls.__new__(cls)
        made._hold(X, y, labels)
        return made

    def blocks(self, rows: int) -> Iterator[tuple[Points, Labels]]:
        for start in range(0, self.size, rows):
            yield self.X[start : start + rows], self.y[start : start + rows]

    def rows(self, positions: Positions) -> InMemory:
        return self.of_checked(self.X[positions], self.y[positions], self.labels)

    def relabelled(self, labelling: Labelling) -> InMemory:
        found = np.concatenate([labelling.predict(X) for X, _ in self.blocks(self.point_rows)])
        return self.of_checked(self.X, found, self.labels)

    def kept(self) -> InMemory:
        return self.of_checked(self.X.copy(), self.y.copy(), self.labels)

    def gathered(self) -> InMemory:
        return self

    def _hold(self, X: Points, y: Labels, labels: int) -> None:
        self.X, self.y, self.labels = X, y, labels
        self.size, self.width = X.shape


class RawRecords(RawTable):
    """The columns of records that were given without names: finite numbers, called x0, x1, … **Private.**"""

    def __init__(self, records: Records) -> None:
        self._records, self.size, self.assumptions = records, records.size, ()
        self.columns = plain_columns(records.width)

    def numbers(self, names: Sequence[str]) -> Iterator[Mapping[str, Points]]:
        places = {column.name: place for place, column in enumerate(self.columns)}
        for X, _ in self._records.blocks(self._records.point_rows):
            yield {name: X[:, places[name]].astype(np.float64) for name in names}

    def texts(self, names: Sequence[str]) -> Iterator[Mapping[str, Texts]]:  # noqa: ARG002
        return iter(())

    def check(self) -> None:
        """Do nothing: every number was read when the records were made."""


def plain_columns(count: int) -> tuple[RawColumn, ...]:
    """Return the columns of a table of numbers without names."""
    return tuple(RawColumn(f"x{place}", "numeric") for place in range(count))
