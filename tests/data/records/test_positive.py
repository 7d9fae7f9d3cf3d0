"""Products and inverses against numpy and against plain floats, to the last bit, wherever matrices lie."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.releases.classifier.empirical_bayes import inverse, moments, product

Floats = NDArray[np.float64]
Rows = list[list[float]]

EPSILON = float(np.finfo(np.float64).eps)
SEEDS, SIZES = st.integers(0, 2**32), st.integers(1, 20)
LAYOUTS = st.sampled_from(["in one piece", "transposed", "every second one", "backwards"])


def laid_out(matrix: Floats, layout: str) -> Floats:
    """The same numbers, of which neighbours need not lie side by side."""
    if layout == "transposed":
        return np.ascontiguousarray(matrix.T).T
    if layout == "every second one":
        room = np.full((2 * matrix.shape[0], 2 * matrix.shape[1]), np.nan)
        room[::2, ::2] = matrix
        return room[::2, ::2]
    return np.ascontiguousarray(matrix[::-1, ::-1])[::-1, ::-1] if layout == "backwards" else matrix


def positive(seed: int, size: int, least: float = 0.1) -> Floats:
    rows = np.random.default_rng(seed).normal(size=(2 * size, size))
    return rows.T @ rows / (2 * size) + least * np.eye(size)


# --------------------------------------------------------------------------------------------------------------
# The same in plain floats, number by number


def plain_product(left: Rows, right: Rows) -> Rows:
    found = [[0.0] * len(right[0]) for _ in left]
    for i, row in enumerate(left):
        for k, factor in enumerate(row):
            for j, other in enumerate(right[k]):
                found[i][j] += factor * other
    return found


def plain_inverse(matrix: Rows) -> Rows:
    """By Cholesky's factor and its inverse."""
    size = len(matrix)
    lower, above = ([[0.0] * size for _ in range(size)] for _ in range(2))
    for i in range(size):
        for j in range(i + 1):
            left = matrix[i][j]
            for k in range(j):
                left -= lower[i][k] * lower[j][k]
            lower[i][j] = math.sqrt(left) if i == j else left / lower[j][j]
    for i in range(size):
        for j in range(size):
            left = float(i == j)
            for k in range(i):
                left -= lower[i][k] * above[k][j]
            above[i][j] = left / lower[i][i]
    return plain_product([list(column) for column in zip(*above, strict=True)], above)


# --------------------------------------------------------------------------------------------------------------
# Products


@given(seed=SEEDS, rows=SIZES, inner=SIZES, columns=SIZES, layouts=st.tuples(LAYOUTS, LAYOUTS))
@settings(max_examples=60)
def test_products(seed: int, rows: int, inner: int, columns: int, layouts: tuple[str, str]) -> None:
    generator = np.random.default_rng(seed)
    left, right = generator.normal(size=(rows, inner)), generator.normal(size=(inner, columns))
    left[generator.random(left.shape) < 0.2] = 0.0
    found = product(laid_out(left, layouts[0]), laid_out(right, layouts[1]))
    assert found.shape == (rows, columns)
    assert (np.abs(found - left @ right) <= 2 * inner * EPSILON * (np.abs(left) @ np.abs(right))).all()
    assert found.tolist() == plain_product(left.tolist(), right.tolist()), "one after the other"


@given(seed=SEEDS, rows=SIZES, size=SIZES, layout=LAYOUTS)
@settings(max_examples=60)
def test_moments(seed: int, rows: int, size: int, layout: str) -> None:
    generator = np.random.default_rng(seed)
    vectors, weights = generator.normal(size=(rows, size)), generator.normal(size=rows)
    found = moments(laid_out(vectors, layout), laid_out(weights[None], layout)[0])
    wanted, largest = (np.einsum("k,ki,kj->ij", w, v, v) for w, v in ((weights, vectors), abs_of(weights, vectors)))
    assert found.shape == (size, size)
    assert (np.abs(found - wanted) <= 3 * rows * EPSILON * largest).all()


def abs_of(*arrays: Floats) -> tuple[Floats, ...]:
    return tuple(np.abs(array) for array in arrays)


# --------------------------------------------------------------------------------------------------------------
# Inverses


@given(seed=SEEDS, size=SIZES, least=st.sampled_from([1e-3, 0.1, 10.0]), layout=LAYOUTS)
@settings(max_examples=60)
def test_inverses(seed: int, size: int, least: float, layout: str) -> None:
    matrix = positive(seed, size, least)
    found = inverse(laid_out(matrix, layout))
    np.testing.assert_allclose(found, np.linalg.inv(matrix), rtol=0.0, atol=1e-12 * np.linalg.cond(matrix) / least)
    np.testing.assert_allclose(found @ matrix, np.eye(size), atol=1e-13 * np.linalg.cond(matrix))
    assert (found == found.T).all(), "to the last bit"
    assert found.tolist() == plain_inverse(matrix.tolist()), "one after the other"


