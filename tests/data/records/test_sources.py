"""A source of records answers every question as the ordered list of its records does: this is the contract."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from pcqr.data.records import Encoded, InMemory, Narrow, Records, source
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.on_device import OnDevice
from pcqr.data.records.parted.engine import Arrays, Layout, Spool
from pcqr.data.records.parted.source import Parted, Selected
from pcqr.data.records.predicates import Leaf, Predicate, Split, evaluate
from pcqr.data.records.vectors import PredicateVectors
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.table import CompactTable
from pcqr.errors import DataError
from pcqr.hypotheses.trees.tree import DecisionTree

PREDICATES = (Predicate(0, 0.5), Predicate(1, -0.25), Predicate(2, 1.5), Predicate(1, 1.0))
MAP = FeatureMap(
    PredicateVectors.of(PREDICATES, 3, np.random.default_rng(1).normal(size=(50, 3))), Ferns(PREDICATES, 2, 3), 100
)
TREE = DecisionTree(Split(PREDICATES[0], Leaf(0), Split(PREDICATES[1], Leaf(2), Leaf(1))), 3)


class Halves(Records):
    """A back end that knows no more than it must: two arrays, one after the other."""

    def __init__(self, first: InMemory, second: InMemory) -> None:
        self._parts = first, second
        self.size, self.width, self.labels = first.size + second.size, first.width, first.labels

    def blocks(self, rows: int) -> itertools.chain[tuple[NDArray[np.float64], NDArray[np.int8]]]:
        return self.gathered().blocks(rows)  # type: ignore[return-value]

    def rows(self, positions: source.Positions) -> Records:
        return self.gathered().rows(positions)

    def relabelled(self, labelling: source.Labelling) -> Records:
        return Halves(*(part.relabelled(labelling) for part in self._parts))

    def kept(self) -> Records:
        return Halves(*(part.kept() for part in self._parts))

    def gathered(self) -> InMemory:
        first, second = self._parts
        return InMemory(np.concatenate([first.X, second.X]), np.concatenate([first.y, second.y]), self.labels)


def table(seed: int, count: int, labels: int = 2) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Multiples of an eighth, which short floats have exactly."""
    generator = np.random.default_rng(seed)
    X = np.round(8.0 * generator.normal(scale=1.5, size=(count, 3))) / 8.0 + 0.0
    return X, generator.integers(0, labels, count).astype(np.int8)


def in_memory(X: NDArray[np.float64], y: NDArray[np.int8], labels: int) -> Records:
    return InMemory(X, y, labels)


def in_halves(X: NDArray[np.float64], y: NDArray[np.int8], labels: int) -> Records:
    half = len(y) // 2
    return Halves(InMemory(X[:half], y[:half], labels), InMemory(X[half:], y[half:], labels))


def in_columns(X: NDArray[np.float64], y: NDArray[np.int8], labels: int) -> Records:
    schema = Schema(tuple(Column(f"c{j}") for j in range(X.shape[1])))
    return Encoded(schema.compact({f"c{j}": X[:, j] for j in range(X.shape[1])}), y, labels)


def in_short_numbers(X: NDArray[np.float64], y: NDArray[np.int8], labels: int) -> Records:
    short = X.astype(np.float32)
    assert (short == X).all()
    return Narrow(short, y, labels)


def on_a_device(X: NDArray[np.float64], y: NDArray[np.int8], labels: int) -> Records:
    pytest.importorskip("torch", reason="torch is not installed: pip install pcqr[gpu]")
    return OnDevice(InMemory(X, y, labels), "cpu")


def slice_of(piece: slice, X: NDArray[np.float64], y: NDArray[np.int8], layout: Layout) -> Arrays:
    return layout.arrays(CompactTable(layout.columns, tuple(X[piece].T.copy())), y[piece].copy())


