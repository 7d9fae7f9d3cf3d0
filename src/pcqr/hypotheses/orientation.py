"""On which side of a directed line a point lies: exact for all finite float64 coordinates.

The sign of the determinant (bₓ − aₓ)(c_y − a_y) − (b_y − a_y)(cₓ − aₓ) is first sought in float64, and taken when the
result exceeds what rounding can have done to it. Only the undecided cases are computed again without rounding.
The filter is in the spirit of Shewchuk, "Adaptive precision floating-point arithmetic and fast robust geometric
predicates" (1997); its bound is derived in proofs/halfspaces.md.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pcqr.hypotheses.base import Points
from pcqr.noise import UNIT_ROUNDOFF

RELATIVE_DOUBT = 8.0 * UNIT_ROUNDOFF
"""Times the sum of the two products' magnitudes: more than rounding can do to their difference."""

ABSOLUTE_DOUBT = 2.0**-1000
"""More than the underflow of the two products can do to their difference."""


def turns(tail: tuple[float, float], head: tuple[float, float], points: Points) -> NDArray[np.int8]:
    """+1 for each point to the left of the directed line `tail` → `head`, −1 to the right, 0 exactly on it."""
    x, y = points.T
    with np.errstate(over="ignore", invalid="ignore"):  # ±inf and NaN come out undecided
        left = (head[0] - tail[0]) * (y - tail[1])
        right = (head[1] - tail[1]) * (x - tail[0])
        difference = left - right
        decided = np.abs(difference) > RELATIVE_DOUBT * (np.abs(left) + np.abs(right)) + ABSOLUTE_DOUBT
        signs = np.where(decided, np.sign(difference), 0.0).astype(np.int8)
    for index in np.flatnonzero(~decided):
        signs[index] = exact_turn(tail, head, (float(x[index]), float(y[index])))
    return signs


def exact_turn(a: tuple[float, float], b: tuple[float, float], c: tuple[float, float]) -> int:
    """The sign of `turns` for one point, in rational arithmetic."""
    (ax, ay), (bx, by), (cx, cy) = (tuple(map(Fraction, point)) for point in (a, b, c))
    determinant = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    return (determinant > 0) - (determinant < 0)
