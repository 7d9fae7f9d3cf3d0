"""Exact sums of one bounded integer vector a record, for the linear classifier (proofs/linear.md)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled, in_threads
from pcqr.data.records.counting import MOST_RECORDS
from pcqr.data.records.feature_map import WHOLE_SHARE, FeatureMap
from pcqr.errors import DataError, ParameterError
from pcqr.privacy.noise.kernels import exponential_bounds

# ---------------------------------------------------------------------------------------------------------------------
# How much a record still asks for at a margin, as whole numbers: tables of the logistic slope and of e^{−x}.
#
# The same integers on every machine: they are made of bounds in whole numbers, not of a library's exponential.


MARGINS = 1 << 12
"""Entries of a table: margins from 0 to 16, by 256ths."""
MARGIN_UNIT = 256
FULL_SLOPE = 1 << 15
FULL_WEIGHT = 1 << 20
_FIRST_PLACES = 64

Table = NDArray[np.int64]


@cache
def gradient_table() -> Table:
    """⌊2¹⁵·2/(1 + e^{j/256})⌋: twice the slope of the logistic loss, so that it is cut at a margin of 0."""
    return _table(lambda power, places: (2 * FULL_SLOPE * power, (1 << places) + power))


@cache
def weight_table() -> Table:
    """⌊2²⁰·e^{−j/256}⌋."""
    return _table(lambda power, places: (FULL_WEIGHT * power, 1 << places))


def _table(quotient: Callable[[int, int], tuple[int, int]]) -> Table:
    """⌊a/b⌋, (a, b) = `quotient`(2^places·e^{−j/256}, places), for every j: increasing in its first argument."""
    table = np.array([_floor(Fraction(j, MARGIN_UNIT), quotient) for j in range(MARGINS)], dtype=np.int64)
    table.flags.writeable = False
    return table


def _floor(x: Fraction, quotient: Callable[[int, int], tuple[int, int]]) -> int:
    """By bounds of e^{−x} that are narrowed until both give the same floor; for x > 0 the value is no integer."""
    places = _FIRST_PLACES
    while True:
        low, high = (
            above // below for above, below in (quotient(power, places) for power in exponential_bounds(x, places))
        )
        if low == high:
            return low
        places *= 2


# ---------------------------------------------------------------------------------------------------------------------
# The compiled loops behind the linear classifier's sums: whole numbers only, one record at a time (proofs/linear.md).
#
# Nothing here depends on how records or ferns are shared out: every sum is exact, and no two shares write to one place.
# Shares are told by their ends, not by slices of two dimensions, which the compiler could not take for contiguous.


SLOPE_BITS = 15
_SHORT_SUM = 127
"""So many entries of records' vectors, at most 2²⁴ each, are added up in 32 bits."""

Points = NDArray[np.float64]
Vectors = NDArray[np.int16]
Cells = NDArray[np.uint16]
Labels = NDArray[np.int8]
Weights = NDArray[np.int32]
Integers = NDArray[np.int64]


@compiled
def add_scores(
    vectors: Vectors,
    lengths: Weights,
    cells: Cells,
    low: int,
    cell_length: int,
    dense: Weights,
    tables: Weights,
    scores: Integers,
) -> None:
    """Set `scores`[k, i] to Λ·(v·W_k) + Γ·Σ_l W_k[l, cell] of record `low` + i."""
    blocks, records = scores.shape
    for k in range(blocks):
        score = scores[k]
        score[:] = 0
        # Fern by fern over all records at hand: a fern's table stays in the innermost cache.
        for fern in range(cells.shape[0]):
            table, places = tables[k, fern], cells[fern, low : low + records]
            for i in range(records):
                score[i] += table[places[i]]
        weights = dense[k]
        for i in range(records):
            vector = vectors[low + i]
            product = 0
            for j in range(vector.size):
                product += int(vector[j]) * int(weights[j])
            score[i] = cell_length * score[i] + int(lengths[low + i]) * product


