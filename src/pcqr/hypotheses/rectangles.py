"""A committee of rectangles in the plane, as their edges."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.compiled import compiled
from pcqr.data.records.arrays import Points
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Labels, as_points
from pcqr.hypotheses.committees import Arrays, Committee, IntArray, TeachesInBulk, of_width, train_one_by_one
from pcqr.hypotheses.cuts import log_weights, midpoint_cuts
from pcqr.privacy.noise import UNIT_ROUNDOFF, Chooser

FloatArray = NDArray[np.float64]


class Boxes(Committee):
    """k rectangles: teacher j says 1 on left < x ≤ right, bottom < y ≤ top, in this order the row j of `edges`.

    An edge at ±∞ leaves that side open, or the rectangle empty. O(k) a query, whatever the edges are.
    """

    kind = "boxes"

    def __init__(self, edges: FloatArray) -> None:
        self.edges, self.size = edges, edges.shape[0]

    def counts(self, X: Points) -> IntArray:
        return _counts(of_width(X, 2), self.edges)

    def arrays(self) -> Arrays:
        return {"kind": np.array(self.kind), "edges": self.edges}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Boxes:
        cls.checked(arrays, edges=("f", 2))
        edges = arrays["edges"]
        if edges.shape[0] == 0 or edges.shape[1] != 4 or np.isnan(edges).any():
            raise DataError("arrays", "the edges of a committee of rectangles", "others")
        return cls(edges.astype(np.float64, "C"))


@compiled
def _counts(X: Points, edges: FloatArray) -> IntArray:
    """For each row, how many rectangles it lies outside of, and how many inside of."""
    counts = np.empty((X.shape[0], 2), np.int64)
    for i in range(X.shape[0]):
        x, y, inside = X[i, 0], X[i, 1], 0
        for t in range(edges.shape[0]):
            inside += (edges[t, 0] < x) & (x <= edges[t, 1]) & (edges[t, 2] < y) & (y <= edges[t, 3])
        counts[i, 0], counts[i, 1] = edges.shape[0] - inside, inside
    return counts


# ---------------------------------------------------------------------------------------------------------------------
# Axis-aligned rectangles in the plane.


BoolArray = NDArray[np.bool_]

_ENUMERATION_LIMIT = 16


@dataclass(frozen=True)
class Rectangle(Hypothesis):
    """1[left < x ≤ right and bottom < y ≤ top]. An edge at ±∞ leaves that side open; left = +∞ is the empty set.

    The edges are cuts between coordinates, so on the points that the cuts came from it makes no difference that
    two sides are open: a closed rectangle has the same points inside.
    """

    left: float
    right: float
    bottom: float
    top: float

    def predict(self, X: ArrayLike) -> Labels:
        x, y = as_points(X, 2, owner="Rectangle").T
        inside: BoolArray = (self.left < x) & (x <= self.right) & (self.bottom < y) & (y <= self.top)
        return inside.astype(np.int8)


EMPTY = Rectangle(math.inf, -math.inf, math.inf, -math.inf)
"""The rectangle without points."""


@dataclass(frozen=True)
class Rectangles(HypothesisClass, TeachesInBulk):
    """Axis-aligned closed rectangles in ℝ², the empty set included: label 1 inside.

    The members on a set of points are the empty set and the *canonical boxes*, those with a point on each of their
    four sides: one member for each dichotomy, since a dichotomy's box is the bounding box of the points inside.
    The sampler sums the boxes of every pair of rows in one pass over the columns, draws the pair and then the
    columns; O(R²C) time on R rows and C columns (distinct coordinates), O(R² + RC + C²) memory.
    Law, proof and error bound: proofs/rectangles.md.

    Examples
    --------
    >>> from pcqr.hypotheses import Rectangles
    >>> X = [[1, 1], [2, 2], [3, 2], [5, 5]]
    >>> hypothesis = Rectangles().learn(X, [0, 1, 1, 0])
    >>> hypothesis
    Rectangle(left=1.5, right=4.0, bottom=1.5, top=3.5)
    >>> hypothesis.predict([[2.5, 2.0], [4.5, 2.0]])
    array([1, 0], dtype=int8)
    """

    features = 2

    @property
    def largest_support(self) -> int:
        """n² entries and n³ steps: some ten seconds."""
        return 2_000

    @property
    def vc_dimension(self) -> int:
        return 4

    def log_growth(self, count: int, features: int = 2) -> float:  # noqa: ARG002
        """ln Σ_{i≤4} C(n, i), n = `count`: Sauer's bound."""
        return math.log(sum(math.comb(count, i) for i in range(5)))

    def log_probability_error(
        self,
        records: int,
        inverse_temperature: float,
        *,
        features: int = 2,  # noqa: ARG002
        public: int | None = None,
    ) -> float:
        """λ = u·(14·η·n + 52·C), n = `records`, C = `public` or else n bounds the columns (proofs/rectangles.md)."""
        columns = records if public is None else public
        return UNIT_ROUNDOFF * (14.0 * inverse_temperature * records + 52.0 * columns)

    def learn(self, X: ArrayLike, y: ArrayLike) -> Rectangle:
        """Fewest mistakes; then the empty set, the highest bottom, the lowest top, the leftmost right side and the
        rightmost left side, in this order. Each side runs midway between the points inside and the next coordinate.
        """
        points, labels = self.check_records(X, y)
        grid = _count(points, labels, points)
        holds_one = np.zeros(grid.gain.shape[0], dtype=np.bool_)
        holds_one[np.searchsorted(grid.row_cuts, points[labels == 1, 1], side="left")] = True
        gain, bottom, top, left, right = _best_box(grid.gain, holds_one)
        return grid.rectangle(bottom, top, left, right) if gain else EMPTY

    @property
    def teaches_one_by_one(self) -> bool:
        return True

    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        """`learn` on each part, one after the other."""
        boxes = [t if isinstance(t, Rectangle) else EMPTY for t in train_one_by_one(self, X, y, ends)]
        return {"edges": np.array([[box.left, box.right, box.bottom, box.top] for box in boxes])}

    def committee(self, teachers: Arrays, features: int) -> Boxes:  # noqa: ARG002
        return Boxes(**teachers)

    def enumerate(self, X: ArrayLike) -> Labels:
        """The all-0 row and the points between any two x and any two y of the points; duplicates removed."""
        points = self.check_points(X)
        if points.shape[0] > _ENUMERATION_LIMIT:
            raise ParameterError("X", f"at most {_ENUMERATION_LIMIT} rows for enumerate", points.shape[0])
        x, y = points.T
        columns = [(low <= x) & (x <= high) for low in x for high in x]
        rows = [(low <= y) & (y <= high) for low in y for high in y]
        patterns = {tuple(map(int, column & row)) for column in columns for row in rows}
        return np.array(sorted(patterns | {(0,) * x.size}), dtype=np.int8)

    def _draw(
        self, X: Points, y: Labels, inverse_temperature: float, public: Points | None, choose: Chooser
    ) -> Rectangle:
        grid = _count(X, y, X if public is None else public)
        decay = np.exp(-inverse_temperature * np.arange(X.shape[0] + 1, dtype=np.float64))
        best, total = _row_pair_sums(grid.gain, grid.support, decay)

        # Option 0 is the empty set, which gains nothing: e^{η·0}·1.
        best, total = np.concatenate(([0], best)), np.concatenate(([1.0], total))
        option = choose(log_weights(-best, inverse_temperature) + np.log(total))
        if option == 0:
            return EMPTY
        bottom, top = grid.row_pair(option - 1)
        left, right, gain = grid.canonical_columns(bottom, top)
        span = choose(log_weights(-gain, inverse_temperature))
        return grid.rectangle(bottom, top, int(left[span]), int(right[span]))


