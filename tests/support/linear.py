"""Sums of a linear classifier in plain Python integers, record by record (proofs/linear.md), and small feature maps."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records.arrays import Labels, Points
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import ColumnVectors, Directions

Integers = NDArray[np.int64]
Weights = NDArray[np.int32]


class PlainRecord(NamedTuple):
    """v, the cell of each fern, and the label."""

    vector: tuple[int, ...]
    cells: tuple[int, ...]
    label: int


@cache
def slope(j: int) -> int:
    """⌊2¹⁶/(1 + e^{j/256})⌋ by decimals."""
    with localcontext() as context:
        context.prec = 60
        return int(Decimal(1 << 16) / (1 + (Decimal(j) / 256).exp()))


@cache
def weight(j: int) -> int:
    """⌊2²⁰·e^{−j/256}⌋ by decimals."""
    with localcontext() as context:
        context.prec = 60
        return int(Decimal(1 << 20) * (-Decimal(j) / 256).exp())


def plain_residuals(margins: list[int], label: int) -> list[int]:
    """r, one for each block."""
    if len(margins) == 1:
        sign = 1 if label == 1 else -1
        asked = sign * margins[0]
        return [sign * (1 << 15 if asked < 0 else 0 if asked >= 4096 else slope(asked))]
    powers = [weight(min(max(margins) - margin, 4095)) for margin in margins]
    found = [2 * ((k == label) * 2**15 - power * 2**15 // sum(powers)) for k, power in enumerate(powers)]
    squares = sum(r * r for r in found)
    if squares <= 2**30:
        return found
    norm = math.isqrt(squares) + (math.isqrt(squares) ** 2 < squares)
    return [(1 if r > 0 else -1) * (abs(r) * 2**15 // norm) for r in found]


def towards_zero(product: int) -> int:
    return (1 if product > 0 else -1) * (abs(product) >> 15)


def plain_vector(
    record: PlainRecord, dense: list[list[int]], cells: list[list[list[int]]], share: int, bound: int
) -> tuple[list[int], list[int]]:
    """(q, t) of one record: the factor of v and what goes to its cell of each fern, one for each block."""
    square = sum(each * each for each in record.vector)
    length = math.isqrt(share * bound**2 // (256 * max(square, 1)))
    count = len(record.cells)
    cell_length = math.isqrt((256 - share) * bound**2 // (256 * count)) if count else 0
    margins = []
    for theta, table in zip(dense, cells, strict=True):
        score = length * sum(a * b for a, b in zip(record.vector, theta, strict=True))
        score += cell_length * sum(table[fern][cell] for fern, cell in enumerate(record.cells))
        margins.append(score // (bound * 2**12))
    found = plain_residuals(margins, record.label)
    factors, weights = ([towards_zero(r * stretch) for r in found] for stretch in (length, cell_length))
    spent = sum(q * q for q in factors) * square + sum(t * t for t in weights) * count
    assert spent <= bound**2, "the bound of the proof"
    return factors, weights


def plain_total(
    records: list[PlainRecord], dense: Weights, cells: Weights, share: int, bound: int
) -> tuple[list[list[int]], list[list[list[int]]]]:
    """What `GradientSums.total` is, as lists."""
    theta, tables = dense.tolist(), cells.tolist()
    sums = [[0] * dense.shape[1] for _ in range(dense.shape[0])]
    by_cell = [[[0] * cells.shape[2] for _ in range(cells.shape[1])] for _ in range(cells.shape[0])]
    for record in records:
        factors, weights = plain_vector(record, theta, tables, share, bound)
        for k, (q, t) in enumerate(zip(factors, weights, strict=True)):
            for j, entry in enumerate(record.vector):
                sums[k][j] += q * entry
            for fern, cell in enumerate(record.cells):
                by_cell[k][fern][cell] += t
    return sums, by_cell


def any_map(size: int, count: int, depth: int, share: int, constant: int = 1) -> FeatureMap:
    """A feature map that takes its vector and its cells from the point as they stand there: see `any_points`."""
    features = size + count * depth
    doubled = np.zeros((features, size), dtype=np.int16)
    doubled[np.arange(size), np.arange(size)] = 2
    dense = ColumnVectors((0.0,) * features, (0.5,) * features, features, constant, Directions.of(doubled, 0))
    asked = tuple(Predicate(size + place, 0.5) for place in range(count * depth))
    return FeatureMap(dense if share else None, Ferns(asked, depth, features) if share < 256 else None, share)


def any_points(vectors: Integers, cells: Integers, depth: int) -> Points:
    """Points whose vectors under `any_map` are `vectors`, even or ±(2¹⁵ − 1), and whose cells are `cells`."""
    shifts = np.arange(depth - 1, -1, -1)
    bits = (cells.T[:, :, None] >> shifts & 1).reshape(vectors.shape[0], -1)
    return np.concatenate([vectors, bits], axis=1).astype(np.float64)


def plain_records(features: FeatureMap, X: Points, y: Labels) -> list[PlainRecord]:
    """By the map's own integers."""
    vectors = np.empty((len(y), 0)) if features.dense is None else features.dense.vectors(X)
    cells = np.empty((0, len(y))) if features.ferns is None else features.ferns.cells(X)
    return [
        PlainRecord(tuple(map(int, vector)), tuple(map(int, places)), int(label))
        for vector, places, label in zip(vectors, cells.T, y, strict=True)
    ]
