"""Eigenvectors against their definition, and the same bits wherever the matrix lies."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.data.records.vectors import Directions, eigenvectors
from pcqr.errors import ParameterError

Floats = NDArray[np.float64]


def check(matrix: Floats) -> None:
    values, vectors = eigenvectors(matrix)
    size = max(float(np.abs(matrix).max()), 1e-300)
    assert (np.diff(values) <= 0.0).all()
    assert np.abs(matrix @ vectors - vectors * values).max() < 1e-12 * size * len(matrix)
    assert np.abs(vectors.T @ vectors - np.eye(len(matrix))).max() < 1e-12 * len(matrix)


@given(seed=st.integers(0, 2**32), size=st.integers(1, 40), rank=st.integers(1, 40), scale=st.floats(1e-100, 1e100))
@settings(max_examples=40)
def test_any_symmetric_matrix(seed: int, size: int, rank: int, scale: float) -> None:
    rows = np.random.default_rng(seed).normal(size=(rank, size))
    check(scale * (rows.T @ rows))


@pytest.mark.parametrize(
    "matrix",
    [
        np.zeros((4, 4)),
        np.eye(5),
        np.diag([1.0, 5.0, 2.0, 2.0]),
        np.ones((6, 6)),
        np.kron(np.eye(3), np.ones((2, 2))),
        np.array([[0.0, 1.0], [1.0, 0.0]]),
        -np.ones((3, 3)),
        np.diag([1.0, 1e-30, 1e30]) + 1e-40,
        np.diag([1.0, 2.0, 3.0, 4.0]) + 1e-160,
    ],
)
def test_degenerate_ones(matrix: Floats) -> None:
    check(matrix)


def at_every_offset(matrix: Floats) -> list[Floats]:
    """Copies that begin at each of the eight places of a cache line."""
    copies = []
    for offset in range(8):
        room = np.zeros(matrix.size + 8)
        copies.append(room[offset : offset + matrix.size].reshape(matrix.shape))
        copies[-1][:] = matrix
    return copies


def test_where_public_rows_lie_changes_no_bit() -> None:
    generator = np.random.default_rng(0)
    for shape in ((300, 37), (20, 37)):
        rows = np.rint(1000.0 * generator.normal(size=shape))
        found = {Directions.whitening(copy, 0.3).packed for copy in at_every_offset(rows)}
        assert len(found) == 1
    gram = generator.normal(size=(61, 61))
    assert len({eigenvectors(copy)[1].tobytes() for copy in at_every_offset(gram + gram.T)}) == 1


@pytest.mark.parametrize("shape", [(200, 6), (6, 40)])
def test_directions_of_many_rows_and_of_few_are_singular_vectors(shape: tuple[int, int]) -> None:
    rows = np.rint(1000.0 * np.random.default_rng(1).normal(size=shape))
    found = Directions.whitening(rows, 0.0).matrix.astype(np.float64)
    _, _, wanted = np.linalg.svd(rows / np.linalg.norm(rows, axis=1)[:, None], full_matrices=False)
    turned = wanted @ (found / np.linalg.norm(found, axis=0))
    assert np.abs(np.abs(turned) - np.eye(6)).max() < 1e-3


def test_zeros_have_no_directions() -> None:
    with pytest.raises(ParameterError, match="not all zero"):
        Directions.whitening(np.zeros((5, 2)), 0.3)


@pytest.mark.parametrize(
    ("matrix", "wanted"),
    [
        ([[1e20, 0.0, 0.0], [0.0, 1.0, 0.5], [0.0, 0.5, 1.0]], [1e20, 1.5, 0.5]),
        ([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1e20]], [1e20, 1.5, 0.5]),
        ([[0.0, 1e-140, 0.0], [1e-140, 0.0, 0.0], [0.0, 0.0, 1.0]], [1.0, 1e-140, -1e-140]),
    ],
)
def test_a_small_block_beside_a_large_one_keeps_its_own_values(matrix: list[list[float]], wanted: list[float]) -> None:
    values, _ = eigenvectors(np.array(matrix))
    np.testing.assert_allclose(values, wanted, rtol=1e-14)
