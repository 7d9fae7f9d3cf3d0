"""Tables whose columns are found by name, and such a table in few bytes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from pcqr.data.schema.cells import array_of, cells, listed, number_of, numbers, plain, read, unmasked
from pcqr.data.schema.column import Column, Entries
from pcqr.errors import DataError, MissingExtra


class Table(Protocol):
    """A table whose columns are found by name: a dict of sequences, a pandas or Polars frame, an Arrow table.

    Examples
    --------
    >>> from pcqr.data.schema import Column, Schema, Table
    >>> def encoded(table: Table) -> list:
    ...     return Schema((Column("age"),)).encode(table).tolist()
    >>> encoded({"age": [25, 61]})
    [[25.0], [61.0]]
    """

    def __getitem__(self, name: str, /) -> Any: ...


@dataclass(frozen=True, eq=False)
class CompactTable:
    """The cells of a table, each read once and by itself: a byte or two for a category, eight for a number.

    The encoded matrix has eight bytes for every category that there might have been. It is made from this in pieces:
    any rows, any features, bit by bit those of `Schema.encode` (proofs/table.md). As private as the table; nothing that
    is done to the table later reaches it, and its own entries cannot be written to: they have been checked.
    """

    columns: tuple[Column, ...]
    entries: tuple[Entries, ...]

    def __post_init__(self) -> None:
        for entries in self.entries:
            entries.flags.writeable = False

    @classmethod
    def read(cls, table: Table, columns: Sequence[Column], drop: Collection[str], name: str) -> CompactTable:
        """The `columns` of `table`, which errors call `name`."""
        entries: list[Entries] = []
        for column, values in declared_columns(table, columns, drop, name):
            entries.append(column.compact(values, table=name))
            check_length(entries[-1], entries[0], name)
        return cls(tuple(columns), tuple(entries))

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, features) of the encoded matrix."""
        return self.entries[0].shape[0], sum(column.width for column in self.columns)

    def __len__(self) -> int:
        return self.shape[0]

    def rows(self, which: slice | NDArray[np.signedinteger]) -> CompactTable:
        """Some of the rows, by their positions."""
        return CompactTable(self.columns, tuple(entries[which] for entries in self.entries))

    def encoded(self) -> NDArray[np.float64]:
        """The encoded matrix."""
        found, start = np.empty(self.shape), 0
        for column, entries in zip(self.columns, self.entries, strict=True):
            found[:, start : start + column.width] = column.expanded(entries)
            start += column.width
        return found

    def feature(self, place: int) -> NDArray[np.float64]:
        """One column of the encoded matrix."""
        for column, entries in zip(self.columns, self.entries, strict=True):
            if place < column.width:
                return column.expanded(entries, (place,))[:, 0]
            place -= column.width
        raise IndexError("no such feature")

    def __repr__(self) -> str:
        return f"CompactTable({self.shape[0]} rows, {self.shape[1]} features)"


def declared_columns(
    table: Any, columns: Sequence[Column], drop: Collection[str], name: str
) -> Iterator[tuple[Column, Any]]:
    """Each of `columns` with its cells in `table`. Refuses a table that lacks one, or has others that nobody drops."""
    present, declared = column_names(table, name), [column.name for column in columns]
    if absent := [each for each in declared if each not in present]:
        raise DataError(
            name,
            f"a table with the columns of the schema, {listed(declared)}",
            f"one without {listed(absent)}: add that, or make a schema without it (pcqr schema … --drop {absent[0]})",
        )
    if unknown := [found for found in present if found not in declared and found not in drop]:
        raise DataError(
            name,
            f"a table with no column but those of the schema, {listed(declared)}",
            f"also {listed(unknown)}: leave that out (--drop {unknown[0]}), or declare it in the schema",
        )
    return ((column, table[column.name]) for column in columns)


def check_length(cells: NDArray[Any], others: NDArray[Any], name: str) -> None:
    """Refuse columns of different lengths."""
    if cells.shape[0] != others.shape[0]:
        raise DataError(name, "a table with columns of one length", "columns of different lengths")


