"""Who is near a query, and how near: integer vectors, exact distances, integer weights (proofs/individual_knn.md).

How far "near" reaches is up to the query and to public rows: as far as the k-th nearest public row. So dense and sparse
regions have about as many neighbours, and no private record has a say in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import non_reentrant
from pcqr.data.records import Records
from pcqr.data.records.arrays import Points
from pcqr.data.records.vectors import ColumnVectors, DenseVectors, Vectors
from pcqr.errors import ParameterError
from pcqr.privacy.accounting import ConcentratedEvent, compose
from pcqr.privacy.accounting.gaussian import fine_gaussian_epsilon
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee, rounded_up
from pcqr.privacy.noise import discrete_gaussian, discrete_gaussians
from pcqr.releases.classifier.feature_maps import directions_for
from pcqr.releases.knn.plan import IndividualStage
from pcqr.releases.protocol.answers import Usage

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


# ---------------------------------------------------------------------------------------------------------------------
# Nearest neighbours with a budget for each record: Ind-kNN (Zhu, Zhao, Guo and Wang 2023).
#
# Records near a query vote for their labels, by weight. A record pays for exactly what it adds, and takes no part in
# what it cannot pay for. Queries are answered until nobody near is left, as far as a noisy count can tell.
# Proof: proofs/individual_knn.md.


_TALLY_ERROR = 1e-9
"""Of what a record has spent, relative: float64 sums of at most 2²¹ charges."""


class IndividualVotes:
    """All records, and what each has spent: decides one query at a time. Holds only secrets."""

    is_under_way = False

    def __init__(self, surroundings: Surroundings, stage: IndividualStage, entropy: Entropy) -> None:
        self._surroundings, self._stage, self._entropy = surroundings, stage, entropy
        self._spent = np.zeros(stage.records)
        self._decisions_remaining, self._unanswered_remaining = stage.limit, stage.unanswered

    @property
    def remaining(self) -> Usage:
        """Decisions not yet begun, and how often ⊥ may still be said."""
        return Usage(self._decisions_remaining, self._unanswered_remaining)

    @remaining.setter
    def remaining(self, remaining: Usage) -> None:
        self._decisions_remaining, self._unanswered_remaining = remaining.queries or 0, remaining.unstable or 0

    def counts(self, X: Points) -> Ballots:
        """Who is near each row of `X`, whether or not they have anything left. Private."""
        return Ballots(self._surroundings.near(X), self._stage.classes)

    @non_reentrant
    def decide(self, near: Near) -> int | None:
        """The label with the most noisy votes, None where too few seem to be near: all that may be shown."""
        stage = self._stage
        if self.remaining.is_nothing:
            raise RuntimeError("All the answers that may be given have been given.")
        self._decisions_remaining -= 1
        counted = self._charged(near, np.full(near.positions.size, stage.count_cost))
        count = stage.grid * counted.positions.size + discrete_gaussian(stage.count_scale, self._entropy)
        if count < stage.least:
            self._unanswered_remaining -= 1
            return None
        rung = 0
        while rung + 1 < len(stage.ladder) and count >= stage.ladder[rung + 1]:
            rung += 1
        scale = stage.noise_at(rung)
        voting = self._voting(counted, scale)
        totals = np.zeros(stage.classes, dtype=np.int64)
        np.add.at(totals, self._surroundings.labels[voting.positions], voting.weights)
        noisy = totals + discrete_gaussians(scale, stage.classes, self._entropy)
        best = 0
        for label in range(1, stage.classes):
            if noisy[label] > noisy[best]:
                best = label
        return best

    def forget(self, positions: Integers) -> None:
        """Leave these places empty from now on. Says nothing: not even whether somebody was still there."""
        self._spent[positions] = math.inf
        self._surroundings.empty(positions)

    def _voting(self, counted: Near, scale: float) -> Near:
        """Those who can pay for their votes."""
        shares = counted.weights / scale
        return self._charged(counted, shares * shares)

    def _charged(self, near: Near, costs: Floats) -> Near:
        """Those who can pay, after they have paid: before any noise is drawn."""
        spent = self._spent[near.positions] + costs
        can_pay = spent <= self._stage.budget
        paying = Near(near.positions[can_pay], near.weights[can_pay])
        self._spent[paying.positions] = spent[can_pay]
        return paying


def individual_votes(
    vectors: DenseVectors, records: Records, public: Points, stage: IndividualStage, entropy: Entropy
) -> IndividualVotes:
    """Every record with its whole budget. Nothing is drawn yet."""
    for name, there, planned in (
        ("records", records.size, stage.records),
        ("public rows", public.shape[0], stage.public),
        ("labels", records.labels, stage.classes),
    ):
        if there != planned:
            raise ParameterError("plan", f"a plan for {there} {name}", f"one for {planned}")
    weights = kernel(stage.grid, stage.least_weight)
    return IndividualVotes(Surroundings(vectors, records, public, stage.reach, weights), stage, entropy)


def individual_guarantee(stage: IndividualStage, delta: float) -> Guarantee:
    """All answers together, adaptively chosen queries and deletions included, with a δ of at most `delta`.

    The better of two figures that hold: Rényi, and continuous noise with what the grid adds to δ.
    """
    shift = rounded_up(stage.shift * (1.0 + _TALLY_ERROR))
    stated = compose([ConcentratedEvent(rounded_up(shift * shift / 2.0))], delta, accountant="Rényi")
    fine = fine_gaussian_epsilon(shift, stated.delta, stage.least_scale, stage.draws)
    method = "by Rényi divergences"
    if fine < stated.epsilon:
        stated, method = replace(stated, epsilon=fine), "accounted as continuous noise, and the distance from it in δ"
    steps = (
        f"each record pays for what it adds, up to a squared shift of {stage.budget:.4g}; then it is left out",
        f"all of it one Gaussian release of shift {shift:.4g} under '{stage.unit.adjacency}', {method}",
    )
    return replace(stated, unit=stage.unit, steps=steps, proof="individual_knn")
