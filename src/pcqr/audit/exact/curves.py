"""How far apart two laws are: the hockey-stick divergence as a function of ε, and its inverse."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

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
