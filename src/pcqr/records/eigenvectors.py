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
    reduced = np.array(matrix, dtype=np.float64)
    diagonal, beside, rows = np.zeros(len(matrix)), np.zeros(len(matrix)), np.eye(len(matrix))
    _reduce(reduced, diagonal, beside, rows)
    _diagonalise(diagonal, beside, rows)
    order = np.argsort(-diagonal, kind="stable")
    return diagonal[order], np.ascontiguousarray(rows[order].T)


@compiled
def _reduce(matrix: Floats, diagonal: Floats, beside: Floats, rows: Floats) -> None:
    """Find Q with Qᵀ·A·Q of three diagonals, `diagonal` and `beside`; Qᵀ is left in `rows`, the unit matrix before.

    By reflections I − f·v·vᵀ, one for each row but two: v is left in the row, which is not needed any more.
    """
    size = len(diagonal)
    factors, product = np.zeros(size), np.zeros(size)
    for k in range(size - 2):
        vector, rest = matrix[k, k + 1 :], matrix[k + 1 :, k + 1 :]
        beside[k], factors[k] = _reflection(vector)
        _reflect_both(rest, vector, factors[k], product)
    for k in range(size):
        diagonal[k] = matrix[k, k]
    if size > 1:
        beside[size - 2] = matrix[size - 2, size - 1]
    for k in range(size - 3, -1, -1):
        _reflect(rows[k + 1 :, k + 1 :], matrix[k, k + 1 :], factors[k], product)
    for i in range(size):
        for j in range(i):
            rows[i, j], rows[j, i] = rows[j, i], rows[i, j]


@compiled
def _reflection(vector: Floats) -> tuple[float, float]:
    """Turn x into the v whose reflection takes x to (target, 0, …, 0); (target, f). f = 0 where x is 0, or nearly."""
    square = 0.0
    for i in range(vector.size):
        square += vector[i] * vector[i]
    target = -math.sqrt(square) if vector[0] > 0.0 else math.sqrt(square)
    half = square - target * vector[0]  # ‖v‖²/2
    if half < _NEGLIGIBLE:
        return vector[0], 0.0
    vector[0] -= target
    return target, 1.0 / half


@compiled
def _reflect_both(matrix: Floats, vector: Floats, factor: float, product: Floats) -> None:
    """A ← (I − f·v·vᵀ)·A·(I − f·v·vᵀ), A symmetric."""
    _multiply(matrix, vector, factor, product)
    inner = 0.0
    for i in range(vector.size):
        inner += vector[i] * product[i]
    half = 0.5 * inner * factor
    for i in range(vector.size):
        product[i] -= half * vector[i]
    for j in range(vector.size):
        row, first, second = matrix[j], vector[j], product[j]
        for i in range(vector.size):
            row[i] -= first * product[i] + second * vector[i]


@compiled
def _reflect(matrix: Floats, vector: Floats, factor: float, product: Floats) -> None:
    """A ← (I − f·v·vᵀ)·A."""
    _multiply(matrix, vector, factor, product)
    for j in range(vector.size):
        row, weight = matrix[j], vector[j]
        for i in range(vector.size):
            row[i] -= weight * product[i]


@compiled
def _multiply(matrix: Floats, vector: Floats, factor: float, product: Floats) -> None:
    """`product` ← f·vᵀ·A, row by row."""
    product[: vector.size] = 0.0
    for j in range(vector.size):
        row, weight = matrix[j], vector[j] * factor
        for i in range(vector.size):
            product[i] += weight * row[i]


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
