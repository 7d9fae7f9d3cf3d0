"""Integer noise and the exact weighted choice: every random number that a privacy proof speaks of.

With `SystemEntropy` the integer noise is OpenDP's, which samples its laws exactly on the integers. A
`SeededEntropy` cannot steer OpenDP, so tests get the same laws, up to float64 rounding, from an inverse
distribution function; such results are marked as not private by the entropy they came from (proofs/noise.md).
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError

FloatArray = NDArray[np.float64]
IntegerArray = NDArray[np.int64]

UNIT_ROUNDOFF = 2.0**-53
"""Largest relative error of one float64 operation rounded to nearest."""

LARGEST_SCALE = 2.0**50
"""OpenDP's result is clamped to 64 bits. Up to this scale that happens with probability below e^−8000."""


# --------------------------------------------------------------------------------------------------------------
# Integer noise


def discrete_laplace(scale: float, entropy: Entropy) -> int:
    """One integer z with P(z) ∝ exp(−|z| / scale)  (Ghosh, Roughgarden, Sundararajan 2009)."""
    check_scale("scale", scale)
    if entropy.is_private:
        return int(_opendp_noise("laplace", scale)(0))
    return _two_sided(lambda: _seeded_geometric(scale, entropy), entropy)


def geometric(scale: float, entropy: Entropy) -> int:
    """One integer z ≥ 0 with P(z ≥ t) = exp(−t / scale): a discrete Laplace conditioned on z ≥ 0."""
    check_scale("scale", scale)
    if not entropy.is_private:
        return _seeded_geometric(scale, entropy)
    while (z := discrete_laplace(scale, entropy)) < 0:
        pass
    return z


def discrete_gaussian(scale: float, entropy: Entropy) -> int:
    """One integer z with P(z) ∝ exp(−z² / (2·scale²))  (Canonne, Kamath, Steinke 2020)."""
    check_scale("scale", scale)
    if entropy.is_private:
        return int(_opendp_noise("gaussian", scale)(0))
    # The rejection of Canonne, Kamath and Steinke from a two-sided geometric: constant memory at any scale.
    proposal_scale = math.floor(scale) + 1.0
    while True:
        z = discrete_laplace(proposal_scale, entropy)
        excess = (abs(z) - scale * scale / proposal_scale) / scale
        if _seeded_uniform(entropy) < math.exp(-0.5 * excess * excess):
            return z


def discrete_gaussians(scale: float, count: int, entropy: Entropy) -> IntegerArray:
    """`count` independent draws of `discrete_gaussian`, at about a third of the time of as many calls."""
    check_scale("scale", scale)
    check_integer("count", count, least=1)
    if entropy.is_private:
        return np.array(_opendp_gaussians(scale)([0] * count), dtype=np.int64)
    drawn = np.empty(0, dtype=np.int64)
    while drawn.size < count:
        drawn = np.append(drawn, _seeded_gaussians(scale, 2 * (count - drawn.size) + 8, entropy))
    return drawn[:count]


def sech_squared(scale: float, entropy: Entropy) -> int:
    """One integer z ≥ 0 with P(z ≥ t) = sech²(t / (2·scale)): the larger of two half-logistic draws.

    Its tail is geometric, P(z ≥ t) ≈ 4·e^{−t/scale}, and its start is flat: P(z < t) ≈ (t / (2·scale))².
    """
    check_scale("scale", scale)
    draw = _half_logistic if entropy.is_private else _seeded_half_logistic
    return max(draw(scale, entropy), draw(scale, entropy))


def _half_logistic(scale: float, entropy: Entropy) -> int:
    """One integer z ≥ 0 with P(z ≥ t) = 2 / (1 + e^{t/scale}).

    A geometric z is kept with probability 1 / ((1 + a^z)(1 + a^{z+1})), a = e^{−1/scale}; half of them are.
    """
    while True:
        z = geometric(scale, entropy)
        if _outruns_power(scale, z, entropy) and _outruns_power(scale, z + 1, entropy):
            return z


def _outruns_power(scale: float, t: int, entropy: Entropy) -> bool:
    """True with probability 1 / (1 + e^{−t/scale}): chances ½ and ½·e^{−t/scale} take turns until one comes true."""
    while not entropy.below(2, 1)[0]:
        if geometric(scale, entropy) >= t:
            return False
    return True


def check_scale(name: str, scale: float) -> None:
    if not 0 < scale <= LARGEST_SCALE:
        raise ParameterError(name, "a number in (0, 2**50]", scale)


@lru_cache(maxsize=256)
def _opendp_noise(law: str, scale: float) -> Callable[[int], int]:
    """The OpenDP measurement for `law` on 64-bit integers. Building one costs as much as a draw, hence the cache."""
    import opendp.prelude as dp  # noqa: PLC0415  (two seconds of import that planning alone does not need)

    dp.enable_features("contrib")
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    make: Any = dp.m.make_laplace if law == "laplace" else dp.m.make_gaussian
    measurement: Callable[[int], int] = make(*space, scale=scale)
    return measurement


@lru_cache(maxsize=64)
def _opendp_gaussians(scale: float) -> Callable[[list[int]], list[int]]:
    """The OpenDP measurement that adds independent discrete Gaussians to a list of 64-bit integers."""
    import opendp.prelude as dp  # noqa: PLC0415

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    measurement: Callable[[list[int]], list[int]] = dp.m.make_gaussian(*space, scale=scale)
    return measurement


def _seeded_gaussians(scale: float, proposals: int, entropy: Entropy) -> IntegerArray:
    """What the rejection of `discrete_gaussian` keeps of so many proposals, all made at once."""
    proposal_scale = math.floor(scale) + 1.0
    first, second = ((entropy.words(proposals) + 0.5) / 2.0**64 for _ in range(2))
    negative = entropy.below(2, proposals).astype(bool)
    magnitude = np.floor(-proposal_scale * np.log(first))
    excess = (magnitude - scale * scale / proposal_scale) / scale
    kept = (second < np.exp(-0.5 * excess * excess)) & ~(negative & (magnitude == 0.0))
    accepted: IntegerArray = np.where(negative, -magnitude, magnitude)[kept].astype(np.int64)
    return accepted


def _seeded_geometric(scale: float, entropy: Entropy) -> int:
    return math.floor(-scale * math.log(_seeded_uniform(entropy)))


def _seeded_half_logistic(scale: float, entropy: Entropy) -> int:
    smaller = 0.5 * _seeded_uniform(entropy)
    return math.floor(scale * math.log((1.0 - smaller) / smaller))


def _seeded_uniform(entropy: Entropy) -> float:
    return (float(entropy.words(1)[0]) + 0.5) / 2.0**64


def _two_sided(magnitude: Callable[[], int], entropy: Entropy) -> int:
    """Sign and magnitude, with "minus zero" redrawn so that zero is not counted twice."""
    while True:
        z, negative = magnitude(), bool(entropy.below(2, 1)[0])
        if z or not negative:
            return -z if negative else z


# --------------------------------------------------------------------------------------------------------------
# Exact weighted choice


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