def in_parts(X: NDArray[np.float64], y: NDArray[np.int8], labels: int) -> Records:
    layout = Layout(tuple(Column(f"c{j}") for j in range(X.shape[1])), labels)
    ends = sorted({1, len(y) // 3, len(y) // 2, len(y) - 1, len(y)} - {0})
    pieces = [slice(*ends) for ends in itertools.pairwise([0, *ends])]
    return Parted.held(Spool(), slice_of, pieces, [piece.stop - piece.start for piece in pieces], layout, X, y, layout)


Make = Callable[[NDArray[np.float64], NDArray[np.int8], int], Records]
sources = pytest.mark.parametrize("make", [in_memory, in_halves, in_columns, in_short_numbers, in_parts, on_a_device])


def check_every_question(records: Records, X: NDArray[np.float64], y: NDArray[np.int8], labels: int) -> None:
    """Against plain loops over the rows of `X` and `y`."""
    assert (records.size, records.width, records.labels) == (len(y), X.shape[1], labels)
    held = records.gathered()
    assert held.X.tobytes() == X.tobytes()
    assert held.y.tolist() == y.tolist()
    for rows in (1, 7, 1000):
        points, found = zip(*records.blocks(rows), strict=True)
        assert [len(block) for block in found[:-1]] == [rows] * (len(found) - 1)
        assert np.concatenate(points).tobytes() == X.tobytes()
        assert np.concatenate(found).tolist() == y.tolist()
        answers, found = zip(*records.answers(PREDICATES, rows), strict=True)
        assert (np.concatenate(answers) == evaluate(PREDICATES, X)).all()
        assert np.concatenate(found).tolist() == y.tolist()
    assert records.label_counts().tolist() == [int((y == label).sum()) for label in range(labels)]
    flipped = DecisionTree(Split(PREDICATES[0], Leaf(1), Leaf(0)), 3)
    wrong = [int((tree.predict(X) != y).sum()) for tree in (TREE, flipped)]
    assert records.error_counts((TREE, flipped)).tolist() == wrong
    leaves = [(holds_0, holds_1) for holds_0 in (True, False) for holds_1 in ((True, False) if holds_0 else (None,))]
    asked = evaluate(PREDICATES[:2], X)
    at_leaf = [asked[:, 0] == one if other is None else (asked == (one, other)).all(axis=1) for one, other in leaves]
    inverted = Split(PREDICATES[0], fails=Leaf(0), holds=Split(PREDICATES[1], fails=Leaf(2), holds=Leaf(1)))
    by_hand = [[int((rows & (y == label)).sum()) for label in range(labels)] for rows in at_leaf]
    assert records.leaf_counts(inverted).tolist() == by_hand
    positions = np.random.default_rng(len(y)).integers(0, len(y), 2 * len(y))
    chosen = records.rows(positions).gathered()
    assert (X[positions] == chosen.X).all()
    assert (chosen.y == y[positions]).all()
    relabelled = records.relabelled(TREE).gathered()
    assert relabelled.X.tobytes() == X.tobytes()
    assert (relabelled.y == TREE.predict(X)).all()
    assert records.gathered().y.tolist() == y.tolist(), "the records themselves keep their labels"
    counts, holds = records.conjunctions(PREDICATES, 2), evaluate(PREDICATES, X)
    for members in itertools.chain.from_iterable(itertools.combinations(range(4), size) for size in range(3)):
        (row,) = counts.sets.rows(np.array([members], dtype=np.int64).reshape(1, len(members)))
        inside = y[holds[:, list(members)].all(axis=1)]
        assert counts.table[row].tolist() == [int((inside == label).sum()) for label in range(labels)]
    blocks, bound = 1 if labels == 2 else labels, 1 << 20
    dense = np.arange(blocks * MAP.size, dtype=np.int32).reshape(blocks, MAP.size) << 15
    cells = np.arange(blocks * 8, dtype=np.int32).reshape(blocks, 2, 4) << 17
    singles = [InMemory(X[i : i + 1], y[i : i + 1], labels).gradient_sums(MAP, bound) for i in range(len(y))]
    summed = zip(*(single.total(dense, cells) for single in singles), strict=True)
    for part, each in zip(records.gradient_sums(MAP, bound).total(dense, cells), summed, strict=True):
        assert (part == np.sum(each, axis=0)).all()
    shown = np.concatenate([X[:2], X[:1], X[-1:] + 100.0])
    assert records.coinciding(shown) == 3
    assert str(X.shape[0]) in repr(records)
    assert not any(str(value) in repr(records) for value in (X.ravel()[0], X.ravel()[-1]) if abs(value) > 20)


@sources
@settings(deadline=None, max_examples=12)
@given(seed=st.integers(0, 10**6), count=st.integers(2, 90), labels=st.sampled_from([3, 4]))
def test_the_answers_are_those_of_the_list(make: Make, seed: int, count: int, labels: int) -> None:
    X, y = table(seed, count, labels)
    check_every_question(make(X, y, labels), X, y, labels)


@sources
def test_no_positions_are_a_list_of_none(make: Make) -> None:
    records = make(*table(1, 20, 3), 3)
    nothing = np.empty(0, dtype=np.int64)
    none = records.rows(nothing)
    assert (none.size, none.gathered().X.shape, none.gathered().y.shape) == (0, (0, 3), (0,))
    assert records.part(nothing).size == 0
    assert none.label_counts().tolist() == [0, 0, 0]


def test_sums_over_no_positions_of_parts_are_zero() -> None:
    X, y = table(1, 20, 3)
    records, nothing = in_parts(X, y, 3), np.empty(0, dtype=np.int64)
    assert isinstance(records, Parted)
    assert records.labels_at(nothing).size == 0
    assert records.label_counts(nothing).tolist() == [0, 0, 0]
    assert records.error_counts((TREE,), nothing).tolist() == [0]
    assert records.leaf_counts(TREE.root, nothing).tolist() == [[0] * 3] * 3
    assert not records.conjunctions(PREDICATES, 2, nothing).table.any()
    view = Selected(records, nothing)
    assert (view.size, view.gathered().size, list(view.blocks(7)), list(view.all_labels(7))) == (0, 0, [], [])
    assert [learned.size for learned in records.taught(InMemory.gathered, [nothing])] == [0]


@sources
def test_blocks_change_nothing(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "_MOST_ROWS", 64)
    X, y = table(0, 300, 3)
    check_every_question(make(X, y, 3), X, y, 3)


@sources
def test_what_is_kept_stays_whatever_happens_to_the_callers_arrays(make: Make) -> None:
    X, y = table(2, 40)
    before, labels = X.copy(), y.copy()
    kept = make(X, y, 2).kept()
    X[:], y[:] = 9.0, 0
    assert (before == kept.gathered().X).all()
    assert (kept.gathered().y == labels).all()


def test_a_block_of_points_has_a_bounded_number_of_cells() -> None:
    narrow, wide = InMemory(np.zeros((1, 1)), [0]), InMemory(np.zeros((1, 5000)), [0])
    assert narrow.point_rows == 1 << 16
    assert wide.point_rows % 64 == 0
    assert wide.point_rows * wide.width <= 1 << 22
    assert InMemory(np.zeros((1, 100_000)), [0]).point_rows == 64


@pytest.mark.parametrize(
    ("X", "y", "labels", "told"),
    [
        ([[1.0], [np.nan]], [0, 1], 2, "finite numbers"),
        ([["a"], ["b"]], [0, 1], 2, "a table of numbers"),
        (np.zeros((0, 2)), [], 2, "at least one row"),
        ([[1.0], [2.0]], [0, 2], 2, "labels that are 0 or 1"),
        ([[1.0], [2.0]], [0, 3], 3, "integers from 0 to 2"),
        ([[1.0], [2.0]], [0], 2, "one label for each of the 2 rows"),
        ([[1.0], [2.0]], [[0], [1]], 2, "a vector of labels"),
    ],
)
def test_what_is_no_list_of_records_is_refused_when_the_source_is_made(
    X: object, y: object, labels: int, told: str
) -> None:
    with pytest.raises(DataError, match=told):
        InMemory(X, y, labels)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.uint8, np.int32, np.bool_, ">f4"])
