"""Deviation inequalities behind the accuracy certificate, as functions of public numbers (proofs/certificate.md)."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import ndtri
from scipy.stats import binom

_MOST_EXACT_QUERIES = 200_000
_GHOST_SIZES = (5, 10, 20, 50)
_GHOST_SHORTFALLS = (0.05, 0.1, 0.2)


@lru_cache(maxsize=256)
def sampling_slack(queries: int, failure: float) -> float:
    """s such that a Binomial(m, p − s) exceeds m·p with a chance of at most `failure`, whatever p is; m = `queries`.

    Between multiples of 1/m the worst p is the upper end, so P ≤ max_j P(Bin(m, (j+1)/m − s) > j), which is computed;
    for very large m Hoeffding's √(ln(1/failure)/(2m)) is taken. The smallest such s but for one per cent.
    """
    hoeffding = math.sqrt(-math.log(failure) / (2.0 * queries))
    if queries > _MOST_EXACT_QUERIES:
        return hoeffding
    counts = np.arange(queries)
    slack = max(0.0, -0.5 * float(ndtri(failure)) / math.sqrt(queries))
    while slack < hoeffding:
        means = np.clip((counts + 1.0) / queries - slack, 0.0, 1.0)
        if float(binom.sf(counts, queries, means).max()) <= failure:
            return slack
        slack = slack * 1.01 + 1e-9
    return hoeffding


def bernoulli_divergence(a: float, p: float) -> float:
    """KL(a ‖ p) between coins: P(Binomial(k, p) ≥ ka) ≤ e^{−k·KL(a ‖ p)} for a ≥ p (Chernoff)."""
    return a * math.log(a / p) + (1.0 - a) * math.log((1.0 - a) / (1.0 - p))


def largest_chance(share: float, exponent: float) -> float:
    """The largest p ≤ `share` with KL(`share` ‖ p) ≥ `exponent`, from below, by bisection on ln p."""
    high = math.log(share)
    low = -(exponent + math.log(2.0)) / share  # KL(a ‖ p) ≥ a·ln(1/p) − ln 2
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if bernoulli_divergence(share, math.exp(middle)) >= exponent else (low, middle)
    return math.exp(low)


def consistent_learner_tail(log_growth: Callable[[int], float], records: int) -> tuple[float, float]:
    """(A, B) with P(some consistent h errs on more than t) ≤ e^{A − Bt} for every t, N = `records` labelled by H.

    A ghost sample of r·N points sees (1−x)·t·r·N of the errors or more, but for a chance e^{−x²trN/2}; that all of
    them avoid the N records has a chance of at most (r/(1+r))^{number}. r and x are chosen for the smallest (A+1)/B.
    """
    best = (math.inf, 1.0)
    for ghosts in _GHOST_SIZES:
        growth = log_growth(records * (1 + ghosts))
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