@given(seed=SEEDS, size=SIZES, digits=st.integers(1, 12))
@settings(max_examples=40)
def test_inverses_of_nearly_singular_matrices(seed: int, size: int, digits: int) -> None:
    """Eigenvalues from 1 down to 10^−digits: what is wrong is of the order of rounding times their quotient."""
    turned = np.linalg.qr(np.random.default_rng(seed).normal(size=(size, size)))[0]
    matrix = turned * np.logspace(0, -digits, size) @ turned.T
    found = inverse((matrix + matrix.T) / 2.0)
    residual = np.linalg.norm(found @ matrix - np.eye(size), 2) / (np.linalg.norm(found, 2) * np.linalg.norm(matrix, 2))
    assert residual < 10 * size * EPSILON
    assert (found == found.T).all()


def test_the_inverse_of_a_matrix_of_hilbert_is_made_of_whole_numbers() -> None:
    size = 6
    places = range(size)
    hilbert = np.array([[1.0 / (i + j + 1) for j in places] for i in places])
    wanted = [
        [
            (-1) ** (i + j)
            * (i + j + 1)
            * math.comb(size + i, size - j - 1)
            * math.comb(size + j, size - i - 1)
            * math.comb(i + j, i) ** 2
            for j in places
        ]
        for i in places
    ]
    np.testing.assert_allclose(inverse(hilbert), wanted, rtol=EPSILON * np.linalg.cond(hilbert))


@given(seed=SEEDS, size=SIZES, powers=st.lists(st.integers(-100, 100), min_size=20, max_size=20))
@settings(max_examples=40)
def test_other_units_change_no_bit(seed: int, size: int, powers: list[int]) -> None:
    """Rows and columns times powers of two: as ill-conditioned as can be, and nothing is rounded by them."""
    units, matrix = 2.0 ** np.array(powers[:size]), positive(seed, size)
    found = inverse(matrix * units * units[:, None])
    assert (found * units * units[:, None] == inverse(matrix)).all()


# --------------------------------------------------------------------------------------------------------------
# The same bits


def at_every_offset(array: Floats) -> list[Floats]:
    """Copies that begin 0, 8, 16, …, 120 bytes after the beginning of two cache lines."""
    copies = []
    for offset in range(16):
        room = np.full(array.size + 32, np.nan)
        first = -(room.ctypes.data // room.itemsize) % 16 + offset
        copies.append(room[first : first + array.size].reshape(array.shape))
        copies[-1][:] = array
    assert [copy.ctypes.data % 128 for copy in copies] == list(range(0, 128, 8))
    return copies


def bits_of(left: Floats, right: Floats, weights: Floats, matrix: Floats) -> bytes:
    parts = product(left, right), product(right.T, left.T), moments(left, weights), inverse(matrix), inverse(matrix.T)
    return b"".join(part.tobytes() for part in parts)


@pytest.mark.parametrize("size", [1, 2, 7, 33, 64])
def test_where_matrices_lie_changes_no_bit(size: int) -> None:
    generator = np.random.default_rng(size)
    arrays = (
        generator.normal(size=(51, size)),
        generator.normal(size=(size, 29)),
        generator.normal(size=51),
        positive(size, size),
    )
    expected, places = bits_of(*arrays), [at_every_offset(array) for array in arrays]
    for first in range(16):
        assert bits_of(*(copies[(first * (1 + k)) % 16] for k, copies in enumerate(places))) == expected


def test_what_was_computed_before_changes_no_bit() -> None:
    """Other sizes, other layouts, numbers that are none, and what is left of them in memory."""
    generator = np.random.default_rng(3)
    left, right, weights = generator.normal(size=(40, 31)), generator.normal(size=(31, 40)), generator.normal(size=40)
    matrix = positive(4, 31)
    expected, kept = bits_of(left, right, weights, matrix), []
    for size in (1, 3, 50, 31, 17):
        kept.append(generator.normal(size=size))
        kept.append(inverse(positive(size, size)) @ np.full((size, size), np.nan))
        kept.append(product(np.full((size, 31), np.inf), right))
        kept.append(inverse(-np.eye(size)))
        assert bits_of(left, right, weights, matrix) == expected
    assert np.isnan(kept[-1]).all(), "roots of negative numbers are none"


def test_nothing_that_is_given_is_changed() -> None:
    generator = np.random.default_rng(5)
    left, right, weights = generator.normal(size=(6, 5)), generator.normal(size=(5, 7)), generator.normal(size=6)
    for matrix in (positive(1, 5), np.asfortranarray(positive(1, 5))):
        given_ones = left, right, weights, matrix
        before = [array.copy() for array in given_ones]
        bits_of(*given_ones)
        assert all((array == copy).all() for array, copy in zip(given_ones, before, strict=True))
        assert not np.shares_memory(inverse(matrix), matrix)
    one = np.eye(5)
    found = product(one, right)
    assert not np.shares_memory(found, right)
    found[:] = 0.0
    assert right.all()
