"""Tables from and to local files: CSV with the standard library, Parquet with the extra `data`.

A table is a dict from column name to values, as `pcqr.schema.Schema.encode` takes it. CSV values stay text (a numeric
column of the schema turns them into numbers) and an empty field is a missing value. Fields are separated by commas,
semicolons, tabs or bars: whichever the first line, which is public, has most of. For tables of many millions of cells
use Parquet: it is typed and takes a fraction of the memory.

A spreadsheet runs a text that begins with =, +, - or @, or with spaces before one of these. In CSV such a text is
written with an apostrophe in front, and the reader takes it off again. Numbers are written as they are.
"""

from __future__ import annotations

import csv
import gzip
import zlib
from collections.abc import Iterator, Mapping, Sequence
from io import StringIO
from itertools import chain, islice
from pathlib import Path
from typing import Any, TextIO, cast

from pcqr.data.schema.table import (
    arrow,
    check_header,
    csv_line,
    of_the_table,
    raise_without_cause,
    reading_parquet,
    unescaped,
)
from pcqr.errors import DataError, ParameterError
from pcqr.files import replacing

Columns = dict[str, Sequence[Any]]

SUFFIXES = (".csv", ".csv.gz", ".parquet")

DELIMITERS = (",", ";", "\t", "|")


def read_table(path: str | Path, *, delimiter: str | None = None) -> Columns:
    r"""Read a table from a file. No error message carries a value of the table.

    CSV values stay text and an empty field is a missing value; a schema turns text into numbers.

    Parameters
    ----------
    path : str or Path
        A `.csv`, `.csv.gz` or `.parquet` file; the last needs the extra `data`.
    delimiter : str, optional
        What separates the fields of a CSV file: a comma, a semicolon, a tab or a bar. None: by the first line alone.
        The records have no say in it, since one of them could then change how all others are read.

    Returns
    -------
    dict
        Columns by name, as `Schema.encode` takes them.

    Raises
    ------
    ParameterError
        When there is no such file, its name does not say its format, or the delimiter is none of these.
    DataError
        When the file cannot be parsed or has no row.
    MissingExtra
        When Parquet's packages are not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pcqr.datasets import read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "patients.csv"
    ...     _ = path.write_text("age;sex\n25;male\n61;\n", encoding="utf-8")
    ...     print(read_table(path))
    {'age': ['25', '61'], 'sex': ['male', None]}
    """
    source = _existing(path)
    if delimiter is not None and delimiter not in DELIMITERS:
        raise ParameterError("delimiter", f"one of {', '.join(map(repr, DELIMITERS))}", delimiter)
    return _read_parquet(source) if _is_parquet(source) else _read_csv(source, delimiter)


def parse_table(text: str, name: str, *, most_rows: int | None = None) -> Columns:
    """The table in the text of a CSV file, read as `read_table` reads the file; of its rows the first `most_rows`.

    Errors call it `name`.
    """
    rows = _rows(StringIO(text.removeprefix("\ufeff"), newline=""), name)
    return _columns(rows if most_rows is None else islice(rows, 1 + most_rows))


def table_size(path: str | Path) -> tuple[tuple[str, ...], int]:
    """The column names and the number of rows of a file that `read_table` reads, whatever its values are.

    Of Parquet only the footer is read. Of CSV the rows are split into fields, since a line break may be quoted.
    """
    source = _existing(path)
    if _is_parquet(source):
        return _parquet_size(source)
    rows = _csv_rows(source)
    return tuple(next(rows)), sum(1 for _ in rows)


def write_table(path: str | Path, table: Mapping[str, Sequence[Any]]) -> None:
    """Write a table to a file, whole or not at all: what `path` held before is replaced when all is on disk.

    Parameters
    ----------
    path : str or Path
        Where to: a name that ends in `.csv`, `.csv.gz` or `.parquet`.
    table : mapping of str to sequence
        Columns of one length. None becomes an empty field. In CSV a text that a spreadsheet would run as a formula gets
        an apostrophe in front, which `read_table` takes off again.

    Raises
    ------
    ParameterError
        When the name does not say the format.
    MissingExtra
        When Parquet's packages are not installed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from pcqr.datasets import read_table, write_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.csv"
    ...     write_table(path, {"row": [1, 2], "label": ["ill", None]})
    ...     print(read_table(path))
    {'row': ['1', '2'], 'label': ['ill', None]}
    """
    with replacing(check_suffix(path)) as draft:
        if _is_parquet(draft):
            pyarrow = arrow()
            pyarrow.parquet.write_table(pyarrow.table({name: list(values) for name, values in table.items()}), draft)
            return
        with _open_text(draft, "wt") as file:
            file.writelines(f"{csv_line(row)}\n" for row in chain((table,), zip(*table.values(), strict=True)))


