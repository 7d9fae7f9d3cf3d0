"""Queries as a request carries them: read and checked here, by the schema, before anything is sent.

Each cell goes as what it means (`pcqr.schema.reading`): a number with all its digits, a category as its text, a date in
ISO, null where it is missing. The server reads it as a local release would have read the cell itself.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.schema import Column, Schema
from pcqr.schema.cells import categories, cells
from pcqr.schema.label_column import places_among
from pcqr.schema.matrix import matrix_of, one_row
from pcqr.schema.reading import iso_date
from pcqr.schema.table import check_length, declared_columns

TABLE = "the table"
"""What errors call the queries."""


@dataclass(frozen=True)
class Rows:
    """Checked queries: the cells of each column by its name, or of each row where there is no schema."""

    count: int
    columns: Mapping[str, Sequence[Any]] | None
    points: NDArray[np.float64] | None

    def pieces(self, size: int) -> Iterator[Rows]:
        """The same in order, at most `size` rows at a time."""
        for start in range(0, self.count, size):
            part = slice(start, start + size)
            columns = None if self.columns is None else {name: cells[part] for name, cells in self.columns.items()}
            points = None if self.points is None else self.points[part]
            yield Rows(min(size, self.count - start), columns, points)

    @property
    def cells(self) -> int:
        """In a row."""
        return max(1, len(self.columns) if self.columns is not None else self.encoded(None).shape[1])

    @property
    def body(self) -> bytes:
        """Of a request."""
        if self.columns is not None:
            sent: dict[str, Any] = {"columns": {name: list(cells) for name, cells in self.columns.items()}}
        else:
            sent = {"x": self.encoded(None).tolist()}
        return json.dumps(sent, allow_nan=False).encode()

    def encoded(self, schema: Schema | None) -> NDArray[np.float64]:
        """The rows as the release tells them apart."""
        if schema is not None and self.columns is not None:
            return schema.encode(self.columns)
        return np.empty((0, 0)) if self.points is None else self.points


def rows_of(X: Any, schema: Schema | None, features: int) -> Rows:
    """`X` as the release takes it, or a `DataError` that names the column."""
    found = _numbered(X, features) if schema is None else _declared(X, schema)
    if found.count == 0:
        raise DataError("X", "at least one row", "none")
    return found


def row_of(x: Any, schema: Schema | None, features: int) -> Rows:
    """One query: a vector, a one-row table or, with a schema, a mapping of column to value."""
    x = one_row(x, None if schema is None else schema.names)
    found = rows_of(x, schema, features)
    if found.count != 1:
        raise DataError("x", "one query", f"{found.count} rows; use predict for many")
    return found


def truth_of(y: Any, classes: Sequence[Any], count: int) -> NDArray[np.int64]:
    """Return, for each of `count` rows, the place of its label `y` among `classes`, −1 for none of them."""
    if getattr(y, "ndim", 1) != 1 or not hasattr(y, "__len__") or len(y) != count:
        raise DataError("y", f"one label for each of the {count} rows", "something else")
    return places_among(classes, cells(y, "y"))


def _declared(X: Any, schema: Schema) -> Rows:
    columns: dict[str, Sequence[Any]] = {}
    first: NDArray[Any] | None = None
    for column, values in declared_columns(X, schema.columns, (), TABLE):
        entries = column.compact(values, table=TABLE)
        first = entries if first is None else first
        check_length(entries, first, TABLE)
        columns[column.name] = _sent(column, values, entries)
    return Rows(0 if first is None else first.shape[0], columns, None)


def _sent(column: Column, values: Any, entries: NDArray[Any]) -> Sequence[Any]:
    """The cells of a column as JSON has them."""
    if column.kind == "categorical":
        return categories(cells(values))
    found = [None if number != number else number for number in entries.tolist()]  # noqa: PLR0124 - NaN
    return found if column.kind == "numeric" else [None if day is None else iso_date(int(day)) for day in found]


def _numbered(X: Any, features: int) -> Rows:
    points = _matrix(X)
    if points.shape[1] != features:
        raise DataError("X", f"a table with {features} columns", f"{points.shape[1]} columns")
    if not np.isfinite(points).all():
        raise DataError("X", "finite numbers", "NaN or infinity")
    return Rows(points.shape[0], None, points)


def _matrix(X: Any) -> NDArray[np.float64]:
    try:
        return matrix_of(X).astype(np.float64)
    except TypeError:
        raise DataError("X", "a table of numbers, since the release has no schema", "something else") from None