def test_short_numbers_are_the_same_in_float64(kind: str) -> None:
    X = (10.0 * np.random.default_rng(0).normal(size=(70, 3))).astype(np.uint8).astype(kind)
    records = Narrow(X, np.zeros(70, dtype=np.int8))
    assert records.gathered().X.tobytes() == X.astype(np.float64).tobytes()
    assert records.gathered().X.dtype == np.float64
    assert not any(np.shares_memory(block, X) for block, _ in records.blocks(7))


def test_both_short_zeros_are_one_point() -> None:
    records = Narrow(np.array([[-0.0], [0.0]], dtype=np.float32), [0, 1])
    assert not np.signbit(records.gathered().X).any()
    assert not any(np.signbit(X).any() for X, _ in records.blocks(1))


@pytest.mark.parametrize(
    ("X", "y", "told"),
    [
        (np.array([[1.0], [np.nan]], dtype=np.float32), [0, 1], "finite numbers"),
        (np.array([[1.0], [2.0]]), [0, 1], "of at most 32 bits"),
        ([[1.0], [2.0]], [0, 1], "of at most 32 bits"),
        (np.zeros((0, 2), dtype=np.float32), [], "at least one row"),
        (np.zeros(2, dtype=np.float32), [0, 1], "at least one row and one column"),
        (np.zeros((2, 1), dtype=np.float32), [0], "one label for each of the 2 rows"),
    ],
)
def test_what_is_no_list_of_short_records_is_refused(X: NDArray[np.float32], y: list[int], told: str) -> None:
    with pytest.raises(DataError, match=told):
        Narrow(X, y)
