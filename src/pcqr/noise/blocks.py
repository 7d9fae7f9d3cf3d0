"""One law at one scale, made ready for drawing: tables for the compiled steps, and the exact path for their doubts.

A magnitude z ≥ 0 with P(z) ∝ e^{−q(z)} is drawn as z = w·i + j: the block i with probability ∝ e^{−q(wi)}, the place j
in it uniformly, and the pair is kept with probability e^{−(q(wi+j) − q(wi))}. The width w is a power of two, so j is
`bits` random bits. No float takes part: the scale is the rational number that its float64 is (proofs/noise.md).
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
from pcqr.noise.kernels import Words

N = TypeVar("N", bound=np.generic)

GEOMETRIC, GAUSSIAN = 1, 2
"""The power p of z in q(z) = z^p / (p·s^p)."""

BLOCKS_IN_A_SCALE = {GEOMETRIC: 8, GAUSSIAN: 32}
"""At least so many blocks in a scale, a power of two. The more, the fewer attempts are refused; the table is longer.

Enough that q grows by less than ½ in every block of a table: the errors of `kernels.verdict` are counted for that.
"""

LARGEST_MAGNITUDE = 2**63 - 1
_PLACE_BITS = 63
_GUIDE_BITS = 10
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
    guide: NDArray[np.int16]
    """The last block that begins, by `lows`, at or before each of 2^10 equally spaced places."""
    guide_shift: int
    slopes: Words
    curve: int
    """2⁶⁴ times the coefficients of t and t² in q(w·(i + t)) − q(w·i), from below. Not used where w is 1."""

    @property
    def words_an_attempt(self) -> int:
        return 2 if self.bits else 1

    def settled(self, words: list[int], entropy: Entropy) -> int | None:
        """The magnitude that an attempt with these words comes to, None if it is refused: by more bits if need be."""
        block = self._place(words[0] >> 1, entropy)
        if not self.bits:
            return min(block, LARGEST_MAGNITUDE)
        known = 64 - self.bits
        j = words[1] >> known
        if not self._is_kept(block, j, words[1] & ((1 << known) - 1), known, entropy):
            return None
        return min((block << self.bits) + j, LARGEST_MAGNITUDE)

    def _place(self, u: int, entropy: Entropy) -> int:
        """The block in which a uniform number lies whose first 63 bits are `u`."""
        bits = _PLACE_BITS
        lows, highs = self.lows[:-1].tolist(), self.highs.tolist()
        while True:
            block = bisect_right(lows, u) - 1
            if highs[block] <= u and block + 1 < len(lows):
                return block
            u, bits = (u << 64) | another_word(entropy), bits + 64
            lows, highs = cumulative_bounds(self.power, self.unit, bits)

    def _is_kept(self, block: int, j: int, v: int, bits: int, entropy: Entropy) -> bool:
        """Whether V ≥ 1 − e^{−e} for a uniform number V whose first `bits` are `v`, e = q(w·block + j) − q(w·block)."""
        place = block + Fraction(j, 1 << self.bits)
        exponent = self.unit * (place**self.power - block**self.power)
        while True:
            low, high = exponential_bounds(exponent, bits)
            if v >= (1 << bits) - low:
                return True
            if v + 1 <= (1 << bits) - high:
                return False
            v, bits = (v << 64) | another_word(entropy), bits + 64


@lru_cache(maxsize=256)
def blocks(power: int, scale: float) -> Blocks:
    """The blocks of the law e^{−q}, q(z) = z^p / (p·s^p), at the very number s that `scale` is."""
    _, exponent = math.frexp(scale)
    bits = max(0, exponent - BLOCKS_IN_A_SCALE[power].bit_length())
    unit = (Fraction(1 << bits) / Fraction(scale)) ** power / power
    lows, highs = cumulative_bounds(power, unit, _PLACE_BITS)
    starts = np.array([*lows, 1 << _PLACE_BITS], dtype=np.uint64)
    guide_shift = _PLACE_BITS - _GUIDE_BITS
    grid = np.arange(1 << _GUIDE_BITS, dtype=np.uint64) << np.uint64(guide_shift)
    slopes, curve = _exponents(power, unit, len(lows)) if bits else ([], 0)
    return Blocks(
        power=power,
        bits=bits,
        unit=unit,
        lows=_frozen(starts),
        highs=_frozen(np.array(highs, dtype=np.uint64)),
        guide=_frozen((np.searchsorted(starts, grid, side="right") - 1).astype(np.int16)),
        guide_shift=guide_shift,
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
