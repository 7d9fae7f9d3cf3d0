"""Public rows that stand in for those of a table of which nothing is public but a schema with cuts and shares.

They say how often a predicate holds and where numbers lie. Their columns are independent, which those of no table are,
so nothing is to be learned from what columns do together (`stand_in_rows` makes few of them). No randomness but public
coins.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pcqr.entropy import SeededEntropy
from pcqr.schema.column import Column, Entries
from pcqr.schema.schema import Schema

Floats = NDArray[np.float64]

_END = 1.5
"""The width of the cells beyond the cuts, in widths of the cell next to them: those of Gaussian quartiles."""
_NEARLY_ALL = 0.97
"""A share up to this may be noise: cells without a record have such shares, too."""
_LARGEST = np.finfo(np.float64).max
_COIN_BITS = 53


def has_cuts(schema: Schema) -> bool:
    """Say whether some column has declared cuts or shares, so that rows can stand in."""
    return any(column.cuts or column.shares for column in schema.columns)


def stand_in_rows(schema: Schema, count: int) -> Floats:
    """Return `count` encoded rows: in each column the quantiles of what its cuts and shares say, in a random order.

    Numbers are spread evenly between cuts. Where nearly all records are in two cells, there are two values. Where
    shares are unknown, they are equal, and nothing is missing. A number without cuts is spread evenly between its
    bounds, and is 0 without bounds.
    """
    at = (np.arange(count) + 0.5) / count
    blocks = []
    for place, column in enumerate(schema.columns):
        order = np.argsort(SeededEntropy(place).below(1 << _COIN_BITS, size=count), kind="stable")
        blocks.append(column.expanded(_quantiles(column, at)[order]))
    return np.concatenate(blocks, axis=1)


def cut_further(schema: Schema, parts: int) -> Schema:
    """Return the schema with `parts` − 1 more cuts in each cell between cuts and beyond them, at equal distances.

    A new cut divides the share of its cell evenly. Without shares all cells count as equal. Where two cells have nearly
    all records, no cut is added.
    """
    return replace(schema, columns=tuple(_cut_further(column, parts) for column in schema.columns))


def _quantiles(column: Column, at: Floats) -> Entries:
    """Return the entries of a column (`Column.expanded`) at these quantiles."""
    shares = _shares(column) / np.sum(_shares(column))
    ends = np.cumsum(shares)
    cell = np.minimum(np.searchsorted(ends, at, side="right"), np.flatnonzero(shares)[-1])
    if column.kind == "categorical":
        places: Entries = cell
        return places
    edges = np.array([*_edges(column), np.nan])  # beyond the last edge: missing
    if (two := _two_cells(column)) is not None:
        return _two_values(column, two, cell)
    low, high = edges[cell], edges[cell + 1]
    with np.errstate(all="ignore"):  # the next float may be a tiny one
        inside = np.clip((at - ends[cell]) / shares[cell] + 1.0, 0.0, 1.0)
        found: Entries = np.clip((1.0 - inside) * low + inside * high, np.nextafter(low, np.inf), high)
    return found


def _two_cells(column: Column) -> tuple[int, int] | None:
    """Return the two cells of a number that have nearly all records, as in a column of zeros and ones, if there are.

    Halving would divide a cell of different numbers further, so each of the two cells counts as one value.
    """
    if not column.cuts or not column.shares or column.limits is not None or column.cuts[-1] >= _LARGEST:
        return None
    low, high = sorted(np.argsort(column.shares)[-2:].tolist())
    is_nearly_all = column.shares[low] + column.shares[high] >= _NEARLY_ALL * math.fsum(column.shares)
    return (low, high) if is_nearly_all else None


def _two_values(column: Column, cells: tuple[int, int], cell: NDArray[np.intp]) -> Floats:
    """Return one value for rows up to the first of the two `cells`, and one for rows in later ones.

    Both values occur, however rare one is: if all rows were equal, no cut would tell rows apart.
    """
    low, high = column.cuts[cells[0]], np.nextafter(column.cuts[cells[1] - 1], np.inf)
    found = np.where(cell > cells[0], high, low)
    known = np.flatnonzero(cell <= len(column.cuts))
    found[known[:1]], found[known[-1:]] = low, high
    found[cell > len(column.cuts)] = np.nan
    return found


def _shares(column: Column) -> Floats:
    """Return what each cell, or category, weighs, and last what is missing, or of another category."""
    cells = len(column.categories) if column.kind == "categorical" else len(column.cuts) + 1
    if column.shares:
        rest = max(1.0 - float(np.sum(column.shares)), 0.0)
        known = np.array([*column.shares, rest if column.kind == "categorical" or column.missing else 0.0])
    else:
        known = np.array([*np.ones(cells), float(column.other)])
    return known if known.any() else np.array([*np.ones(cells), 0.0])


def _edges(column: Column) -> list[float]:
    """Return the ends of all cells: bounds, where there are any, the cuts, and guesses beyond them."""
    cuts = list(column.cuts)
    if column.limits is not None:
        return [column.limits[0], *cuts, column.limits[1]]
    if not cuts:
        return [0.0, 0.0]
    if len(cuts) == 1:
        lowest = highest = max(abs(cuts[0]), 1.0)
    else:
        lowest, highest = _END * (cuts[1] - cuts[0]), _END * (cuts[-1] - cuts[-2])
    return [max(cuts[0] - lowest, -_LARGEST), *cuts, min(cuts[-1] + highest, _LARGEST)]


def _cut_further(column: Column, parts: int) -> Column:
    if not column.cuts or _two_cells(column) is not None:
        return column
    cuts: list[float] = []
    shares: list[float] = []
    known = column.shares or [1.0 / (len(column.cuts) + 1)] * (len(column.cuts) + 1)
    for (low, high), share in zip(pairwise(_edges(column)), known, strict=True):
        inner = [(1.0 - part / parts) * low + part / parts * high for part in range(1, parts)]
        if any(one >= following for one, following in pairwise([low, *inner, high])):
            inner = []  # floats that are next to each other
        cuts += [*inner, high]
        shares += [share / (len(inner) + 1)] * (len(inner) + 1)
    return replace(column, cuts=cuts[:-1], shares=shares)
