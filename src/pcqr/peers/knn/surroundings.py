"""Who is near a query, and how near: integer vectors, exact distances, integer weights (proofs/individual_knn.md).

How far "near" reaches is up to the query and to public rows: as far as the k-th nearest public row. So dense and sparse
regions have about as many neighbours, and no private record has a say in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcqr.planning.classifiers.dense import directions_for
from pcqr.records import Records
from pcqr.records.arrays import Points
from pcqr.records.directions import Vectors
from pcqr.records.vectors import ColumnVectors, DenseVectors

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

STEPS = 1 << 10
"""Of the table from squared distance to weight."""
_MOST_DIRECTIONS = 128
_CELLS = 1 << 21
"""Distances of a block: 16 megabytes of them."""


class Near(NamedTuple):
    """The records near one query: where they stand in the table, and what each weighs. **Private.**"""

    positions: Integers
    weights: Integers


@dataclass(frozen=True, eq=False)
class Ballots:
    """Who is near each of several queries. `shape` is that of the votes that they will cast: (queries, labels)."""

    near: Sequence[Near]
    labels: int

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.near), self.labels

    def __iter__(self) -> Iterator[Near]:
        return iter(self.near)


def near_vectors(public: Points) -> ColumnVectors:
    """The public map in which distances are taken: columns in standard units, through principal directions if wide."""
    found = directions_for(public.shape[1], public.shape[0])
    return ColumnVectors.of(public, None if found is None else min(found, _MOST_DIRECTIONS), whitening=0.0)


def kernel(grid: int, least_weight: float) -> Integers:
    """W·τ^{d²/R²} on `STEPS` steps of d²/R² from 0 to 1: W = `grid` at the query, τ = `least_weight` of it at R."""
    weights: Integers = np.rint(grid * least_weight ** (np.arange(STEPS) / STEPS)).astype(np.int64)
    return np.maximum(weights, 1)


class Surroundings:
    """The vectors of all records and of the public rows. Holds only secrets.

    Every distance and every weight is that of one record and the query: what else is in the table, or in the batch,
    does not matter (proofs/individual_knn.md).
    """

    def __init__(self, vectors: DenseVectors, records: Records, public: Points, reach: int, weights: Integers) -> None:
        self._map, self._reach, self._weights = vectors, reach, weights
        self._public = vectors.vectors(public).astype(np.float64)
        self._records: Vectors = np.empty((records.size, vectors.size), dtype=np.int16)
        self.labels = np.empty(records.size, dtype=np.int8)
        start = 0
        for X, y in records.blocks(records.point_rows):
            rows = slice(start, start + y.size)
            self._records[rows], self.labels[rows] = vectors.vectors(X), y
            start += y.size

    def near(self, X: Points) -> list[Near]:
        """The neighbours of each row of `X`, in the order of the table. **Private.**"""
        queries = self._map.vectors(X).astype(np.float64)
        radii = np.partition(squared_distances(self._public, queries), self._reach - 1, axis=0)[self._reach - 1]
        found: list[list[Near]] = [[] for _ in range(queries.shape[0])]
        rows = max(1, _CELLS // max(1, queries.shape[0], queries.shape[1]))
        for start in range(0, self._records.shape[0], rows):
            squares = squared_distances(self._records[start : start + rows].astype(np.float64), queries)
            for number, radius in enumerate(radii):
                positions = np.flatnonzero(squares[:, number] <= radius)
                steps = np.floor(squares[positions, number] * STEPS / (radius + 1.0))
                weights = self._weights[np.minimum(steps, STEPS - 1).astype(np.int64)]
                found[number].append(Near(positions + start, weights))
        return [Near(*map(np.concatenate, zip(*parts, strict=True))) for parts in found]

    def empty(self, positions: Integers) -> None:
        """Overwrite records. Their places remain."""
        self._records[positions] = 0
        self.labels[positions] = 0


def squared_distances(first: Floats, second: Floats) -> Floats:
    """‖a − b‖² of integer vectors, one row and one column each: exact, since every sum on the way is below 2⁵³."""
    products = first @ second.T
    squares: Floats = (first * first).sum(axis=1)[:, None] + (second * second).sum(axis=1) - 2.0 * products
    return squares
