"""What every committee must pass: the votes of the loop, in every way that it can be made and kept."""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.data.records import InMemory, Records
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.hypotheses.committees import Committee, Members, committee_from_arrays, train_one
from pcqr.privacy.entropy import SeededEntropy
from support.line import EXTREME_VALUES

Parts = list[NDArray[np.int64]]

NUMBERS = (
    st.integers(-3, 3).map(float) | st.sampled_from((*EXTREME_VALUES, -0.0)) | st.floats(-10, 10, allow_subnormal=True)
)
"""Ties, both zeros, neighbouring, subnormal and huge numbers."""


def tables(columns: int, labels: int = 2, most: int = 12) -> st.SearchStrategy[tuple[InMemory, Parts]]:
    """Records with such columns, and a partition of them: any number of parts, from one to one a record."""
    row = st.tuples(*[NUMBERS] * columns, st.integers(0, labels - 1))
    rows = st.lists(row, min_size=1, max_size=most)
    return st.builds(_as_records, rows, st.integers(1, most), st.integers(0, 9), st.just(labels))


def _as_records(rows: list[tuple[float, ...]], count: int, seed: int, labels: int) -> tuple[InMemory, Parts]:
    values = np.array(rows)
    records = InMemory(values[:, :-1], values[:, -1].astype(np.int8), labels)
    return records, partition(len(rows), min(count, len(rows)), seed)


def partition(records: int, count: int, seed: int) -> Parts:
    return np.array_split(SeededEntropy(seed).permutation(records), count)


def by_loop(hypotheses: HypothesisClass, records: Records, parts: Sequence[NDArray[np.int64]]) -> Members:
    """The same teachers one by one."""
    return Members([train_one(hypotheses, records.rows(part).gathered()) for part in parts], hypotheses.labels)


def queries(X: Points, seed: int = 0) -> Points:
    """The points themselves, their neighbours among the floats, points between, and the ends of the range."""
    largest = np.finfo(np.float64).max
    with np.errstate(under="ignore"):
        between = 0.5 * X[SeededEntropy(seed).permutation(X.shape[0])] + 0.5 * X
        neighbours = np.nextafter(X, largest), np.nextafter(X, -largest)
    ends = np.broadcast_to(np.array(EXTREME_VALUES)[:, None], (len(EXTREME_VALUES), X.shape[1]))
    return np.concatenate((X, *neighbours, between, ends)) + 0.0


def kept_and_read(committee: Committee) -> Committee:
    """Written to a file without pickled objects, and read again."""
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **committee.arrays())
    file.seek(0)
    return committee_from_arrays(np.load(file, allow_pickle=False))


def assert_same_votes(one: Committee, other: Committee, X: Points) -> None:
    """At once, and row by row."""
    assert (one.size, one.labels) == (other.size, other.labels)
    counts = one.counts(X)
    assert counts.dtype == np.int64
    assert counts.tolist() == other.counts(X).tolist()
    assert [one.counts(row[None, :])[0].tolist() for row in X[:5]] == counts[:5].tolist()
