"""One column of values in every kind of table that is taken, and values that make libraries choose another type."""

from __future__ import annotations

import csv
import datetime
import io
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
from hypothesis import strategies as st

from pcqr.datasets import read_table

NAME = "c"
BIG = 2**53 + 1
"""The first integer that is no float64."""

Build = Callable[[Sequence[Any]], Any]
"""A column of values as a table with the column `NAME`. Raises where that kind of table cannot hold them."""


def _of_one_kind(values: Sequence[Any]) -> list[Any]:
    """Left to infer a type, numpy, Arrow and Polars turn numbers and times beside a date into dates: not faithful."""
    numbers = int | float | Decimal | np.number | np.bool_
    has_number = any(isinstance(value, numbers) and not pd.isna(value) for value in values)
    times = [value for value in values if isinstance(value, datetime.datetime | np.datetime64)]
    dates = [value for value in values if isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)]
    if has_number + bool(times) + bool(dates) > 1:
        raise TypeError
    return list(values)


def _arrow_array(values: Sequence[Any]) -> Any:
    return pa.array(_of_one_kind(values), from_pandas=True)


def _csv(text: str) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        path.write_text(text, encoding="utf-8")
        return dict(read_table(path))


def _csv_by_hand(values: Sequence[Any]) -> dict[str, Any]:
    written = io.StringIO()
    writer = csv.writer(written, quoting=csv.QUOTE_ALL)
    writer.writerows([[NAME], *([value] for value in values)])
    return _csv(written.getvalue())


def _csv_by_pandas(values: Sequence[Any]) -> dict[str, Any]:
    return _csv(pd.DataFrame({NAME: list(values), "row": 0}).to_csv(index=False))


def _parquet(values: Sequence[Any]) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        pyarrow.parquet.write_table(pa.table({NAME: _arrow_array(values)}), path)
        return dict(read_table(path))


def _arrow_dictionary(values: Sequence[Any]) -> Any:
    return pa.table({NAME: _arrow_array(values).dictionary_encode()})


def _polars_series(values: Sequence[Any]) -> Any:
    if any(isinstance(value, np.generic) for value in values):  # the type of one is forced on all, and units are lost
        raise TypeError
    return pl.Series(NAME, _of_one_kind(values))


def _polars_names(values: Sequence[Any]) -> Any:
    return pl.DataFrame({NAME: _polars_series(values).cast(pl.String).cast(pl.Categorical)})


def _pandas(**options: Any) -> Build:
    return lambda values: pd.DataFrame({NAME: pd.Series(list(values), **options)})


TABLES: dict[str, Build] = {
    "lists": lambda values: {NAME: list(values)},
    "tuples": lambda values: {NAME: tuple(values)},
    "a numpy array": lambda values: {NAME: np.array(_of_one_kind(values))},
    "pandas": _pandas(),
    "pandas, object": _pandas(dtype=object),
    "pandas, nullable types": lambda values: _pandas()(values).convert_dtypes(),
    "pandas, Arrow types": lambda values: _pandas()(values).convert_dtypes(dtype_backend="pyarrow"),
    "pandas, categories": _pandas(dtype="category"),
    "Arrow": lambda values: pa.table({NAME: _arrow_array(values)}),
    "Arrow, a dictionary": _arrow_dictionary,
    "Polars": lambda values: pl.DataFrame({NAME: _polars_series(values)}),
    "Polars, categories": _polars_names,
    "CSV": _csv_by_hand,
    "CSV, written by pandas": _csv_by_pandas,
    "Parquet": _parquet,
}

ODD: list[Any] = [
    *(0, 1, 3, -7, BIG, -BIG, 2**63, 2**64 + 2**12, 10**400),
    *(0.0, -0.0, 3.0, 0.1, 1e300, 5e-324, float("inf")),
    *(True, False, None, float("nan")),
    *("3", "3.0", "0.1", "x", "", "True", str(BIG), "2014-05-03", "2014-05-03 00:00:00", "1e3"),
    *(Decimal(3), Decimal("3.0"), Decimal("0.1"), Decimal(BIG)),
    *(np.int8(3), np.uint64(2**63), np.float32(3), np.bool_(True), np.str_("x"), pd.NA, pd.NaT),
    datetime.date(2014, 5, 3),
    datetime.datetime(2014, 5, 3),
    datetime.datetime(2014, 5, 3, 12, 30, tzinfo=datetime.UTC),
    datetime.datetime(2014, 5, 3, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=2))),
    np.datetime64("2014-05-03"),
    np.datetime64("2014-05-03T00:00:00.000000001"),
    pd.Timestamp("2014-05-03"),
    pd.Timestamp("2014-05-03T12:30", tz="Asia/Tokyo"),
]

VALUES = st.one_of(
    st.sampled_from(ODD),
    st.integers(-(2**66), 2**66),
    st.floats(allow_nan=False, allow_infinity=False),
    st.dates(datetime.date(1700, 1, 1), datetime.date(2200, 1, 1)),
    st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)),
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x00"), max_size=4),
)


FAMILIES: list[list[Any]] = [
    [BIG, BIG + 2, -BIG, 2**63, 3, 1],
    [True, False],
    [0.1, 3.0, 1e300],
    ["x", "3", "3.0", "0.1"],
    [Decimal("0.1"), Decimal(3), Decimal(BIG)],
    [datetime.date(2014, 5, 3), datetime.date(1969, 12, 31)],
    [pd.Timestamp("2014-05-03"), pd.Timestamp("2014-05-03T12:30")],
]
"""Values to which a library gives a type of their own, until one of another kind comes among them."""

COLUMNS = st.one_of(
    st.lists(VALUES, min_size=1, max_size=4),
    st.sampled_from(FAMILIES).flatmap(lambda family: st.lists(st.sampled_from(family), min_size=1, max_size=4)),
)


def built(kind: str, values: Sequence[Any]) -> Any | None:
    """The table, or None where this kind of table refuses the values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the libraries, about what they cannot keep
        try:
            return TABLES[kind](values)
        except Exception:  # each library has its own
            return None
