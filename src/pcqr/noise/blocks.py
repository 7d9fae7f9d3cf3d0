"""One law at one scale, made ready for drawing: tables for the compiled steps, and the exact path for their doubts.

A magnitude z ≥ 0 with P(z) ∝ e^{−q(z)} is drawn as z = w·i + j: the block i with probability ∝ e^{−q(wi)}, the place j
in it uniformly, and the pair is kept with probability e^{−(q(wi+j) − q(wi))}. One uniform number U decides both: among
the blocks laid end to end it lies in i, and the pair is kept where it lies in the first part of i. The width w is a
power of two, so j is `bits` random bits. No float takes part: the scale is the rational number that its float64 is
(proofs/noise.md).
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.entropy import Entropy
from pcqr.noise.exponential import exponential_bounds, upwards
from pcqr.noise.kernels import GUIDE_SHIFT, Words

N = TypeVar("N", bound=np.generic)

GEOMETRIC, GAUSSIAN = 1, 2
"""The power p of z in q(z) = z^p / (p·s^p)."""

BLOCKS_IN_A_SCALE = {GEOMETRIC: 8, GAUSSIAN: 32}
"""At least so many blocks in a scale, a power of two. The more, the fewer attempts are refused; the table is longer.

Enough that q grows by less than ½ in every block of a table: the errors of `kernels.verdict` are counted for that.
"""

MOST_BITS_BESIDE_U = 32
"""Up to so many bits of j share a word with U; with more of them U would too often be known too roughly."""

LARGEST_MAGNITUDE = 2**63 - 1
_PLACE_BITS = 63
_SPARE = 33
_NEGLIGIBLE = 64


@dataclass(frozen=True)
class Blocks:
    """The blocks of one law at one scale. Holds public numbers only, and never changes."""

    power: int
    bits: int
    """The width of a block is 2^bits."""
    unit: Fraction
    """q(w), so that q(w·i) = unit·i^p."""
    lows: Words
    highs: Words
    """2⁶³ times the probability of the blocks before each, from below and from above; 2⁶³ is the last of `lows`."""
    keeps: Words
    """2⁶³ times where U surely keeps every number of a block before, from below: 0 where the table does not say."""
    guide: NDArray[np.int16]
    """The last block that begins, by `lows`, at or before each of 2^10 equally spaced places."""
    slopes: Words
    curve: int
    """2⁶⁴ times the coefficients of t and t² in q(w·(i + t)) − q(w·i), from below. Not used where w is 1."""

    @property
    def words_an_attempt(self) -> int:
        return 1 if self.bits <= MOST_BITS_BESIDE_U else 2

    def settled(self, words: list[int], entropy: Entropy) -> int | None:
        """The magnitude that an attempt with these words comes to, None if it is refused: by more bits if need be."""
        place, j, span = words[0] >> 1, 0, 1
        if self.words_an_attempt == 2:
            j = words[1] >> (64 - self.bits)
        else:
            span <<= self.bits
            place, j = place & -span, place & (span - 1)
        bits = _PLACE_BITS
        lows, highs = self.lows[:-1].tolist(), self.highs.tolist()
        while True:
            i = bisect_right(lows, place) - 1
            if highs[i] <= place and i + 1 < len(lows) and place + span <= lows[i + 1]:
                least, most = self._shares_refused(i, j, bits)
                if place + span + upwards(most * (highs[i + 1] - lows[i]), bits) <= lows[i + 1]:
                    return min((i << self.bits) + j, LARGEST_MAGNITUDE)
                if place + (least * (lows[i + 1] - highs[i]) >> bits) >= highs[i + 1]:
                    return None
            place, bits = (place << 64) + span * another_word(entropy), bits + 64
            lows, highs = cumulative_bounds(self.power, self.unit, bits)

    def _shares_refused(self, i: int, j: int, bits: int) -> tuple[int, int]:
        """Bounds of 2^bits times the share 1 − e^{−(q(wi+j) − q(wi))} of block i at whose end place j is refused."""
        at = i + Fraction(j, 1 << self.bits)
        low, high = exponential_bounds(self.unit * (at**self.power - i**self.power), bits)
        return max(0, (1 << bits) - high), (1 << bits) - low


@lru_cache(maxsize=256)
def blocks(power: int, scale: float) -> Blocks:
    """The blocks of the law e^{−q}, q(z) = z^p / (p·s^p), at the very number s that `scale` is."""
    _, exponent = math.frexp(scale)
    bits = max(0, exponent - BLOCKS_IN_A_SCALE[power].bit_length())
    unit = (Fraction(1 << bits) / Fraction(scale)) ** power / power
    lows, highs = cumulative_bounds(power, unit, _PLACE_BITS)
    starts = np.array([*lows, 1 << _PLACE_BITS], dtype=np.uint64)
    grid = np.arange(1 << (_PLACE_BITS - GUIDE_SHIFT), dtype=np.uint64) << np.uint64(GUIDE_SHIFT)
    slopes, curve = _exponents(power, unit, len(lows)) if bits else ([], 0)
    return Blocks(
        power=power,
        bits=bits,
        unit=unit,
        lows=_frozen(starts),
        highs=_frozen(np.array(highs, dtype=np.uint64)),
        keeps=_frozen(np.array(_keeps(lows, highs, bits), dtype=np.uint64)),
        guide=_frozen((np.searchsorted(starts, grid, side="right") - 1).astype(np.int16)),
        slopes=_frozen(np.array(slopes, dtype=np.uint64)),
        curve=curve,
    )


@lru_cache(maxsize=32)
def cumulative_bounds(power: int, unit: Fraction, bits: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Bounds of 2^bits times the probability of the blocks before block 0, 1, …: block i has P ∝ e^{−unit·i^p}.

    The lists end where what is left is negligible at so many bits. Masses come one from the other, each rounded
    downwards and upwards; what was left out is bounded by a geometric series.
    """
    places = bits + _SPARE
    low_mass = high_mass = 1 << places
    low_ratio, high_ratio = exponential_bounds(unit, places)
    low_change, high_change = exponential_bounds(2 * (power - 1) * unit, places)
    low_sums, high_sums = [0], [0]
    while high_mass > _NEGLIGIBLE:
        low_sums.append(low_sums[-1] + low_mass)
        high_sums.append(high_sums[-1] + high_mass)
        low_mass, high_mass = low_mass * low_ratio >> places, upwards(high_mass * high_ratio, places)
        low_ratio, high_ratio = low_ratio * low_change >> places, upwards(high_ratio * high_change, places)
    left_out = -(-(high_mass << places) // ((1 << places) - high_ratio))
    low_total, high_total = low_sums[-1], high_sums[-1] + left_out
    lows = tuple((sum_ << bits) // high_total for sum_ in low_sums)
    highs = tuple(-(-(sum_ << bits) // low_total) for sum_ in high_sums)
    return lows, highs


def _exponents(power: int, unit: Fraction, count: int) -> tuple[list[int], int]:
    """2⁶⁴ times the coefficients of t and t² in unit·((i + t)^p − i^p) for i < `count`, rounded downwards."""
    if power == GEOMETRIC:
        return [math.floor(unit * 2**64)] * count, 0
    return [math.floor(2 * i * unit * 2**64) for i in range(count)], math.floor(unit * 2**64)


def _keeps(lows: tuple[int, ...], highs: tuple[int, ...], bits: int) -> list[int]:
    """For each block a bound from below of where U keeps its last number before, if it has several: all of it, if one.

    In a block of several that is its beginning and the length of the next block.
    """
    if not bits:
        return [*lows[1:], 0]
    return [*(max(0, low + after - end) for low, end, after in zip(lows, highs[1:], lows[2:], strict=False)), 0, 0]


def another_word(entropy: Entropy) -> int:
    word = np.empty(1, dtype=np.uint64)
    try:
        entropy.fill(word)
        return int(word[0])
    finally:
        word.fill(0)


def _frozen(array: NDArray[N]) -> NDArray[N]:
    array.flags.writeable = False
    return array
