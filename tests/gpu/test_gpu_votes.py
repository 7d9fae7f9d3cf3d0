"""Votes of ensembles as products of matrices, here on torch's CPU: the same integers as the committees count."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcqr.hypotheses.descent import Planes
from pcqr.hypotheses.trees.committee import TreeCommittee

pytest.importorskip("torch", reason="torch is not installed: pip install pcqr[gpu]")

from pcqr.gpu import counts as gpu_votes

SEEDS = st.integers(0, 2**32)


@given(
    seed=SEEDS,
    size=st.integers(1, 30),
    depth=st.integers(1, 4),
    features=st.integers(1, 3),
    labels=st.integers(2, 5),
    rows=st.integers(0, 20),
)
@settings(max_examples=60, deadline=None)
def test_votes_of_trees(seed: int, size: int, depth: int, features: int, labels: int, rows: int) -> None:
    """Questions that a path asks twice, points that lie on cuts, labels that nobody says."""
    generator = np.random.default_rng(seed)
    columns = generator.integers(0, features, (size, (1 << depth) - 1)).astype(np.int32)
    cuts = generator.integers(-2, 3, columns.shape) / 2.0
    leaves = generator.integers(0, labels, (size, 1 << depth)).astype(np.int8)
    X = generator.integers(-3, 4, (rows, features)) / 2.0
    expected = TreeCommittee(columns, cuts, leaves, features, labels).counts(X)
    found = gpu_votes.tree_votes(X, columns, cuts, leaves, labels, "cpu")
    assert found.dtype == expected.dtype
    assert (found == expected).all()


def test_more_trees_than_sixteen_bits_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """5,000 trees that all say the same, a few rows at a time."""
    monkeypatch.setattr(gpu_votes, "_NUMBERS", 3 << 11)
    size, X = 5000, np.linspace(-1.0, 1.0, 8)[:, None]
    columns, cuts = np.zeros((size, 1), dtype=np.int32), np.zeros((size, 1))
    leaves = np.tile(np.array([0, 1], dtype=np.int8), (size, 1))
    assert gpu_votes.tree_votes(X, columns, cuts, leaves, 2, "cpu").tolist() == [[size, 0]] * 4 + [[0, size]] * 4


@given(
    seed=SEEDS,
    size=st.integers(1, 20),
    rows=st.sampled_from([1, 3, 5]),
    features=st.integers(1, 6),
    points=st.integers(0, 15),
    kind=st.sampled_from(["ordinary", "ties", "cancelling", "huge", "tiny"]),
)
@settings(max_examples=50, deadline=None)
def test_votes_of_linear_classifiers(seed: int, size: int, rows: int, features: int, points: int, kind: str) -> None:
    generator = np.random.default_rng(seed)
    weights, biases = generator.normal(size=(size, rows, features)), generator.normal(size=(size, rows))
    X = generator.normal(size=(points, features)) * (generator.random((points, features)) < 0.7)
    if kind == "ties":
        weights, biases, X = np.rint(weights), np.rint(biases), np.rint(X)
    elif kind == "cancelling":  # scores that are nothing but rounding
        biases = np.zeros_like(biases)
        weights[..., -1] = -weights[..., :-1].sum(axis=-1)
        X = np.repeat(X[:, :1], features, axis=1)
        weights[:, 1:] = weights[:, :1] * (1.0 + 2.0**-52)
    elif kind == "huge":
        weights, X = weights * 1e200, X * 1e200
    elif kind == "tiny":  # products below the normal range
        weights, X, biases = weights * 2.0**-537, X * 2.0**-537, np.rint(biases) * 2.0**-1074
    committee = Planes(weights, biases)
    expected = committee.counts(X)
    found = gpu_votes.linear_votes(X, weights, biases, committee.labels, "cpu")
    assert found.dtype == expected.dtype
    assert (found == expected).all()


def test_doubtful_scores_alone_are_summed_up_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is far from the border takes no loop over the columns."""
    anew: list[int] = []
    in_order = gpu_votes._in_order

    def noted(*given: Any) -> Any:
        anew.append(len(given[3]))
        return in_order(*given)

    monkeypatch.setattr(gpu_votes, "_in_order", noted)
    generator = np.random.default_rng(0)
    X, weights = generator.normal(size=(50, 4)), generator.normal(size=(30, 1, 4))
    X[7] = 0.0  # on the border of all
    found = gpu_votes.linear_votes(X, weights, np.zeros((30, 1)), 2, "cpu")
    assert anew == [30]
    assert found[7].tolist() == [30, 0]
