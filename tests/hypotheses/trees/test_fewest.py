"""The fewest mistakes of all trees, against the plain recursion over sets of rows."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.hypotheses.trees import fewest as module
from pcqr.hypotheses.trees.fewest import fewest_mistakes
from pcqr.records.counting import ConjunctionCounts

Rows = frozenset[int]


def plainly(X: NDArray[np.float64], y: NDArray[np.int8], depth: int) -> int:
    """By the definition: a tree is a leaf, or asks any predicate whatever was asked before."""
    holding = [frozenset(np.flatnonzero(column).tolist()) for column in X.T]

    def leaf(rows: Rows) -> int:
        return len(rows) - max(np.bincount(y[sorted(rows)])) if rows else 0

    @cache
    def fewest(rows: Rows, remaining: int) -> int:
        if remaining == 0:
            return leaf(rows)
        return min(leaf(rows), *(fewest(rows & b, remaining - 1) + fewest(rows - b, remaining - 1) for b in holding))

    return fewest(frozenset(range(y.size)), depth)


def counted(X: NDArray[np.float64], y: NDArray[np.int8], depth: int, labels: int) -> ConjunctionCounts:
    predicates = tuple(Predicate(feature, 0.5) for feature in range(X.shape[1]))
    return DecisionTrees(depth=depth, labels=labels, predicates=predicates).count(X, y).counts


@st.composite
def tables(draw: st.DrawFn) -> tuple[NDArray[np.float64], NDArray[np.int8], int]:
    columns, rows, labels = draw(st.integers(1, 7)), draw(st.integers(1, 30)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.integers(0, 2, (rows, columns)).astype(np.float64)
    return X, rng.integers(0, labels, rows).astype(np.int8), labels


@given(tables(), st.integers(1, 6))
def test_it_is_that_of_the_plain_recursion(
    table: tuple[NDArray[np.float64], NDArray[np.int8], int], depth: int
) -> None:
    """Depths beyond the number of predicates included."""
    X, y, labels = table
    assert fewest_mistakes(counted(X, y, depth, labels)) == plainly(X, y, depth)


@pytest.mark.parametrize(("columns", "depth"), [(40, 2), (23, 3), (16, 4), (11, 5)])
def test_more_sets_than_lanes(columns: int, depth: int) -> None:
    """Sets are met in blocks of lanes, the last of which is seldom full; `learn` finds a best tree another way."""
    rng = np.random.default_rng(columns)
    X = rng.integers(0, 2, (300, columns)).astype(np.float64)
    y = ((X[:, 0] != X[:, 1]) & (X[:, 2] > 0) | (rng.random(300) < 0.2)).astype(np.int8)
    predicates = tuple(Predicate(feature, 0.5) for feature in range(columns))
    best = DecisionTrees(depth=depth, predicates=predicates).learn(X, y)
    assert fewest_mistakes(counted(X, y, depth, 2)) == int((best.predict(X) != y).sum())


def test_lanes_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.integers(0, 2, (80, 9)).astype(np.float64), rng.integers(0, 3, 80).astype(np.int8)
    counts, found = counted(X, y, 3, 3), set()
    for lanes in (1, 2, 5, 36, 84, 1000):
        monkeypatch.setattr(module, "_LANES", lanes)
        found.add(fewest_mistakes(counts))
    assert found == {plainly(X, y, 3)}


def test_counts_of_two_billion_records() -> None:
    """As many as counts may have: sums of mistakes stay within 32 bits."""
    all_of_them = 2**30 - 1
    apart = np.array([[all_of_them, all_of_them], [all_of_them, 0], [0, all_of_them], [0, 0]], dtype=np.int32)
    assert fewest_mistakes(ConjunctionCounts(2, 2, apart)) == 0
    mixed = (all_of_them // np.array([[1], [2], [2], [4]]) * [1, 1]).astype(np.int32)
    assert fewest_mistakes(ConjunctionCounts(2, 2, mixed)) == all_of_them