def check_suffix(path: str | Path) -> Path:
    """`path`, once its name says which format it has and the packages for that format are there."""
    checked = Path(path)
    if not checked.name.lower().endswith(SUFFIXES):
        raise ParameterError("path", f"a name that ends in {', '.join(SUFFIXES)}", str(path))
    if _is_parquet(checked):
        arrow()
    return checked


def _is_parquet(path: Path) -> bool:
    return path.suffix.lower() == ".parquet"


def _existing(path: str | Path) -> Path:
    source = check_suffix(path)
    if not source.is_file():
        raise ParameterError("path", "a file that exists", str(source))
    return source


def _read_csv(path: Path, delimiter: str | None) -> Columns:
    return _columns(_csv_rows(path, delimiter))


def _columns(rows: Iterator[list[str]]) -> Columns:
    header = next(rows)
    columns: list[list[str | None]] = [[] for _ in header]
    for row in rows:
        for column, value in zip(columns, row, strict=True):
            column.append(value or None)
    return cast(Columns, dict(zip(header, columns, strict=True)))


def _csv_rows(path: Path, delimiter: str | None = None) -> Iterator[list[str]]:
    """The rows of a file, whatever is wrong with it told in words."""
    try:
        with _open_text(path, "rt") as file:
            yield from _rows(file, str(path), delimiter)
    except UnicodeDecodeError:
        raise_without_cause(DataError(str(path), "UTF-8 text", "bytes that are not UTF-8 (save it again as UTF-8)"))
    except PermissionError:
        raise _unreadable(path) from None
    except (zlib.error, OSError, EOFError):
        raise _unparsed(str(path)) from None


def _rows(file: TextIO, name: str, delimiter: str | None = None) -> Iterator[list[str]]:
    """The header, then the records, at least one and each as wide as the header."""
    records = 0
    first = file.readline()
    try:
        found = delimiter or max(DELIMITERS, key=lambda each: len(_fields(first, each)))  # of equals, the first
        rows = csv.reader(chain((first,), file), delimiter=found, skipinitialspace=True, strict=True)
        header = list(map(unescaped, next(rows, [])))
        check_header(header, name)
        yield header
        for row in rows:
            if not row:  # a blank line is no record
                continue
            if len(row) != len(header):
                received = f"{len(row)} in line {rows.line_num}"
                raise DataError(name, f"rows of {len(header)} fields, like its header", received)
            records += 1
            yield list(map(unescaped, row))
    except csv.Error:
        raise _unparsed(name) from None
    if not records:
        raise DataError(name, "a table with at least one row", "a header alone")


def _fields(line: str, delimiter: str) -> list[str]:
    return next(csv.reader((line,), delimiter=delimiter, skipinitialspace=True), [])


def _read_parquet(path: Path) -> Columns:
    with reading_parquet(str(path)) as parquet:
        table = parquet.read_table(path)
        table.validate(full=True)
        columns = [column.to_pandas() for column in table.columns]
    names = of_the_table(table.column_names)
    _check_parquet(names, table.num_rows, path)
    return {name: column for name, column in zip(table.column_names, columns, strict=True) if name in names}


def _parquet_size(path: Path) -> tuple[tuple[str, ...], int]:
    with reading_parquet(str(path)) as parquet:
        footer = parquet.read_metadata(path)
        names = of_the_table(footer.schema.to_arrow_schema().names)
    _check_parquet(names, footer.num_rows, path)
    return tuple(names), int(footer.num_rows)


def _check_parquet(names: Sequence[str], rows: int, path: Path) -> None:
    if rows == 0:
        raise DataError(str(path), "a table with at least one row", "an empty table")
    check_header(names, str(path))


def _unparsed(name: str) -> DataError:
    return DataError(name, "separated values", "a file that cannot be parsed as such")


def _unreadable(path: Path) -> DataError:
    return DataError(str(path), "a file that can be read", "one that this user may not read")


def _open_text(path: Path, mode: str) -> TextIO:
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    encoding = "utf-8-sig" if mode == "rt" else "utf-8"  # spreadsheets put a byte-order mark in front
    return cast(TextIO, opened(path, mode, encoding=encoding, newline=""))