@dataclass(frozen=True, eq=False)
class _Grid:
    """The cells of a grid of R rows and C columns that covers the plane, with what they hold."""

    column_cuts: FloatArray
    row_cuts: FloatArray

    gain: IntArray
    """R × C: the 1s minus the 0s of the records in a cell. A box saves the sum of its gains over the empty set."""

    support: BoolArray
    """R × C: whether a cell holds one of the points whose dichotomies are drawn."""

    @cached_property
    def _first_pair(self) -> IntArray:
        """Where the pairs (bottom, bottom), (bottom, bottom + 1), … begin in the list of all row pairs."""
        return np.cumsum(np.concatenate(([0], np.arange(self.gain.shape[0], 1, -1))))

    def row_pair(self, index: int) -> tuple[int, int]:
        """The pair bottom ≤ top at `index` of the list that `_row_pair_sums` fills."""
        bottom = int(np.searchsorted(self._first_pair, index, side="right")) - 1
        return bottom, bottom + index - int(self._first_pair[bottom])

    def canonical_columns(self, bottom: int, top: int) -> tuple[IntArray, IntArray, IntArray]:
        """Left column, right column and gain of every canonical box on the rows bottom, …, top."""
        occupied: BoolArray = np.logical_or.reduce(self.support[bottom : top + 1])
        gained = np.concatenate(([0], np.cumsum(self.gain[bottom : top + 1].sum(axis=0))))
        column = np.arange(occupied.size)
        # A box that ends at column c touches both rows iff it starts at or before reach[c].
        reach = np.minimum(
            np.maximum.accumulate(np.where(self.support[bottom], column, -1)),
            np.maximum.accumulate(np.where(self.support[top], column, -1)),
        )
        left, right = np.nonzero(occupied[:, None] & occupied[None, :] & (column[:, None] <= reach[None, :]))
        return left, right, gained[right + 1] - gained[left]

    def rectangle(self, bottom: int, top: int, left: int, right: int) -> Rectangle:
        """The union of the cells in these rows and columns, both ends included."""
        return Rectangle(*_edges(self.column_cuts, left, right), *_edges(self.row_cuts, bottom, top))


