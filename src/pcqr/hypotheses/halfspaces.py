"""Halfspaces (half-planes) in the plane."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.compiled import compiled
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Labels, Points, as_points
from pcqr.hypotheses.cuts import IntArray, log_weights
from pcqr.hypotheses.orientation import ABSOLUTE_DOUBT, RELATIVE_DOUBT, turns
from pcqr.noise import UNIT_ROUNDOFF, Chooser, FloatArray

_ENUMERATION_LIMIT = 16
_HALF_WORD = 27  # a 53-bit integer is two of these; products of halves and their sums stay far below 2⁶³


@dataclass(frozen=True)
class Constant(Hypothesis):
    """The same label everywhere."""

    label: int

    def predict(self, X: ArrayLike) -> Labels:
        return np.full(as_points(X, 2, owner="Constant").shape[0], self.label, dtype=np.int8)


@dataclass(frozen=True)
class Halfspace(Hypothesis):
    """1 to the left of the directed line `tail` → `head`, 0 to its right; on it, 1 at and behind `tail`, 0 ahead.

    Sides are decided exactly (orientation.py). The rule on the line is what turning it a little anticlockwise about a
    point just ahead of `tail` does to the points there, so this is the dichotomy of a half-plane.
    """

    tail: tuple[float, float]
    head: tuple[float, float]

    def predict(self, X: ArrayLike) -> Labels:
        points = as_points(X, 2, owner="Halfspace")
        side = turns(self.tail, self.head, points)
        axis = 0 if self.tail[0] != self.head[0] else 1
        forward = 1.0 if self.head[axis] > self.tail[axis] else -1.0
        ahead = forward * points[:, axis] > forward * self.tail[axis]
        return ((side > 0) | ((side == 0) & ~ahead)).astype(np.int8)


@dataclass(frozen=True)
class Halfspaces(HypothesisClass):
    """Half-planes {x : ⟨w, x⟩ ≥ b} in ℝ², the empty set and the whole plane included.

    The members on a set of points are the two constants and one `Halfspace(i, j)` for each ordered pair of distinct
    locations with no third one strictly between them: one for each dichotomy, whatever points coincide or are
    collinear. The mistakes of all pairs with tail i follow from one turn of a line about i, so the sampler is a
    single weighted choice; O(N² log N) time and O(N²) memory on N distinct locations, or O(M(n + M) log(n + M))
    and O(M²) with M public points. Law, proof and error bound: proofs/halfspaces.md.
    """

    features = 2

    @property
    def vc_dimension(self) -> int:
        return 3

    def log_growth(self, count: int, features: int = 2) -> float:  # noqa: ARG002
        """ln(n(n − 1) + 2), n = `count`; attained in general position."""
        return math.log(count * (count - 1) + 2)

    def log_probability_error(
        self,
        records: int,
        inverse_temperature: float,
        *,
        features: int = 2,
        public: int | None = None,  # noqa: ARG002
    ) -> float:
        """λ = 2·u·η·n, n = `records`: one choice whose log-weights are each rounded once (proofs/halfspaces.md)."""
        return 2.0 * UNIT_ROUNDOFF * (inverse_temperature * records)

    def learn(self, X: ArrayLike, y: ArrayLike) -> Hypothesis:
        """Fewest mistakes; then the constants 0 and 1, then the lowest tail (of those the leftmost), then the line
        that the positive x axis meets first when turned anticlockwise, upwards (or rightwards) before downwards.
        """
        points, labels = self.check_records(X, y)
        members = _score(points, labels, points)
        return members.hypothesis(int(members.gain.argmax()))

    def enumerate(self, X: ArrayLike) -> Labels:
        """Every way to cut the points in two by their order along some direction, in integer arithmetic.

        The order changes only at directions orthogonal to a pair of locations. Just beside such a direction, on
        either side, it is the order there with ties broken along the orthogonal one.
        """
        points = self.check_points(X)
        count = points.shape[0]
        if count > _ENUMERATION_LIMIT:
            raise ParameterError("X", f"at most {_ENUMERATION_LIMIT} rows for enumerate", count)
        scale = max(value.as_integer_ratio()[1] for value in points.ravel().tolist())
        exact = [(int(Fraction(x) * scale), int(Fraction(y) * scale)) for x, y in points.tolist()]
        patterns = {(0,) * count, (1,) * count}
        for ax, ay in exact:
            for bx, by in exact:
                for beside in (-1, 1):
                    ux, uy = by - ay, ax - bx
                    rank = [(x * ux + y * uy, beside * (y * ux - x * uy)) for x, y in exact]
                    patterns |= {tuple(int(r >= cut) for r in rank) for cut in rank}
        return np.array(sorted(patterns), dtype=np.int8)

    def _draw(
        self, X: Points, y: Labels, inverse_temperature: float, public: Points | None, choose: Chooser
    ) -> Hypothesis:
        members = _score(X, y, X if public is None else public)
        return members.hypothesis(choose(log_weights(-members.gain, inverse_temperature)))


@dataclass(frozen=True, eq=False)
class _Members:
    """The constants 0 and 1, then `Halfspace(locations[tail[k]], locations[head[k]])` for k = 0, 1, …"""

    locations: Points
    tail: IntArray
    head: IntArray

    gain: IntArray
    """Mistakes saved over the constant 0: the 1s minus the 0s among the records that the member labels 1."""

    def hypothesis(self, index: int) -> Hypothesis:
        if index < 2:
            return Constant(index)
        tail, head = self.locations[self.tail[index - 2]], self.locations[self.head[index - 2]]
        return Halfspace((float(tail[0]), float(tail[1])), (float(head[0]), float(head[1])))


def _score(X: Points, y: Labels, shown: Points) -> _Members:
    """The members that the points `shown` span, scored on the records (X, y)."""
    points = np.concatenate((X, shown))
    order = np.lexsort((points[:, 0], points[:, 1]))
    ordered = points[order]
    starts = np.flatnonzero(np.concatenate(([True], (ordered[1:] != ordered[:-1]).any(axis=1))))
    locations = ordered[starts]
    worth = np.concatenate((2 * y.astype(np.int64) - 1, np.zeros(shown.shape[0], dtype=np.int64)))
    gain = np.add.reduceat(worth[order], starts)
    is_shown = np.logical_or.reduceat(order >= X.shape[0], starts)

    fraction, exponent = np.frexp(locations)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    tail, head, pair_gain = _turn_about_each(locations, mantissa, exponent.astype(np.int64), gain, is_shown)
    return _Members(locations, tail, head, np.concatenate(([0, gain.sum()], pair_gain)))


@compiled
def _turn_about_each(  # noqa: PLR0915
    locations: FloatArray, mantissa: IntArray, exponent: IntArray, gain: IntArray, is_shown: NDArray[np.bool_]
) -> tuple[IntArray, IntArray, IntArray]:
    """Tail, head and gain of `Halfspace(i, j)` for all ordered pairs of shown locations adjacent among the shown.

    `locations` are distinct and sorted by y, then x; locations[k] = mantissa[k]·2^(exponent[k] − 53), exactly. So
    the locations after i are those whose direction from i has an angle in [0, π), and on a ray the index says
    which is nearer. Turn a line about i from angle 0 to π: `left` is the gain on its left side and on its half
    behind i. It changes only where the line meets locations: those after i leave, those before i enter.
    """
    count = locations.shape[0]
    limbs = np.empty(4400 // _HALF_WORD, np.int64)
    low_half = (1 << _HALF_WORD) - 1
    dx, dy = np.empty(count, np.float64), np.empty(count, np.float64)

    def exact_turn(a: int, b: int, c: int) -> int:
        """The sign of Σ (pₓ·q_y − p_y·qₓ) over (p, q) = (a, b), (b, c), (c, a), added up in one wide integer."""
        lowest, highest = 1 << 40, -(1 << 40)
        for p, q in ((a, b), (b, c), (c, a)):
            for axis in range(2):
                if mantissa[p, axis] != 0 and mantissa[q, 1 - axis] != 0:
                    place = exponent[p, axis] + exponent[q, 1 - axis]
                    lowest, highest = min(lowest, place), max(highest, place)
        if lowest > highest:
            return 0
        used = (highest - lowest) // _HALF_WORD + 4
        limbs[:used] = 0
        for p, q in ((a, b), (b, c), (c, a)):
            for axis in range(2):
                u, v = mantissa[p, axis] * (1 - 2 * axis), mantissa[q, 1 - axis]
                if u != 0 and v != 0:
                    place = exponent[p, axis] + exponent[q, 1 - axis] - lowest
                    limb, shift = place // _HALF_WORD, place % _HALF_WORD
                    u0, u1, v0, v1 = u & low_half, u >> _HALF_WORD, v & low_half, v >> _HALF_WORD
                    for part in (u0 * v0, u0 * v1 + u1 * v0, u1 * v1):
                        limbs[limb] += (part & low_half) << shift
                        limbs[limb + 1] += (part >> _HALF_WORD) << shift
                        limb += 1
        carry, rest = 0, 0
        for k in range(used):
            carry += limbs[k]
            rest |= carry & low_half
            carry >>= _HALF_WORD
        return -1 if carry < 0 else int(carry > 0 or rest != 0)

    def met_first(i: int, a: int, b: int) -> int:
        """+1 when the line about i meets a before b, 0 when it meets them at once, −1 when it meets b first."""
        first, second = dx[a] * dy[b], dy[a] * dx[b]
        difference = first - second
        if abs(difference) > RELATIVE_DOUBT * (abs(first) + abs(second)) + ABSOLUTE_DOUBT:
            return 1 if difference > 0.0 else -1
        turn = exact_turn(i, a, b)
        return turn if (a > i) == (b > i) else -turn

    shown = np.flatnonzero(is_shown)
    tail = np.empty(shown.size * (shown.size - 1), np.int64)
    head, pair_gain = np.empty_like(tail), np.empty_like(tail)
    met, merged = np.empty(count - 1, np.int64), np.empty(count - 1, np.int64)
    everything = gain.sum()
    pairs = 0
    for i in shown:
        left = 0
        for k in range(count):
            # Directions with an angle in [π, 2π) are reversed: what counts is when the line, not the ray, meets k.
            dx[k], dy[k] = locations[k, 0] - locations[i, 0], locations[k, 1] - locations[i, 1]
            if k < i:
                dx[k], dy[k], met[k] = -dx[k], -dy[k], k
            elif k > i:
                met[k - 1] = k
                left += gain[k]

        width = 1
        while width < met.size:
            for start in range(0, met.size, 2 * width):
                middle, end = min(start + width, met.size), min(start + 2 * width, met.size)
                a, b = start, middle
                for k in range(start, end):
                    if b == end or (a < middle and met_first(i, met[a], met[b]) >= 0):
                        merged[k] = met[a]
                        a += 1
                    else:
                        merged[k] = met[b]
                        b += 1
            met, merged = merged, met
            width *= 2

        k = 0
        while k < met.size:
            first, ahead, behind = met[k], count, -1
            while k < met.size and (met[k] == first or met_first(i, first, met[k]) == 0):
                if met[k] > i:
                    left -= gain[met[k]]
                    ahead = min(ahead, met[k]) if is_shown[met[k]] else ahead
                else:
                    left += gain[met[k]]
                    behind = max(behind, met[k]) if is_shown[met[k]] else behind
                k += 1
            if ahead < count:
                tail[pairs], head[pairs], pair_gain[pairs] = i, ahead, left + gain[i]
                pairs += 1
            if behind >= 0:
                tail[pairs], head[pairs], pair_gain[pairs] = i, behind, everything - left
                pairs += 1
    return tail[:pairs], head[:pairs], pair_gain[:pairs]
