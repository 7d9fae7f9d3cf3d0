"""Laws on the integers: those of the noise, cut to a finite support with a stated bound on what was cut off."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

REACH = 200.0
"""A support ends where the mass beyond is below e^{−REACH}: an event of probability e^{−60} keeps 60 good digits."""


class NoiseLaw(NamedTuple):
    """The law of one call of a noise function: its name in `pcqr.privacy.noise` and the `scale` that the caller asked
    for."""

    function: str
    scale: float

    @property
    def measure(self) -> Measure:
        return _measure(self.function, self.scale)

    @property
    def truncated(self) -> float:
        """A bound on the mass outside the support: the law of what is kept sums to at least 1 − `truncated`."""
        return 2.0 * math.exp(-REACH)


@dataclass(frozen=True, eq=False)
class Measure:
    """A finite measure on the integers `low`, `low` + 1, …: not normalised, never negative."""

    low: int
    weights: Floats

    @property
    def support(self) -> Integers:
        return np.arange(self.low, self.low + self.weights.size)

    @property
    def mass(self) -> float:
        """By halves, as NumPy adds up: off by a relative 10⁻¹⁴ at most, and far quicker than exactly."""
        return float(self.weights.sum())

    def at_least(self, t: Integers) -> Floats:
        """The mass of {z ≥ t}, for each t: sums of positive terms, smallest first in a falling tail."""
        return self._tails[np.clip(t - self.low, 0, self.weights.size)]

    @cached_property
    def _tails(self) -> Floats:
        return np.append(self.weights[::-1].cumsum()[::-1], 0.0)

    def times(self, factor: int) -> Measure:
        """The law of `factor`·z, `factor` ≠ 0."""
        if factor == 1:
            return self
        step = abs(factor)
        spread = np.zeros((self.weights.size - 1) * step + 1)
        spread[::step] = self.weights if factor > 0 else self.weights[::-1]
        high = self.low + self.weights.size - 1
        return Measure(factor * (self.low if factor > 0 else high), spread)

    def plus(self, other: Measure) -> Measure:
        """The law of the sum of two independent draws."""
        return Measure(self.low + other.low, np.convolve(self.weights, other.weights))

    def weighted(self, factors: Floats) -> Measure:
        return Measure(self.low, self.weights * factors)


def _two_sided_geometric(scale: float) -> Measure:
    """P(z) ∝ a^{|z|}, a = e^{−1/scale}."""
    reach = math.ceil(scale * REACH)
    z = np.arange(-reach, reach + 1)
    return Measure(-reach, math.tanh(0.5 / scale) * np.exp(-np.abs(z) / scale))


def _geometric(scale: float) -> Measure:
    """P(z ≥ t) = a^t, a = e^{−1/scale}."""
    z = np.arange(math.ceil(scale * REACH) + 1)
    return Measure(0, -math.expm1(-1.0 / scale) * np.exp(-z / scale))


def _gaussian(scale: float) -> Measure:
    """P(z) ∝ e^{−z²/(2·scale²)}; the normaliser is that of the support, which the mass left out does not move."""
    reach = math.ceil(scale * math.sqrt(2.0 * REACH) + 1.0)
    z = np.arange(-reach, reach + 1)
    bell = np.exp(-0.5 * (z / scale) ** 2)
    return Measure(-reach, bell / math.fsum(bell))


def _sech_squared(scale: float) -> Measure:
    """P(z ≥ t) = sech²(t / (2·scale)). Its differences as products: tanh²b − tanh²a, nothing subtracted."""
    t = np.arange(math.ceil(scale * (REACH + 1.0)) + 1)
    a, b = 0.5 * t / scale, 0.5 * (t + 1) / scale
    return Measure(0, math.sinh(0.5 / scale) / (np.cosh(a) * np.cosh(b)) * (np.tanh(a) + np.tanh(b)))


LAWS: dict[str, Callable[[float], Measure]] = {
    "discrete_laplace": _two_sided_geometric,
    "geometric": _geometric,
    "discrete_gaussian": _gaussian,
    "sech_squared": _sech_squared,
}
"""The law of each noise function of `pcqr.privacy.noise`, as proofs/noise.md has it: written down here a second
time."""


@lru_cache(maxsize=512)
def _measure(function: str, scale: float) -> Measure:
    return LAWS[function](scale)


# ---------------------------------------------------------------------------------------------------------------------
# How far apart two laws are: the hockey-stick divergence as a function of ε, and its inverse.


Law = Mapping[Hashable, float]
"""The law of an outcome. Masses add up to 1 within 10⁻¹², less what truncation left out."""

K = TypeVar("K", bound=Hashable)

LARGEST_EPSILON = 700.0
"""e^700 is a float64. Laws that differ by more are said to differ by infinity."""


def hockey_stick(p: Mapping[K, float], q: Mapping[K, float], epsilon: float) -> float:
    """max over events O of P(O) − e^ε·Q(O): the least δ for which P is (ε, δ)-close to Q. One direction."""
    factor = math.exp(epsilon)
    return math.fsum(max(0.0, mass - factor * q.get(outcome, 0.0)) for outcome, mass in p.items())


def largest_log_ratio(p: Mapping[K, float], q: Mapping[K, float]) -> float:
    """max over outcomes of |ln P − ln Q|, infinite where only one of them is possible: ε at δ = 0."""
    possible = [{outcome for outcome, mass in law.items() if mass > 0} for law in (p, q)]
    if possible[0] != possible[1]:
        return math.inf
    return max((abs(math.log(p[outcome] / q[outcome])) for outcome in possible[0]), default=0.0)


def epsilon_at(p: Mapping[K, float], q: Mapping[K, float], delta: float) -> float:
    """The smallest ε ≥ 0 at which P and Q are (ε, `delta`)-close in both directions; infinite where none is."""
    if delta == 0.0:
        return largest_log_ratio(p, q)
    return smallest_epsilon(lambda epsilon: max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)), delta)


def curve(p: Mapping[K, float], q: Mapping[K, float], epsilons: Sequence[float]) -> tuple[float, ...]:
    """δ(ε) at each of `epsilons`, the larger of the two directions."""
    return tuple(max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)) for epsilon in epsilons)


def smallest_epsilon(divergence: Callable[[float], float], delta: float, least: float = 0.0) -> float:
    """The smallest ε ≥ `least` with `divergence`(ε) ≤ `delta`, for a non-increasing divergence: bisection, from above.

    The figure returned satisfies the inequality itself; it is within 10⁻¹² of the smallest one that does.
    """
    low = high = least
    step = 0.5
    while divergence(high) > delta:
        if high >= LARGEST_EPSILON:
            return math.inf
        low, high, step = high, min(high + step, LARGEST_EPSILON), 2.0 * step
    while high - low > 1e-12 * max(1.0, high):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if divergence(middle) <= delta else (middle, high)
    return high


# ---------------------------------------------------------------------------------------------------------------------
# What an auditor sees of a published hypothesis: all of it.


def in_full(published: Any) -> str:
    """Return every field of `published`, a hypothesis of pcqr, as a text.

    Its `repr` will not do: that of a tree is short, and two trees may share it.
    """
    parts = (f"{field.name}={getattr(published, field.name)!r}" for field in fields(published))
    return f"{type(published).__name__}({', '.join(parts)})"
