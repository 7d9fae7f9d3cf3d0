"""What the privacy tests need beside the exact verifier: mixtures of laws, closed forms, and votes that are random.

Laws and adversaries themselves are those of `pcqr.audit.exact`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.audit.exact import hockey_stick, largest_log_ratio
from support.sparse_vector_law import Query, SparseVectorLaw, best_adversary

__all__ = [
    "Floats",
    "Integers",
    "Profile",
    "Query",
    "SparseVectorLaw",
    "best_adversary",
    "best_adversary_on_profiles",
    "gaussian_support",
    "geometric_at_least",
    "hockey_stick",
    "laplace_at_least",
    "laplace_support",
    "largest_log_ratio",
    "mixture",
    "tail_and_head",
]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
K = TypeVar("K")

REACH = 200.0
"""Supports end at ±REACH·scale, so that even an event of probability e^{−60} keeps a relative error of e^{−140}."""


def mixture(parts: Iterable[tuple[float, Mapping[K, float]]]) -> dict[K, float]:
    """The law Σ weight · law."""
    mixed: dict[K, float] = {}
    for weight, law in parts:
        for outcome, mass in law.items():
            mixed[outcome] = mixed.get(outcome, 0.0) + weight * mass
    return mixed


def laplace_support(scale: float) -> tuple[Integers, Floats]:
    """The integers within REACH·scale and P(z) = (1 − a)/(1 + a)·a^{|z|}, a = e^{−1/scale}, on them."""
    z = np.arange(-math.ceil(REACH * scale), math.ceil(REACH * scale) + 1)
    a = math.exp(-1.0 / scale)
    return z, (1.0 - a) / (1.0 + a) * np.exp(-np.abs(z) / scale)


def laplace_at_least(t: Integers, scale: float) -> Floats:
    """P(Z ≥ t) for Z discrete Laplace, in closed form, without cancellation in either tail's own side."""
    a = math.exp(-1.0 / scale)
    upper = np.exp(-np.maximum(t, 1) / scale) / (1.0 + a)
    lower = np.exp(-np.maximum(1 - t, 1) / scale) / (1.0 + a)
    return np.where(t >= 1, upper, 1.0 - lower)


def geometric_at_least(t: Integers, scale: float) -> Floats:
    """P(G ≥ t) for G ≥ 0 geometric."""
    return np.exp(-np.maximum(t, 0) / scale)


def gaussian_support(scale: float) -> tuple[Integers, Floats]:
    """The integers within 38·scale, where e^{−z²/(2·scale²)} is still a float, and its normalised values."""
    z = np.arange(-math.ceil(38.0 * scale), math.ceil(38.0 * scale) + 1)
    weight = np.exp(-0.5 * (z / scale) ** 2)
    return z, weight / math.fsum(weight)


def tail_and_head(gap: Integers, scale: float, head_start: int) -> tuple[Floats, Floats]:
    """P(ν ≤ −gap) and P(ν > −gap) for the Rényi form's ν = −max(0, G − j): sech² and tanh², neither by subtraction."""
    half = 0.5 * np.maximum(gap + head_start, 0) / scale
    below = gap > 0
    return np.where(below, np.cosh(np.minimum(half, 350.0)) ** -2.0, 1.0), np.where(below, np.tanh(half) ** 2.0, 0.0)


Profile = tuple[tuple[int, int], ...]
"""For each query that may be asked: (distance to instability, plurality)."""


def best_adversary_on_profiles(
    law: SparseVectorLaw, first: Mapping[Profile, float], second: Mapping[Profile, float], epsilon: float, rounds: int
) -> float:
    """As `best_adversary`, where the votes themselves are random: two laws over profiles, one for each neighbour."""
    queries = range(len(next(iter(first))))

    def tables(profiles: Mapping[Profile, float]) -> tuple[Floats, list[Any]]:
        """The measure over (profile, ρ), and for each query P(stable with label 0), P(… 1), P(⊥) on it."""
        start = np.array(list(profiles.values()))[:, None] * law.initial
        answers = []
        for i in queries:
            fails = np.array([law.unstable(profile[i][0]) for profile in profiles])
            label = np.array([profile[i][1] for profile in profiles])[:, None]
            answers.append([(1.0 - fails) * (label == 0), (1.0 - fails) * (label == 1), fails])
        return start, answers

    start_p, answers_p = tables(first)
    start_q, answers_q = tables(second)

    def value(p: Floats, q: Floats, unstable_remaining: int, rounds_remaining: int) -> float:
        if unstable_remaining == 0 or rounds_remaining == 0:
            return max(0.0, float(p.sum()) - math.exp(epsilon) * float(q.sum()))
        return max(
            value(p * answers_p[i][0], q * answers_q[i][0], unstable_remaining, rounds_remaining - 1)
            + value(p * answers_p[i][1], q * answers_q[i][1], unstable_remaining, rounds_remaining - 1)
            + value(
                law.after_unstable(p * answers_p[i][2]),
                law.after_unstable(q * answers_q[i][2]),
                unstable_remaining - 1,
                rounds_remaining - 1,
            )
            for i in queries
        )

    return value(start_p, start_q, law.parameters.unstable, rounds)
