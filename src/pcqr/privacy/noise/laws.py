"""Integer noise, exact, one draw or many: what the privacy proofs of this project draw (proofs/noise.md).

Every entropy takes the same path. A call reads its random words into a buffer of its own, overwrites the buffer as soon
as it is used up, and keeps nothing for the next call. Many draws are shared out to threads where the entropy allows it,
each with its own words and buffer; with every other entropy, a seeded one too, words are taken in order in one thread.
"""

from __future__ import annotations

import decimal
import math
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer
from pcqr.compiled import ForkedError, in_threads, this_process
from pcqr.errors import ParameterError
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.noise import kernels
from pcqr.privacy.noise.kernels import GUIDE_SHIFT, MAGNITUDE, SIGNED, WITH_COIN, Words, exponential_bounds, upwards

IntegerArray = NDArray[np.int64]

LARGEST_SCALE = 2.0**50
"""Magnitudes are clamped to 63 bits. Up to this scale that happens with probability below e^−8000."""

BUFFER_WORDS = 8192
"""Random words that a thread has in memory at a time, at most: 64 KiB."""

_MANY = 1 << 16
"""So many draws are worth threads: they take some 2 ms."""

_STEPS_A_DRAW = 16
"""What a draw costs, in the steps that `in_threads` counts."""

_SUPPLY = 14
"""Geometric draws that a sech² draw takes on average, at most: 4 + 8·ln 2 + 4 at large scales, 12 at small ones."""


def discrete_laplace(scale: float, entropy: Entropy) -> int:
    """One integer z with P(z) ∝ exp(−|z| / scale)  (Ghosh, Roughgarden, Sundararajan 2009)."""
    return int(_draws(GEOMETRIC, scale, 1, entropy, SIGNED)[0])


def discrete_laplaces(scale: float, count: int, entropy: Entropy) -> IntegerArray:
    """`count` independent draws of `discrete_laplace`."""
    check_integer("count", count, least=1)
    return _draws(GEOMETRIC, scale, count, entropy, SIGNED)


def geometric(scale: float, entropy: Entropy) -> int:
    """One integer z ≥ 0 with P(z ≥ t) = exp(−t / scale): a discrete Laplace conditioned on z ≥ 0."""
    return int(_draws(GEOMETRIC, scale, 1, entropy, MAGNITUDE)[0])


def geometrics(scale: float, count: int, entropy: Entropy) -> IntegerArray:
    """`count` independent draws of `geometric`."""
    check_integer("count", count, least=1)
    return _draws(GEOMETRIC, scale, count, entropy, MAGNITUDE)


def discrete_gaussian(scale: float, entropy: Entropy) -> int:
    """One integer z with P(z) ∝ exp(−z² / (2·scale²))  (Canonne, Kamath, Steinke 2020)."""
    return int(_draws(GAUSSIAN, scale, 1, entropy, SIGNED)[0])


def discrete_gaussians(scale: float, count: int, entropy: Entropy) -> IntegerArray:
    """`count` independent draws of `discrete_gaussian`."""
    check_integer("count", count, least=1)
    return _draws(GAUSSIAN, scale, count, entropy, SIGNED)


def sech_squared(scale: float, entropy: Entropy) -> int:
    """One integer z ≥ 0 with P(z ≥ t) = sech²(t / (2·scale)): the larger of two half-logistic draws.

    Its tail is geometric, P(z ≥ t) ≈ 4·e^{−t/scale}, and its start is flat: P(z < t) ≈ (t / (2·scale))².
    """
    return int(sech_squareds(scale, 1, entropy)[0])


def sech_squareds(scale: float, count: int, entropy: Entropy) -> IntegerArray:
    """`count` independent draws of `sech_squared`."""
    check_integer("count", count, least=1)
    check_scale("scale", scale)
    table = blocks(GEOMETRIC, float(scale))
    return _in_one_process(count, lambda drawn: _fill_sech_squared(drawn, table, entropy))


def check_scale(name: str, scale: float) -> None:
    if not 0 < float(scale) <= LARGEST_SCALE:
        raise ParameterError(name, "a number in (0, 2**50]", scale)


def _draws(power: int, scale: float, count: int, entropy: Entropy, form: int) -> IntegerArray:
    check_scale("scale", scale)
    table = blocks(power, float(scale))

    def fill(drawn: IntegerArray) -> None:
        write_draws(drawn, table, entropy, form)

    def fill_in_threads(drawn: IntegerArray) -> None:
        in_threads(lambda low, high: fill(drawn[low:high]), count, _STEPS_A_DRAW)

    return _in_one_process(count, fill_in_threads if entropy.is_shared and count >= _MANY else fill)


