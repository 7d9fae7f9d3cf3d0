"""The sensitivity of the linear classifier's sums, exactly: all records of tiny maps, many weights, all neighbours.

Every pair of neighbours stands beside a third record that stays, and the squared distance of the integer sums, dense
coordinates and cells together, is compared with (2M)².
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from pcqr.data.records import InMemory
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.gradient_sums import GRID, LARGEST_WEIGHT, GradientSums
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.vectors import LARGEST_COORDINATE, LARGEST_ENTRY, ColumnVectors, Directions, PredicateVectors

COLUMNS = 2
ASKED = tuple(Predicate(column, 0.0) for column in range(COLUMNS))
FERNS = Ferns((ASKED[0], ASKED[1], ASKED[1], ASKED[1], Predicate(0, 5.0), ASKED[0]), 2, COLUMNS)
LONG = Directions.of(np.array([[7, -9, 0], [11, 30, -2], [0, 5, 64]], dtype=np.int16), 0)

OPPOSITE = PredicateVectors(ASKED, (LARGEST_ENTRY, LARGEST_ENTRY), (-LARGEST_ENTRY, -LARGEST_ENTRY), COLUMNS)
CONSTANT = PredicateVectors(ASKED, (0, 0), (0, 0), COLUMNS)
UNEVEN = PredicateVectors(ASKED, (1, LARGEST_ENTRY), (0, -3), COLUMNS)
TURNED = PredicateVectors(ASKED, (LARGEST_ENTRY, 700), (-5, -LARGEST_ENTRY), COLUMNS, LONG)
NUMBERS = ColumnVectors((0.0, 0.5), (3e4, 1.0), COLUMNS, LARGEST_COORDINATE)
DENSE: list[PredicateVectors | ColumnVectors] = [OPPOSITE, CONSTANT, UNEVEN, TURNED, NUMBERS]

SIZES = (0, 1, -1, GRID, -GRID, 30 * GRID, -30 * GRID, LARGEST_WEIGHT, -LARGEST_WEIGHT)


def maps() -> Iterator[FeatureMap]:
    yield FeatureMap(None, FERNS, 0)
    for dense in DENSE:
        yield FeatureMap(dense, FERNS, 100)
        yield FeatureMap(dense, None, 256)


def weights(features: FeatureMap, blocks: int) -> Iterator[tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """All alike, each kind of coordinate on its own, one block against the others, and at random, of every size."""
    generator, cells = np.random.default_rng(0), (features.count, 1 << features.depth)
    directions = [
        (np.ones((blocks, features.size)), np.ones((blocks, *cells))),
        (np.eye(blocks, features.size), np.zeros((blocks, *cells))),
        (np.zeros((blocks, features.size)), generator.integers(-1, 2, (blocks, *cells))),
        (generator.integers(-1, 2, (blocks, features.size)), generator.integers(-1, 2, (blocks, *cells))),
        (np.zeros((blocks, features.size)), np.ones((blocks, *cells)) * (np.arange(blocks) == 2)[:, None, None]),
        (np.arange(blocks)[:, None] * np.eye(1, features.size, features.size - 1), np.zeros((blocks, *cells))),
    ]
    for (dense, table), size in itertools.product(directions, SIZES):
        first, second = (np.clip(part * size, -LARGEST_WEIGHT, LARGEST_WEIGHT) for part in (dense, table))
        yield first.astype(np.int32), second.astype(np.int32)


def farthest(features: FeatureMap, labels: int, bound: int) -> int:
    """The largest squared distance between the sums of two neighbours."""
    points = list(itertools.product((-1.0, 1.0), repeat=COLUMNS))
    records = [(point, label) for point in points for label in range(labels)]
    tables = [neighbours_of(records[-1], record, labels, features, bound) for record in records]
    found = 0
    for dense, cells in weights(features, 1 if labels == 2 else labels):
        sums = [np.concatenate([part.ravel() for part in table.total(dense, cells)]) for table in tables]
        for first, second in itertools.combinations(sums, 2):
            found = max(found, sum(int(each) ** 2 for each in first - second if each))
    return found


def neighbours_of(
    stays: tuple[tuple[float, ...], int],
    other: tuple[tuple[float, ...], int],
    labels: int,
    features: FeatureMap,
    bound: int,
) -> GradientSums:
    X, y = zip(stays, other, strict=True)
    return InMemory(np.array(X), np.array(y), labels).gradient_sums(features, bound)


@pytest.mark.parametrize("bound", [1, 256, 1 << 13, 1 << 24])
def test_no_replacement_moves_a_sum_by_more_than_twice_the_bound(bound: int) -> None:
    for features in maps():
        found = farthest(features, 2, bound)
        assert found <= (2 * bound) ** 2
        if bound == 1 << 24:
            assert found > (1 - 2e-2) * (2 * bound) ** 2, "2M is what it takes"


@pytest.mark.parametrize("labels", [3, 4])
def test_with_several_classes_neither(labels: int) -> None:
    """All blocks together. Two opposite vectors with one residual attain nearly 2M; cells alone are √2·M apart."""
    for bound, features in itertools.product((256, 1 << 24), maps()):
        found = farthest(features, labels, bound)
        assert found <= (2 * bound) ** 2
        if bound == 1 << 24 and features.share == 256 and features.dense is OPPOSITE:
            assert found > (1 - 2e-2) * (2 * bound) ** 2
        if bound == 1 << 24:
            assert found > (1 - 2e-2) * bound**2


def test_what_a_record_adds_does_not_depend_on_the_others() -> None:
    """A record's vector is its own: the sum beside other records, less theirs, at another place, in another block."""
    features = FeatureMap(TURNED, FERNS, 100)
    generator = np.random.default_rng(3)
    X, y = generator.normal(size=(70, COLUMNS)), generator.integers(0, 2, 70)
    for dense, cells in itertools.islice(weights(features, 1), 9, 40, 4):
        non_reentrant = InMemory(X[:1], y[:1]).gradient_sums(features, 1 << 20).total(dense, cells)
        others = InMemory(X[1:], y[1:]).gradient_sums(features, 1 << 20).total(dense, cells)
        last = InMemory(np.roll(X, -1, axis=0), np.roll(y, -1)).gradient_sums(features, 1 << 20).total(dense, cells)
        for own, rest, whole in zip(non_reentrant, others, last, strict=True):
            assert (own + rest == whole).all()
