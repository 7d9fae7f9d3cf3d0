"""The cells of one column, whatever the table came in: a dict of lists, a pandas or Polars frame, an Arrow table.

None of these libraries is imported here: their columns are recognised by what they can do. Whole columns are turned at
once where that gives each cell what `pcqr.schema.reading` gives it alone, and cell by cell everywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.schema.reading import Reading, day_of, number_of, read, text_of

Cells = Sequence[Any] | NDArray[Any]
T = TypeVar("T")

_MOST_LISTED = 20

_PLAIN = re.compile(
    r"u?int(8|16|32|64)|float(16|32|64)?|halffloat|double|bool(ean)?|(date|timestamp).*", flags=re.IGNORECASE
)
"""What pandas, Polars and Arrow call the types of which numpy makes numbers, truth values or instants, cell by cell."""

_PLAIN_TYPES = (str, int, float, bool, np.str_)


def cells(values: Any) -> Cells:
    """`values` as an array of numbers, truth values or instants where their type says so, else one by one.

    numpy is never left to find a type that suits all cells.
    """
    if isinstance(values, list | tuple):
        return values
    if isinstance(values, np.ma.MaskedArray):
        return values.tolist()  # type: ignore[no-any-return]  # None for what is masked
    if not isinstance(values, np.ndarray):
        kind = values.type if hasattr(values, "to_pylist") else getattr(values, "dtype", None)
        if kind is None or not _PLAIN.fullmatch(str(kind)):
            return _one_by_one(values)
        values = np.asarray(values)
    if values.ndim != 1 or values.dtype.kind in "biufM":
        return values  # type: ignore[no-any-return]
    return list(values)


def _one_by_one(values: Any) -> Sequence[Any]:
    """The cells as the library that has them gives them. What it says of one that it cannot give may quote it."""
    listing = getattr(values, "to_pylist", None) or getattr(values, "tolist", None)  # Arrow; pandas, tensors
    with suppress(Exception):
        return list(values) if listing is None else listing()
    raise DataError("X", "cells that their own library can read, texts in UTF-8 for one", "others")


def numbers(values: Cells) -> NDArray[np.float64]:
    """Float64 with NaN for what is missing. Raises TypeError for what is no number."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biuf":
        with np.errstate(all="ignore"):  # a long double beyond float64 is an infinity, which is for others to judge
            return values.astype(np.float64)
    return np.array([number_of(value) for value in values], dtype=np.float64)


def days(values: Cells) -> NDArray[np.float64]:
    """Whole days since 1970-01-01 with NaN for what is missing. Raises TypeError for what is no date."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "M":
        found = values.astype("datetime64[D]")  # rounds down, before 1970 too
        return np.where(np.isnat(found), np.nan, found.astype(np.int64).astype(np.float64))
    return np.array([day_of(value) for value in values], dtype=np.float64)


def category(value: object) -> str | None:
    """The text that `value` is compared by; None when it is missing. Raises TypeError for what cannot be one."""
    return text_of(read(value))


def categories(values: Cells) -> list[str | None]:
    """`category` of each of the `values`."""
    return mapped(values, text_of)


def mapped(values: Cells, meaning: Callable[[Reading], T]) -> list[T]:
    """`meaning` of what each of the `values` reads as. Equal ones are read once. Raises TypeError as `read` does."""
    kept, places = distinct(values)
    found = [meaning(read(value)) for value in kept]
    return [found[place] for place in places.tolist()]


def distinct(values: Cells) -> tuple[Sequence[Any], NDArray[np.intp]]:
    """Those among `values` that differ, and for each value its place among them.

    Values are the same where their type and their value are, in types of which nothing else can be read. All others
    are kept, in order.
    """
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biufM":
        found, places = np.unique(values, return_inverse=True)
        return list(found), places
    kept: list[Any] = []
    known: dict[tuple[type, Any], int] = {}
    places = np.empty(len(values), dtype=np.intp)
    for row, value in enumerate(values):
        place = len(kept)
        if type(value) in _PLAIN_TYPES:
            place = known.setdefault((type(value), value), place)
        if place == len(kept):
            kept.append(value)
        places[row] = place
    return kept, places


def is_unicode(text: str) -> bool:
    """Can `text` be written to a file? Half of a surrogate pair, which JSON can spell, cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def listed(names: Iterable[object]) -> str:
    """`names` as a message has them: of many the first ones, and how many more there are."""
    told = [repr(name) for name in names]
    more = len(told) - _MOST_LISTED
    return ", ".join(told) if more <= 0 else f"{', '.join(told[:_MOST_LISTED])} and {more:,} more"
