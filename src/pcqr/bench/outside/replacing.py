"""What a budget for *replace one record* is for a library that accounts for adding or removing one. Needs no library.

Replacing is removing and adding: whatever one record moves by at most Δ, replacing one moves by at most 2Δ. So a
Gaussian mechanism that is μ-GDP for adding or removing is 2μ-GDP for replacing, and ρ-zCDP becomes 4ρ-zCDP.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def delta_of(epsilon: float, mu: float) -> float:
    """δ(ε) of a Gaussian mechanism whose sensitivity is μ standard deviations (Balle and Wang 2018)."""
    return _normal(mu / 2 - epsilon / mu) - math.exp(epsilon) * _normal(-mu / 2 - epsilon / mu)


def largest_mu(epsilon: float, delta: float) -> float:
    """The most that a Gaussian mechanism may move, in standard deviations, to be (ε, δ)-DP."""
    return largest(lambda mu: delta_of(epsilon, mu) <= delta, 1e-9, 1e3)


def largest(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The largest number in (low, high) for which `holds` is true; it is true below it, and false above."""
    if not holds(low):
        raise ValueError("No noise that is tried is enough for this ε and δ.")
    for _ in range(200):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _normal(x: float) -> float:
    return 0.5 * math.erfc(-x / math.sqrt(2.0))
