"""Eigenvectors of a symmetric matrix as a function of its numbers, to the last bit.

A linear-algebra library may round by where its arguments lie in memory, and that may depend on what was done before,
private records included. All private records meet a public feature map, so it must not: here every sum is taken in a
fixed order. Householder's reduction to three diagonals, then implicit QL steps (Golub and Van Loan, 8.3).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled

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
