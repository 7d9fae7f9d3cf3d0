"""On which side of a directed line a point lies, and when a turning line meets it: exact for all finite float64.

The sign of the determinant (bₓ − aₓ)(c_y − a_y) − (b_y − a_y)(cₓ − aₓ) is first sought in float64, and taken when the
result exceeds what rounding can have done to it. Only the undecided cases are computed again without rounding.
The filter is in the spirit of Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric
predicates" (1997); its bound is derived in proofs/halfspaces.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.checks import check_finite
from pcqr.compiled import compiled
from pcqr.data.records.arrays import Labels
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Points, as_points, check_label
from pcqr.hypotheses.committees import Arrays, Committee, TeachesInBulk, of_width, train_one_by_one
from pcqr.hypotheses.cuts import IntArray, log_weights
from pcqr.privacy.noise import UNIT_ROUNDOFF, Chooser

RELATIVE_DOUBT = 8.0 * UNIT_ROUNDOFF
"""Times the sum of the two products' magnitudes: more than rounding can do to their difference."""

ABSOLUTE_DOUBT = 2.0**-1000
"""More than the underflow of the two products can do to their difference."""

_HALF_WORD = 27
"""Bits of half a mantissa: products of halves, shifted by less than this, add up far below 2⁶³."""


def turns(tail: tuple[float, float], head: tuple[float, float], points: Points) -> NDArray[np.int8]:
    """+1 for each point to the left of the directed line `tail` → `head`, −1 to the right, 0 exactly on it."""
    x, y = points.T
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # ±inf and NaN come out undecided
        left = (head[0] - tail[0]) * (y - tail[1])
        right = (head[1] - tail[1]) * (x - tail[0])
        difference = left - right
        decided = np.abs(difference) > RELATIVE_DOUBT * (np.abs(left) + np.abs(right)) + ABSOLUTE_DOUBT
        signs = np.where(decided, np.sign(difference), 0.0).astype(np.int8)
    for index in np.flatnonzero(~decided):
        signs[index] = _rational_turn(tail, head, (float(x[index]), float(y[index])))
    return signs


def _rational_turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> int:
    """The sign of `turns` for one point, in rational arithmetic."""
    (ax, ay), (bx, by), (cx, cy) = (tuple(map(Fraction, point)) for point in (a, b, c))
    determinant = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    return (determinant > 0) - (determinant < 0)


