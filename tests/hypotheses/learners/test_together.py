"""Linear and tree teachers by the thousand: those of the loop, bit for bit, and those that slow learners find."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.committees import Parts, assert_same_votes, by_loop, kept_and_read, partition, queries, tables

from pcqr.data.records import InMemory
from pcqr.errors import DataError
from pcqr.hypotheses import LogisticTeachers, TreeTeachers
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.committees import committee_from_arrays, trained
from pcqr.hypotheses.descent import TOLERANCE, Planes
from pcqr.hypotheses.growth import _sort

KINDS: list[Callable[[int], HypothesisClass]] = [
    lambda labels: LogisticTeachers(labels=labels),
    lambda labels: TreeTeachers(depth=3, labels=labels),
]
FloatArray = NDArray[np.float64]


def mixed(records: int, labels: int, seed: int = 0) -> tuple[FloatArray, NDArray[np.int8]]:
    """Numbers, small integers, flags and a constant, with labels that they say something about."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        (
            rng.normal(size=(records, 2)),
            rng.integers(0, 4, (records, 1)),
            rng.integers(0, 2, (records, 3)),
            np.ones(records),
        )
    ).astype(np.float64)
    noise = rng.normal(size=records)
    score = X[:, 0] + X[:, 3] - 0.5 + 0.5 * noise
    return X, np.clip(np.floor(score + labels / 2), 0, labels - 1).astype(np.int8)


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("labels", [2, 3])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_votes_are_those_of_the_loop(make: Any, labels: int, data: st.DataObject) -> None:
    """Ties, both zeros, subnormal and huge numbers; parts of one record, of one label, or without a label."""
    records, parts = data.draw(tables(2, labels))
    hypotheses = make(labels)
    committee = trained(hypotheses, records, parts)
    asked = queries(records.X)
    assert_same_votes(committee, by_loop(hypotheses, records, parts), asked)
    assert_same_votes(committee, kept_and_read(committee), asked)


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("labels", [2, 5])
def test_neither_company_nor_threads_change_a_vote(make: Any, labels: int) -> None:
    X, y = mixed(600, labels)
    records, parts, hypotheses = InMemory(X, y, labels), partition(600, 17, 0), make(labels)
    expected = by_loop(hypotheses, records, parts).counts(X).tolist()
    for cores in (1, 2, 40):
        with patch("os.cpu_count", return_value=cores), patch("pcqr.compiled._LEAST_STEPS", 1):
            assert trained(hypotheses, records, parts).counts(X).tolist() == expected


@pytest.mark.parametrize("make", KINDS)
def test_another_record_changes_one_vote_at_most(make: Any) -> None:
    X, y = mixed(300, 3)
    parts: Parts = partition(300, 9, 0)
    before = trained(make(3), InMemory(X, y, 3), parts).counts(X)
    for record in range(0, 300, 41):
        other, labels = X.copy(), y.copy()
        other[record] += 1e6
        labels[record] = (labels[record] + 1) % 3
        after = trained(make(3), InMemory(other, labels, 3), parts).counts(X)
        assert np.abs(after - before).sum(axis=1).max() <= 2


# Trees ----------------------------------------------------------------------------------------------------------------


def slow_tree(X: FloatArray, y: NDArray[np.int8], labels: int, depth: int) -> Callable[[FloatArray], int]:
    """The greedy tree by the words of `TreeTeachers`: every cut of every column is tried."""
    counts = np.bincount(y, minlength=labels)
    best = None
    if depth and counts.max() < y.size:
        for j in range(X.shape[1]):
            values = np.unique(X[:, j])
            for low, high in pairwise(values):
                cut = 0.5 * low + 0.5 * high
                sides = [y[X[:, j] > cut], y[X[:, j] <= cut]]
                gain = sum((np.bincount(side, minlength=labels) ** 2).sum() * (1.0 / side.size) for side in sides)
                if best is None or gain > best[0]:
                    best = (gain, j, cut)
    if best is None:
        return lambda _: int(counts.argmax())
    _, j, cut = best
    holds = X[:, j] > cut
    right, left = (slow_tree(X[side], y[side], labels, depth - 1) for side in (holds, ~holds))
    return lambda x: right(x) if x[j] > cut else left(x)


