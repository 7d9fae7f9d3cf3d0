"""When one more release fits: filters, which hold although each next release is chosen after the earlier ones.

    basic:  Σ ε_i ≤ ε and Σ δ_i ≤ δ                                    (Rogers, Roth, Ullman, Vadhan 2016)
    zcdp:   Σ ρ_i ≤ ρ and Σ δ_i ≤ δ/2, ρ_i = ε_i²/2, or less where that is proved; half of δ pays for turning ρ into ε,
            once, at the end                                           (Feldman, Zrnic 2021; Whitehouse et al. 2023)

Which one, and its limit, is fixed when an account is made. All sums are exact. Proof: proofs/account.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Literal, get_args

from pcqr.accounting import concentrated_epsilon
from pcqr.checks import check_delta, check_positive, keep_plain
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.release.account.figures import Tally, at_most, exact, root_at_most

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
    def largest_epsilon(self, left: Tally) -> str:
        """The largest ε of one more release, known by its ε alone, for which `left` is enough; never rounded up."""


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

    def largest_epsilon(self, left: Tally) -> str:
        return at_most(left.loss)


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

    def largest_epsilon(self, left: Tally) -> str:
        return root_at_most(2 * left.loss)


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
