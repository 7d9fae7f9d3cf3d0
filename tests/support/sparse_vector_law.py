"""The sparse vector by hand: the measure over the secret threshold, carried through the tree of answers.

An independent second way to the same figures. The verifier runs the shipped code and finds the comparisons by itself
(tape.py); here the comparison d + ν > w + ρ is written down once more, the measure over ρ is multiplied by the
probability of each answer, and no run is repeated, so that longer conversations are within reach. Only the laws of ρ
and ν are read off the shipped code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from pcqr.audit.exact.events import Floats, Integers, Measure
from pcqr.audit.exact.tape import Tape, intercepted, walk
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee


class Thresholded(Protocol):
    """What every form of the sparse vector offers: stable iff d + ν > w + ρ, at most E times ⊥, ρ drawn anew or not."""

    @property
    def threshold(self) -> int: ...

    @property
    def unstable(self) -> int: ...

    @property
    def redraws_threshold(self) -> bool: ...

    @property
    def guarantee(self) -> Guarantee: ...

    def threshold_noise(self, entropy: Entropy) -> int: ...

    def query_noise(self, entropy: Entropy) -> int: ...


@dataclass(frozen=True)
class Query:
    """A query as it looks on the two neighbours: its distance on each, and whether its label differs."""

    distance: int
    neighbour: int
    flips: bool = False


@dataclass(frozen=True)
class SparseVectorLaw:
    """The exact law of a sparse vector's answers, given the distances. A measure is over the support of ρ."""

    parameters: Thresholded

    @property
    def z(self) -> Integers:
        """The support of ρ."""
        return self._threshold_noise.support

    @property
    def initial(self) -> Floats:
        """P(ρ = z)."""
        return self._threshold_noise.weights

    def stable(self, distance: int) -> Floats:
        """P(d + ν > w + ρ | ρ), d = `distance`."""
        return self._query_noise.at_least(self.parameters.threshold + self.z - distance + 1)

    def unstable(self, distance: int) -> Floats:
        """P(d + ν ≤ w + ρ | ρ): a sum of its own, so that a small chance keeps its digits."""
        return self._negated_query_noise.at_least(distance - self.parameters.threshold - self.z)

    def after_unstable(self, measure: Floats) -> Floats:
        """The measure over ρ after ⊥: as it is, or with ρ drawn anew."""
        if not self.parameters.redraws_threshold:
            return measure
        mass: Floats = measure.sum(axis=-1, keepdims=True)
        return mass * self.initial

    def transcript(self, distances: Sequence[int], answers: Sequence[bool]) -> float:
        """P(`answers`) when the queries have these `distances`; True stands for stable."""
        measure = self.initial
        for distance, is_stable in zip(distances, answers, strict=True):
            if is_stable:
                measure = measure * self.stable(distance)
            else:
                measure = self.after_unstable(measure * self.unstable(distance))
        return math.fsum(measure)

    @cached_property
    def _threshold_noise(self) -> Measure:
        return measure_of(self.parameters.threshold_noise)

    @cached_property
    def _query_noise(self) -> Measure:
        return measure_of(self.parameters.query_noise)

    @cached_property
    def _negated_query_noise(self) -> Measure:
        return self._query_noise.times(-1)


def measure_of(draw: Callable[[Entropy], int]) -> Measure:
    """The law of the integer that `draw` returns, put together from all branches of the code behind it."""
    with intercepted():
        parts = [tape.measure(draw(tape)) for tape, _ in walk(lambda: (Tape(), None))]
    low, high = min(part.low for part in parts), max(int(part.support[-1]) for part in parts)
    weights = np.zeros(high - low + 1)
    for part in parts:
        weights[part.low - low :][: part.weights.size] += part.weights
    return Measure(low, weights)


def best_adversary(law: SparseVectorLaw, menu: Sequence[Query], epsilon: float, rounds: int) -> float:
    """The largest P(O) − e^ε·Q(O) that an adversary reaches who chooses each query by the answers so far."""

    def value(p: Floats, q: Floats, unstable_remaining: int, rounds_remaining: int) -> float:
        if unstable_remaining == 0 or rounds_remaining == 0:
            return max(0.0, float(p.sum()) - math.exp(epsilon) * float(q.sum()))
        return max(after(query, p, q, unstable_remaining, rounds_remaining - 1) for query in menu)

    def after(query: Query, p: Floats, q: Floats, unstable_remaining: int, rounds_remaining: int) -> float:
        stable_p, stable_q = p * law.stable(query.distance), q * law.stable(query.neighbour)
        if query.flips:  # the label tells the neighbours apart: no answer of P's has any mass under Q
            stable_q = np.zeros_like(q)
        told = value(stable_p, stable_q, unstable_remaining, rounds_remaining)
        failed_p = law.after_unstable(p * law.unstable(query.distance))
        failed_q = law.after_unstable(q * law.unstable(query.neighbour))
        return told + value(failed_p, failed_q, unstable_remaining - 1, rounds_remaining)

    return value(law.initial, law.initial, law.parameters.unstable, rounds)
