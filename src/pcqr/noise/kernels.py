"""The compiled steps of exact noise: from 64-bit words to draws, in whole numbers only (proofs/noise.md).

What these steps cannot decide they report, and `blocks.Blocks.settled` decides it. Every number is a uint64 or an
int64, and the two never meet in one operation: numba would make a float64 or an int64 of them, as its version is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled

Words = NDArray[np.uint64]
Integers = NDArray[np.int64]

MAGNITUDE, SIGNED, WITH_COIN = 0, 1, 2
"""What becomes of a magnitude z and its coin: z; z or −z, with minus zero dropped; z or ~z, which keeps both."""

KEPT, REFUSED, DOUBT = 1, 0, -1

ORDERS = 16
"""Partial sums of 1 − e^{−e} that are tried."""

MARGIN = 32
"""More than the error of any of these partial sums in units of 2⁻⁶⁴: each of at most 16 terms is short by less than 4,
and the terms of one sign are 8 at most."""

_HALF = np.uint64(32)
_LOW_HALF = np.uint64(2**32 - 1)
_MARGIN = np.uint64(MARGIN)
_ONE = np.uint64(1)
_ALL = np.uint64(2**64 - 1)


@compiled
def high_product(a: np.uint64, b: np.uint64) -> np.uint64:
    """⌊a·b / 2⁶⁴⌋ of two uint64, by halves of 32 bits; no intermediate sum reaches 2⁶⁴."""
    a_high, a_low = a >> _HALF, a & _LOW_HALF
    b_high, b_low = b >> _HALF, b & _LOW_HALF
    middle = a_high * b_low + (a_low * b_low >> _HALF)
    other = a_low * b_high + (middle & _LOW_HALF)
    return a_high * b_high + (middle >> _HALF) + (other >> _HALF)


@compiled
def place(word: np.uint64, lows: Words, highs: Words, guide: NDArray[np.int16], guide_shift: int) -> np.int64:
    """The block in which the uniform number with the 63 bits `word` lies, or `DOUBT`."""
    i = np.int64(guide[np.int64(word >> np.uint64(guide_shift))])
    while lows[i + 1] <= word:  # ends at the latest at 2⁶³, which follows the last bound
        i += 1
    if highs[i] <= word and i + 1 < highs.size:
        return i
    return np.int64(DOUBT)


@compiled
def verdict(word: np.uint64, slope: np.uint64, curve: np.uint64, bits: int) -> int:
    """Whether the place in a block, the first `bits` of `word`, is kept: V ≥ 1 − e^{−e}, V begins with the others."""
    rest = np.uint64(bits)
    t = word & (_ALL << (np.uint64(64) - rest))
    v = word << rest
    exponent = high_product(t, slope + high_product(t, curve))
    total = term = exponent
    for order in range(1, ORDERS + 1):
        if order % 2 == 1:
            if v >= total + _MARGIN:
                return KEPT
            term = high_product(term, exponent) // np.uint64(order + 1)
            total = total - term
        else:
            beyond = _MARGIN + (_ONE << rest)
            if total >= beyond and v <= total - beyond:
                return REFUSED
            term = high_product(term, exponent) // np.uint64(order + 1)
            total = total + term
    return DOUBT


@compiled
def append(drawn: Integers, filled: int, magnitude: int | np.int64, coin: bool, form: int) -> int:
    """Write one draw of the given form after the first `filled`, and say how many there are then."""
    if form == SIGNED:
        if coin and magnitude == 0:
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
    guide: NDArray[np.int16],
    guide_shift: int,
    slopes: Words,
    curve: int,
    bits: int,
    form: int,
    drawn: Integers,
    filled: int,
) -> tuple[int, int, bool]:
    """Attempts from word `read` on, until the words or the places in `drawn` are used up or an attempt is in doubt.

    Returns how many words have been read, how many draws there are, and whether the last attempt read is in doubt.
    """
    steepening = np.uint64(curve)
    while read < words.size and filled < drawn.size:
        first = words[read]
        magnitude = place(first >> _ONE, lows, highs, guide, guide_shift)
        kept = DOUBT if magnitude == DOUBT else KEPT
        read += 1
        if bits > 0:
            second = words[read]
            read += 1
            if magnitude != DOUBT:
                kept = verdict(second, slopes[magnitude], steepening, bits)
                magnitude = (magnitude << bits) | np.int64(second >> np.uint64(64 - bits))
        if kept == DOUBT:
            return read, filled, True
        if kept == KEPT:
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
