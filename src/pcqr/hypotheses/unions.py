"""Unions of at most r intervals on the line."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pcqr.compiled import compiled
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Labels, Points, as_points
from pcqr.hypotheses.committees import Arrays, PartGroups, TeachesBorders
from pcqr.hypotheses.cuts import IntArray, group_counts
from pcqr.privacy.noise import UNIT_ROUNDOFF, Chooser, FloatArray

_ENUMERATION_LIMIT = 16
_LN2 = math.log(2.0)


@dataclass(frozen=True)
class IntervalUnion(Hypothesis):
    """0 far to the left, the other label after each of the increasing `switches`; () is the empty union.

    The first interval is switches[0] < x ≤ switches[1], the next switches[2] < x ≤ switches[3], and so on; with an
    odd number of switches the last interval has no right end.
    """

    switches: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not all(left < right for left, right in itertools.pairwise(self.switches)):
            raise ParameterError("switches", "strictly increasing", self.switches)

    @property
    def intervals(self) -> tuple[tuple[float, float], ...]:
        """The pairs (low, high) of the intervals low < x ≤ high, from left to right."""
        ends = self.switches if len(self.switches) % 2 == 0 else (*self.switches, math.inf)
        return tuple(zip(ends[::2], ends[1::2], strict=True))

    def predict(self, X: ArrayLike) -> Labels:
        x = as_points(X, 1, owner="IntervalUnion")[:, 0]
        passed = np.searchsorted(np.array(self.switches), x, side="left")
        return (passed % 2).astype(np.int8)


@dataclass(frozen=True)
class UnionsOfIntervals(HypothesisClass, TeachesBorders):
    """H = indicators of unions of at most r intervals a < x ≤ b, the empty union included.

    Read from left to right, starting from a virtual 0, a member switches its label at most 2r times; on G distinct
    values there is one dichotomy for each choice of at most 2r of the G places where it may switch (before each
    group): Σ_{j ≤ 2r} C(G, j) of them. The sampler sums over the chain "number of switches so far" forwards and
    draws the switches backwards, each by one weighted choice over all its places; O(n·r) after sorting. Law, proof
    and error bound: proofs/unions.md.

    Parameters
    ----------
    r : int
        The most intervals that a member may have, at least 1.

    Raises
    ------
    ParameterError
        When r is no integer ≥ 1.

    Examples
    --------
    >>> from pcqr.hypotheses import UnionsOfIntervals
    >>> hours, is_late = [7, 8, 9, 12, 15, 18], [0, 1, 1, 0, 0, 1]
    >>> hypothesis = UnionsOfIntervals(r=2).learn(hours, is_late)
    >>> hypothesis.intervals
    ((7.5, 10.5), (16.5, inf))
    >>> hypothesis.predict(hours)
    array([0, 1, 1, 0, 0, 1], dtype=int8)
    """

    r: int

    features = 1

    def __post_init__(self) -> None:
        r: object = self.r
        if not isinstance(r, int) or isinstance(r, bool) or r < 1:
            raise ParameterError("r", "an integer ≥ 1", r)

    @property
    def largest_support(self) -> int:
        """Tables of (2r + 1)·n numbers: two gigabytes at most."""
        return max(1, (1 << 28) // (2 * self.r + 1))

    @property
    def vc_dimension(self) -> int:
        return 2 * self.r

    @property
    def switches(self) -> int:
        return 2 * self.r

    def log_growth(self, count: int, features: int = 1) -> float:  # noqa: ARG002
        """ln Σ_{j ≤ 2r} C(n, j), n = `count`; attained when no values are tied."""
        if count <= 2 * self.r:
            return count * _LN2
        term = total = 1
        for j in range(2 * self.r):
            term = term * (count - j) // (j + 1)
            total += term
        return math.log(total)

    def log_probability_error(
        self,
        records: int,
        inverse_temperature: float,
        *,
        features: int = 1,  # noqa: ARG002
        public: int | None = None,
    ) -> float:
        """λ = 2·(J + 1)·τ: at most J + 1 choices whose log-weights are off by at most τ (proofs/unions.md).

        τ = u·(14·η·n + 11·G + 7·Γ + 8), n = `records`, G ≤ n groups or, with public points, G ≤ `public`,
        Γ = log_growth(G), and J = min(2r, G) switches.
        """
        groups = records if public is None else public
        error = 14.0 * (inverse_temperature * records) + 11.0 * groups + 7.0 * self.log_growth(groups) + 8.0
        return 2.0 * (min(2 * self.r, groups) + 1) * UNIT_ROUNDOFF * error

    def learn(self, X: ArrayLike, y: ArrayLike) -> IntervalUnion:
        """Fewest mistakes; then fewest switches; then the leftmost last switch, the leftmost one before it, …

        With V_j(g) the most mistakes that j switches can save on the first g groups, against all-0, and P_j the
        prefix gains S when j is odd, 0 when it is even: V_j(g) = P_j(g) + max_{t < g} (V_{j−1}(t) − P_j(t)), where
        t groups lie before the last switch.
        """
        switches = self.learned(*self.check_records(X, y))
        return IntervalUnion(tuple(switch for switch in switches if switch < math.inf))

    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        """2r switches each; +∞ stands for those that are not used."""
        groups = PartGroups.of(X[:, 0], y, ends)
        longest = int(groups.records.max())
        return {"switches": groups.edges(_best_places(groups.gains, groups.starts, groups.counts, 2 * self.r, longest))}

    def enumerate(self, X: ArrayLike) -> Labels:
        """Every 0/1 pattern on the distinct values that has at most r runs of 1s."""
        values, place = np.unique(self.check_points(X)[:, 0], return_inverse=True)
        if values.size > _ENUMERATION_LIMIT:
            raise ParameterError("X", f"at most {_ENUMERATION_LIMIT} distinct values for enumerate", values.size)
        patterns = np.array(list(itertools.product((0, 1), repeat=values.size)), dtype=np.int8)
        runs = (np.diff(patterns, axis=1, prepend=0) == 1).sum(axis=1)
        rows: Labels = patterns[runs <= self.r][:, place]
        return rows

    def _draw(
        self, X: Points, y: Labels, inverse_temperature: float, public: Points | None, choose: Chooser
    ) -> IntervalUnion:
        groups = group_counts(X[:, 0], y, None if public is None else public[:, 0])
        gain = groups.prefix_gain
        log_sums = _log_forward_sums(gain, inverse_temperature, min(2 * self.r, groups.count))
        places: list[int] = []
        end = groups.count
        for j in range(choose(log_sums[:, end]), 0, -1):
            log_weights = log_sums[j - 1, j - 1 : end]  # t = j−1, …, end−1 groups lie before switch j
            if j % 2:
                log_weights = log_weights - inverse_temperature * gain[j - 1 : end]
            end = j - 1 + choose(log_weights)
            places.append(end)
        return IntervalUnion(tuple(groups.edges[places[::-1]].tolist()))


@compiled
def _log_forward_sums(gain: IntArray, inverse_temperature: float, most: int) -> FloatArray:
    """Row j ≤ `most`, column g ≤ G: ln F_j(g), −∞ when j > g.

    F_j(g) is the sum of e^{η·(mistakes saved against all-0)} over the labellings of the first g groups with j
    switches: F_j(g) = e^{η·s_g·[j odd]} · (F_j(g−1) + F_{j−1}(g−1)), s_g = 1s minus 0s of group g. Each is kept
    as mantissa · 2^exponent, so that the sums stay linear and no logarithm is ever fed back.
    """
    count = gain.size - 1
    log_sums = np.full((most + 1, count + 1), -np.inf)
    log_sums[0] = 0.0
    mantissa = np.zeros(most + 1)
    exponent = np.full(most + 1, -(1 << 60))
    mantissa[0], exponent[0] = 0.5, 1
    for g in range(count):
        energy = inverse_temperature * (gain[g + 1] - gain[g])
        power = math.floor(energy / _LN2)
        factor = math.exp(energy - power * _LN2)
        for j in range(min(most, g + 1), 0, -1):
            high = max(exponent[j], exponent[j - 1])
            # A term that is 2¹¹⁰⁰ times smaller than the other cannot change the rounded sum.
            total = math.ldexp(mantissa[j], max(exponent[j] - high, -1100))
            total += math.ldexp(mantissa[j - 1], max(exponent[j - 1] - high, -1100))
            if j % 2:
                total *= factor
                high += power
            mantissa[j], shift = math.frexp(total)
            exponent[j] = high + shift
            log_sums[j, g + 1] = math.log(mantissa[j]) + exponent[j] * _LN2
    return log_sums


@compiled
def _best_places(gains: IntArray, starts: IntArray, counts: IntArray, most: int, longest: int) -> IntArray:
    """For each part at most `most` switches that save the most mistakes, by the order of preference of `learn`.

    `before[j − 1, g]` is the t < g that V_j(g) attains its maximum at, the smallest one. No part has more than
    `longest` groups.
    """
    places = np.empty((counts.size, most), np.int64)
    before = np.empty((min(most, longest), longest + 1), np.int64)
    saved = np.empty(longest + 1, np.int64)
    for part in range(counts.size):
        gain, count = gains[starts[part] + part :], counts[part]
        saved[: count + 1] = 0
        best_saving = best_state = 0
        for j in range(1, min(most, count) + 1):
            place, value = j - 1, saved[j - 1] - (gain[j - 1] if j % 2 else 0)
            for g in range(j, count + 1):
                before[j - 1, g] = place
                following = saved[g] - (gain[g] if j % 2 else 0)
                saved[g] = value + (gain[g] if j % 2 else 0)
                if following > value:
                    place, value = g, following
            if saved[count] > best_saving:
                best_saving, best_state = saved[count], j
        places[part] = count
        end = count
        for j in range(best_state, 0, -1):
            end = before[j - 1, end]
            places[part, j - 1] = end
    return places
