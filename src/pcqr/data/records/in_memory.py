"""Records in memory: one array, the columns of a table that a schema encodes, or an array of short numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.data.records.arrays import Labels, Points, as_labels, as_points
from pcqr.data.records.counting import Block
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.source import Labelling, Positions, Records
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.raw import RawColumn, RawTable, Texts
from pcqr.data.schema.table import CompactTable
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


# ---------------------------------------------------------------------------------------------------------------------
# Records in the columns of a table, encoded by a schema when they are asked for.


class Encoded(Records):
    """The rows of a table with the labels `y`; the encoded matrix is never there in one piece, unless it is gathered.

    Parameters
    ----------
    table : CompactTable
        The table, read by a schema: `schema.compact(table)`.
    y : array-like of shape (n,)
        The labels of its rows, integers 0, …, C−1.
    labels : int, default 2
        C.

    Raises
    ------
    DataError
        When the table has no row, or `y` has not one of the C labels for each of them.

    Examples
    --------
    >>> from pcqr import Schema
    >>> from pcqr.data.records import Encoded
    >>> from pcqr.data.schema import Column
    >>> schema = Schema((Column("age", bounds=(18, 90)), Column("job", "categorical", ["nurse", "cook"])))
    >>> records = Encoded(schema.compact({"age": [25, 61, 44], "job": ["cook", "nurse", "cook"]}), [0, 1, 1])
    >>> records
    Encoded(3 records, 4 columns, 2 labels)
    >>> records.rows([2, 0]).gathered().X
    array([[44.,  0.,  1.,  0.],
           [25.,  0.,  1.,  0.]])
    """

    def __init__(self, table: CompactTable, y: Any, labels: int = 2) -> None:
        found = as_labels(y, labels)
        if len(table) == 0:
            raise DataError("X", "a table with at least one row", "none")
        if found.shape[0] != len(table):
            raise DataError("y", f"one label for each of the {len(table)} rows of X", f"{found.shape[0]} labels")
        self._hold(table, found, labels)

    @classmethod
    def of_checked(cls, table: CompactTable, y: Labels, labels: int) -> Encoded:
        """What is made of checked records. It is not judged again: a refusal now would depend on what they say."""
        made = cls.__new__(cls)
        made._hold(table, y, labels)
        return made

    def with_table(self, table: CompactTable) -> Encoded:
        """Return the records of the same rows, read by another schema."""
        return Encoded.of_checked(table, self._y, self.labels)

    @property
    def columns(self) -> tuple[Column, ...]:
        """What the table's columns are declared to be."""
        return self._table.columns

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The entries of every column, and the labels. **Private.**"""
        entries = {f"column {place}": entries for place, entries in enumerate(self._table.entries)}
        return entries | {"labels": self._y}

    def blocks(self, rows: int) -> Iterator[tuple[Points, Labels]]:
        for table, y in self._cut(rows):
            yield table.encoded(), y

    def answers(self, predicates: Sequence[Predicate], rows: int) -> Iterator[Block]:
        asked: dict[int, list[int]] = {}
        for place, predicate in enumerate(predicates):
            asked.setdefault(predicate.feature, []).append(place)
        for table, y in self._cut(rows):
            holds = np.empty((len(table), len(predicates)), dtype=np.bool_)
            for feature, places in asked.items():
                values = table.feature(feature)
                for place in places:
                    holds[:, place] = values > predicates[place].cut
            yield holds, y

    def rows(self, positions: Positions) -> Encoded:
        return self._with(self._table.rows(positions), self._y[positions])

    def relabelled(self, labelling: Labelling) -> Encoded:
        found = np.concatenate([labelling.predict(X) for X, _ in self.blocks(self.point_rows)])
        return self._with(self._table, found)

    def kept(self) -> Encoded:
        return self  # the labels are a copy, and nobody can write to a compact table

    def gathered(self) -> InMemory:
        return InMemory.of_checked(self._table.encoded(), self._y.copy(), self.labels)

    def _cut(self, rows: int) -> Iterator[tuple[CompactTable, Labels]]:
        for start in range(0, self.size, rows):
            block = slice(start, start + rows)
            yield self._table.rows(block), self._y[block]

    def _with(self, table: CompactTable, y: Labels) -> Encoded:
        return self.of_checked(table, y, self.labels)

    def _hold(self, table: CompactTable, y: Labels, labels: int) -> None:
        self._table, self._y, self.labels = table, y, labels
        self.size, self.width = table.shape


# ---------------------------------------------------------------------------------------------------------------------
# Records in one array of short numbers in memory: float32 and the like, as encoders of images and text make them.


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
    >>> from pcqr.data.records import Narrow
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


# ---------------------------------------------------------------------------------------------------------------------
# Records as arrays for a file, and back. All of it is private.


def kept_records(records: Records) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """What `restored_records` needs: the declarations, which JSON holds, and the arrays. **Private.**"""
    if isinstance(records, Encoded):
        return {"labels": records.labels} | Schema(records.columns).to_dict(), records.arrays()
    held = records.gathered()
    return {"labels": records.labels}, {"points": held.X, "labels": held.y}


def restored_records(declared: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Records:
    """The records that `kept_records` described. Raises `DataError`, which quotes nothing, for anything else."""
    try:
        if "columns" not in declared:
            return InMemory.of_checked(arrays["points"], arrays["labels"].astype(np.int8), declared["labels"])
        columns = Schema.from_dict({"columns": declared["columns"]}).columns
        table = CompactTable(columns, tuple(arrays[f"column {place}"] for place in range(len(columns))))
        return Encoded(table, arrays["labels"], declared["labels"])
    except KeyError:
        raise DataError("arrays", "those of records", "others") from None