def has_columns(table: Any) -> bool:
    """Has `table` columns with names: is it a mapping, a pandas or Polars frame, or an Arrow table?"""
    return any(hasattr(table, its) for its in ("keys", "column_names", "get_columns"))


def columns_of(table: Any) -> Sequence[Any] | None:
    """Return the columns of a pandas or Polars frame or an Arrow table in their order, None for anything else."""
    if hasattr(table, "get_columns"):  # Polars
        return table.get_columns()  # type: ignore[no-any-return]
    if hasattr(table, "column_names"):  # Arrow
        return table.columns  # type: ignore[no-any-return]
    if hasattr(table, "iloc") and getattr(table, "ndim", 1) == 2:  # pandas
        return [table.iloc[:, place] for place in range(table.shape[1])]
    return None


def column_names(table: Any, what: str) -> list[str]:
    """The names of the columns in their order: dicts and pandas give `keys()`, Arrow `column_names`."""
    if not has_columns(table) or getattr(table, "ndim", 2) == 1:  # one column of pandas has keys, too
        raise DataError(
            what, "columns with names: a dict of sequences, a data frame or an Arrow table", "something else"
        )
    if hasattr(table, "keys"):
        present = list(table.keys())
    else:
        present = list(table.column_names if hasattr(table, "column_names") else table.columns)
    if twice := repeated(present):
        raise DataError(what, "a table whose columns have different names", f"{listed(twice)} more than once")
    return present


def check_header(header: Sequence[str], name: str) -> None:
    """Names are not quoted: in a file without a header they are a private record. Places count from 1."""
    if not any(header):
        raise DataError(name, "a table whose first line names the columns", "an empty first line")
    if "" in header:
        empty = f"no name for column {header.index('') + 1}"
        raise DataError(name, "a table whose first line has different, non-empty names", empty)
    first: dict[str, int] = {}
    for place, each in enumerate(header, start=1):
        if first.setdefault(each, place) != place:
            raise DataError(
                name,
                "a table whose first line has different, non-empty names",
                f"the same name for columns {first[each]} and {place}",
            )


def repeated(names: Iterable[str]) -> list[str]:
    """The names that stand there more than once."""
    return [name for name, count in Counter(names).items() if count > 1]


# ---------------------------------------------------------------------------------------------------------------------
# Lines of CSV files, whose cells no spreadsheet runs as a formula, and the meaning of such cells.


