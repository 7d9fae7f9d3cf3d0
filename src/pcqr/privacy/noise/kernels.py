"""Bounds of e^{−x} in whole numbers, as narrow as one likes: what the tables of noise and their rare doubts rest on."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled


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


# ---------------------------------------------------------------------------------------------------------------------
# The compiled steps of exact noise: from 64-bit words to draws, in whole numbers only (proofs/noise.md).
#
# What these steps cannot decide they report, and `blocks.Blocks.settled` decides it. Every number is a uint64 or an
# int64, and the two never meet in one operation: numba would make a float64 or an int64 of them, as its version is.


Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

MAGNITUDE, SIGNED, WITH_COIN = 0, 1, 2
"""What becomes of a magnitude z and its coin: z; z or −z, with minus zero dropped; z or ~z, which keeps both."""

KEPT, REFUSED, DOUBT = 1, 0, -1

GUIDE_SHIFT = 53
"""The guide has 2¹⁰ cells for the 2⁶³ places."""

MARGIN = 64
"""More than the error of the series of 1 − e^{−e} in units of 2⁻⁶⁴: each of at most 17 terms is short by less than 4,
the terms of one sign are 9 at most, and what is left out is less than 1."""

_HALF = np.uint64(32)
_LOW_HALF = np.uint64(2**32 - 1)
_MARGIN = np.uint64(MARGIN)
_ONE = np.uint64(1)
_NONE = np.uint64(0)


@compiled
def high_product(a: np.uint64, b: np.uint64) -> np.uint64:
    """⌊a·b / 2⁶⁴⌋ of two uint64, by halves of 32 bits; no intermediate sum reaches 2⁶⁴."""
    a_high, a_low = a >> _HALF, a & _LOW_HALF
    b_high, b_low = b >> _HALF, b & _LOW_HALF
    middle = a_high * b_low + (a_low * b_low >> _HALF)
    other = a_low * b_high + (middle & _LOW_HALF)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF)


@compiled
def block_of(place: np.uint64, lows: Words, guide: NDArray[np.int16]) -> np.int64:
    """The last block that begins, by `lows`, at or before `place`, a number below 2⁶³."""
    i = np.int64(guide[np.int64(place >> np.uint64(GUIDE_SHIFT))])
    while lows[i + 1] <= place:  # ends at the latest at 2⁶³, which follows the last bound
        i += 1
    return i


@compiled
def verdict(
    place: np.uint64,
    span: np.uint64,
    i: np.int64,
    j: np.uint64,
    bits: int,
    lows: Words,
    highs: Words,
    gradients: Words,
    curve: np.uint64,
) -> int:
    """Whether place j of block i = `block_of` is kept by a U with 2⁶³·U in [`place`, `place` + `span`)."""
    if place < highs[i] or i + 1 == highs.size or place + span > lows[i + 1]:
        return DOUBT
    if bits == 0:
        return KEPT
    t = j << np.uint64(64 - bits)
    total = term = exponent = high_product(t, gradients[i] + high_product(t, curve))
    order = 1
    while term > _NONE:
        order += 1
        term = high_product(term, exponent) // np.uint64(order)
        total = total + term if order % 2 == 1 else total - term
    most = high_product(total + _MARGIN, highs[i + 1] - lows[i]) + _ONE
    if place + span + most <= lows[i + 1]:
        return KEPT
    least = high_product(total - _MARGIN, lows[i + 1] - highs[i]) if total >= _MARGIN else _NONE
    return REFUSED if place + least >= highs[i + 1] else DOUBT


@compiled
def append(drawn: Integers, filled: int, magnitude: int | np.int64, coin: bool, form: int) -> int:
    """Write one draw of the given form after the first `filled`, and say how many there are then."""
    if form == SIGNED:
        if magnitude == 0 and coin:  # in this order: no processor foresees a coin
            return filled
        drawn[filled] = -magnitude if coin else magnitude
    elif form == WITH_COIN:
        drawn[filled] = ~magnitude if coin else magnitude
    else:
        drawn[filled] = magnitude
    return filled + 1


@compiled
def draw(
    words: Words,
    read: int,
    lows: Words,
    highs: Words,
    keeps: Words,
    guide: NDArray[np.int16],
    gradients: Words,
    curve: int,
    bits: int,
    words_an_attempt: int,
    form: int,
    drawn: Integers,
    filled: int,
) -> tuple[int, int, bool]:
    """Attempts from word `read` on, until the words or the places in `drawn` are used up or an attempt is in doubt.

    Returns how many words have been read, how many draws there are, and whether the last attempt read is in doubt.
    """
    steepening = np.uint64(curve)
    span = _ONE << np.uint64(bits) if words_an_attempt == 1 else _ONE
    below_u = span - _ONE
    while read < words.size and filled < drawn.size:
        first = words[read]
        place, j = (first >> _ONE) & ~below_u, (first >> _ONE) & below_u
        if words_an_attempt == 2:
            j = words[read + 1] >> np.uint64(64 - bits)
        read += words_an_attempt
        i = block_of(place, lows, guide)
        if place < highs[i] or place + span > keeps[i]:
            said = verdict(place, span, i, j, bits, lows, highs, gradients, steepening)
            if said == DOUBT:
                return read, filled, True
            if said == REFUSED:
                continue
        magnitude = (i << bits) | np.int64(j)
        filled = append(drawn, filled, magnitude, (first & _ONE) == _ONE, form)
    return read, filled, False


@compiled
def sech_squared(supply: Integers, state: Integers, drawn: Integers, filled: int) -> int:
    """Draws of the sech² law from geometric draws with a coin each (`WITH_COIN`), until either is used up.

    `state` is where the draw in progress stands when the supply ends, and where the next call goes on: the step (0: a
    candidate z is next; 1: it races against z; 2: against z + 1), the candidate, and the first half-logistic draw of
    the two or −1. Returns how many draws there are.
    """
    step, candidate, first = state[0], state[1], state[2]
    read = 0
    while read < supply.size and filled < drawn.size:
        item = supply[read]
        read += 1
        coin = item < 0
        magnitude = ~item if coin else item
        if step == 0:
            candidate, step = magnitude, 1
        elif coin:
            step += 1
        elif magnitude > candidate or (step == 1 and magnitude == candidate):
            step = 0
        if step == 3:
            if first < 0:
                first = candidate
            else:
                drawn[filled] = max(first, candidate)
                filled += 1
                first = -1
            step = 0
    state[0], state[1], state[2] = step, candidate, first
    return filled
