"""Parquet files, opened with the extra `data`. What is wrong with one is told in words, without a value of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from pcqr.errors import DataError, MissingExtra

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
        raise_alone(DataError(name, "a file that can be read", "one that this user may not read"))
    except (pyarrow.ArrowException, OSError, ValueError, ArithmeticError):  # damaged pages, cells that are none
        raise_alone(DataError(name, "a Parquet file", "a file that cannot be parsed as such"))


def raise_alone(error: DataError) -> NoReturn:
    """Raise it without the error that is being handled: `from None` would only hide that one."""
    try:
        raise error
    except DataError:
        error.__context__ = None
        raise


def of_the_table(names: Iterable[str]) -> list[str]:
    """The columns that are the table's own."""
    return [name for name in names if not _UNNAMED_INDEX.fullmatch(name)]