_RUN = "=+\\-@\\t\\r\\n＝＋－＠"
"""Beginnings of a text that some spreadsheet takes for a formula, as a class of a regular expression."""
_WOULD_RUN = re.compile(f"'* *[{_RUN}]")  # some programs take off spaces in front
_ESCAPED = re.compile(f"'+ *[{_RUN}]")
_QUOTED = re.compile('[",;\\t|\\r\\n]|^[ \\ufeff]')
"""In a cell: what ends one for some reader. In front of it: what a reader of pcqr passes over."""
_NUMBER = re.compile(r" *[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def escaped(value: Any) -> Any:
    """Return a CSV cell that no spreadsheet runs: an apostrophe before a text that begins like a formula.

    A text that begins with apostrophes and then like a formula gets one more, so that `unescaped` is the inverse.
    Numbers stay as they are.
    """
    is_run = isinstance(value, str) and _WOULD_RUN.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_run else value


def unescaped(cell: str) -> str:
    """Return the text that `escaped` has made this cell from. Other cells are returned as they are."""
    return cell[1:] if cell[:1] == "'" and _ESCAPED.match(cell) else cell


def csv_line(cells: Iterable[Any]) -> str:
    """Return a line of a CSV file, without its end: the cells `escaped`, None as an empty one.

    Python's own writer leaves a cell with a single carriage return bare, and then refuses to read it.
    """
    texts = ["" if cell is None else str(escaped(cell)) for cell in cells]
    return ",".join(map(_quoted, texts)) if texts != [""] else '""'  # an empty line would be no row


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text


# ---------------------------------------------------------------------------------------------------------------------
# Parquet files, opened with the extra `data`. What is wrong with one is told in words, without a value of it.


_UNNAMED_INDEX = re.compile(r"__index_level_\d+__")
"""What pandas writes for row numbers: no column of the table."""


def arrow() -> Any:
    """pyarrow, with its part for Parquet."""
    try:
        import pandas  # noqa: F401, PLC0415
        import pyarrow.parquet  # noqa: PLC0415
    except ImportError:
        raise MissingExtra("Reading or writing Parquet", "data") from None
    return pyarrow


@contextmanager
def reading_parquet(name: str) -> Iterator[Any]:
    """`pyarrow.parquet`, whose errors become those of a table that is called `name`.

    What Arrow says of a cell that it cannot convert quotes it. So every conversion belongs in here, and cells are
    validated (`validate(full=True)`) before pandas gets them: it may decode texts later, when somebody looks at them.
    """
    pyarrow = arrow()
    try:
        yield pyarrow.parquet
    except PermissionError:
        raise_without_cause(DataError(name, "a file that can be read", "one that this user may not read"))
    except (pyarrow.ArrowException, OSError, ValueError, ArithmeticError):  # damaged pages, cells that are none
        raise_without_cause(DataError(name, "a Parquet file", "a file that cannot be parsed as such"))


def raise_without_cause(error: DataError) -> NoReturn:
    """Raise it without the error that is being handled: `from None` would only hide that one."""
    try:
        raise error
    except DataError:
        error.__context__ = None
        raise


def of_the_table(names: Iterable[str]) -> list[str]:
    """The columns that are the table's own."""
    return [name for name in names if not _UNNAMED_INDEX.fullmatch(name)]


# ---------------------------------------------------------------------------------------------------------------------
# Tables of numbers without a schema, of any type: each cell is read by itself (proofs/table.md).
#
# numpy is never given a list that has anything but Python's own numbers in it: it would make texts of all cells, each
# as long as the longest, and what it says of one that it cannot convert quotes it.


_NUMBERS = {int, float, bool}


def matrix_of(X: Any) -> NDArray[Any]:
    """Return `X` as a table of numbers, with NaN for missing cells. Return an array of numbers as it is.

    Raises
    ------
    DataError
        When it has another number of dimensions, or cells that are no numbers. No message has a cell in it.
    TypeError
        When a cell is of a type that no table needs.
    """
    columns = columns_of(X)
    if columns is not None:
        return _stacked(columns)
    if isinstance(X, Mapping):
        raise DataError("X", "a table of numbers, since there is no schema", "a mapping")
    if isinstance(X, list | tuple):
        return _of_rows(plain(X))
    return _of_array(_array(X))


def one_row(x: Any, names: Sequence[str] | None) -> Any:
    """Return one query as a table with one row: read by names if it has any, else by position. A table stays as it is.

    `names` are those of the columns; None where they have none. A mapping, or a pandas Series whose index has names,
    becomes a mapping of each column to a list of one cell.
    """
    by_name: Any = x if isinstance(x, Mapping) else None
    if hasattr(x, "to_dict") and getattr(x, "ndim", 2) == 1 and any(isinstance(name, str) for name in x.index):
        by_name = x.to_dict() if names is not None else None
    if by_name is not None:
        return _named(by_name, names)
    is_vector = getattr(x, "ndim", None) == 1
    if isinstance(x, list | tuple):
        x = plain(x)
        is_vector = not any(issubclass(type(cell), list | tuple | np.ndarray) for cell in x)
    return [list(cells(x, "x"))] if is_vector else x


def _named(x: Mapping[Any, Any], names: Sequence[str] | None) -> dict[str, list[Any]]:
    if names is None:
        raise DataError(
            "x",
            "a vector of numbers, since the columns have no names here: `fit` got neither a schema nor a frame",
            "a mapping",
        )
    if absent := [name for name in names if name not in x]:
        raise DataError("x", f"a value for each of the columns {listed(names)}", f"none for {listed(absent)}")
    if unknown := [name for name in x if name not in names]:
        raise DataError("x", f"values for the columns {listed(names)} alone", f"also {listed(unknown)}: leave that out")
    return {name: [x[name]] for name in names}


def _stacked(columns: Sequence[Any]) -> NDArray[np.float64]:
    try:
        found = [numbers(cells(column)) for column in columns]
    except TypeError:
        raise _no_numbers() from None
    return np.column_stack(found) if found else np.empty((0, 0))


def _array(X: Any) -> NDArray[Any]:
    """Return the array of what is neither a list nor a frame. Drop errors of its library, which may quote a cell."""
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "__array__") or not hasattr(X, "__len__"):
        return array_of(X, "X")
    try:
        rows = list(X)
    except Exception:
        rows = None
    if rows is None:
        raise _no_numbers()
    return _of_rows(rows)


