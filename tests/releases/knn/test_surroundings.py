"""Distances and weights: exact, and each a matter of one record and the query."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.data.records import InMemory
from pcqr.data.records.vectors import LARGEST_COORDINATE, ColumnVectors
from pcqr.releases.knn.run import STEPS, Near, Surroundings, kernel, near_vectors, squared_distances

GRID = 1 << 12
WEIGHTS = kernel(GRID, 0.2)


def plain(p: int) -> ColumnVectors:
    return ColumnVectors(centres=(0.0,) * p, scales=(1.0,) * p, features=p, constant=1)


def points(seed: int, rows: int, p: int = 3) -> np.ndarray:
    return np.random.default_rng(seed).integers(-40, 40, size=(rows, p)).astype(np.float64)


def by_hand(x: np.ndarray, X: np.ndarray, public: np.ndarray, reach: int) -> dict[int, int]:
    """In Python's integers, one record after the other."""
    here = [int(value) for value in x]

    def square(row: np.ndarray) -> int:
        return sum((int(value) - other) ** 2 for value, other in zip(row, here, strict=True))

    radius = sorted(map(square, public))[reach - 1]
    squares = {i: square(row) for i, row in enumerate(X)}
    return {i: int(WEIGHTS[d * STEPS // (radius + 1)]) for i, d in squares.items() if d <= radius}


def told(near: Near) -> dict[int, int]:
    return dict(zip(near.positions.tolist(), near.weights.tolist(), strict=True))


@given(st.integers(0, 2**32), st.integers(1, 30), st.integers(1, 5))
def test_neighbours_are_those_of_a_plain_loop(seed: int, rows: int, reach: int) -> None:
    X, public, queries = points(seed, rows), points(seed + 1, 9), points(seed + 2, 4)
    surroundings = Surroundings(plain(3), InMemory(X, np.zeros(rows, dtype=np.int8)), public, reach, WEIGHTS)
    for x, near in zip(queries, surroundings.near(queries), strict=True):
        assert told(near) == by_hand(x, X, public, reach)


def test_neither_other_records_nor_other_queries_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    X, public, queries = points(1, 500), points(2, 40), points(3, 30)
    labels = np.zeros(500, dtype=np.int8)
    together = [told(near) for near in Surroundings(plain(3), InMemory(X, labels), public, 5, WEIGHTS).near(queries)]
    monkeypatch.setattr("pcqr.releases.knn.run._CELLS", 7)  # a few records at a time
    others = points(4, 500)
    others[123] = X[123]
    changed = Surroundings(plain(3), InMemory(others, labels), public, 5, WEIGHTS)
    by_itself = [told(changed.near(x[None])[0]) for x in queries]
    assert [near.get(123) for near in together] == [near.get(123) for near in by_itself]
    assert any(123 in near for near in together)


def test_distances_of_the_longest_vectors_are_exact() -> None:
    p = 1 << 12
    first, second = np.full((1, p), float(LARGEST_COORDINATE)), np.full((1, p), -float(LARGEST_COORDINATE))
    second[0, 0] += 1.0
    exact = (p - 1) * (2 * LARGEST_COORDINATE) ** 2 + (2 * LARGEST_COORDINATE - 1) ** 2
    assert int(squared_distances(first, second)[0, 0]) == exact


def test_weights_fall_from_the_grid_to_their_least() -> None:
    assert WEIGHTS[0] == GRID
    assert WEIGHTS[-1] == pytest.approx(0.2 * GRID, rel=0.01)
    assert (np.diff(WEIGHTS) <= 0).all()
    assert kernel(2, 1e-9).min() == 1
    assert (kernel(7, 1.0) == 7).all()


def test_where_public_rows_coincide_with_the_query_only_equals_are_near() -> None:
    X = np.array([[0.0], [1.0]])
    surroundings = Surroundings(plain(1), InMemory(X, np.zeros(2, dtype=np.int8)), np.zeros((3, 1)), 2, WEIGHTS)
    assert told(surroundings.near(np.zeros((1, 1)))[0]) == {0: GRID}


def test_many_columns_are_seen_through_public_directions() -> None:
    public = np.random.default_rng(0).normal(size=(600, 300))
    assert near_vectors(public).size == 129  # and the constant, in which nobody differs
    assert near_vectors(public[:, :5]).size == 6


def test_an_emptied_place_is_overwritten() -> None:
    X = points(1, 4)
    surroundings = Surroundings(plain(3), InMemory(X, np.ones(4, dtype=np.int8)), X, 1, WEIGHTS)
    surroundings.empty(np.array([2]))
    assert surroundings.labels.tolist() == [1, 1, 0, 1]
    assert 2 not in told(surroundings.near(X[2:3])[0])