@compiled
def to_gradients(scores: Integers, shift: int, labels: Labels, table: Integers) -> None:
    """Turn the scores of the only block into r = ±slope, in 2⁻¹⁵."""
    score = scores[0]
    for i in range(score.size):
        sign = 1 if labels[i] == 1 else -1
        margin = sign * (score[i] >> shift)
        slope = table[max(margin, 0)] if margin < table.size else 0
        score[i] = sign * slope


@compiled
def to_residuals(scores: Integers, shift: int, labels: Labels, table: Integers) -> None:
    """Turn the scores of K ≥ 3 blocks into r_k = 2·([k = y] − p_k), cut to norm 1, in 2⁻¹⁵."""
    blocks, records = scores.shape
    for i in range(records):
        best = scores[0, i] >> shift
        for k in range(1, blocks):
            best = max(best, scores[k, i] >> shift)
        whole = 0
        for k in range(blocks):
            power = table[min(best - (scores[k, i] >> shift), table.size - 1)]
            scores[k, i] = power
            whole += power
        squares = 0
        for k in range(blocks):
            share = scores[k, i] * FULL_SLOPE // whole
            residual = 2 * ((FULL_SLOPE if k == labels[i] else 0) - share)
            scores[k, i] = residual
            squares += residual * residual
        if squares > FULL_SLOPE * FULL_SLOPE:
            norm = _root(squares - 1) + 1
            for k in range(blocks):
                shortened = abs(scores[k, i]) * FULL_SLOPE // norm
                scores[k, i] = shortened if scores[k, i] > 0 else -shortened


@compiled
def weigh(residuals: Integers, weights: Integers, whole: int) -> None:
    """Turn r_k of each row into r_k·w/`whole`, towards zero."""
    for k in range(residuals.shape[0]):
        for i in range(residuals.shape[1]):
            share = abs(residuals[k, i]) * weights[i] // whole
            residuals[k, i] = share if residuals[k, i] > 0 else -share


@compiled
def add_vectors(vectors: Vectors, lengths: Weights, low: int, residuals: Integers, sums: Integers) -> None:
    """Add q_k·v, q_k = r_k·Λ/2¹⁵ towards zero, of every record from `low` on to `sums`[k]."""
    blocks, records = residuals.shape
    short = np.empty(vectors.shape[1], dtype=np.int32)
    for k in range(blocks):
        total = sums[k]
        for start in range(0, records, _SHORT_SUM):
            short[:] = 0
            for i in range(start, min(start + _SHORT_SUM, records)):
                factor = np.int32(_share(residuals[k, i], int(lengths[low + i])))
                vector = vectors[low + i]
                for j in range(short.size):
                    short[j] += factor * np.int32(vector[j])
            for j in range(short.size):
                total[j] += short[j]


@compiled
def add_by_cell(cells: Cells, low: int, high: int, weights: Weights, sums: Integers) -> None:
    """Add every record's t_k to `sums`[k, l, cell of the record] for the ferns from `low` to `high`."""
    for fern in range(low, high):
        places = cells[fern]
        for k in range(weights.shape[0]):
            weight, total = weights[k], sums[k, fern]
            for i in range(places.size):
                total[places[i]] += weight[i]


@compiled
def _root(square: int) -> int:
    """⌊√square⌋: a float to begin with, then whole numbers until the definition holds."""
    root = int(math.sqrt(square))
    while root * root > square:
        root -= 1
    while (root + 1) * (root + 1) <= square:
        root += 1
    return root


@compiled
def _share(residual: int, length: int) -> int:
    """residual·length/2¹⁵, towards zero."""
    product = abs(residual) * length >> SLOPE_BITS
    return product if residual > 0 else -product


GRID = 1 << 20
"""The weight 1 as an integer."""
LARGEST_WEIGHT = 1 << 30
LARGEST_BOUND = 1 << 24
_MARGIN_BITS = 12
"""A score is a margin times 2²⁰·M; margins are told in 256ths."""

_BLOCK = 1 << 12
"""Records whose lengths and weights are found at a time: so many as a cache holds."""