def _edges(cuts: FloatArray, first: int, last: int) -> tuple[float, float]:
    return float(cuts[first - 1]) if first > 0 else -math.inf, float(cuts[last]) if last < cuts.size else math.inf


def _count(X: Points, y: Labels, shown: Points) -> _Grid:
    """The records (X, y) counted on the grid that the points `shown` span, cut midway between coordinates."""
    column_cuts, row_cuts = midpoint_cuts(np.unique(shown[:, 0])), midpoint_cuts(np.unique(shown[:, 1]))
    shape = row_cuts.size + 1, column_cuts.size + 1
    size = shape[0] * shape[1]
    cell = _cells(X, column_cuts, row_cuts)
    ones = np.bincount(cell[y == 1], minlength=size)
    zeros = np.bincount(cell[y == 0], minlength=size)
    support = np.zeros(size, dtype=np.bool_)
    support[_cells(shown, column_cuts, row_cuts)] = True
    return _Grid(column_cuts, row_cuts, (ones - zeros).reshape(shape), support.reshape(shape))


def _cells(points: Points, column_cuts: FloatArray, row_cuts: FloatArray) -> IntArray:
    column = np.searchsorted(column_cuts, points[:, 0], side="left")
    return np.searchsorted(row_cuts, points[:, 1], side="left") * (column_cuts.size + 1) + column


@compiled
def _row_pair_sums(gain: IntArray, support: BoolArray, decay: FloatArray) -> tuple[IntArray, FloatArray]:
    """For each pair of rows bottom ≤ top: e^{η·best}·total = Σ e^{η·gain(box)} over its canonical boxes.

    With S_c the gain of the columns before c, a box on the columns a, …, b has weight e^{ηS_{b+1}}·e^{−ηS_a}. It is
    canonical iff a and b are occupied and a is at or before the last column up to b with a point in the bottom
    row, and likewise for the top row. That limit never falls as b grows, so one running sum over a serves all b.
    Each sum is kept as an integer exponent of its largest term and a float ≥ 1; decay[k] = e^{−ηk}.
    """
    rows, columns = gain.shape
    pairs = rows * (rows + 1) // 2
    best_of_pair, total_of_pair = np.empty(pairs, np.int64), np.empty(pairs, np.float64)
    column_gain, before = np.empty(columns, np.int64), np.empty(columns, np.int64)
    occupied = np.empty(columns, np.bool_)
    pair = 0
    for bottom in range(rows):
        column_gain[:] = 0
        occupied[:] = False
        for top in range(bottom, rows):
            last_bottom, last_top, summed, gained = -1, -1, 0, 0
            left_best, left_total, best, total = 0, 0.0, 0, 0.0
            for b in range(columns):
                column_gain[b] += gain[top, b]
                occupied[b] |= support[top, b]
                before[b] = gained
                gained += column_gain[b]
                if support[bottom, b]:
                    last_bottom = b
                if support[top, b]:
                    last_top = b
                if not occupied[b] or last_bottom < 0 or last_top < 0:
                    continue
                for a in range(summed, min(last_bottom, last_top) + 1):
                    if occupied[a]:
                        left_best, left_total = _sum(left_best, left_total, -before[a], 1.0, decay)
                summed = min(last_bottom, last_top) + 1
                best, total = _sum(best, total, gained + left_best, left_total, decay)
            best_of_pair[pair], total_of_pair[pair] = best, total
            pair += 1
    return best_of_pair, total_of_pair


@compiled
def _sum(best: int, total: float, gain: int, weight: float, decay: FloatArray) -> tuple[int, float]:
    """e^{η·best}·total + e^{η·gain}·weight, with the larger exponent; a sum of nothing has total 0."""
    if total == 0.0:
        return gain, weight
    if gain > best:
        return gain, total * decay[gain - best] + weight
    return best, total + weight * decay[best - gain]


@compiled
def _best_box(gain: IntArray, candidate: BoolArray) -> tuple[int, int, int, int, int]:
    """Gain, bottom, top, left, right of the preferred box of largest gain; gain 0 when no box gains anything.

    Only `candidate` rows, those that hold a 1, can be the bottom or the top of the preferred box. For each pair of
    them the best run of columns is found in one pass (Kadane).
    """
    rows, columns = gain.shape
    column_gain = np.empty(columns, np.int64)
    best, best_bottom, best_top, best_left, best_right = 0, 0, 0, 0, 0
    for bottom in range(rows - 1, -1, -1):
        if not candidate[bottom]:
            continue
        column_gain[:] = 0
        for top in range(bottom, rows):
            run, left = 0, 0
            for c in range(columns):
                column_gain[c] += gain[top, c]
                if run <= 0:
                    run, left = 0, c
                run += column_gain[c]
                if run > best and candidate[top]:
                    best, best_bottom, best_top, best_left, best_right = run, bottom, top, left, c
    return best, best_bottom, best_top, best_left, best_right
