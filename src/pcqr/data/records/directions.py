"""Eigenvectors of a symmetric matrix as a function of its numbers, to the last bit.

A linear-algebra library may round by where its arguments lie in memory, and that may depend on what was done before,
private records included. All private records meet a public feature map, so it must not: here every sum is taken in a
fixed order. Householder's reduction to three diagonals, then implicit QL steps (Golub and Van Loan, 8.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer, keep_plain
from pcqr.compiled import compiled
from pcqr.errors import ParameterError
from pcqr.serialization import Document
from pcqr.serialization.codec import packed, unpacked

Floats = NDArray[np.float64]

_MOST_STEPS = 60
"""For one eigenvalue; two are usual."""
_EPSILON = 2.0**-52
_NEGLIGIBLE = 2.0**-900
"""A square of what rounding leaves of zeros: its inverse could be infinite."""


def eigenvectors(matrix: Floats) -> tuple[Floats, Floats]:
    """(eigenvalues, eigenvectors) of a symmetric matrix: from the largest value down, vectors in the columns."""
    reduced, rows = np.array(matrix, dtype=np.float64), np.eye(len(matrix))
    beside, factors = _reduce(reduced)
    diagonal = np.diagonal(reduced).copy()
    _reflect(reduced, factors, rows)
    rows = np.ascontiguousarray(rows.T)
    _diagonalise(diagonal, beside, rows)
    order = np.argsort(-diagonal, kind="stable")
    return diagonal[order], np.ascontiguousarray(rows[order].T)


def _reduce(matrix: Floats) -> tuple[Floats, Floats]:
    """Reduce A to three diagonals: its own, and `beside` on both sides of it, all but the last entry.

    By reflections A ← (I − f·v·vᵀ)·A·(I − f·v·vᵀ), one for each row but two, which take x, the row beyond its diagonal,
    to (target, 0, …, 0). v is left in the place of x. Return `beside` and every f: 0 where x is 0, or nearly.
    """
    beside, factors = np.zeros((2, len(matrix)))
    for k in range(len(matrix) - 2):
        vector = matrix[k, k + 1 :]
        square = _sum_in_order(vector * vector)
        target = -math.sqrt(square) if vector[0] > 0.0 else math.sqrt(square)
        half = square - target * vector[0]  # ‖v‖²/2
        beside[k] = vector[0]
        if not half < _NEGLIGIBLE:
            beside[k], factors[k] = target, 1.0 / half
            vector[0] -= target
        here = np.zeros(vector.size)
        _add_rows(matrix, vector * factors[k], here)
        here -= 0.5 * _sum_in_order(vector * here) * factors[k] * vector
        _take_products(matrix, vector, here, here, vector)
    beside[-2:-1] = np.diagonal(matrix, 1)[-1:]
    return beside, factors


def _reflect(matrix: Floats, factors: Floats, rows: Floats) -> None:
    """Apply A ← (I − f·v·vᵀ)·A to `rows`, the unit matrix, for every v and f of `_reduce`, the last first."""
    for k in range(len(matrix) - 3, -1, -1):
        vector = matrix[k, k + 1 :]
        here, none = np.zeros((2, vector.size))
        _add_rows(rows, vector * factors[k], here)
        _take_products(rows, vector, here, none, none)


def _sum_in_order(numbers: Floats) -> float:
    """From the first to the last: `sum` would add up in several places."""
    return float(np.add.accumulate(numbers)[-1])


@compiled
def _add_rows(matrix: Floats, weights: Floats, total: Floats) -> None:
    """Add Σ_j w_j·(row j) of the last rows and columns of `matrix`, as many as there are `weights`, to `total`."""
    first = matrix.shape[0] - weights.size
    for j in range(weights.size):
        weight, row = weights[j], matrix[first + j, first:]
        for i in range(row.size):
            total[i] += weight * row[i]


@compiled
def _take_products(matrix: Floats, one: Floats, other: Floats, left: Floats, right: Floats) -> None:
    """Subtract `one`·`other`ᵀ + `left`·`right`ᵀ from the last rows and columns of `matrix`."""
    first = matrix.shape[0] - one.size
    for j in range(one.size):
        weight, factor, row = one[j], left[j], matrix[first + j, first:]
        for i in range(row.size):
            row[i] -= weight * other[i] + factor * right[i]


@compiled
def _diagonalise(diagonal: Floats, beside: Floats, rows: Floats) -> None:
    """Turn three diagonals into one by rotations, and `rows`, one vector each, with them."""
    size = len(diagonal)
    for low in range(size):
        for _ in range(_MOST_STEPS):
            high = low
            while high < size - 1:
                if abs(beside[high]) <= _EPSILON * (abs(diagonal[high]) + abs(diagonal[high + 1])):
                    break
                high += 1
            if high == low:
                break
            slope = (diagonal[low + 1] - diagonal[low]) / (2.0 * beside[low])
            root = math.hypot(slope, 1.0)
            shifted = diagonal[high] - diagonal[low] + beside[low] / (slope + (root if slope >= 0.0 else -root))
            sine, cosine, moved = 1.0, 1.0, 0.0
            for i in range(high - 1, low - 1, -1):
                first, second = sine * beside[i], cosine * beside[i]
                root = math.hypot(first, shifted)
                beside[i + 1] = root
                if root == 0.0:
                    diagonal[i + 1] -= moved
                    beside[high] = 0.0
                    break
                sine, cosine = first / root, shifted / root
                shifted = diagonal[i + 1] - moved
                root = (diagonal[i] - shifted) * sine + 2.0 * cosine * second
                moved = sine * root
                diagonal[i + 1] = shifted + moved
                shifted = cosine * root - second
                one, other = rows[i], rows[i + 1]
                for j in range(size):
                    kept = other[j]
                    other[j] = sine * one[j] + cosine * kept
                    one[j] = cosine * one[j] - sine * kept
            else:
                diagonal[low] -= moved
                beside[low] = shifted
                beside[high] = 0.0


# ---------------------------------------------------------------------------------------------------------------------
# Public directions: an integer matrix through which the vectors of records are seen (proofs/linear.md).
#
# Public rows say which combinations of coordinates vary much and which little. Under noise a linear classifier learns
# more if the former weigh less (partial whitening) and what hardly varies is left out.


MOST_COORDINATES = 1 << 16
"""p, the length of a vector, and the number of rows of a matrix of directions: what 64 bits and float64 hold."""
LARGEST_COORDINATE = (1 << 15) - 1
"""No coordinate of a vector is larger: it is a 16-bit integer whose negative is one too."""
USUAL_NORM = 1 << 14
"""The root mean square of ‖v‖ over the public rows is at most this, and more than half of it.

