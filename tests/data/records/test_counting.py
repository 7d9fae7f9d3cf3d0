"""Counts of conjunctions: equal to naive counting for every set, whatever the blocks."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.data.records import counting
from pcqr.data.records.counting import MOST_RECORDS, ConjunctionCounts, RankedSets, count_conjunctions
from pcqr.errors import DataError

Table = tuple[NDArray[np.bool_], NDArray[np.int8]]


@st.composite
def tables(draw: st.DrawFn, predicates: int, classes: int) -> Table:
    """Up to 200 records, so that a class can fill several 64-bit words, one exactly, a part of one, or none."""
    records = draw(st.sampled_from([1, 2, 63, 64, 65, 130, 200]))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    holds = generator.random((records, predicates)) < generator.random(predicates)
    used = draw(st.integers(1, classes))
    return holds, generator.integers(0, used, records).astype(np.int8)


def assert_counts(counts: ConjunctionCounts, holds: NDArray[np.bool_], y: NDArray[np.int8]) -> None:
    """Every set of at most `depth` predicates, and every node that it makes, against the records themselves."""
    assert counts.records == y.size
    for size in range(counts.depth + 1):
        sets = counts.sets.of_size(size)
        assert [tuple(row) for row in sets.tolist()] == sorted(
            itertools.combinations(range(holds.shape[1]), size), key=lambda members: members[::-1]
        )
        nodes = counts.of_nodes(sets)
        for k, members in enumerate(sets.tolist()):
            row = counts.table[counts.sets.start[size] + k]
            assert row.tolist() == naive(np.all(holds[:, members], axis=1), y, counts.classes)
            for signs in range(1 << size):
                wanted = [bool(signs >> j & 1) for j in range(size)]
                reached = (holds[:, members] == wanted).all(axis=1)
                assert nodes[k, signs].tolist() == naive(reached, y, counts.classes)


def naive(reached: NDArray[np.bool_], y: NDArray[np.int8], classes: int) -> list[int]:
    return [int((reached & (y == label)).sum()) for label in range(classes)]


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_counts_equal_naive_counting(data: st.DataObject) -> None:
    predicates, depth, classes = (
        data.draw(st.integers(1, 6)),
        data.draw(st.integers(1, 4)),
        data.draw(st.integers(2, 4)),
    )
    holds, y = data.draw(tables(predicates, classes))
    assert_counts(count_conjunctions([(holds, y)], predicates, classes, depth), holds, y)


@settings(deadline=None, max_examples=20)
@given(st.data())
def test_blocks_and_sums_count_what_one_block_does(data: st.DataObject) -> None:
    holds, y = data.draw(tables(5, 3))
    cuts = sorted(data.draw(st.lists(st.integers(0, y.size), max_size=3)))
    parts = [(holds[a:b], y[a:b]) for a, b in itertools.pairwise([0, *cuts, y.size])]
    whole = count_conjunctions([(holds, y)], 5, 3, 3)
    streamed = count_conjunctions(iter(parts), 5, 3, 3)
    added = count_conjunctions([], 5, 3, 3)
    for part in parts:
        added = added + count_conjunctions([part], 5, 3, 3)
    assert (streamed.table == whole.table).all()
    assert (added.table == whole.table).all()


def test_shares_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(0)
    block = generator.random((100, 7)) < 0.5, generator.integers(0, 2, 100).astype(np.int8)
    whole = count_conjunctions([block], 7, 2, 4)
    monkeypatch.setattr(counting, "_LEAST_STEPS", 1)
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    assert (count_conjunctions([block], 7, 2, 4).table == whole.table).all()


def test_counts_of_another_shape_or_too_many_records_do_not_add() -> None:
    block = np.ones((2, 3), dtype=bool), np.array([0, 1], dtype=np.int8)
    counts = count_conjunctions([block], 3, 2, 2)
    for other in (count_conjunctions([block], 3, 2, 1), count_conjunctions([block], 3, 3, 2)):
        with pytest.raises(DataError, match="another shape"):
            counts + other
    many = ConjunctionCounts(1, 1, np.array([[MOST_RECORDS - 1, 0], [0, 0]], dtype=np.int32))
    one = ConjunctionCounts(1, 1, np.array([[0, 1], [0, 1]], dtype=np.int32))
    assert (many + one).records == MOST_RECORDS
    with pytest.raises(DataError, match="at most 2,147,483,647 rows"):
        many + one + one


def test_counts_do_not_show_themselves() -> None:
    counts = count_conjunctions([(np.ones((777, 1), dtype=bool), np.zeros(777, dtype=np.int8))], 1, 2, 1)
    assert repr(counts) == "ConjunctionCounts(1 predicates, depth 1)"


def test_the_rank_of_a_set_is_its_row() -> None:
    sets = RankedSets(7, 4)
    for size in range(5):
        rows = sets.rows(sets.of_size(size))
        assert rows.tolist() == list(range(sets.start[size], sets.start[size + 1]))


def test_records_are_counted_over_all_blocks_before_counts_could_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """32-bit counts would wrap around: each block may fit while all of them do not."""
    monkeypatch.setattr(counting, "MOST_RECORDS", 100)
    block = np.ones((50, 2), dtype=np.bool_), np.zeros(50, dtype=np.int8)
    assert count_conjunctions([block, block], 2, 2, 1).records == 100
    with pytest.raises(DataError, match="100 rows"):
        count_conjunctions([block, block, (block[0][:1], block[1][:1])], 2, 2, 1)
    whole = count_conjunctions([block, block], 2, 2, 1)
    with pytest.raises(DataError, match="100 rows"):
        whole + count_conjunctions([(block[0][:1], block[1][:1])], 2, 2, 1)
