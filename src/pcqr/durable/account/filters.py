"""Exact sums of privacy figures, and how they are shown: spent is never rounded down, left never up.

A float64 is read as the decimal number that Python prints for it: 0.1 is a tenth, and ten of them are 1
(proofs/account.md, "Figures are decimals").
"""

from __future__ import annotations

import decimal
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

from pcqr.checks import check_delta, check_positive, keep_plain
from pcqr.errors import ParameterError
from pcqr.privacy.accounting import concentrated_epsilon
from pcqr.privacy.guarantee import Guarantee

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


# ---------------------------------------------------------------------------------------------------------------------
# When one more release fits: filters, which hold although each next release is chosen after the earlier ones.
#
#     basic:  Σ ε_i ≤ ε and Σ δ_i ≤ δ                                    (Rogers, Roth, Ullman, Vadhan 2016)
#     zcdp:   Σ ρ_i ≤ ρ and Σ δ_i ≤ δ/2, ρ_i = ε_i²/2, or less where that is proved; half of δ pays for turning ρ into
# ε,             once, at the end                                           (Feldman, Zrnic 2021; Whitehouse et al.
# 2023)
#
# Which one, and its limit, is fixed when an account is made. All sums are exact. Proof: proofs/account.md.


FilterName = Literal["basic", "zcdp"]
SMALLEST_RHO = 1e-300


class Filter(ABC):
    """The rule by which an account (ε, δ) lets releases pass."""

    name: FilterName
    symbol: str
    """Of what is added up beside δ."""
    epsilon: float
    delta: float

    @property
    @abstractmethod
    def limit(self) -> Tally:
        """What all releases together may cost."""

    @abstractmethod
    def price(self, guarantee: Guarantee) -> Tally:
        """Return what a release with this guarantee costs."""

    @abstractmethod
    def largest_epsilon(self, remaining: Tally) -> str:
        """The largest ε of one more release, known by its ε alone, for which `remaining` is enough; never rounded
        up."""


@dataclass(frozen=True)
class BasicFilter(Filter):
    """ε and δ add up."""

    epsilon: float
    delta: float

    name = "basic"
    symbol = "ε"

    def __post_init__(self) -> None:
        _check(self.epsilon, self.delta)
        keep_plain(self, floats=("epsilon", "delta"))

    @property
    def limit(self) -> Tally:
        return Tally(exact(self.epsilon), exact(self.delta))

    def price(self, guarantee: Guarantee) -> Tally:
        return Tally(exact(guarantee.epsilon), exact(guarantee.delta))

    def largest_epsilon(self, remaining: Tally) -> str:
        return at_most(remaining.loss)


@dataclass(frozen=True)
class ConcentratedFilter(Filter):
    """ρ and δ add up; ρ becomes ε once, at the end, at the price of `conversion`, a half of δ."""

    epsilon: float
    delta: float
    rho: float

    name = "zcdp"
    symbol = "ρ"

    def __post_init__(self) -> None:
        _check(self.epsilon, self.delta)
        check_positive("rho", self.rho)
        keep_plain(self, floats=("epsilon", "delta", "rho"))
        if concentrated_epsilon(self.rho, self.conversion) > self.epsilon:
            raise ParameterError("rho", f"one that implies ε = {self.epsilon!r}", self.rho)

    @classmethod
    def calibrated(cls, epsilon: float, delta: float) -> ConcentratedFilter:
        """With the largest ρ, but for a relative 10⁻⁹, that implies (ε, δ)."""
        _check(epsilon, delta)
        if delta == 0:
            raise ParameterError("delta", "above 0 with the filter zcdp; basic goes without", delta)
        conversion = float(delta) / 2.0
        check_delta(conversion)
        needed = math.log(1.0 / conversion)
        # Bun and Steinke's conversion solved for ρ, without its cancellation: a good place to begin.
        enough = max((epsilon / (math.sqrt(epsilon + needed) + math.sqrt(needed))) ** 2, SMALLEST_RHO)
        if concentrated_epsilon(enough, conversion) > epsilon:
            raise ParameterError("epsilon", f"larger at δ = {delta!r} with the filter zcdp", epsilon)
        too_much = 2.0 * enough
        while concentrated_epsilon(too_much, conversion) <= epsilon:
            enough, too_much = too_much, 2.0 * too_much
        while too_much > (1.0 + 1e-9) * enough:
            middle = enough + (too_much - enough) / 2.0
            fits = concentrated_epsilon(middle, conversion) <= epsilon
            enough, too_much = (middle, too_much) if fits else (enough, middle)
        return cls(epsilon, delta, enough)

    @property
    def conversion(self) -> float:
        """δ_c, the half of δ that pays for turning ρ into ε; the releases have the rest."""
        return self.delta / 2.0

    @property
    def limit(self) -> Tally:
        return Tally(exact(self.rho), exact(self.delta) - exact(self.conversion))

    def price(self, guarantee: Guarantee) -> Tally:
        """Return ρ where the guarantee has one (proofs/account.md), else ε²/2 and δ."""
        if guarantee.rho:  # 0 may be a ρ that underflowed: ε²/2 has no such limit
            return Tally(exact(guarantee.rho))
        return Tally(exact(guarantee.epsilon) ** 2 / 2, exact(guarantee.delta))

    def largest_epsilon(self, remaining: Tally) -> str:
        return root_at_most(2 * remaining.loss)


def new_filter(name: str, epsilon: float, delta: float) -> Filter:
    """The filter of that name for an account of (ε, δ), with the largest limit."""
    match name:
        case "basic":
            return BasicFilter(epsilon, delta)
        case "zcdp":
            return ConcentratedFilter.calibrated(epsilon, delta)
    raise ParameterError("filter", " or ".join(map(repr, get_args(FilterName))), name)


def _check(epsilon: float, delta: float) -> None:
    check_positive("epsilon", epsilon)
    if delta != 0:
        check_delta(delta)
