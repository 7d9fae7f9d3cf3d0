"""Exact sums of one bounded integer vector a record: all that the head's descent asks of them (proofs/head.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError, ParameterError
from pcqr.records.arrays import Labels, Points
from pcqr.records.counting import MOST_RECORDS
from pcqr.records.head_features import WHOLE_SHARE, HeadFeatures
from pcqr.records.slopes import FULL_SLOPE, MARGINS, slope_table, weight_table

GRID = 1 << 20
"""The weight 1 as an integer."""
LARGEST_WEIGHT = 1 << 30
LARGEST_BOUND = 1 << 24
_MARGIN_BITS = 12
"""A score is a margin times 2²⁰·M; margins are told in 256ths."""

Integers = NDArray[np.int64]
Weights = NDArray[np.int32]
Floats = NDArray[np.float64]


def on_grid(weights: Floats) -> Weights:
    """Weights as integers: in units of 2⁻²⁰, rounded, and cut to ±2¹⁰."""
    return np.clip(np.rint(weights * GRID), -LARGEST_WEIGHT, LARGEST_WEIGHT).astype(np.int32)


class HeadSums:
    """The private records as one integer vector each, for any public weights. Holds only secrets."""

    def __init__(
        self, features: HeadFeatures, blocks: Iterable[tuple[Points, Labels]], records: int, bound: int, classes: int
    ) -> None:
        """`blocks` are the records' points and labels, one block after the other, `records` of them together."""
        if not 1 <= bound <= LARGEST_BOUND or bound & (bound - 1):
            raise ParameterError("bound", f"a power of two of at most {LARGEST_BOUND:,}", bound)
        if records > MOST_RECORDS:
            raise DataError("X", f"at most {MOST_RECORDS:,} rows", f"{records:,} rows")
        self._features, self._bound, self._classes = features, bound, classes
        self._vectors = np.empty((records, features.size), dtype=np.int16)
        self._cells = np.empty((features.count, records), dtype=np.uint16)
        self._labels = np.empty(records, dtype=np.int8)
        start = 0
        for X, y in blocks:
            rows = slice(start, start + y.shape[0])
            if features.dense is not None:
                self._vectors[rows] = features.dense.vectors(X)
            if features.ferns is not None:
                self._cells[:, rows] = features.ferns.cells(X)
            self._labels[rows] = y
            start = rows.stop
        self._lengths = lengths((self._vectors.astype(np.int64) ** 2).sum(axis=1), features.share, bound)
        self._cell_length = cell_length(features.count, features.share, bound)

    @property
    def blocks(self) -> int:
        """K: one block of weights for two classes, one for each class if there are more."""
        return 1 if self._classes == 2 else self._classes

    def total(self, dense: Weights, cells: Weights) -> tuple[Integers, Integers]:
        """The sum of all records' vectors at these weights, exactly, in the same shapes. Private.

        `dense` has the shape (K, p), `cells` (K, L, 2^d), in units of 2⁻²⁰ and at most 2³⁰.
        """
        self._check(dense, cells)
        vectors = self._vectors.astype(np.int64)
        scores = vectors @ dense.T.astype(np.int64) * self._lengths[:, None]
        for fern, places in enumerate(self._cells):
            scores += self._cell_length * cells[:, fern, places].T.astype(np.int64)
        margins = scores >> (self._bound.bit_length() - 1 + _MARGIN_BITS)
        found = residuals(margins, self._labels, self._classes)
        factors = _towards_zero(found * self._lengths[:, None])
        weights = _towards_zero(found * self._cell_length)
        by_cell = np.zeros(cells.shape, dtype=np.int64)
        for fern, places in enumerate(self._cells):
            for block in range(self.blocks):
                np.add.at(by_cell[block, fern], places, weights[:, block])
        return factors.T @ vectors, by_cell

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


def lengths(squared_norms: Integers, share: int, bound: int) -> Integers:
    """For each N the largest integer Λ with Λ²·max(N, 1) ≤ `share`·M²/256, M = `bound`."""
    squares = share * bound**2 // (WHOLE_SHARE * np.maximum(squared_norms, 1))
    unique, places = np.unique(squares, return_inverse=True)
    return np.array([math.isqrt(int(square)) for square in unique], dtype=np.int64)[places]


def cell_length(count: int, share: int, bound: int) -> int:
    """The largest integer C with C²·L ≤ (256 − `share`)·M²/256, L = `count`."""
    return math.isqrt((WHOLE_SHARE - share) * bound**2 // (WHOLE_SHARE * max(count, 1)))


def residuals(margins: Integers, labels: Labels, classes: int) -> Integers:
    """r of each record, one column a block: Σ_k r_k² ≤ 2³⁰."""
    if classes == 2:
        signs = 2 * labels.astype(np.int64)[:, None] - 1
        asked = signs * margins
        slopes: Integers = slope_table()[np.clip(asked, 0, MARGINS - 1)]
        slopes[asked >= MARGINS] = 0
        slopes *= signs
        return slopes
    behind = np.minimum(margins.max(axis=1, keepdims=True) - margins, MARGINS - 1)
    weights = weight_table()[behind]
    shares = weights * FULL_SLOPE // weights.sum(axis=1, keepdims=True)
    found: Integers = 2 * (FULL_SLOPE * (labels[:, None] == np.arange(classes)) - shares)
    squares = (found**2).sum(axis=1)
    for i in np.flatnonzero(squares > FULL_SLOPE**2):
        norm = math.isqrt(int(squares[i]) - 1) + 1
        found[i] = np.sign(found[i]) * (np.abs(found[i]) * FULL_SLOPE // norm)
    return found


def _towards_zero(products: Integers) -> Integers:
    """Divided by 2¹⁵, rounded towards zero."""
    quotients: Integers = np.sign(products) * (np.abs(products) // FULL_SLOPE)
    return quotients
