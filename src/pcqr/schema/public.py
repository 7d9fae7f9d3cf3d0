"""A column declared from public rows. The only place where pcqr reads categories or bounds off data."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any, Literal

import numpy as np

from pcqr.errors import DataError
from pcqr.schema.cells import Cells, categories, cells, is_missing, numbers
from pcqr.schema.column import Column

Look = Literal["numbers", "booleans", "names"]


def column_from_public(name: str, values: Any, most_categories: int) -> Column:
    """What the public `values` say about the column `name`; see `Schema.from_public` for what is decided."""
    found = cells(values)
    what = f"column {name!r} of the public rows"
    if len(found) == 0:
        raise DataError("public rows", "at least one row", "none")
    look = _look(values, found, what)
    if look == "numbers":
        present = numbers(found)
        present = present[~np.isnan(present)]
        if np.isinf(present).any():
            raise DataError(what, "finite numbers or missing values", "an infinity")
        constant = present.size == 0 or present.min() == present.max()
        bounds = None if constant else (float(present.min()), float(present.max()))
        return Column(name, "numeric", bounds=bounds, missing=True)
    if look == "booleans":
        return Column(name, "categorical", ("False", "True"), other=True)
    counted = Counter(text for text in categories(found) if text is not None)
    common = sorted(counted, key=lambda text: (-counted[text], text))[:most_categories]
    return Column(name, "categorical", sorted(common), other=True)


def _look(values: Any, found: Cells, what: str) -> Look:
    """By the column's type; where it has none (a list, `object`), by its values. In a list, text may be a number."""
    untyped = isinstance(values, list | tuple)
    dtype = getattr(values, "dtype", None) or getattr(found, "dtype", None)
    if hasattr(dtype, "categories") or (dtype is None and not untyped):  # pandas' and Arrow's dictionary types
        return "names"
    kind = getattr(dtype, "kind", "O")
    if kind in "cmM":
        raise DataError(what, "numbers, truth values or names", "dates or complex numbers (turn them into numbers)")
    if kind in "iufb":
        return "booleans" if kind == "b" else "numbers"
    present = [value for value in found if not is_missing(value)]
    if present and all(isinstance(value, bool | np.bool_) for value in present):
        return "booleans"
    readable = (int, float, Decimal, np.number, str) if untyped else (int, float, Decimal, np.number)
    return "numbers" if present and all(isinstance(v, readable) for v in present) and _are_numbers(present) else "names"


def _are_numbers(values: Cells) -> bool:
    try:
        numbers(values)
    except (TypeError, ValueError, OverflowError):
        return False
    return True
