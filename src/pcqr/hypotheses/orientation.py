"""On which side of a directed line a point lies, and when a turning line meets it: exact for all finite float64.

The sign of the determinant (bₓ − aₓ)(c_y − a_y) − (b_y − a_y)(cₓ − aₓ) is first sought in float64, and taken when the
result exceeds what rounding can have done to it. Only the undecided cases are computed again without rounding.
The filter is in the spirit of Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric
predicates" (1997); its bound is derived in proofs/halfspaces.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.cuts import IntArray
from pcqr.noise import UNIT_ROUNDOFF, FloatArray

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
    return _turn_about_each(locations, mantissa, exponent.astype(np.int64), gain, is_shown)


@compiled
def _turn_about_each(  # noqa: PLR0912, PLR0915
    locations: FloatArray, mantissa: IntArray, exponent: IntArray, gain: IntArray, is_shown: NDArray[np.bool_]
) -> tuple[IntArray, IntArray, IntArray]:
    """`turn_about_each`, given locations[k] = mantissa[k]·2^(exponent[k] − 53) in parts for the exact comparisons.

    A merge sort brings the locations into the order in which the line about i meets them.
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
    for index in range(shown.size):
        i = int(shown[index])
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
