"""How far from flipping must a query be to be answered? Accuracy only: no privacy figure depends on this module.

A query with d = w + D is answered iff ν > ρ − D. Given ρ = z it fails with a chance q(D − z), q = `query_failures`, so
that m of them are not all answered with the chance

    Σ_z P(ρ = z) · g(D − z),    g(t) = 1 − (1 − q(t))^m,

the exact joint tail over ρ, drawn once, and the m draws of ν. g decreases, so the sum is bounded from above when every
z is moved upwards to the next point of a grid; the grid is the integers themselves up to a scale of `_FINE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer, check_probability

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FINE = 128


class Noises(Protocol):
    """What the margin depends on: the laws of ρ and of ν."""

    def threshold_cover(self, left_out: float) -> tuple[Integers, Floats]:
        """Points z, ascending, and masses: a bound from above on the law of ρ, but for `left_out` in each tail."""
        ...

    def query_failures(self, excess: Integers) -> Floats:
        """P(ν ≤ −`excess`), 1 where `excess` ≤ 0."""
        ...


def smallest_excess(noises: Noises, queries: int, failure: float) -> int:
    """The smallest integer D for which `queries` = m queries with d ≥ w + D are all answered but for `failure`."""
    z, enough = _judge(noises, queries, failure)
    low, high = int(z[0]), int(z[-1]) + 1
    while not enough(high):
        low, high = high + 1, high + 2 * (high - low)
    return _least(enough, low, high)


def smaller_excess(noises: Noises, queries: int, failure: float, most: int) -> int | None:
    """`smallest_excess` if it is at most `most`, else None: to see that it is larger takes a single look."""
    z, enough = _judge(noises, queries, failure)
    return _least(enough, int(z[0]), most) if most >= z[0] and enough(most) else None


def _judge(noises: Noises, queries: int, failure: float) -> tuple[Integers, Callable[[int], bool]]:
    """The points of ρ, and whether an excess D is enough, which it is from the smallest one on."""
    check_integer("queries", queries, least=1)
    check_probability("failure", failure)
    left_out = 1e-9 * failure
    z, mass = noises.threshold_cover(left_out)

    def enough(excess: int) -> bool:
        first = int(np.searchsorted(z, excess))  # from here on every query fails
        passes = np.log1p(-np.minimum(noises.query_failures(excess - z[:first]), 1.0 - 1e-16))
        chance = float(mass[first:].sum()) - float((mass[:first] * np.expm1(queries * passes)).sum())
        return chance + 2.0 * left_out <= failure

    return z, enough


def _least(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest integer from `low` to `high` that is `enough`; `high` is."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def cover(scale: float, reach: int, mass: Callable[[Integers], Floats]) -> tuple[Integers, Floats]:
    """Points and masses for a law that decreases away from 0, `mass` its probabilities, on the integers within `reach`.

    A point stands for the integers from the one before it, exclusive, up to itself: each counts as the likeliest.
    """
    step = max(1, math.floor(scale / _FINE))
    points = np.arange(-reach, reach + step, step)
    likeliest = np.clip(0, points - step + 1, points)
    return points, step * mass(likeliest)
