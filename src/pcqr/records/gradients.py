"""How much a record still asks for at a margin, as whole numbers: tables of the logistic slope and of e^{−x}.

The same integers on every machine: they are made of bounds in whole numbers, not of a library's exponential.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pcqr.noise.exponential import exponential_bounds

MARGINS = 1 << 12
"""Entries of a table: margins from 0 to 16, by 256ths."""
MARGIN_UNIT = 256
FULL_SLOPE = 1 << 15
FULL_WEIGHT = 1 << 20
_FIRST_PLACES = 64

Table = NDArray[np.int64]


@cache
def slope_table() -> Table:
    """⌊2¹⁵·2/(1 + e^{j/256})⌋: twice the slope of the logistic loss, so that it is cut at a margin of 0."""
    return _table(lambda power, places: (2 * FULL_SLOPE * power, (1 << places) + power))


@cache
def weight_table() -> Table:
    """⌊2²⁰·e^{−j/256}⌋."""
    return _table(lambda power, places: (FULL_WEIGHT * power, 1 << places))


def _table(quotient: Callable[[int, int], tuple[int, int]]) -> Table:
    """⌊a/b⌋, (a, b) = `quotient`(2^places·e^{−j/256}, places), for every j: increasing in its first argument."""
    table = np.array([_floor(Fraction(j, MARGIN_UNIT), quotient) for j in range(MARGINS)], dtype=np.int64)
    table.flags.writeable = False
    return table


def _floor(x: Fraction, quotient: Callable[[int, int], tuple[int, int]]) -> int:
    """By bounds of e^{−x} that are narrowed until both give the same floor; for x > 0 the value is no integer."""
    places = _FIRST_PLACES
    while True:
        low, high = (
            above // below for above, below in (quotient(power, places) for power in exponential_bounds(x, places))
        )
        if low == high:
            return low
        places *= 2
