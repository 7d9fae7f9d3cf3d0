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
    size = len(matrix)
    reduced, rows = np.array(matrix, dtype=np.float64), np.eye(size)
    diagonal, beside, factors, product = np.zeros((4, size))
    _reduce(reduced, beside, factors, product)
    diagonal[:] = np.diagonal(reduced)
    beside[-2:-1] = np.diagonal(reduced, 1)[-1:]
    _reflect(reduced, factors, product, rows)
    rows = np.ascontiguousarray(rows.T)
    _diagonalise(diagonal, beside, rows)
    order = np.argsort(-diagonal, kind="stable")
    return diagonal[order], np.ascontiguousarray(rows[order].T)


@compiled
def _reduce(matrix: Floats, beside: Floats, factors: Floats, product: Floats) -> None:
    """Reduce A to three diagonals: its own, and `beside` on both sides of it, all but the last entry.

    By reflections A ← (I − f·v·vᵀ)·A·(I − f·v·vᵀ), one for each row but two, which take x, the row beyond its diagonal,
    to (target, 0, …, 0). v is left in the place of x, and f in `factors`: 0 where x is 0, or nearly. `product` is
    working memory.
    """
    for k in range(beside.size - 2):
        vector, here = matrix[k, k + 1 :], product[k + 1 :]
        square = 0.0
        for i in range(vector.size):
            square += vector[i] * vector[i]
            here[i] = 0.0
        target = -math.sqrt(square) if vector[0] > 0.0 else math.sqrt(square)
        half = square - target * vector[0]  # ‖v‖²/2
        beside[k], factor = vector[0], 0.0
        if not half < _NEGLIGIBLE:
            beside[k], factor = target, 1.0 / half
            vector[0] -= target
        factors[k] = factor
        for j in range(vector.size):
            weight, row = vector[j] * factor, matrix[k + 1 + j, k + 1 :]
            for i in range(vector.size):
                here[i] += weight * row[i]
        inner = 0.0
        for i in range(vector.size):
            inner += vector[i] * here[i]
        half = 0.5 * inner * factor
        for i in range(vector.size):
            here[i] -= half * vector[i]
        for j in range(vector.size):
            first, second, row = vector[j], here[j], matrix[k + 1 + j, k + 1 :]
            for i in range(vector.size):
                row[i] -= first * here[i] + second * vector[i]


@compiled
def _reflect(matrix: Floats, factors: Floats, product: Floats, rows: Floats) -> None:
    """Apply A ← (I − f·v·vᵀ)·A to `rows`, the unit matrix, for every v and f of `_reduce`, the last first."""
    for k in range(factors.size - 3, -1, -1):
        vector, here, factor = matrix[k, k + 1 :], product[k + 1 :], factors[k]
        for i in range(vector.size):
            here[i] = 0.0
        for j in range(vector.size):
            weight, row = vector[j] * factor, rows[k + 1 + j, k + 1 :]
            for i in range(vector.size):
                here[i] += weight * row[i]
        for j in range(vector.size):
            weight, row = vector[j], rows[k + 1 + j, k + 1 :]
            for i in range(vector.size):
                row[i] -= weight * here[i]


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