def _of_array(found: NDArray[Any]) -> NDArray[Any]:
    if found.dtype.kind == "c":
        raise DataError("X", "real numbers. Complex data not supported", "complex numbers")
    if found.ndim != 2:
        raise _dimensions(found.ndim)
    if isinstance(found, np.ma.MaskedArray):
        return _read([unmasked(row) for row in found])
    return found if found.dtype.kind in "biuf" else _read(found)


def _of_rows(rows: Sequence[Any]) -> NDArray[Any]:
    found: list[Sequence[Any]] = []
    kinds: set[type] = set()
    for row in rows:
        cells_of_row = _row(row)
        kinds.update(map(type, cells_of_row))
        if found and len(cells_of_row) != len(found[0]):
            raise DataError("X", "a table whose rows have one length", "rows of different lengths")
        found.append(cells_of_row)
    if not found:
        return np.empty((0, 0))
    if kinds <= _NUMBERS:
        array = np.asarray(found)
        if array.dtype.kind in "biuf":
            return array
    if any(issubclass(kind, complex | np.complexfloating) for kind in kinds):
        raise DataError("X", "real numbers. Complex data not supported", "complex numbers")
    if any(issubclass(kind, list | tuple | np.ndarray) for kind in kinds):
        raise _dimensions(3)
    return _read(found)


def _row(row: Any) -> Sequence[Any]:
    """Return the cells of one row of a list."""
    if isinstance(row, list | tuple):
        return plain(row)
    if isinstance(row, np.ma.MaskedArray) and row.ndim == 1:
        return unmasked(row)
    if isinstance(row, str | bytes | Mapping) or not hasattr(row, "__len__") or getattr(row, "ndim", 1) == 0:
        raise _dimensions(1)
    if getattr(row, "ndim", 1) != 1:
        raise _dimensions(3)
    found = cells(row)
    return list(found)


def _read(rows: Any) -> NDArray[np.float64]:
    """Return the numbers of these cells, read one by one."""
    try:
        return np.array([[number_of(value) for value in row] for row in rows], dtype=np.float64)
    except TypeError:
        is_readable = all(_is_readable(value) for row in rows for value in row)
    raise _no_numbers() if is_readable else _no_cell()


def _is_readable(value: Any) -> bool:
    try:
        read(value)
    except TypeError:
        return False
    return True


def _dimensions(count: int) -> DataError:
    if count < 2:
        return DataError(
            "X", "a table with two dimensions. Reshape your data, e.g. by array.reshape(-1, 1)", "one dimension"
        )
    return DataError("X", "a table with two dimensions", f"{count} dimensions")


def _no_numbers() -> DataError:
    return DataError("X", "a table of numbers (declare other columns with a schema)", "text, dates or missing values")


def _no_cell() -> TypeError:
    return TypeError("X: each cell of the argument must be a string that spells a number, or a number.")
