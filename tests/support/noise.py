"""What the tests of noise compare with: the laws in a hundred digits, and Pearson's χ².

The digits are those of `decimal`, which shares nothing with the whole numbers of `pcqr.privacy.noise`.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from pcqr.privacy.noise.laws import Blocks

DIGITS = decimal.Context(
    prec=100, Emin=decimal.MIN_EMIN, Emax=decimal.MAX_EMAX, rounding=decimal.ROUND_HALF_EVEN, traps=[]
)
ERROR = Fraction(1, 10**90)
"""Far more than a sum of a few thousand exponentials errs in a hundred digits."""


def exponential(x: Fraction) -> Fraction:
    """e^{−x}, good to a relative 10⁻⁹⁷·x."""
    return Fraction(_exponential(x))


def _exponential(x: Fraction) -> decimal.Decimal:
    # A minus sign would round to the thread's 28 digits.
    return DIGITS.exp(DIGITS.divide(decimal.Decimal(-x.numerator), decimal.Decimal(x.denominator)))


@lru_cache(maxsize=32)
def borders(power: int, unit: Fraction) -> list[Fraction]:
    """The probability of the blocks before block 0, 1, …, P(i) ∝ e^{−unit·i^power}, each to within `ERROR`."""
    masses: list[decimal.Decimal] = []
    while not masses or masses[-1] > decimal.Decimal("1e-98"):
        masses.append(_exponential(unit * len(masses) ** power))
    sums = [decimal.Decimal(0)]
    for mass in masses:
        sums.append(DIGITS.add(sums[-1], mass))
    return [Fraction(DIGITS.divide(value, sums[-1])) for value in sums]


def bits_of_u(table: Blocks) -> int:
    """How many bits of U the words of an attempt hold."""
    return 63 - (table.bits if table.words_an_attempt == 1 else 0)


def attempt(table: Blocks, u: int, j: int, coin: int = 0) -> list[int]:
    """The words of an attempt with these bits of U, this place in the block and this coin (proofs/noise.md)."""
    if table.words_an_attempt == 1:
        return [(u << (table.bits + 1)) | (j << 1) | coin]
    return [(u << 1) | coin, j << (64 - table.bits)]


def kept_before(table: Blocks, i: int, j: int) -> Fraction:
    """Place j of block i is kept by the U of the block before this number."""
    cuts = borders(table.power, table.unit)
    at = i + Fraction(j, 2**table.bits)
    exponent = table.unit * (at**table.power - i**table.power)
    return cuts[i] + (cuts[i + 1] - cuts[i]) * exponential(exponent)


def laplace_law(scale: float, z: int) -> float:
    return math.tanh(0.5 / scale) * math.exp(-abs(z) / scale)


def geometric_law(scale: float, z: int) -> float:
    return -math.expm1(-1 / scale) * math.exp(-z / scale) if z >= 0 else 0.0


def gaussian_law(scale: float, z: int) -> float:
    return math.exp(-(z**2) / (2 * scale**2)) / _gaussian_mass(scale)


@lru_cache(maxsize=8)
def _gaussian_mass(scale: float) -> float:
    reach = math.ceil(40 * scale)
    return math.fsum(math.exp(-(j**2) / (2 * scale**2)) for j in range(-reach, reach + 1))


def sech_squared_law(scale: float, z: int) -> float:
    return math.cosh(z / (2 * scale)) ** -2 - math.cosh((z + 1) / (2 * scale)) ** -2 if z >= 0 else 0.0


def p_value(samples: NDArray[np.int64] | Sequence[int], law: Callable[[int], float], reach: int = 200) -> float:
    """Pearson's χ² of `samples` against `law`, tails pooled so that every bin expects at least 40."""
    values = np.asarray(samples)
    expected = {z: values.size * law(z) for z in range(-reach, reach + 1)}
    bins = [z for z, count in expected.items() if count >= 40]
    inside = [int((values == z).sum()) for z in bins]
    observed = [*inside, values.size - sum(inside)]
    wanted = [expected[z] for z in bins]
    wanted.append(values.size - math.fsum(wanted))
    return float(stats.chisquare(observed, wanted).pvalue)
