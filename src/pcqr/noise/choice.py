"""The exact weighted choice: every random decision of the exponential mechanism (proofs/weighted_choice.md)."""

from __future__ import annotations

import decimal
import math

import numpy as np
from numpy.typing import NDArray

from pcqr.entropy import Entropy
from pcqr.errors import ParameterError

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
