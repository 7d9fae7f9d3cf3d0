"""How much a record still asks for at a margin, as whole numbers: tables of the logistic slope and of e^{−x}.

The same integers on every machine: they are made of bounds in whole numbers, not of a library's exponential.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.privacy.noise.kernels import exponential_bounds

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
def fill_cells(columns: Points, asked: Integers, cuts: Points, depth: int, low: int, cells: Cells) -> None:
    """Set `cells`[l, `low` + i] to the answers of fern l: is `columns`[`asked`[·], i] above the cut?"""
    for fern in range(cells.shape[0]):
        found = cells[fern, low : low + columns.shape[1]]
        found[:] = 0
        for place in range(fern * depth, (fern + 1) * depth):
            column, cut = columns[asked[place]], cuts[place]
            for i in range(found.size):
                found[i] = (found[i] << 1) | (column[i] > cut)


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
