"""Encoded rows as they were asked, up to what the schema reads as the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from pcqr.data.schema.column import Column
from pcqr.data.schema.reading import iso_date
from pcqr.data.schema.schema import Schema


def decoded(schema: Schema | None, point: Any) -> dict[str, Any] | list[float]:
    """A row as it was asked, up to what the schema reads as the same: clipped to bounds, texts as declared."""
    row: list[float] = np.asarray(point).ravel().tolist()
    if schema is None:
        return row
    found: dict[str, Any] = {}
    start = 0
    for column in schema.columns:
        found[column.name] = _cell(column, row[start : start + column.width])
        start += column.width
    return found


def _cell(column: Column, entries: list[float]) -> float | str | None:
    if column.kind == "categorical":
        place = entries.index(1.0)
        if place < len(column.categories):
            return column.categories[place]
        return "(other)" if column.other and place == len(column.categories) else None
    if column.missing and entries[1]:
        return None
    return iso_date(int(entries[0])) if column.kind == "date" else entries[0]