def count_left(lines: FloatArray, points: Points) -> IntArray:
    """For each point, how many of `lines`, rows (tail, head), label it 1: as `Halfspace` does, without rounding."""
    parts = _Parts(np.zeros((3, 2), np.int64), np.zeros((3, 2), np.int64), np.empty(4400 // _HALF_WORD, np.int64))
    return _count_left(lines, points, parts)


def turn_about_each(
    locations: Points, gain: IntArray, is_shown: NDArray[np.bool_]
) -> tuple[IntArray, IntArray, IntArray]:
    """Tail i, head j and gain of all ordered pairs of shown locations with no shown one strictly between them.

    The gain of (i, j) is the sum of `gain` over the locations to the left of i → j and those on the line at or behind
    i. `locations` are distinct and sorted by y, then x: those after i have a direction from i with an angle in
    [0, π), and on a ray the index tells which is nearer. Turn a line about i from angle 0 to π; the gain to its left
    and on its half behind i changes only where it meets locations: those after i leave, those before i enter.
    Listed by i, then by the line's angle, j after i before j before i.
    """
    fraction, exponent = np.frexp(locations)
    mantissa = np.ldexp(fraction, 53).astype(np.int64)
    parts = _Parts(mantissa, exponent.astype(np.int64), np.empty(4400 // _HALF_WORD, np.int64))
    return _turn_about_each(locations, parts, gain, is_shown)


class _Parts(NamedTuple):
    """Locations as integers, for exact comparisons: locations[k] = mantissa[k]·2^(exponent[k] − 53)."""

    mantissa: IntArray
    exponent: IntArray
    limbs: IntArray
    """Digits of one wide integer, in base 2^`_HALF_WORD`."""


# What a kernel calls is written out at its place when it is compiled. Handing on an array then means counting one more
# reference to it, so the comparison that is made most often takes numbers only.


@compiled
def _turn_about_each(
    locations: FloatArray, parts: _Parts, gain: IntArray, is_shown: NDArray[np.bool_]
) -> tuple[IntArray, IntArray, IntArray]:
    """`turn_about_each`: for each i the others are brought into the order in which the line meets them, then swept."""
    shown = np.flatnonzero(is_shown)
    tail = np.empty(shown.size * (shown.size - 1), np.int64)
    head, pair_gain = np.empty_like(tail), np.empty_like(tail)
    met, spare = np.empty(locations.shape[0] - 1, np.int64), np.empty(locations.shape[0] - 1, np.int64)
    dx, dy = np.empty(locations.shape[0]), np.empty(locations.shape[0])
    pairs = 0
    for index in range(shown.size):
        i = int(shown[index])
        _face(i, locations, dx, dy, met)
        met, spare = _sort_as_met(i, met, spare, dx, dy, parts)
        pairs = _sweep(i, met, dx, dy, parts, gain, is_shown, tail, head, pair_gain, pairs)
    return tail[:pairs], head[:pairs], pair_gain[:pairs]


@compiled
def _face(i: int, locations: FloatArray, dx: FloatArray, dy: FloatArray, met: IntArray) -> None:
    """List all locations but i in `met`, and write the direction (dx, dy) of each of them from i.

    Directions with an angle in [π, 2π) are reversed: what counts is when the line, not the ray, meets a location.
    """
    for k in range(locations.shape[0]):
        sign = -1.0 if k < i else 1.0
        dx[k], dy[k] = sign * (locations[k, 0] - locations[i, 0]), sign * (locations[k, 1] - locations[i, 1])
        if k != i:
            met[k - (k > i)] = k


@compiled
def _sort_as_met(
    i: int, met: IntArray, spare: IntArray, dx: FloatArray, dy: FloatArray, parts: _Parts
) -> tuple[IntArray, IntArray]:
    """`met` in the order in which the line about i meets them, by a stable merge sort; and the other array."""
    width = 1
    while width < met.size:
        for start in range(0, met.size, 2 * width):
            middle, end = min(start + width, met.size), min(start + 2 * width, met.size)
            a, b = start, middle
            for k in range(start, end):
                order = 1 if b == end else -1
                if a < middle and b < end:
                    order = _rounded_order(dx[met[a]], dy[met[a]], dx[met[b]], dy[met[b]])
                    if order == 0:
                        order = _exact_order(i, met[a], met[b], parts)
                if order >= 0:
                    spare[k] = met[a]
                    a += 1
                else:
                    spare[k] = met[b]
                    b += 1
        met, spare = spare, met
        width *= 2
    return met, spare


@compiled
def _sweep(
    i: int, met: IntArray, dx: FloatArray, dy: FloatArray, parts: _Parts, gain: IntArray, is_shown: NDArray[np.bool_],
    tail: IntArray, head: IntArray, pair_gain: IntArray, pairs: int,
) -> int:  # fmt: skip
    """Turn the line about i through the locations in the order of `met`; write the pairs of i from row `pairs` on.

    Of those met at once the nearest shown one ahead of i makes a pair, and the nearest one behind it. Returns how many
    rows are written.
    """
    count, everything, left = gain.size, gain.sum(), gain[i + 1 :].sum()
    start = 0
    while start < met.size:
        first, end = met[start], start + 1
        while end < met.size and _rounded_order(dx[first], dy[first], dx[met[end]], dy[met[end]]) == 0:
            if _exact_order(i, first, met[end], parts) != 0:
                break
            end += 1
        ahead, behind = count, -1
        for place in range(start, end):
            k = met[place]
            if k > i:
                left -= gain[k]
                ahead = min(ahead, k) if is_shown[k] else ahead
            else:
                left += gain[k]
                behind = max(behind, k) if is_shown[k] else behind
        start = end
        if ahead < count:
            tail[pairs], head[pairs], pair_gain[pairs] = i, ahead, left + gain[i]
            pairs += 1
        if behind >= 0:
            tail[pairs], head[pairs], pair_gain[pairs] = i, behind, everything - left
            pairs += 1
    return pairs


@compiled
def _count_left(lines: FloatArray, points: FloatArray, parts: _Parts) -> IntArray:
    """`count_left`; `parts` is room for one tail, head and point, filled where rounding leaves a side open."""
    counts = np.zeros(points.shape[0], np.int64)
    for row in range(points.shape[0]):
        x, y = points[row, 0], points[row, 1]
        for t in range(lines.shape[0]):
            tail_x, tail_y, head_x, head_y = lines[t, 0], lines[t, 1], lines[t, 2], lines[t, 3]
            side = _rounded_order(head_x - tail_x, head_y - tail_y, x - tail_x, y - tail_y)
            if side == 0:
                for place, value in enumerate((tail_x, tail_y, head_x, head_y, x, y)):
                    fraction, exponent = math.frexp(value)
                    parts.mantissa[place // 2, place % 2] = np.int64(math.ldexp(fraction, 53))
                    parts.exponent[place // 2, place % 2] = exponent
                side = _exact_turn(0, 1, 2, parts)
            if side == 0:  # on the line: 1 at and behind the tail
                along, start, end = (x, tail_x, head_x) if tail_x != head_x else (y, tail_y, head_y)
                side = -1 if (along > start if end > start else along < start) else 1
            counts[row] += side > 0
    return counts


@compiled
def _rounded_order(dx_a: float, dy_a: float, dx_b: float, dy_b: float) -> int:
    """+1 when the line surely meets a before b, −1 when surely b before a, 0 when rounding leaves it open."""
    first, second = dx_a * dy_b, dy_a * dx_b
    difference = first - second
    if abs(difference) > RELATIVE_DOUBT * (abs(first) + abs(second)) + ABSOLUTE_DOUBT:
        return 1 if difference > 0.0 else -1
    return 0


@compiled
def _exact_order(i: int, a: int, b: int, parts: _Parts) -> int:
    """+1 when the line about i meets a before b, 0 when it meets them at once, −1 when it meets b first."""
    turn = _exact_turn(i, a, b, parts)
    return turn if (a > i) == (b > i) else -turn


@compiled
def _exact_turn(a: int, b: int, c: int, parts: _Parts) -> int:
    """The sign of Σ (pₓ·q_y − p_y·qₓ) over (p, q) = (a, b), (b, c), (c, a), added up in one wide integer."""
    mantissa, exponent, limbs, low_half = parts.mantissa, parts.exponent, parts.limbs, (1 << _HALF_WORD) - 1
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
            _add_product(
                mantissa[p, axis] * (1 - 2 * axis),
                mantissa[q, 1 - axis],
                exponent[p, axis] + exponent[q, 1 - axis] - lowest,
                limbs,
            )
    carry, rest = 0, 0
    for k in range(used):
        carry += limbs[k]
        rest |= carry & low_half
        carry >>= _HALF_WORD
    return -1 if carry < 0 else int(carry > 0 or rest != 0)


@compiled
def _add_product(u: int, v: int, place: int, limbs: IntArray) -> None:
    """Add u·v·2^place to the wide integer, without carrying; nothing where u or v is 0."""
    if u != 0 and v != 0:
        low_half = (1 << _HALF_WORD) - 1
        limb, shift = place // _HALF_WORD, place % _HALF_WORD
        u0, u1, v0, v1 = u & low_half, u >> _HALF_WORD, v & low_half, v >> _HALF_WORD
        for part in (u0 * v0, u0 * v1 + u1 * v0, u1 * v1):
            limbs[limb] += (part & low_half) << shift
            limbs[limb + 1] += (part >> _HALF_WORD) << shift
            limb += 1


# ---------------------------------------------------------------------------------------------------------------------
# A committee of half-planes, as directed lines; some teachers may say the same everywhere.


FloatArray = NDArray[np.float64]

LINE = -1
"""In place of a label, for a teacher that is a directed line."""


class Sides(Committee):
    """k half-planes. Exact for all finite points; O(k) a query.

    Parameters
    ----------
    lines : array of shape (k, 4)
        Row j is (x, y) of the tail and (x, y) of the head of teacher j's line (`Halfspace`).
    constants : array of shape (k,)
        The label of a teacher that says the same everywhere, whose line does not count; `LINE` for all others.
    """

    kind = "sides"

    def __init__(self, lines: FloatArray, constants: Labels) -> None:
        self.lines, self.constants, self.size = lines, constants, constants.size
        self._directed = np.ascontiguousarray(lines[constants == LINE])
        self._always = int((constants == 1).sum())

    def counts(self, X: Points) -> IntArray:
        ones = self._always + count_left(self._directed, of_width(X, 2))
        return np.column_stack((self.size - ones, ones))

    def arrays(self) -> Arrays:
        return {"kind": np.array(self.kind), "lines": self.lines, "constants": self.constants}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Sides:
        cls.checked(arrays, lines=("f", 2), constants=("i", 1))
        lines, constants = arrays["lines"], arrays["constants"]
        fits = (
            constants.size >= 1
            and lines.shape == (constants.size, 4)
            and bool(np.isfinite(lines).all() and np.isin(constants, (LINE, 0, 1)).all())
            and bool((lines[:, :2] != lines[:, 2:]).any(axis=1)[constants == LINE].all())
        )
        if not fits:
            raise DataError("arrays", "the lines of a committee of half-planes", "others")
        return cls(lines.astype(np.float64, "C"), constants.astype(np.int8))


# ---------------------------------------------------------------------------------------------------------------------
# Halfspaces (half-planes) in the plane.


_ENUMERATION_LIMIT = 16


@dataclass(frozen=True)
class Constant(Hypothesis):
    """The same label everywhere."""

    label: int

    def __post_init__(self) -> None:
        check_label(self.label)

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

    def __post_init__(self) -> None:
        for name, value in (("tail", self.tail), ("head", self.head)):
            for coordinate in value:
                check_finite(name, coordinate)
        if self.tail == self.head:
            raise ParameterError("head", "another point than tail", "the same")

    def predict(self, X: ArrayLike) -> Labels:
        points = as_points(X, 2, owner="Halfspace")
        side = turns(self.tail, self.head, points)
        axis = 0 if self.tail[0] != self.head[0] else 1
        forward = 1.0 if self.head[axis] > self.tail[axis] else -1.0
        ahead = forward * points[:, axis] > forward * self.tail[axis]
        return np.where(side == 0, ~ahead, side > 0).astype(np.int8)


@dataclass(frozen=True)
class Halfspaces(HypothesisClass, TeachesInBulk):
    """Half-planes {x : ⟨w, x⟩ ≥ b} in ℝ², the empty set and the whole plane included.

    The members on a set of points are the two constants and one `Halfspace(i, j)` for each ordered pair of distinct
    locations with no third one strictly between them: one for each dichotomy, whatever points coincide or are
    collinear. The mistakes of all pairs with tail i follow from one turn of a line about i, so the sampler is a
    single weighted choice; O(N² log N) time and O(N²) memory on N distinct locations, or O(M(n + M) log(n + M))
    and O(M²) with M public points. Law, proof and error bound: proofs/halfspaces.md.

    Examples
    --------
    >>> from pcqr.hypotheses import Halfspaces
    >>> X, y = [[0, 0], [1, 0], [0, 1], [1, 1]], [0, 1, 1, 1]
    >>> hypothesis = Halfspaces().learn(X, y)
    >>> hypothesis
    Halfspace(tail=(0.0, 1.0), head=(0.0, 0.0))
    >>> hypothesis.predict([[-0.5, 0.5], [0.9, 0.9]])
    array([0, 1], dtype=int8)
    >>> len(Halfspaces().enumerate(X))  # of 2⁴ labellings all but the two diagonal ones
    14
    """

    features = 2

    @property
    def largest_support(self) -> int:
        """Tables of n² entries: a gigabyte or less."""
        return 5_000

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
        features: int = 2,  # noqa: ARG002
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

    @property
    def teaches_one_by_one(self) -> bool:
        return True

    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        """`learn` on each part, one after the other."""
        lines, constants = np.zeros((ends.size, 4)), np.zeros(ends.size, dtype=np.int8)
        for part, teacher in enumerate(train_one_by_one(self, X, y, ends)):
            if isinstance(teacher, Halfspace):
                lines[part], constants[part] = (*teacher.tail, *teacher.head), LINE
            elif isinstance(teacher, Constant):  # what could not be trained stays 0: the fixed vote
                constants[part] = teacher.label
        return {"lines": lines, "constants": constants}

    def committee(self, teachers: Arrays, features: int) -> Sides:  # noqa: ARG002
        return Sides(**teachers)

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
    points = np.concatenate((shown, X))  # of equal points the stable sort keeps the shown one: no private bits
    order = np.lexsort((points[:, 0], points[:, 1]))
    ordered = points[order]
    starts = np.flatnonzero(np.concatenate(([True], (ordered[1:] != ordered[:-1]).any(axis=1))))
    locations = ordered[starts]
    worth = np.concatenate((np.zeros(shown.shape[0], dtype=np.int64), 2 * y.astype(np.int64) - 1))
    gain = np.add.reduceat(worth[order], starts)
    is_shown = np.logical_or.reduceat(order < shown.shape[0], starts)
    tail, head, pair_gain = turn_about_each(locations, gain, is_shown)
    return _Members(locations, tail, head, np.concatenate(([0, gain.sum()], pair_gain)))
