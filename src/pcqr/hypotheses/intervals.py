"""Intervals on the line."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pcqr.compiled import compiled
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Labels, Points, as_points
from pcqr.hypotheses.committees import Arrays, PartGroups, TeachesBorders
from pcqr.hypotheses.cuts import IntArray, group_counts, log_weights
from pcqr.privacy.noise import UNIT_ROUNDOFF, Chooser, FloatArray

_ENUMERATION_LIMIT = 100


@dataclass(frozen=True)
class Interval(Hypothesis):
    """1[low < x ≤ high]; either end may be infinite. It is empty when the ends are equal (`EMPTY_INTERVAL`)."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low <= self.high:
            raise ParameterError("low", f"at most high = {self.high}", self.low)

    @property
    def is_empty(self) -> bool:
        return self.low == self.high

    def predict(self, X: ArrayLike) -> Labels:
        x = as_points(X, 1, owner="Interval")[:, 0]
        return ((self.low < x) & (x <= self.high)).astype(np.int8)


EMPTY_INTERVAL = Interval(0.0, 0.0)
"""The constant 0."""


@dataclass(frozen=True)
class Intervals(HypothesisClass, TeachesBorders):
    """H = {1[a < x ≤ b]}: label 1 inside an interval on the line, which may be empty.

    On G distinct values there are G(G+1)/2 + 1 dichotomies. The sampler draws the last group of the interval (or
    "empty", exactly once), then the first given the last; O(n) after sorting. Law, proof and error bound:
    proofs/intervals.md.

    Examples
    --------
    >>> from pcqr.hypotheses import Intervals
    >>> hours, is_late = [7, 8, 9, 12, 15, 18], [0, 1, 1, 0, 0, 1]
    >>> hypothesis = Intervals().learn(hours, is_late)
    >>> hypothesis
    Interval(low=7.5, high=10.5)
    >>> hypothesis.predict([8.2, 13.0])
    array([1, 0], dtype=int8)
    """

    features = 1

    @property
    def vc_dimension(self) -> int:
        return 2

    @property
    def switches(self) -> int:
        return 2

    def log_growth(self, count: int, features: int = 1) -> float:  # noqa: ARG002
        """ln(n(n+1)/2 + 1), n = `count`; attained when no values are tied."""
        return math.log(count * (count + 1) // 2 + 1)

    def log_probability_error(
        self,
        records: int,
        inverse_temperature: float,
        *,
        features: int = 1,  # noqa: ARG002
        public: int | None = None,
    ) -> float:
        """λ = 2·(τ_last + τ_first): twice the error of the log-weights of either choice (proofs/intervals.md).

        τ_first = u·η·n and τ_last = u·(5·η·n + 7·G + 7·ln G + 8), n = `records`, G ≤ n groups or, with public
        points, G ≤ `public`.
        """
        groups = records if public is None else public
        energy = inverse_temperature * records
        last = 5.0 * energy + 7.0 * groups + 7.0 * math.log(max(groups, 1)) + 8.0
        return 2.0 * UNIT_ROUNDOFF * (last + energy)

    def learn(self, X: ArrayLike, y: ArrayLike) -> Interval:
        """Fewest mistakes; then the empty interval; then the smallest right end; then the smallest left end."""
        low, high = self.learned(*self.check_records(X, y))
        return EMPTY_INTERVAL if low == math.inf else Interval(low, high)

    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        """The two ends; both are +∞ where the interval is empty."""
        groups = PartGroups.of(X[:, 0], y, ends)
        return {"switches": groups.edges(_best_places(groups.gains, groups.starts, groups.counts))}

    def enumerate(self, X: ArrayLike) -> Labels:
        """The all-0 row and every row 1[a ≤ x ≤ b] with a and b among the values; duplicates removed."""
        x = self.check_points(X)[:, 0]
        if x.size > _ENUMERATION_LIMIT:
            raise ParameterError("X", f"at most {_ENUMERATION_LIMIT} rows for enumerate", x.size)
        low, high = x[:, None, None], x[None, :, None]
        rows = ((low <= x) & (x <= high)).reshape(-1, x.size)
        return np.unique(np.concatenate((rows, np.zeros((1, x.size), dtype=bool))).astype(np.int8), axis=0)

    def _draw(
        self, X: Points, y: Labels, inverse_temperature: float, public: Points | None, choose: Chooser
    ) -> Interval:
        groups = group_counts(X[:, 0], y, None if public is None else public[:, 0])
        last = choose(_log_weights_of_last_group(groups.prefix_gain, inverse_temperature))
        if last == groups.count:
            return EMPTY_INTERVAL
        first = choose(log_weights(groups.prefix_gain[: last + 1], inverse_temperature))
        return Interval(float(groups.edges[first]), float(groups.edges[last + 1]))


def _log_weights_of_last_group(gain: IntArray, inverse_temperature: float) -> FloatArray:
    """ln R_b + constant for b = 0, …, G − 1, then that of the empty interval, which weighs 1.

    R_b = Σ_{a≤b} e^{η·(S_{b+1} − S_a)}, S = `gain`, is the weight of all intervals that end with group b. It is
    kept as e^{η·best_b} · mass_b with an exact integer and 1 ≤ mass_b ≤ b + 1, so nothing over- or underflows.
    """
    best = np.append(gain[1:] - np.minimum.accumulate(gain[:-1]), 0)
    mass = np.append(_masses(gain, inverse_temperature), 1.0)
    log_weights: FloatArray = inverse_temperature * (best - best.max()) + np.log(mass)
    return log_weights


@compiled
def _masses(gain: IntArray, inverse_temperature: float) -> FloatArray:
    """mass_b = Σ_{a≤b} e^{−η·(S_a − min_{a'≤b} S_a')}, b = 0, …, G − 1: the sum is rescaled when the minimum falls."""
    count = gain.size - 1
    masses = np.empty(count, dtype=np.float64)
    lowest = gain[0]
    mass = 0.0
    for b in range(count):
        if gain[b] < lowest:
            mass = mass * math.exp(-inverse_temperature * (lowest - gain[b])) + 1.0
            lowest = gain[b]
        else:
            mass += math.exp(-inverse_temperature * (gain[b] - lowest))
        masses[b] = mass
    return masses


@compiled
def _best_places(gains: IntArray, starts: IntArray, counts: IntArray) -> IntArray:
    """For each part the two ends of an interval that saves the most mistakes, by the order of preference of `learn`.

    An interval from edge a to edge b saves S_b − S_a; for each b the best a is where S was smallest before, at first.
    """
    places = np.empty((counts.size, 2), np.int64)
    for part in range(counts.size):
        gain, count = gains[starts[part] + part :], counts[part]
        places[part, 0] = places[part, 1] = count  # the empty one
        lowest = saved = 0
        for b in range(1, count + 1):
            if gain[b - 1] < gain[lowest]:
                lowest = b - 1
            if gain[b] - gain[lowest] > saved:
                saved = gain[b] - gain[lowest]
                places[part, 0], places[part, 1] = lowest, b
    return places