Coordinates then have ten bits or so, and the integer Λ by which a vector is stretched to the bound M = 2²⁴ as well.
"""
_LARGEST_DIRECTION = 1 << 13
_LEAST_SINGULAR_VALUE = 1e-3
_MOST_PUBLIC, _NORMAL_GRID, _BASIS_GRID = 1 << 20, 1 << 16, 1 << 20
"""Products of 2²⁰ public rows with entries of 2¹⁶ are below 2⁵³, and so are those of 2¹⁶ rows with entries of 2²⁰."""
_MOST_SHIFT = 63

Vectors = NDArray[np.int16]


@dataclass(frozen=True, eq=False)
class Directions(Document):
    """u ↦ ⌊u·D/2^`shift`⌋, cut to ±`LARGEST_COORDINATE`. D has `rows` × `columns` integers of 16 bits, `packed`."""

    rows: int
    columns: int
    shift: int
    packed: str

    def __post_init__(self) -> None:
        for name in ("rows", "columns"):
            check_integer(name, getattr(self, name), least=1, most=MOST_COORDINATES)
        check_integer("shift", self.shift, least=0, most=_MOST_SHIFT)
        keep_plain(self, integers=("rows", "columns", "shift"))
        if int(np.abs(self.matrix.astype(np.int32)).max()) > LARGEST_COORDINATE:
            raise ParameterError("packed", f"integers of at most {LARGEST_COORDINATE}", "a larger one")

    @classmethod
    def of(cls, matrix: NDArray[np.int16], shift: int) -> Directions:
        """The matrix itself, packed."""
        rows, columns = matrix.shape
        return cls(rows, columns, shift, packed(matrix.astype(np.int16)))

    @classmethod
    def whitening(cls, public: Floats, power: float, most: int | None = None) -> Directions:
        """The principal directions of the `public` integer vectors, one a row, each taken as long as any other.

        Each is divided by its singular value to the `power`: 0 leaves lengths as they are, 1 would make all directions
        equally long. Those that hardly vary are left out, and the last ones if there are more than `most`.
        """
        rows = public[:_MOST_PUBLIC]
        norms = np.maximum(np.sqrt((rows * rows).sum(axis=1, keepdims=True)), 1.0)
        # Whole numbers, so that the library's products are exact, and the directions a function of the public rows.
        normal = np.rint(rows / norms * _NORMAL_GRID)
        is_wide = normal.shape[1] > normal.shape[0]
        squares, basis = eigenvectors(normal @ normal.T if is_wide else normal.T @ normal)  # the smaller of the two
        values = np.sqrt(np.maximum(squares, 0.0))
        if values[0] == 0.0:
            raise ParameterError("public", "vectors that are not all zero", "zeros alone")
        count = min(int((values >= _LEAST_SINGULAR_VALUE * values[0]).sum()), values.size if most is None else most)
        values, basis = values[:count], basis[:, :count]
        found = (normal.T @ np.rint(basis * _BASIS_GRID) / values if is_wide else basis) * values**-power
        found *= np.sign(found[np.abs(found).argmax(axis=0), np.arange(count)])
        matrix = np.rint(found * (_LARGEST_DIRECTION / np.abs(found).max()))
        seen = public @ matrix
        squared_norm = float((seen * seen).sum(axis=1).mean())
        shift = next(shift for shift in range(_MOST_SHIFT) if squared_norm <= float(USUAL_NORM << shift) ** 2)
        return cls.of(matrix.astype(np.int16), shift)

    def __eq__(self, other: object) -> bool:
        """The same numbers: their text may differ, by the library that packed them."""
        return isinstance(other, Directions) and self._numbers == other._numbers

    def __hash__(self) -> int:
        return hash(self._numbers)

    @property
    def _numbers(self) -> tuple[int, int, bytes]:
        return self.columns, self.shift, self.matrix.tobytes()

    @cached_property
    def matrix(self) -> NDArray[np.int16]:
        """D. Nobody can write to it."""
        return unpacked(self.packed, np.int16, (self.rows, self.columns), "packed")

    def seen(self, vectors: Floats) -> Vectors:
        """Integer vectors of at most 2¹⁵, one a row and held as floats, as they are seen through D.

        Every sum of products is an integer below 2⁴⁶, so the product is exact and the same in any order of adding up.
        """
        return cut(np.floor(vectors @ self._factors * 2.0**-self.shift), LARGEST_COORDINATE)

    @cached_property
    def _factors(self) -> Floats:
        return self.matrix.astype(np.float64)


def cut(numbers: Floats, most: int) -> Vectors:
    """Whole numbers held as floats, cut to ±`most`."""
    return np.clip(numbers, -most, most).astype(np.int16)
