"""Bounds of e^{−x} in whole numbers, as narrow as one likes: what the tables of noise and their rare doubts rest on."""

from __future__ import annotations

import math
from fractions import Fraction


def exponential_bounds(x: Fraction, places: int) -> tuple[int, int]:
    """Integers low ≤ 2^places · e^{−x} ≤ high for a rational x ≥ 0, with high − low ≤ 2; both are exact at x = 0.

    x is halved until it is at most ½, the alternating series of e^{−y} is summed with every product rounded downwards
    and upwards, and the two sums are squared as often as x was halved (proofs/noise.md).
    """
    if x > places:  # e^{−x} < 2^{−x} < 2^{−places}
        return 0, 1
    if x == 0:
        return 1 << places, 1 << places
    halvings = math.ceil(x).bit_length() + 1
    spare = halvings + 2 * places.bit_length() + 8
    precision = places + spare
    scaled = x * (1 << (precision - halvings))
    low, high = _small_exponential_bounds(math.floor(scaled), math.ceil(scaled), precision)
    for _ in range(halvings):
        low, high = low * low >> precision, upwards(high * high, precision)
    return low >> spare, upwards(high, spare)


def _small_exponential_bounds(low_y: int, high_y: int, precision: int) -> tuple[int, int]:
    """Bounds of 2^precision · e^{−y} for every y in [0, ½] with `low_y` ≤ 2^precision · y ≤ `high_y`."""
    low = high = low_term = high_term = 1 << precision
    order = 0
    while high_term > 1:
        order += 1
        low_term = (low_term * low_y >> precision) // order
        high_term = -(-upwards(high_term * high_y, precision) // order)
        if order % 2:
            low, high = low - high_term, high - low_term
        else:
            low, high = low + low_term, high + high_term
    return low - 1, high + 1  # what was left out is smaller than the last term


def upwards(value: int, places: int) -> int:
    """⌈value / 2^places⌉."""
    return -(-value >> places)
