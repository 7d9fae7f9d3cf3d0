"""Integer noise and the exact weighted choice: every random number that a privacy proof speaks of.

With `SystemEntropy` the integer noise is OpenDP's, which samples its laws exactly on the integers. A
`SeededEntropy` cannot steer OpenDP, so tests get the same laws from an inverse distribution function; such
results are marked as not private by the entropy they came from.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.entropy import Entropy
from pcqr.errors import ParameterError

FloatArray = NDArray[np.float64]

UNIT_ROUNDOFF = 2.0**-53
"""Largest relative error of one float64 operation rounded to nearest."""


# --------------------------------------------------------------------------------------------------------------
# Integer noise


def discrete_laplace(scale: float, entropy: Entropy) -> int:
    """One integer z with P(z) ∝ exp(−|z| / scale)  (Ghosh, Roughgarden, Sundararajan 2009)."""
    _check_scale(scale)
    if entropy.is_private:
        return int(_opendp_noise("laplace", scale)(0))
    return _two_sided(lambda: _seeded_geometric(scale, entropy), entropy)


def geometric(scale: float, entropy: Entropy) -> int:
    """One integer z ≥ 0 with P(z ≥ t) = exp(−t / scale): a discrete Laplace conditioned on z ≥ 0."""
    _check_scale(scale)
    if not entropy.is_private:
        return _seeded_geometric(scale, entropy)
    while (z := discrete_laplace(scale, entropy)) < 0:
        pass
    return z


def discrete_gaussian(scale: float, entropy: Entropy) -> int:
    """One integer z with P(z) ∝ exp(−z² / (2·scale²))  (Canonne, Kamath, Steinke 2020)."""
    _check_scale(scale)
    if entropy.is_private:
        return int(_opendp_noise("gaussian", scale)(0))
    reach = math.ceil(12.0 * scale) + 12
    support = np.arange(-reach, reach + 1, dtype=np.float64)
    return weighted_choice(-(support**2) / (2.0 * scale**2), entropy) - reach


def _check_scale(scale: float) -> None:
    if not (math.isfinite(scale) and scale > 0):
        raise ParameterError("scale", "a positive finite number", scale)


@lru_cache(maxsize=256)
def _opendp_noise(law: str, scale: float) -> Callable[[int], int]:
    """The OpenDP measurement for `law` on 64-bit integers. Building one costs as much as a draw, hence the cache."""
    import opendp.prelude as dp  # noqa: PLC0415  (two seconds of import that planning alone does not need)

    dp.enable_features("contrib")
    space = dp.atom_domain(T="i64"), dp.absolute_distance(T="i64")
    make: Any = dp.m.make_laplace if law == "laplace" else dp.m.make_gaussian
    measurement: Callable[[int], int] = make(*space, scale=scale)
    return measurement


def _seeded_geometric(scale: float, entropy: Entropy) -> int:
    uniform = (float(entropy.words(1)[0]) + 0.5) / 2.0**64
    return math.floor(-scale * math.log(uniform))


def _two_sided(magnitude: Callable[[], int], entropy: Entropy) -> int:
    """Sign and magnitude, with "minus zero" redrawn so that zero is not counted twice."""
    while True:
        z, negative = magnitude(), bool(entropy.below(2, 1)[0])
        if z or not negative:
            return -z if negative else z


# --------------------------------------------------------------------------------------------------------------
# Exact weighted choice


def weighted_choice(log_weights: FloatArray, entropy: Entropy) -> int:
    """Draw index i with probability exp(ℓᵢ) / Σⱼ exp(ℓⱼ), ℓ = `log_weights` after their maximum is subtracted.

    Propose a uniform index, accept it when a uniform real U is below exp(ℓᵢ); U is compared by its first 64 bits
    and, in the rare undecided case, by as many more as it takes. No probability is rounded, nothing underflows
    to zero: **the draw is exact for the float64 numbers ℓ**. The only error is that of the log-weights
    themselves; subtracting the maximum adds at most `UNIT_ROUNDOFF` · (max − min), and nothing when the maximum
    is 0. Expected work: at most two passes over the weights.

    The running time depends on the weights. It is spent while fitting; see docs/known-vulnerabilities.md.
    """
    levels = _shifted(log_weights)
    count = levels.size
    expected_proposals = count / float(np.exp(levels).sum())
    batch = int(min(max(2.0 * expected_proposals, 16.0), 2.0**18))
    while True:
        index = entropy.below(count, batch)
        words = entropy.words(batch)
        scaled = np.exp(levels[index]) * 2.0**64
        position = words.astype(np.float64)
        # exp, the product and the conversion are each good to 2⁻⁵²; 2⁻⁴⁸ covers them with room.
        doubt = scaled * 2.0**-48 + position * 2.0**-52 + 2.0
        below = position < scaled + doubt
        for j in np.flatnonzero(below):
            sure = position[j] < scaled[j] - doubt[j]
            if sure or _is_below_exponential(int(words[j]), float(levels[index[j]]), entropy):
                return int(index[j])


def log_normaliser(log_weights: FloatArray) -> float:
    """ln Σᵢ exp(ℓᵢ): a sum of positive terms only."""
    top = float(log_weights.max())
    return top + math.log(float(np.exp(log_weights - top).sum()))


def _shifted(log_weights: FloatArray) -> FloatArray:
    if log_weights.ndim != 1 or log_weights.size == 0:
        raise ParameterError("log_weights", "a vector with at least one entry", f"shape {log_weights.shape}")
    top = float(log_weights.max())
    if not math.isfinite(top) or np.isnan(log_weights).any():
        raise ParameterError("log_weights", "finite or −inf, not all −inf", "NaN or an infinite maximum")
    return log_weights - top


def _is_below_exponential(word: int, exponent: float, entropy: Entropy) -> bool:
    """Decide U < exp(`exponent`) for a uniform real U whose first 64 bits are `word`, drawing more bits as needed.

    `decimal.exp` is correctly rounded, so one unit in the last place on either side brackets the true value.
    """
    if exponent == -math.inf:
        return False
    bits, known = 64, word
    while True:
        digits = 40 + bits // 3
        context = decimal.Context(prec=digits, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX)
        power = context.exp(decimal.Decimal(exponent))
        target = context.multiply(power, context.power(decimal.Decimal(2), bits))
        slack = context.multiply(target, decimal.Decimal(10) ** (5 - digits))
        if known + 1 <= target - slack:
            return True
        if known >= target + slack:
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
