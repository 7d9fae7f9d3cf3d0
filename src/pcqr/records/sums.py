"""Exact sums of one bounded integer vector a record: all that a noisy descent asks of them (proofs/linear.md)."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.records.counting import Block
from pcqr.records.features import Codes, Floats, Integers, LinearFeatures, coded

Signs = NDArray[np.int8]


class Summands:
    """The private records as one integer vector each, for any public weights. Holds only secrets."""

    def __init__(self, features: LinearFeatures, answers: Iterable[Block], bound: int, classes: int) -> None:
        """`answers` are those of the records to the predicates of `features`, block after block, with the labels."""
        self._features = features
        codes, labels = zip(*((coded(holds), y) for holds, y in answers), strict=True)
        self._codes: Codes = np.concatenate(codes)
        positive = np.concatenate(labels)[:, None] == (np.ones(1) if classes == 2 else np.arange(classes))
        self._signs: Signs = np.where(positive, 1, -1).astype(np.int8)
        squared_norms = features.squared_norms(self._codes)
        self._inverse_norms: Floats = 1.0 / np.sqrt(squared_norms)
        self._largest = largest_factors(squared_norms, bound)

    def total(self, weights: Floats) -> Integers:
        """Σ_i q_i·φ_i at θ = `weights`, exactly; one row for each block, as in `weights`. Private."""
        tables, constants = zip(*map(self._features.tables, weights), strict=True)
        table = np.stack(tables)
        histograms = np.zeros(table.shape, dtype=np.int64)
        _add_factors(
            self._codes, self._signs, self._inverse_norms, self._largest, table, np.array(constants), histograms
        )
        return np.stack([self._features.totals(histogram) for histogram in histograms])


def largest_factors(squared_norms: Integers, bound: int) -> Integers:
    """For each N in `squared_norms` an integer q ≥ 0 with q²·N ≤ M², the largest one, M = `bound`."""
    unique, places = np.unique(squared_norms, return_inverse=True)
    roots = [math.isqrt(bound * bound // int(value)) for value in unique]
    return np.array(roots, dtype=np.int64)[places]


@compiled
def _add_factors(
    codes: Codes,
    signs: Signs,
    inverse_norms: Floats,
    largest: Integers,
    tables: Floats,
    constants: Floats,
    histograms: Integers,
) -> None:
    """Add every record's q of block k to `histograms`[k, g, b] for each of its bytes: byte g is b."""
    records, count = codes.shape
    blocks = constants.size
    slopes, factors = np.empty(blocks), np.empty(blocks, dtype=np.int64)
    for i in range(records):
        squares = 0.0
        for k in range(blocks):
            score = constants[k]
            for g in range(count):
                score += tables[k, g, codes[i, g]]
            slopes[k] = 2.0 / (1.0 + math.exp(min(signs[i, k] * score * inverse_norms[i], 700.0)))
            squares += slopes[k] * slopes[k]
        stretch = largest[i] / max(1.0, math.sqrt(squares))
        spent = 0
        for k in range(blocks):
            factors[k] = min(max(np.int64(slopes[k] * stretch), 0), largest[i])
            spent += factors[k] * factors[k]
        # Whatever the floats above made of it, the factors stay within what the proof allows.
        allowed = spent <= largest[i] * largest[i]
        for k in range(blocks):
            factor = signs[i, k] * factors[k] if allowed else 0
            for g in range(count):
                histograms[k, g, codes[i, g]] += factor