def _in_one_process(count: int, fill: Callable[[IntegerArray], None]) -> IntegerArray:
    """`count` draws by `fill`. A process that was forked off meanwhile draws anew: words must not serve twice."""
    drawn = np.empty(count, dtype=np.int64)
    while True:
        process = this_process()
        try:
            fill(drawn)
        except ForkedError:
            continue
        if this_process() == process:
            return drawn


def _fill_sech_squared(drawn: IntegerArray, table: Blocks, entropy: Entropy) -> None:
    """Overwrite `drawn` with sech² draws. A draw in progress when the geometric ones run out goes on with the next."""
    supply = np.empty(min(BUFFER_WORDS, _SUPPLY * (drawn.size + 1)), dtype=np.int64)
    state = np.array([0, 0, -1])
    filled = 0
    try:
        while filled < drawn.size:
            share = supply[: _SUPPLY * (drawn.size - filled + 1)]
            write_draws(share, table, entropy, WITH_COIN)
            filled = kernels.sech_squared(share, state, drawn, filled)
    finally:
        supply.fill(0)
        state.fill(0)


def write_draws(drawn: IntegerArray, table: Blocks, entropy: Entropy, form: int) -> None:
    """Overwrite `drawn` with draws of the given form, from random words that are overwritten in their turn."""
    words_an_attempt = table.words_an_attempt
    buffer = np.empty(min(BUFFER_WORDS, words_an_attempt * _attempts(drawn.size)), dtype=np.uint64)
    filled = 0
    try:
        while filled < drawn.size:
            words = buffer[: words_an_attempt * _attempts(drawn.size - filled)]
            entropy.fill(words)
            filled = _use(words, table, entropy, form, drawn, filled)
    finally:
        buffer.fill(0)


def _attempts(draws: int) -> int:
    """How many attempts to make room for: a pace, which changes no law. A few more than draws, for those refused."""
    return draws + draws // 8 + 2


def _use(words: Words, table: Blocks, entropy: Entropy, form: int, drawn: IntegerArray, filled: int) -> int:
    """Turn words into draws until either is used up; an attempt in doubt is settled by more words before the next."""
    read = 0
    while read < words.size and filled < drawn.size:
        read, filled, doubtful = kernels.draw(
            words,
            read,
            table.lows,
            table.highs,
            table.keeps,
            table.guide,
            table.gradients,
            table.curve,
            table.bits,
            table.words_an_attempt,
            form,
            drawn,
            filled,
        )
        if doubtful:
            attempt = words[read - table.words_an_attempt : read].tolist()
            magnitude = table.settled(attempt, entropy)
            if magnitude is not None:
                filled = kernels.append(drawn, filled, magnitude, bool(attempt[0] & 1), form)
    return filled


# ---------------------------------------------------------------------------------------------------------------------
# The exact weighted choice: every random decision of the exponential mechanism (proofs/weighted_choice.md).


FloatArray = NDArray[np.float64]

UNIT_ROUNDOFF = 2.0**-53
"""Largest relative error of one float64 operation rounded to nearest."""


@np.errstate(all="ignore")
def weighted_choice(log_weights: FloatArray, entropy: Entropy) -> int:
    """Draw index i with probability exp(ℓᵢ) / Σⱼ exp(ℓⱼ), ℓ = `log_weights` after their maximum is subtracted.

    Propose a uniform index, accept it when a uniform real U is below exp(ℓᵢ); U is compared by its first 64 bits
    and, in the rare undecided case, by as many more as it takes. No probability is rounded, nothing underflows
    to zero: **the draw is exact for the float64 numbers ℓ**. The only error is that of the log-weights
    themselves; subtracting the maximum adds at most `UNIT_ROUNDOFF` · (max − min), and nothing when the maximum
    is 0. Expected work: at most two passes over the weights.

    The running time depends on the weights. It is spent while fitting or publishing and, by `ExponentialMax`, in every
    answer; see docs/known-vulnerabilities.md.
    """
    levels = shifted(log_weights)
    count = levels.size
    # Rounding and underflow do no harm here: this sets the pace, not the law.
    expected_proposals = count / float(np.exp(levels).sum())
    batch = int(min(max(2.0 * expected_proposals, 16.0), 2.0**18))
    while True:
        index = entropy.below(count, batch)
        words = entropy.words(batch)
        scaled = np.exp(levels[index]) * 2.0**64
        position = words.astype(np.float64)
        # np.exp is taken to be good to a relative 2⁻⁴⁹ (its own tests are stricter), the conversion is to 2⁻⁵³: the
        # margins cover both and their own rounding; the 2 covers the width of a word and all that underflows.
        doubt = scaled * 2.0**-48 + position * 2.0**-52 + 2.0
        below = position < scaled + doubt
        for j in np.flatnonzero(below):
            sure = position[j] < scaled[j] - doubt[j]
            if sure or _is_below_exponential(int(words[j]), float(levels[index[j]]), entropy):
                return int(index[j])


