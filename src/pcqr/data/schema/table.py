"""Tables whose columns are found by name, and such a table in few bytes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from pcqr.data.schema.cells import listed
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
        for column, cells in declared_columns(table, columns, drop, name):
            entries.append(column.compact(cells, table=name))
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