@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("records", [1, 2, 9, 40, 150])
@pytest.mark.parametrize("depth", [1, 3, 8])
def test_a_tree_is_the_greedy_one(labels: int, records: int, depth: int) -> None:
    X, y = mixed(records, labels, seed=records)
    said = TreeTeachers(depth=depth, labels=labels).learn(X, y).predict(X)
    slow = slow_tree(X, y, labels, depth)
    assert said.tolist() == [slow(x) for x in X]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False) | st.integers(0, 3).map(float), min_size=1, max_size=70)
)
def test_columns_are_sorted(values: list[float]) -> None:
    column, order, spare = np.array(values), np.zeros(len(values), np.int64), np.zeros(len(values), np.int64)
    _sort(column, order, spare, len(values))
    assert order.tolist() == np.argsort(column, kind="stable").tolist()


# Logistic regressions -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [2, 3, 6])
@pytest.mark.parametrize("penalty", [0.1, 1.0, 10.0])
def test_a_regression_is_a_minimum(labels: int, penalty: float) -> None:
    """The gradient of what it minimises, computed from its weights, is next to nothing."""
    X, y = mixed(120, labels)
    taught = LogisticTeachers(penalty, labels=labels).learn_parts(X, y, np.array([120]))
    weights, biases = taught["weights"][0], taught["biases"][0]
    scores = X @ weights.T + biases
    if labels == 2:
        chances, truth = 1.0 / (1.0 + np.exp(-scores)), (y == 1)[:, None]
    else:
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        truth = np.arange(labels) == y[:, None]
    used = X.std(axis=0) > 0
    Z = ((X - X.mean(axis=0)) / np.where(used, X.std(axis=0), 1.0))[:, used]
    gradient = (chances - truth).T @ Z + penalty * weights[:, used] * X.std(axis=0)[used]
    assert np.abs(gradient).max() <= 1.01 * TOLERANCE * 120
    assert np.abs((chances - truth).sum(axis=0)).max() <= 1.01 * TOLERANCE * 120
    assert (weights[:, ~used] == 0).all()


@pytest.mark.parametrize(
    "spoil",
    [
        {"weights": np.zeros((3, 2, 2))},
        {"weights": np.full((3, 1, 2), np.nan)},
        {"weights": np.zeros((3, 128, 2)), "biases": np.zeros((3, 128))},
        {"biases": np.zeros((2, 1))},
        {"biases": np.full((3, 1), -np.inf)},
        {"weights": np.zeros((0, 1, 2)), "biases": np.zeros((0, 1))},
        {"biases": np.zeros((3, 1), dtype=np.int64)},
    ],
)
def test_arrays_that_no_committee_gave_are_refused(spoil: dict[str, Any]) -> None:
    arrays = Planes(np.zeros((3, 1, 2)), np.zeros((3, 1))).arrays()
    assert committee_from_arrays(arrays).counts(np.zeros((1, 2))).tolist() == [[3, 0]]
    with pytest.raises(DataError, match="arrays"):
        committee_from_arrays(arrays | spoil)


def test_a_side_of_one_record_has_its_whole_weight() -> None:
    """Σ a_c²/|a| is 1 for it: to part the last record from the others gains 4.4, the next best cut 4."""
    learned = TreeTeachers(depth=1).learn(np.arange(6.0)[:, None], [0, 0, 1, 0, 0, 1])
    assert learned.predict(np.array([[4.4], [4.6]])).tolist() == [0, 1]


def test_scores_that_overflow_are_still_one_vote() -> None:
    huge = np.finfo(np.float64).max
    committee = Planes(np.array([[[1.0, 1.0]], [[9.0, -9.0]]]), np.zeros((2, 1)))
    assert committee.counts(np.array([[huge, huge], [-huge, -huge]])).sum(axis=1).tolist() == [2, 2]