@np.errstate(all="ignore")
def log_normaliser(log_weights: FloatArray) -> float:
    """ln Σᵢ exp(ℓᵢ): a sum of positive terms only."""
    top = float(log_weights.max())
    return top + math.log(float(np.exp(log_weights - top).sum()))


def shifted(log_weights: FloatArray) -> FloatArray:
    """`log_weights` less their maximum, which must be finite: the same law, and no overflow."""
    if log_weights.ndim != 1 or log_weights.size == 0:
        raise ParameterError("log_weights", "a vector with at least one entry", f"shape {log_weights.shape}")
    top = float(log_weights.max())
    if not math.isfinite(top):  # numpy's maximum of anything with a NaN is NaN
        raise ParameterError("log_weights", "finite or −inf, not all −inf", "NaN or an infinite maximum")
    return log_weights - top


def _is_below_exponential(word: int, exponent: float, entropy: Entropy) -> bool:
    """Decide U < exp(`exponent`) for a uniform real U whose first 64 bits are `word`, drawing more bits as needed.

    `Context.exp` is correctly rounded, so with `digits` significant digits every operation below is good to a
    relative 10^(1 − digits), and 10^(5 − digits) brackets the true value of 2^bits · exp(`exponent`) with room.
    Each operation names its context: the operators would round to the thread's own, 28 digits as a rule.
    """
    if exponent == -math.inf:
        return False
    bits, known = 64, word
    while True:
        digits = 40 + bits // 3
        context = decimal.Context(
            prec=digits, rounding=decimal.ROUND_HALF_EVEN, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, traps=[]
        )
        target = context.multiply(context.exp(decimal.Decimal.from_float(exponent)), decimal.Decimal(1 << bits))
        slack = context.scaleb(target, 5 - digits)
        if known + 1 <= context.subtract(target, slack):
            return True
        # While every bit is 0, U may still be below any positive number, even one that decimals cannot hold.
        if known and known >= context.add(target, slack):
            return False
        bits, known = bits + 64, (known << 64) | int(entropy.words(1)[0])


class Chooser:
    """The choices of one exact draw, with the log-probability of all of them together.

    A sampler asks for its random choices here and nowhere else. That makes its law enumerable: a test hands in
    another chooser that walks through every branch. `log_probability` is a function of the private records: it
    must not leave the process.
    """

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy
        self.log_probability = 0.0

    def __call__(self, log_weights: FloatArray) -> int:
        index = weighted_choice(log_weights, self._entropy)
        self.log_probability += float(log_weights[index]) - log_normaliser(log_weights)
        return index


# ---------------------------------------------------------------------------------------------------------------------
# One law at one scale, made ready for drawing: tables for the compiled steps, and the exact path for their doubts.
#
# A magnitude z ≥ 0 with P(z) ∝ e^{−q(z)} is drawn as z = w·i + j: the block i with probability ∝ e^{−q(wi)}, the place
# j in it uniformly, and the pair is kept with probability e^{−(q(wi+j) − q(wi))}. One uniform number U decides both:
# among the blocks laid end to end it lies in i, and the pair is kept where it lies in the first part of i. The width w
# is a power of two, so j is `bits` random bits. No float takes part: the scale is the rational number that its float64
# is (proofs/noise.md).


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
    gradients: Words
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
    gradients, curve = _exponents(power, unit, len(lows)) if bits else ([], 0)
    return Blocks(
        power=power,
        bits=bits,
        unit=unit,
        lows=_frozen(starts),
        highs=_frozen(np.array(highs, dtype=np.uint64)),
        keeps=_frozen(np.array(_keeps(lows, highs, bits), dtype=np.uint64)),
        guide=_frozen((np.searchsorted(starts, grid, side="right") - 1).astype(np.int16)),
        gradients=_frozen(np.array(gradients, dtype=np.uint64)),
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
