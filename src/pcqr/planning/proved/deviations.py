"""Deviation inequalities behind the accuracy certificate, as functions of public numbers (proofs/certificate.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainc

_MOST_EXACT_QUERIES = 200_000
_GHOST_SIZES = (5, 10, 20, 50)
_GHOST_SHORTFALLS = (0.05, 0.1, 0.2)


def binomial_tail(count: ArrayLike, trials: int, chance: ArrayLike) -> NDArray[np.float64]:
    """P(Binomial(m, p) > u), m = `trials`, p = `chance`, u = `count` any integer: I_p(u + 1, m − u) for 0 ≤ u < m."""
    u = np.asarray(count)
    inside = np.clip(u, 0, max(0, trials - 1))
    tail = betainc(inside + 1.0, np.maximum(trials - inside, 1.0), chance)
    return np.where(u < 0, 1.0, np.where(u < trials, tail, 0.0))


def hoeffding_slack(queries: int, failure: float) -> float:
    """√(ln(1/`failure`)/(2m)): what `sampling_slack` is at most, m = `queries`."""
    return math.sqrt(-math.log(failure) / (2.0 * queries))


@lru_cache(maxsize=256)
def sampling_slack(queries: int, failure: float) -> float:
    """s such that a Binomial(m, p − s) exceeds m·p with a chance of at most `failure`, whatever p is; m = `queries`.

    Between multiples of 1/m the worst p is the upper end, so P ≤ max_j P(Bin(m, (j+1)/m − s) > j), which is computed;
    for very large m Hoeffding's √(ln(1/failure)/(2m)) is taken. The smallest such s but for 1/256 of the latter.
    """
    hoeffding = hoeffding_slack(queries, failure)
    if queries > _MOST_EXACT_QUERIES:
        return hoeffding
    low, high = 0, 256
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_slack(queries, hoeffding * middle / 256, failure) else (middle, high)
    return hoeffding * high / 256


def _is_slack(queries: int, slack: float, failure: float) -> bool:
    """Is P(Bin(m, (j+1)/m − `slack`) > j) ≤ `failure` for j = 0, …, m − 1?

    A block of counts is settled at once if even its last mean rarely exceeds its first count; others are halved, until
    none is left or one count of the most doubtful block decides.
    """

    def chances(first: NDArray[np.int64], width: int) -> NDArray[np.float64]:
        means = np.minimum(first + width, queries) / queries - slack
        return binomial_tail(first, queries, np.clip(means, 0.0, 1.0))

    width = 1 << (queries.bit_length() // 2)
    first = np.arange(0, queries, width)
    while True:
        bounds = chances(first, width)
        if bounds.max() <= failure:
            return True
        if chances(first[bounds.argmax() :][:1], 1)[0] > failure:
            return False
        first = first[bounds > failure]
        width //= 2
        first = np.concatenate((first, first + width))
        first = first[first < queries]


def bernoulli_divergence(a: float, log_p: float) -> float:
    """KL(a ‖ p) between coins, p = e^`log_p`: P(Binomial(k, p) ≥ ka) ≤ e^{−k·KL(a ‖ p)} for a ≥ p (Chernoff)."""
    return a * (math.log(a) - log_p) + (1.0 - a) * (math.log1p(-a) - math.log1p(-math.exp(log_p)))


def log_largest_chance(share: float, exponent: float) -> float:
    """ln of the largest p ≤ `share` with KL(`share` ‖ p) ≥ `exponent`, from below, by bisection.

    A logarithm, because classes with many members need p that no float can hold.
    """
    high = math.log(share)
    low = -(exponent + math.log(2.0)) / share  # KL(a ‖ p) ≥ a·ln(1/p) − ln 2
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if bernoulli_divergence(share, middle) >= exponent else (low, middle)
    return low


def consistent_learner_tail(log_growth: Callable[[int], float], records: int) -> tuple[float, float]:
    """(A, B) with P(some consistent h errs on more than t) ≤ e^{A − Bt} for every t, N = `records` labelled by H.

    A ghost sample of r·N points sees (1−x)·t·r·N of the errors or more, but for a chance e^{−x²trN/2}; that all of
    them avoid the N records has a chance of at most (r/(1+r))^{number}. r and x are chosen for the smallest (A+1)/B.
    """
    best = (math.inf, 1.0)
    for ghosts in _GHOST_SIZES:
        growth = log_growth(records * (1 + ghosts))
        if growth <= 0.0:
            return 0.0, float(records)  # a single member never errs
        for shortfall in _GHOST_SHORTFALLS:
            rate = (1.0 - shortfall) * records * ghosts * math.log1p(1.0 / ghosts)
            seen = 0.5 * shortfall**2 * (growth / rate) * records * ghosts
            offset = growth - math.log(-math.expm1(-seen))
            if (offset + 1.0) / rate < (best[0] + 1.0) / best[1]:
                best = (offset, rate)
    return best


def average_excess(exponent: float) -> float:
    """τ such that the mean of k unit exponentials exceeds 1 + τ with a chance of at most e^{−k·`exponent`}.

    The chance is at most e^{−k(τ − ln(1+τ))}, and τ = √(2u) + u has τ − ln(1+τ) ≥ u.
    """
    return math.sqrt(2.0 * exponent) + exponent
