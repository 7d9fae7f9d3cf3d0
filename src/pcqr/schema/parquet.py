"""Parquet files, opened with the extra `data`. What is wrong with one is told in words, without a value of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

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
    """`pyarrow.parquet`, whose errors become those of a table that is called `name`."""
    pyarrow = arrow()
    try:
        yield pyarrow.parquet
    except PermissionError:
        raise DataError(name, "a file that can be read", "one that this user may not read") from None
    except (pyarrow.ArrowException, OSError, ValueError):  # damaged pages, and text in them that is not UTF-8
        raise DataError(name, "a Parquet file", "a file that cannot be parsed as such") from None


def of_the_table(names: Iterable[str]) -> list[str]:
    """The columns that are the table's own."""
    return [name for name in names if not _UNNAMED_INDEX.fullmatch(name)]
