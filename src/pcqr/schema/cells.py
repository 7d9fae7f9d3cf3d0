"""The cells of one column, whatever the table came in: a dict of lists, a pandas frame or an Arrow table.

Neither pandas nor Arrow is imported here: their columns are recognised by what they can do.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Cells = Sequence[Any] | NDArray[Any]


def cells(values: Any) -> Cells:
    """`values` as a list, where they come as one, or as an array. A missing one is None, NaN, pandas' NA or NaT."""
    if isinstance(values, list | tuple):
        return values
    if hasattr(values, "to_pylist") and str(values.type).startswith("dictionary"):
        listed: list[Any] = values.to_pylist()  # numpy would read the first word of the dictionary for a gap
        return listed
    return np.asarray(values)


def numbers(values: Cells) -> NDArray[np.float64]:
    """Float64 with NaN for what is missing. Raises TypeError, ValueError or OverflowError for what is no number."""
    if isinstance(values, np.ndarray):
        if values.ndim != 1 or values.dtype.kind in "cmM":  # complex numbers and dates would be cast too
            raise TypeError
        if values.dtype.kind in "biuf":
            return values.astype(np.float64)
    return np.array([np.nan if is_missing(value) else float(value) for value in values], dtype=np.float64)


def category(value: object) -> str | None:
    """The text that `value` is compared by; None when it is missing."""
    if isinstance(value, str):
        return str(value)
    if is_missing(value):
        return None
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))  # pandas turns integers with gaps into floats
    return str(value)


def categories(values: Cells) -> list[str | None]:
    return [value if type(value) is str else category(value) for value in values]


def is_missing(value: Any) -> bool:
    if value is None:
        return True
    try:
        return bool(value != value)  # noqa: PLR0124
    except TypeError:  # pandas.NA has no truth value
        return True
    except ValueError:  # nor has an array, which is no missing value
        return False


def is_unicode(text: str) -> bool:
    """Can `text` be written to a file? Half of a surrogate pair, which JSON can spell, cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def listed(names: Iterable[object]) -> str:
    return ", ".join(repr(name) for name in names)
