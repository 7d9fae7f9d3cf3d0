"""Halfspaces (half-planes) in the plane."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from pcqr.checks import check_finite
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Labels, Points, as_points, check_label
from pcqr.hypotheses.committees.base import Arrays, TeachesInBulk
from pcqr.hypotheses.committees.members import trained_in_turn
from pcqr.hypotheses.committees.sides import LINE, Sides
from pcqr.hypotheses.cuts import IntArray, log_weights
from pcqr.hypotheses.orientation import turn_about_each, turns
from pcqr.noise import UNIT_ROUNDOFF, Chooser

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
    def teaches_in_turn(self) -> bool:
        return True

    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        """`learn` on each part, one after the other."""
        lines, constants = np.zeros((ends.size, 4)), np.zeros(ends.size, dtype=np.int8)
        for part, teacher in enumerate(trained_in_turn(self, X, y, ends)):
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
