"""Exact laws of transcripts, with no statistics: what the privacy tests compare with the claimed guarantees.

The measure over the secret (the threshold noise ρ, and whatever else the run keeps) is carried unnormalised
through the tree of answers: an answer multiplies it by that answer's probability. Infinite supports are cut
where the mass left out is below e^{−REACH}.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, SparseVector

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
K = TypeVar("K")

REACH = 200.0
"""Supports end at ±REACH·scale, so that even an event of probability e^{−60} keeps a relative error of e^{−140}."""


def hockey_stick(p: Mapping[K, float], q: Mapping[K, float], epsilon: float) -> float:
    """max over events O of P(O) − e^ε·Q(O): the least δ for which P is (ε, δ)-close to Q."""
    return math.fsum(max(0.0, mass - math.exp(epsilon) * q.get(outcome, 0.0)) for outcome, mass in p.items())


def largest_log_ratio(p: Mapping[K, float], q: Mapping[K, float]) -> float:
    """max over outcomes of |ln P − ln Q|; infinite where only one of them is possible."""
    if p.keys() != q.keys():
        return math.inf
    return max(abs(math.log(p[outcome] / q[outcome])) for outcome in p)


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


@dataclass(frozen=True)
class SparseVectorLaw:
    """The exact law of a sparse vector's answers, given the distances: P(stable | ρ) on the support of ρ."""

    parameters: SparseVector
    z: Integers = field(init=False, repr=False)
    initial: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        p = self.parameters
        z, initial = laplace_support(p.threshold_scale if isinstance(p, OneSidedSparseVector) else p.scale)
        object.__setattr__(self, "z", z)
        object.__setattr__(self, "initial", initial)

    def stable(self, distance: int) -> Floats:
        """P(d + ν > w + ρ | ρ) for each ρ of the support."""
        return 1.0 - self.unstable(distance)

    def unstable(self, distance: int) -> Floats:
        p = self.parameters
        gap = distance - p.threshold - self.z  # stable iff ν > −gap
        if isinstance(p, OneSidedSparseVector):
            return geometric_at_least(gap, p.query_scale)
        return laplace_at_least(gap, 2.0 * p.scale)  # −ν has the law of ν

    def after_unstable(self, measure: Floats) -> Floats:
        """The measure over ρ after ⊥: as it is, or with ρ drawn anew."""
        if not self.parameters.redraws_threshold:
            return measure
        mass: Floats = measure.sum(axis=-1, keepdims=True)
        return mass * self.initial

    def transcript(self, distances: Sequence[int], answers: Sequence[bool]) -> float:
        """P(`answers`) when the queries have these `distances`."""
        measure = self.initial
        for distance, is_stable in zip(distances, answers, strict=True):
            if is_stable:
                measure = measure * self.stable(distance)
            else:
                measure = self.after_unstable(measure * self.unstable(distance))
        return math.fsum(measure)


@dataclass(frozen=True)
class Query:
    """What a query looks like on the two neighbours: its distance on each, and whether its label differs."""

    distance: int
    neighbour: int
    flips: bool = False


def best_adversary(law: SparseVectorLaw, menu: Sequence[Query], epsilon: float, rounds: int) -> float:
    """The largest hockey-stick divergence that an adversary reaches who chooses each query by the answers so far."""

    def value(p: Floats, q: Floats, unstable_left: int, rounds_left: int) -> float:
        if unstable_left == 0 or rounds_left == 0:
            return max(0.0, float(p.sum()) - math.exp(epsilon) * float(q.sum()))
        return max(after(query, p, q, unstable_left, rounds_left - 1) for query in menu)

    def after(query: Query, p: Floats, q: Floats, unstable_left: int, rounds_left: int) -> float:
        stable_p, stable_q = p * law.stable(query.distance), q * law.stable(query.neighbour)
        if query.flips:  # the label tells the neighbours apart: no answer of P's has any mass under Q
            stable_q = np.zeros_like(q)
        told = value(stable_p, stable_q, unstable_left, rounds_left)
        failed_p = law.after_unstable(p * law.unstable(query.distance))
        failed_q = law.after_unstable(q * law.unstable(query.neighbour))
        return told + value(failed_p, failed_q, unstable_left - 1, rounds_left)

    return value(law.initial, law.initial, law.parameters.unstable, rounds)


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

    def value(p: Floats, q: Floats, unstable_left: int, rounds_left: int) -> float:
        if unstable_left == 0 or rounds_left == 0:
            return max(0.0, float(p.sum()) - math.exp(epsilon) * float(q.sum()))
        return max(
            value(p * answers_p[i][0], q * answers_q[i][0], unstable_left, rounds_left - 1)
            + value(p * answers_p[i][1], q * answers_q[i][1], unstable_left, rounds_left - 1)
            + value(
                law.after_unstable(p * answers_p[i][2]),
                law.after_unstable(q * answers_q[i][2]),
                unstable_left - 1,
                rounds_left - 1,
            )
            for i in queries
        )

    return value(start_p, start_q, law.parameters.unstable, rounds)
