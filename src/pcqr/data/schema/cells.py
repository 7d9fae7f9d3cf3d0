"""The cells of one column, whatever the table came in: a dict of lists, a pandas or Polars frame, an Arrow table.

None of these libraries is imported here: their columns are recognised by what they can do. Whole columns are turned at
once where that gives each cell what `pcqr.data.schema.reading` gives it alone, and cell by cell everywhere else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.data.schema.reading import IN_A_DAY, Reading, day_of, days_within, number_of, read, text_of
from pcqr.errors import DataError

Cells = Sequence[Any] | NDArray[Any]
T = TypeVar("T")

_MOST_LISTED = 20

_PLAIN = re.compile(
    r"u?int(8|16|32|64)|float(16|32|64)?|halffloat|double|bool(ean)?|(date|timestamp).*", flags=re.IGNORECASE
)
"""What pandas, Polars and Arrow call the types of which numpy makes numbers, truth values or instants, cell by cell."""

_PLAIN_TYPES = (str, int, float, bool, np.str_)


def cells(values: Any, what: str = "X") -> Cells:
    """`values` as an array of numbers, truth values or instants where their type says so, else one by one.

    numpy is never left to find a type that suits all cells. Errors call the column `what`.
    """
    if isinstance(values, list | tuple):
        return plain(values)
    try:
        return _cells(values)
    except Exception:  # noqa: S110 - what a library says of a cell that it cannot convert may quote it
        pass
    raise DataError(what, "cells that their own library can read, such as texts in UTF-8", "others")


def plain(values: list[Any] | tuple[Any, ...]) -> list[Any] | tuple[Any, ...]:
    """What a list or a tuple holds, by the methods of these types: those of a subclass are never called."""
    if type(values) in (list, tuple):
        return values
    return list.copy(values) if isinstance(values, list) else tuple.__getitem__(values, slice(None))


def weights(values: Any) -> NDArray[np.float64] | None:
    """The weights of rows as float64; None where there are none. No error quotes one."""
    if values is None:
        return None
    if hasattr(values, "__array__") and not hasattr(values, "__len__"):
        values = as_given(values, "sample_weight")
    try:
        return numbers(cells(values, "sample_weight"))
    except TypeError:
        pass
    raise DataError("sample_weight", "one number for each row", "others")


def as_given(values: Any, what: str) -> NDArray[Any]:
    """Return the array that `values` makes of itself. Drop errors of its library, which may quote a cell."""
    try:
        return np.asarray(values)
    except Exception:  # noqa: S110
        pass
    raise DataError(what, "cells that their own library can read", "others")


def _cells(values: Any) -> Cells:
    if isinstance(values, np.ma.MaskedArray):
        return values if values.ndim != 1 else unmasked(values)
    if not isinstance(values, np.ndarray):
        kind = str(values.type if hasattr(values, "to_pylist") else getattr(values, "dtype", None))
        if not _PLAIN.fullmatch(kind):
            listing = getattr(values, "to_pylist", None) or getattr(values, "tolist", None)  # Arrow; pandas, tensors
            return list(values) if listing is None else listing()
        values = _array(values, kind)
    if values.ndim != 1 or values.dtype.kind in "biufM":
        return values  # type: ignore[no-any-return]
    return list(values)


def _array(column: Any, kind: str) -> NDArray[Any]:
    """A column of a plain type as an array. Of times in a time zone pandas would make objects, and near its limits none
    at all; as datetime64 they are in UTC."""
    if kind.endswith("[pyarrow]"):
        return np.asarray(column.array.__arrow_array__())
    zoned = re.match(r"datetime64\[(\w+), ", kind)
    return np.asarray(column) if zoned is None else np.asarray(column, dtype=f"datetime64[{zoned[1]}]")


def unmasked(values: np.ma.MaskedArray[Any, Any]) -> list[Any]:
    """Return the cells of a masked vector, None for those that are masked."""
    hidden = np.ma.getmaskarray(values).tolist()
    return [None if is_hidden else cell for cell, is_hidden in zip(values.data, hidden, strict=True)]


def numbers(values: Cells) -> NDArray[np.float64]:
    """Float64 with NaN for what is missing. Raises TypeError for what is no number."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind in "biuf":
        with np.errstate(all="ignore"):  # a long double beyond float64 is an infinity, which is for others to judge
            return values.astype(np.float64)
    return np.array([number_of(value) for value in values], dtype=np.float64)


def days(values: Cells) -> NDArray[np.float64]:
    """Whole days since 1970-01-01 with NaN for what is missing. Raises TypeError for what is no date."""
    if isinstance(values, np.ndarray) and values.ndim == 1 and values.dtype.kind == "M":
        gaps, instants = np.isnat(values), values.astype(np.int64)
        if gaps.all():  # they may have no unit
            return np.full(values.shape, np.nan)
        unit, count = np.datetime_data(values.dtype)
        low, high = days_within(unit, count)
        if not (gaps | ((instants >= low) & (instants <= high))).all():
            raise TypeError
        if unit in IN_A_DAY and count == 1:  # numpy's own rounding overflows near the least instant
            found = instants // IN_A_DAY[unit]
        else:
            found = np.array([0 if gap else day_of(value) for value, gap in zip(values, gaps, strict=True)])
        return np.where(gaps, np.nan, found.astype(np.float64))
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
