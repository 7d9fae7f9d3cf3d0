"""Exact sums of one bounded integer vector a record, for the linear classifier (proofs/linear.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import in_threads
from pcqr.data.records.arrays import Labels, Points
from pcqr.data.records.counting import MOST_RECORDS
from pcqr.data.records.feature_map import WHOLE_SHARE, FeatureMap
from pcqr.data.records.gradient_kernels import (
    SLOPE_BITS,
    Integers,
    Vectors,
    Weights,
    add_by_cell,
    add_scores,
    add_vectors,
    gradient_table,
    to_gradients,
    to_residuals,
    weigh,
    weight_table,
)
from pcqr.errors import DataError, ParameterError

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
