"""What one cell of a table means: a number, an instant, a text, or nothing.

The table that a cell comes in may have given it another type because of *other* cells: one gap turns a column of
integers into floats, one word turns numbers, dates and truth values into texts. So a cell is read by its value alone,
and alike in each type that it may have been given: 3, 3.0, Decimal("3.00") and "3" are one number, 1 and True another.
Numbers are float64: an integer beyond 2⁵³ is read like the float64 next to it, whether or not a table has kept all of
its digits.

Only types of Python, numpy and pandas are read, by the methods of those types: a cell's own methods are never called.
What such a method says of a cell that it cannot convert may quote the cell, so it is dropped, `__context__` included.
"""

from __future__ import annotations

import datetime
import math
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError

MISSING_TEXTS = frozenset(
    (
        *("", "nan", "NaN", "-nan", "-NaN", "NaT", "<NA>", "NA", "N/A", "n/a", "#NA", "#N/A", "#N/A N/A"),
        *("null", "NULL", "None", "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
    )
)
"""What a gap is called where a table was turned into text, and what the readers of pandas and Arrow take for one.

They do so or not by the other cells of the column, so here it is one always.
"""

TRUTH_TEXTS = {"True": 1.0, "true": 1.0, "TRUE": 1.0, "False": 0.0, "false": 0.0, "FALSE": 0.0}

MICROSECONDS = 86_400_000_000
"""In a day."""

_EPOCH = datetime.date(1970, 1, 1).toordinal()
FIRST_DAY, LAST_DAY = datetime.date.min.toordinal() - _EPOCH, datetime.date.max.toordinal() - _EPOCH
"""Of the years 1 to 9999, which ISO texts can spell. A date beyond them is no cell."""
IN_A_DAY = {"D": 1, "h": 24, "m": 1440} | {
    unit: 86_400 * 1000**place for place, unit in enumerate(("s", "ms", "us", "ns", "ps", "fs", "as"))
}
"""How many of each unit of datetime64 there are."""
_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,9}))?)?)?(Z|[+-]\d\d:?\d\d(?::?\d\d)?)?", flags=re.ASCII
)


class Instant(NamedTuple):
    """A date (`microsecond` 0), or a date with a time, in UTC, to which one without a time zone is taken to belong."""

    day: int
    """Since 1970-01-01."""
    microsecond: int
    """Of that day; whatever is finer is cut off, since tables keep it or not."""


Reading = float | Instant | str | None


def read(value: Any) -> Reading:
    """Return what `value` means, None if it is missing, never NaN. Raise a bare TypeError for other types."""
    try:
        return _read(value)
    except Exception:  # noqa: S110 - whatever it says may quote the cell
        pass
    raise TypeError


def _read(value: Any) -> Reading:
    kind = type(value)  # `isinstance` would ask the cell for its class
    if issubclass(kind, str):
        return read_text(str.__str__(value))  # a member of an enumeration of texts prints as something else
    if value is None or _is_gap_of_pandas(value):
        return None
    if issubclass(kind, np.generic):
        return _of_numpy(value)
    for numeric, convert in _NUMERIC:
        if issubclass(kind, numeric):
            return _number(value, convert)
    return _instant(value, kind)


def read_text(text: str) -> Reading:
    """A number, a truth value or an ISO date where `text` spells one, missing where it spells a gap, else itself."""
    if text in MISSING_TEXTS:
        return None
    if text in TRUTH_TEXTS:
        return TRUTH_TEXTS[text]
    try:
        number = float(text)
    except ValueError:
        instant = _iso(text)
        return text if instant is None else instant
    return number if text.isascii() and "_" not in text and not math.isnan(number) else text


def text_of(reading: Reading) -> str | None:
    """Return the text by which categories are compared. Different readings have different texts (proofs/table.md)."""
    if isinstance(reading, float):
        whole = reading.is_integer() and abs(reading) < 1e16
        return str(int(reading)) if whole else repr(reading)
    if isinstance(reading, Instant):
        date = iso_date(reading.day)
        if reading.microsecond == 0:
            return date
        clock = datetime.datetime.min + datetime.timedelta(microseconds=reading.microsecond)
        return f"{date}T{clock.time().isoformat()}"
    return reading


def spellings(reading: Reading) -> frozenset[str]:
    """The usual texts that are read like `reading`.

    A number with up to six decimals, an exponent or leading zeros; truth values; a date with or without a time; all
    texts that mean a gap. A text alone, since no other is read like it.
    """
    if reading is None:
        return MISSING_TEXTS
    texts = {text_of(reading) or ""}
    if isinstance(reading, float):
        texts |= {f"{number:.{places}{kind}}" for number in (reading, -reading) for places in range(7) for kind in "fe"}
        texts |= {f"{int(reading):0{digits}}" for digits in range(2, 11)} if reading.is_integer() else set()
        texts |= {repr(reading), *TRUTH_TEXTS}
    elif isinstance(reading, Instant):
        time = datetime.datetime.min + datetime.timedelta(microseconds=reading.microsecond)
        precisions = ("minutes", "seconds", "milliseconds", "microseconds")
        clocks = [time.time().isoformat(timespec=precision) for precision in precisions]
        clocks.append(f"{clocks[-1]}000")
        date = iso_date(reading.day)
        texts |= {f"{date}{mark}{clock}{zone}" for mark in "T " for clock in clocks for zone in ("", "Z", "+00:00")}
        texts.add(date)
    return frozenset(text for text in texts if read_text(text) == reading)


