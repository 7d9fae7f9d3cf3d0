"""Exact sums of privacy figures, and how they are shown: spent is never rounded down, left never up.

A float64 is read as the decimal number that Python prints for it: 0.1 is a tenth, and ten of them are 1
(proofs/account.md, "Figures are decimals").
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from fractions import Fraction

_DIGITS = 6


def exact(figure: float) -> Fraction:
    """The decimal number that a float64 prints as."""
    return Fraction(repr(float(figure)))


@dataclass(frozen=True)
class Tally:
    """What releases cost, or what they may: ε or ρ, as the filter counts, and δ. Exact."""

    loss: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.loss + other.loss, self.delta + other.delta)

    def __sub__(self, other: Tally) -> Tally:
        return Tally(self.loss - other.loss, self.delta - other.delta)

    def within(self, limit: Tally) -> bool:
        """Is neither figure above that of `limit`?"""
        return self.loss <= limit.loss and self.delta <= limit.delta


def at_least(value: Fraction, digits: int = _DIGITS) -> str:
    """`value` with so many digits, never rounded down: for what is spent or asked for."""
    return _rounded(value, digits, decimal.ROUND_CEILING)


def at_most(value: Fraction, digits: int = _DIGITS) -> str:
    """`value` with so many digits, never rounded up: for what is left."""
    return _rounded(value, digits, decimal.ROUND_FLOOR)


def root_at_most(value: Fraction, digits: int = _DIGITS) -> str:
    """√`value` with so many digits, never rounded up."""
    generous = decimal.Context(prec=2 * digits + 40)
    found = _divided(value, generous).sqrt(generous)
    shown = decimal.Context(prec=digits, rounding=decimal.ROUND_FLOOR).plus(found)
    while Fraction(shown) ** 2 > value:
        shown = shown.next_minus(decimal.Context(prec=digits))
    return _text(shown)


def _rounded(value: Fraction, digits: int, rounding: str) -> str:
    return _text(_divided(value, decimal.Context(prec=digits, rounding=rounding)))


def _divided(value: Fraction, context: decimal.Context) -> decimal.Decimal:
    return context.divide(decimal.Decimal(value.numerator), decimal.Decimal(value.denominator))


def _text(value: decimal.Decimal) -> str:
    """As people write it: 0.05, 4, 1e-05. The digits are kept as they are."""
    plain = value.normalize(decimal.Context(prec=_DIGITS * 8))
    if plain == 0:
        return "0"
    if -4 <= plain.adjusted() < 16:
        return f"{plain:f}"
    sign, digits, exponent = plain.as_tuple()
    fraction = "".join(map(str, digits[1:]))
    return f"{'-' * sign}{digits[0]}{'.' * bool(fraction)}{fraction}e{int(exponent) + len(digits) - 1:+03d}"
