"""Products and inverses of matrices as functions of their numbers, to the last bit.

A linear-algebra library may round by where its arguments lie in memory, and that may depend on what was done before,
private records included. What is made of noisy sums meets private records again, in the next sum, so it must not: here
every sum is taken in a fixed order (Golub and Van Loan, 4.2).
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled

Floats = NDArray[np.float64]


def product(left: Floats, right: Floats) -> Floats:
    """`left`·`right`."""
    found = np.zeros((left.shape[0], right.shape[1]))
    _add_product(np.ascontiguousarray(left), np.ascontiguousarray(right), found)
    return found


def moments(vectors: Floats, weights: Floats) -> Floats:
    """Σ_i `weights`[i]·v_i·v_iᵀ over the rows v_i of `vectors`."""
    return product(vectors.T, weights[:, None] * vectors)


def inverse(matrix: Floats) -> Floats:
    """Of a symmetric positive definite matrix, by Cholesky's factor: exactly symmetric. Of another one: no numbers."""
    root = np.array(matrix, dtype=np.float64)
    _factor(root)
    upside_down = np.eye(len(root))
    _solve_below(root, upside_down)  # its rows are those of the factor's inverse
    return product(upside_down.T, upside_down)


@compiled
def _add_product(left: Floats, right: Floats, total: Floats) -> None:
    """Row by row, so that no two numbers of a row wait for each other."""
    for i in range(left.shape[0]):
        for k in range(left.shape[1]):
            factor = left[i, k]
            if factor != 0.0:
                for j in range(right.shape[1]):
                    total[i, j] += factor * right[k, j]


@compiled
def _factor(matrix: Floats) -> None:
    """A = L·Lᵀ: L takes the place of the lower half of A."""
    size = len(matrix)
    for k in range(size):
        root = math.sqrt(matrix[k, k]) if matrix[k, k] > 0.0 else math.nan
        matrix[k, k] = root
        for i in range(k + 1, size):
            matrix[i, k] /= root
            matrix[k, i] = matrix[i, k]  # a row of Lᵀ, which lies in one piece
        for i in range(k + 1, size):
            factor = matrix[i, k]
            for j in range(k + 1, i + 1):
                matrix[i, j] -= factor * matrix[k, j]


@compiled
def _solve_below(lower: Floats, right: Floats) -> None:
    """X with L·X = `right`, in its place; L is the lower half of `lower`."""
    for i in range(len(lower)):
        for k in range(i):
            factor = lower[i, k]
            for j in range(right.shape[1]):
                right[i, j] -= factor * right[k, j]
        for j in range(right.shape[1]):
            right[i, j] /= lower[i, i]
