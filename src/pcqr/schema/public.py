"""A column declared from public rows. The only place where pcqr reads categories or bounds off data."""

from __future__ import annotations

from collections import Counter
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.schema.cells import Cells, categories, cells, days, is_unicode, numbers
from pcqr.schema.column import TRUTH_VALUES, Column
from pcqr.schema.reading import TRUTH_TEXTS, Instant, iso_date, read

_FEW = 20
"""So many different values are never nearly unique, however few rows there are."""

Look = Literal["numbers", "dates", "booleans", "names"]


def column_from_public(name: str, values: Any, most_categories: int) -> tuple[Column, bool]:
    """Return the column `name` made of the public `values`, and whether it is nearly unique, like ids and free text.

    See `Schema.from_public` for what is decided.
    """
    what = f"column {name!r} of the public rows"
    found = cells(values, what)
    if len(found) == 0:
        raise DataError("public rows", "at least one row", "none")
    look = _look(values, found, what)
    if look in ("numbers", "dates"):
        present = numbers(found) if look == "numbers" else days(found)
        present = present[~np.isnan(present)]
        if np.isinf(present).any():
            raise DataError(what, "finite numbers or missing values", "an infinity")
        constant = present.size == 0 or present.min() == present.max()
        bounds = None if constant else (float(present.min()), float(present.max()))
        if look == "dates":
            dates = None if bounds is None else (iso_date(int(bounds[0])), iso_date(int(bounds[1])))
            return Column(name, "date", bounds=dates, missing=True), False
        return Column(name, "numeric", bounds=bounds, missing=True), _are_numbered(present)
    if look == "booleans":
        return Column(name, "categorical", TRUTH_VALUES, other=True), False
    counted = Counter(filter(None, _shown(found)))
    if not all(map(is_unicode, counted)):  # said here: what a declaration says of a name quotes it
        raise DataError(what, "Unicode text", "half of a surrogate pair")
    is_near_unique = len(counted) > max(_FEW, counted.total() / 2)
    if is_near_unique and len(counted) > most_categories:
        return Column(name, "categorical", (), other=True), True  # whichever were kept would be arbitrary ones
    common = sorted(counted, key=lambda text: (-counted[text], text))[:most_categories]
    return Column(name, "categorical", sorted(common), other=True), is_near_unique


def _are_numbered(present: NDArray[np.float64]) -> bool:
    """Are these different whole numbers, close together: numbers of rows, or of customers?"""
    distinct = np.unique(present)
    if distinct.size != present.size or distinct.size <= _FEW or (distinct != np.floor(distinct)).any():
        return False
    return bool(distinct[-1] - distinct[0] < 2 * distinct.size)


def _shown(found: Cells) -> list[str | None]:
    """Each cell as it is spelt where it was first seen in the same meaning: "3.0" and "3" are one category."""
    spelling: dict[str | None, str | None] = {}
    shown = []
    for value, text in zip(found, categories(found), strict=True):
        spelt = str.__str__(value) if isinstance(value, str) and text is not None else text
        shown.append(spelling.setdefault(text, spelt))
    return shown


def _look(values: Any, found: Cells, what: str) -> Look:
    """By the column's type; where it has none (a list, `object`), by its values.

    In a list, text may be a number; ISO dates are dates in any column.
    """
    try:
        readings = [(value, reading) for value in found if (reading := read(value)) is not None]
    except TypeError:
        raise DataError(what, "numbers, truth values, dates or names", "a value of another type") from None
    if _is_dictionary(values):
        return "names"
    kind = found.dtype.kind if isinstance(found, np.ndarray) else "O"
    if kind == "b" or (readings and all(_is_truth_value(value) for value, _ in readings)):
        return "booleans"
    if kind in "iuf":
        return "numbers"
    if kind == "M" or (readings and all(isinstance(reading, Instant) for _, reading in readings)):
        return "dates"
    of_numbers = readings and all(isinstance(reading, float) for _, reading in readings)
    has_text = any(isinstance(value, str) for value, _ in readings)
    return "numbers" if of_numbers and (isinstance(values, list | tuple) or not has_text) else "names"


def _is_truth_value(value: object) -> bool:
    return isinstance(value, bool | np.bool_) or (isinstance(value, str) and value in TRUTH_TEXTS)


def _is_dictionary(values: Any) -> bool:
    """pandas', Polars' and Arrow's types for names from a list, which may be numbers all the same."""
    kind = str(values.type if hasattr(values, "to_pylist") else getattr(values, "dtype", ""))
    return kind.startswith(("dictionary", "category", "Categorical", "Enum"))