_MOST_ROWS = 1 << 17
"""Records whose scores are held at a time: the more, the less often the tables of all ferns go through the cache."""

Floats = NDArray[np.float64]


def on_grid(weights: Floats) -> Weights:
    """Weights as integers: in units of 2⁻²⁰, rounded, and cut to ±2¹⁰."""
    return np.clip(np.rint(weights * GRID), -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(np.int32)


def check_sums(bound: int, records: int) -> None:
    """Refuse what the proof does not cover. Both are public."""
    if not 1 <= bound <= LARGEST_BOUND or bound & (bound - 1):
        raise ParameterError("bound", f"a power of two of at most {LARGEST_BOUND:,}", bound)
    if records > MOST_RECORDS:
        raise DataError("X", f"at most {MOST_RECORDS:,} rows", f"{records:,} rows")


class GradientSums:
    """The private records as one integer vector each, for any public weights. Holds only secrets."""

    def __init__(
        self,
        features: FeatureMap,
        blocks: Iterable[tuple[Points, Labels]],
        records: int,
        bound: int,
        classes: int,
        *,
        weights: Integers | None = None,
        whole: int = 1,
    ) -> None:
        """`blocks` are the records' points and labels, one block after the other, `records` of them together.

        Where there are `weights` they are rows, of which each counts so many parts of a `whole` record.
        """
        check_sums(bound, records)
        self._features, self._bound, self._classes = features, bound, classes
        self._weights, self._whole = weights, whole
        self._vectors = np.empty((records, features.size), dtype=np.int16)
        self._cells = np.empty((features.count, records), dtype=np.uint16)
        self._labels = np.empty(records, dtype=np.int8)
        start = 0
        for X, y in blocks:
            self._labels[start : start + y.size] = y
            self._take(X, start)
            start += y.size
        if start != records:
            raise DataError("X", f"{records:,} rows", f"{start:,} rows")
        self._lengths = lengths(self._vectors, features.share, bound)
        self._cell_length = cell_length(features.count, features.share, bound)

    @classmethod
    def restored(
        cls, arrays: Mapping[str, NDArray[Any]], features: FeatureMap, bound: int, classes: int
    ) -> GradientSums:
        """The sums of the records whose `arrays` these are, each counting as a whole."""
        made = cls.__new__(cls)
        made._features, made._bound, made._classes = features, bound, classes
        made._weights, made._whole = None, 1
        made._vectors, made._cells = arrays["vectors"], arrays["cells"]
        made._labels, made._lengths = arrays["labels"], arrays["lengths"]
        made._cell_length = cell_length(features.count, features.share, bound)
        return made

    def arrays(self) -> dict[str, NDArray[Any]]:
        """What is kept of the records: `restored` makes the same sums of it. **Private.**"""
        return {"vectors": self._vectors, "cells": self._cells, "labels": self._labels, "lengths": self._lengths}

    @staticmethod
    def record_bytes(features: FeatureMap) -> int:
        """What `arrays` take for a record."""
        return 2 * (features.size + features.count) + 1 + 4

    def _take(self, X: Points, start: int) -> None:
        """Note the vectors and the cells of a block of points, the first of which is record `start`."""
        dense, ferns = self._features.dense, self._features.ferns

        def take_rows(low: int, high: int) -> None:
            seen = self._features.seen(X[low:high])
            if dense is not None:
                self._vectors[start + low : start + high] = dense.vectors(seen)
            if ferns is not None:
                self._cells[:, start + low : start + high] = ferns.cells(seen)

        in_threads(take_rows, X.shape[0], self._features.size * X.shape[1] + self._features.count)

    @property
    def blocks(self) -> int:
        """K: one block of weights for two classes, one for each class if there are more."""
        return 1 if self._classes == 2 else self._classes

    def total(self, dense: Weights, cells: Weights) -> tuple[Integers, Integers]:
        """The sum of all records' vectors at these weights, exactly, in the same shapes. Private.

        `dense` has the shape (K, p), `cells` (K, L, 2^d), in units of 2⁻²⁰ and at most 2³⁰.
        """
        self._check(dense, cells)
        dense, cells = np.ascontiguousarray(dense), np.ascontiguousarray(cells)
        records, features = self._labels.size, self._features
        sums, by_cell = np.zeros(dense.shape, dtype=np.int64), np.zeros(cells.shape, dtype=np.int64)
        weights = np.empty((self.blocks, records if features.count else 0), dtype=np.int32)

        def take_rows(low: int, high: int) -> Integers:
            found = np.empty((self.blocks, high - low), dtype=np.int64)
            add_scores(self._vectors, self._lengths, self._cells, low, self._cell_length, dense, cells, found)
            self._to_residuals(found, self._labels[low:high])
            if self._weights is not None:
                weigh(found, self._weights[low:high], self._whole)
            if features.count:
                fill_weights(found, low, self._cell_length, weights)
            part = np.zeros(dense.shape, dtype=np.int64)
            add_vectors(self._vectors, self._lengths, low, found, part)
            return part

        def take_ferns(low: int, high: int) -> None:
            add_by_cell(self._cells, low, high, weights, by_cell)

        for part in in_threads(take_rows, records, self.blocks * (features.size + features.count), most=_MOST_ROWS):
            sums += part
        in_threads(take_ferns, features.count, self.blocks * records)
        return sums, by_cell

    def _to_residuals(self, scores: Integers, labels: Labels) -> None:
        shift = self._bound.bit_length() - 1 + _MARGIN_BITS
        if self.blocks == 1:
            to_gradients(scores, shift, labels, gradient_table())
        else:
            to_residuals(scores, shift, labels, weight_table())

    def _check(self, dense: Weights, cells: Weights) -> None:
        features = self._features
        for name, given, shape in (
            ("dense", dense, (self.blocks, features.size)),
            ("cells", cells, (self.blocks, features.count, 1 << features.depth)),
        ):
            if given.dtype != np.int32 or given.shape != shape:
                raise ParameterError(name, f"32-bit integers of shape {shape}", f"{given.dtype} of shape {given.shape}")
            if given.size and max(int(given.max()), -int(given.min())) > LARGEST_WEIGHT:
                raise ParameterError(name, f"integers of at most {LARGEST_WEIGHT:,}", "a larger one")


def lengths(vectors: Vectors, share: int, bound: int) -> Weights:
    """For each vector the largest integer Λ with Λ²·max(‖v‖², 1) ≤ `share`·M²/256, M = `bound`."""
    found = np.empty(vectors.shape[0], dtype=np.int32)
    for low in range(0, len(vectors), _BLOCK):
        block = vectors[low : low + _BLOCK].astype(np.int64)
        norms = np.maximum((block * block).sum(axis=1), 1)
        squares = share * bound**2 // (WHOLE_SHARE * norms)
        found[low : low + _BLOCK] = _roots(squares)
    return found


def _roots(squares: Integers) -> Integers:
    """⌊√squares⌋: floats to begin with, then whole numbers until the definition holds."""
    roots = np.sqrt(squares).astype(np.int64)
    while (is_large := roots * roots > squares).any():
        roots -= is_large
    while (is_small := (roots + 1) * (roots + 1) <= squares).any():
        roots += is_small
    return roots


def fill_weights(residuals: Integers, low: int, cell_length: int, weights: Weights) -> None:
    """Set `weights`[k, `low` + i] to t_k = r_k·Γ/2¹⁵ towards zero."""
    for k, start in product(range(residuals.shape[0]), range(0, residuals.shape[1], _BLOCK)):
        part = residuals[k, start : start + _BLOCK]
        found = np.abs(part)
        found *= cell_length
        found >>= SLOPE_BITS
        found *= np.sign(part)
        weights[k, low + start : low + start + part.size] = found


def cell_length(count: int, share: int, bound: int) -> int:
    """The largest integer Γ with Γ²·L ≤ (256 − `share`)·M²/256, L = `count`."""
    return math.isqrt((WHOLE_SHARE - share) * bound**2 // (WHOLE_SHARE * max(count, 1)))
