"""Thresholds on the line, in one direction or in both."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pcqr.compiled import compiled
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Labels, Points, as_points
from pcqr.hypotheses.committees import Arrays, PartGroups, TeachesBorders
from pcqr.hypotheses.cuts import Groups, IntArray, group_counts, log_weights
from pcqr.privacy.noise import UNIT_ROUNDOFF, Chooser

_ENUMERATION_LIMIT = 1000


@dataclass(frozen=True)
class Threshold(Hypothesis):
    """1[x > cut], or its mirror 1[x ≤ cut] when not `up`. A cut at ±∞ is a constant."""

    cut: float
    up: bool = True

    def predict(self, X: ArrayLike) -> Labels:
        above = as_points(X, 1, owner="Threshold")[:, 0] > self.cut
        return (above if self.up else ~above).astype(np.int8)


@dataclass(frozen=True)
class Thresholds(HypothesisClass, TeachesBorders):
    """H = {1[x > c]}: label 1 above a cut. With `direction="both"` also the mirrors 1[x ≤ c].

    On G distinct values there are G + 1 dichotomies, or 2G in both directions: the two constants belong to both
    directions and are counted once. The sampler is one weighted choice over all of them, from prefix sums of
    integer counts; O(n log n). Law, proof and error bound: proofs/thresholds.md.

    Parameters
    ----------
    direction : {"up", "both"}, default "up"
        Whether label 1 is above the cut, or on either side of it.

    Examples
    --------
    >>> from pcqr.hypotheses import Thresholds
    >>> ages, is_ill = [31, 35, 52, 60, 71], [0, 0, 1, 0, 1]
    >>> hypothesis = Thresholds().learn(ages, is_ill)
    >>> hypothesis
    Threshold(cut=43.5, up=True)
    >>> hypothesis.predict([40, 50])
    array([0, 1], dtype=int8)
    >>> Thresholds(direction="both").learn(ages, [1, 1, 0, 0, 0])
    Threshold(cut=43.5, up=False)
    """

    direction: str = "up"

    features = 1

    def __post_init__(self) -> None:
        if self.direction not in ("up", "both"):
            raise ParameterError("direction", "'up' or 'both'", self.direction)

    @property
    def vc_dimension(self) -> int:
        """1, or 2 in both directions."""
        return 1 if self.direction == "up" else 2

    @property
    def switches(self) -> int:
        """1[x > c] switches at c; its mirror at −∞ and at c."""
        return 1 if self.direction == "up" else 2

    def log_growth(self, count: int, features: int = 1) -> float:  # noqa: ARG002
        """ln(n + 1), or ln(2n) in both directions, n = `count`; attained when no values are tied."""
        return math.log(count + 1 if self.direction == "up" else max(2 * count, 1))

    def log_probability_error(
        self,
        records: int,
        inverse_temperature: float,
        *,
        features: int = 1,  # noqa: ARG002
        public: int | None = None,  # noqa: ARG002
    ) -> float:
        """λ = 2·u·η·n, n = `records`: one choice whose log-weights are each rounded once (proofs/thresholds.md)."""
        return 2.0 * UNIT_ROUNDOFF * (inverse_temperature * records)

    def learn(self, X: ArrayLike, y: ArrayLike) -> Threshold:
        """Fewest mistakes; then 1[x > c] before its mirror; then the smallest cut, −∞ and +∞ included."""
        first, second = self.learned(*self.check_records(X, y))
        return Threshold(first) if second == math.inf else Threshold(second, up=False)

    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        """1[x > c] switches at c; its mirror at −∞ and at c."""
        groups = PartGroups.of(X[:, 0], y, ends)
        places = _best_places(groups.gains, groups.starts, groups.counts, groups.balances, self.direction == "both")
        return {"switches": groups.edges(places)}

    def enumerate(self, X: ArrayLike) -> Labels:
        """All rows 1[x > c] with c = −∞ or one of the values, and their complements; duplicates removed."""
        x = self.check_points(X)[:, 0]
        if x.size > _ENUMERATION_LIMIT:
            raise ParameterError("X", f"at most {_ENUMERATION_LIMIT} rows for enumerate", x.size)
        rows = np.concatenate(([-np.inf], x))[:, None] < x[None, :]
        if self.direction == "both":
            rows = np.concatenate((rows, ~rows))
        return np.unique(rows.astype(np.int8), axis=0)

    def _draw(
        self, X: Points, y: Labels, inverse_temperature: float, public: Points | None, choose: Chooser
    ) -> Threshold:
        groups = group_counts(X[:, 0], y, None if public is None else public[:, 0])
        return self._member(groups, choose(log_weights(self._error_counts(groups), inverse_temperature)))

    def _error_counts(self, groups: Groups) -> IntArray:
        """Mistakes of every dichotomy, each listed once; `_member` names them in the same order.

        First 1[x > edges[i]], i = 0, …, G. In both directions then 1[x ≤ edges[i]], i = 1, …, G − 1: the mirrors
        at −∞ and +∞ are constants that are listed already.
        """
        above = groups.errors_above
        if self.direction == "up":
            return above
        records = above[0] + above[-1]  # all 1 and all 0 err on complementary sets
        return np.concatenate((above, records - above[1:-1]))

    @staticmethod
    def _member(groups: Groups, index: int) -> Threshold:
        if index <= groups.count:
            return Threshold(float(groups.edges[index]))
        return Threshold(float(groups.edges[index - groups.count]), up=False)


@compiled
def _best_places(gains: IntArray, starts: IntArray, counts: IntArray, balances: IntArray, mirrored: bool) -> IntArray:
    """For each part where a threshold with the fewest mistakes switches, by the order of preference of `learn`.

    1[x > edges[i]] makes S_i mistakes more than there are 0s, its mirror S_i fewer than there are 1s: fewer, where the
    largest S_i inside exceeds the 1s minus the 0s by more than the smallest S_i of all.
    """
    places = np.empty((counts.size, 2), np.int64)
    for part in range(counts.size):
        gain, count = gains[starts[part] + part :], counts[part]
        lowest = highest = 0
        for i in range(1, count + 1):
            if gain[i] < gain[lowest]:
                lowest = i
            if i < count and (highest == 0 or gain[i] > gain[highest]):
                highest = i
        places[part, 0], places[part, 1] = lowest, count
        if mirrored and highest > 0 and balances[part] - gain[highest] < gain[lowest]:
            places[part, 0], places[part, 1] = 0, highest
    return places