def number_of(value: Any) -> float:
    """`value` as a float64, NaN where it is missing. Raises TypeError for what is no number."""
    if type(value) is float:
        return value
    reading = read(value)
    if reading is None:
        return math.nan
    if not isinstance(reading, float):
        raise TypeError
    return reading


def day_of(value: Any) -> float:
    """The day of `value` since 1970-01-01, NaN where it is missing. Raises TypeError for what is no date."""
    reading = read(value)
    if reading is None:
        return math.nan
    if not isinstance(reading, Instant):
        raise TypeError
    return float(reading.day)


def iso_date(day: int) -> str:
    """The date that is `day` days after 1970-01-01."""
    return str(np.datetime64(day, "D"))


_NUMERIC: tuple[tuple[type, Any], ...] = (
    (float, float.__float__),
    (int, int.__float__),
    (Decimal, Decimal.__float__),
    (Fraction, Fraction.__float__),
)
"""The types of numbers, truth values among the integers, and what makes a float64 of each, whatever a subclass says."""


def _number(value: Any, convert: Any) -> float | None:
    try:
        number: float = convert(value)
    except OverflowError:  # an integer or a fraction that float64 cannot hold; spelt as text it would be infinite too
        return math.inf if value > 0 else -math.inf
    except ValueError:  # a signalling NaN
        return None
    return None if math.isnan(number) else number


def _of_numpy(value: Any) -> Reading:
    if value.dtype.kind in "biuf":
        return _number(value, float)
    if value.dtype.kind == "M":
        return None if np.isnat(value) else _numpy_instant(value)
    raise TypeError  # a duration, which is an integer to numpy, a complex number, bytes


@cache
def days_within(unit: str, count: int) -> tuple[int, int]:
    """Return the least and the largest integer that, as a datetime64 of this unit, lies within the years 1 to 9999."""
    first, last = FIRST_DAY, LAST_DAY
    if unit in ("Y", "M"):
        months = 12 if unit == "M" else 1
        first, last = (datetime.MINYEAR - 1970) * months, (datetime.MAXYEAR - 1969) * months - 1
    elif unit == "W":
        first, last = -(-first // 7), last // 7
    else:
        first, last = first * IN_A_DAY[unit], (last + 1) * IN_A_DAY[unit] - 1
    limits = np.iinfo(np.int64)
    return max(-(-first // count), limits.min), min(last // count, limits.max)


def _numpy_instant(value: np.datetime64) -> Instant:
    unit, count = np.datetime_data(value)
    low, high = days_within(unit, count)
    number = int(value.astype(np.int64))
    if not low <= number <= high:
        raise TypeError
    if unit not in IN_A_DAY:  # years, months, weeks
        return Instant(int(value.astype("datetime64[D]").astype(np.int64)), 0)
    day, rest = divmod(number * count, IN_A_DAY[unit])
    return Instant(day, rest * MICROSECONDS // IN_A_DAY[unit])


def _is_gap_of_pandas(value: Any) -> bool:
    pandas: Any = sys.modules.get("pandas")  # a cell of pandas cannot be there before pandas is
    return pandas is not None and (value is pandas.NaT or value is pandas.NA)


def _instant(value: Any, kind: type) -> Instant:
    pandas: Any = sys.modules.get("pandas")
    if pandas is not None and issubclass(kind, pandas.Timestamp):
        return _numpy_instant(value.to_datetime64())
    if not issubclass(kind, datetime.date):
        raise TypeError
    day = value.toordinal() - _EPOCH
    if not isinstance(value, datetime.datetime):
        return Instant(day, 0)
    clock = ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond
    offset = value.utcoffset() or datetime.timedelta(0)
    found = _carried(day, clock - offset // datetime.timedelta(microseconds=1))
    if found is None:
        raise TypeError
    return found


def _carried(day: int, microsecond: int) -> Instant | None:
    """Return that instant, None beyond the years 1 to 9999, where only a time zone can have brought it."""
    more, rest = divmod(microsecond, MICROSECONDS)
    return Instant(day + more, rest) if FIRST_DAY <= day + more <= LAST_DAY else None


def _iso(text: str) -> Instant | None:
    found = _ISO.fullmatch(text)
    if found is None:
        return None
    date, *clock, fraction, zone = found.groups()
    hours, minutes, seconds = (int(part or 0) for part in clock)
    if hours > 23 or minutes > 59 or seconds > 59 or (zone and clock[0] is None):
        return None
    try:
        day = datetime.date.fromisoformat(date).toordinal() - _EPOCH
    except ValueError:  # the 30th of February
        return None
    microseconds = int((fraction or "").ljust(6, "0")[:6])
    if zone and zone != "Z":
        ahead = zone[1:].replace(":", "").ljust(6, "0")
        offset = (int(ahead[:2]) * 60 + int(ahead[2:4])) * 60 + int(ahead[4:])
        seconds -= offset if zone[0] == "+" else -offset
    return _carried(day, ((hours * 60 + minutes) * 60 + seconds) * 1_000_000 + microseconds)


# ---------------------------------------------------------------------------------------------------------------------
# The cells of one column, whatever the table came in: a dict of lists, a pandas or Polars frame, an Arrow table.
#
# None of these libraries is imported here: their columns are recognised by what they can do. Whole columns are turned
# at once where that gives each cell what `read` gives it alone, and cell by cell everywhere else.


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
        values = array_of(values, "sample_weight")
    try:
        return numbers(cells(values, "sample_weight"))
    except TypeError:
        pass
    raise DataError("sample_weight", "one number for each row", "others")


def array_of(values: Any, what: str) -> NDArray[Any]:
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
