"""Records with weights: every sum is that of weighted rows, and no record counts more than one (proofs/weights.md)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from math import floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcqr.data.records import GroupedRecords, InMemory
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.predicates import Leaf, Predicate, Split, leaves_of, leaves_reached
from pcqr.data.records.user_level import MOST_WEIGHTED, WHOLE, WeighedRows, Weighted, weighed
from pcqr.data.records.vectors import ColumnVectors
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.progress import Progress, reporting

CUTS = (Predicate(0, 0.5), Predicate(0, 1.5), Predicate(1, 0.5))
TREE = DecisionTree(Split(CUTS[2], Leaf(1), Split(CUTS[1], Leaf(0), Leaf(1))), 2)
TREES = (TREE, DecisionTree(Leaf(1), 2))
MAP = FeatureMap(
    ColumnVectors(centres=(0.0, 0.0), scales=(3.0, 5.0), constant=7, features=2),
    Ferns(CUTS[:2], depth=2, features=2),
    128,
)
BOUND = 1 << 10

Row = tuple[tuple[float, float], int, float]
"""A point, its label and its weight."""
ROWS: tuple[Row, ...] = tuple(
    ((float(a), float(b)), label, weight)
    for a, b, label, weight in itertools.product((0, 1, 2), (0, 1), (0, 1), (0.0, 0.3, 0.5, 1.0))
)

A_ROW = st.tuples(st.sampled_from([x for x, _, _ in ROWS]), st.integers(0, 1), st.floats(0.0, 1.0))


def made(rows: list[Row], by_label: tuple[int, int] = (WHOLE, WHOLE)) -> Weighted:
    X, y, weights = zip(*rows, strict=True)
    return Weighted(InMemory(X, y), by_label, np.array(weights))


def units(rows: list[Row], by_label: tuple[int, int]) -> list[int]:
    """The nearest whole number, of two the even one."""
    return [round(weight * by_label[label]) for _, label, weight in rows]


def check_sums(records: WeighedRows, rows: list[Row], weights: list[int]) -> None:
    """Every sum against a plain one over the rows."""
    X, y = np.array([x for x, _, _ in rows]), [label for _, label, _ in rows]
    wrong = [sum(w for w, a, b in zip(weights, tree.predict(X), y, strict=True) if a != b) for tree in TREES]
    assert records.error_counts(TREES).tolist() == wrong
    at_leaves = [[0, 0] for _ in leaves_of(TREE.root)]
    for x, label, weight in zip(X, y, weights, strict=True):
        (place,) = (place for place, (found, _) in enumerate(leaves_reached(TREE.root, x[None])) if found.size)
        at_leaves[place][label] += weight
    assert records.leaf_counts(TREE.root).tolist() == at_leaves
    counts = records.conjunctions(CUTS, 2)
    for members in itertools.chain.from_iterable(itertools.combinations(range(3), size) for size in range(3)):
        (row,) = counts.sets.rows(np.array([members], dtype=np.int64).reshape(1, len(members)))
        held = [all(x[CUTS[j].feature] > CUTS[j].cut for j in members) for x in X]
        expected = [
            sum(w for w, label, holds in zip(weights, y, held, strict=True) if holds and label == k) for k in (0, 1)
        ]
        assert counts.table[row].tolist() == expected


@settings(deadline=None, max_examples=60)
@given(
    st.lists(A_ROW, min_size=1),
    st.tuples(st.integers(1, WHOLE), st.integers(1, WHOLE)),
)
def test_every_sum_is_that_of_a_loop_over_records(rows: list[Row], by_label: tuple[int, int]) -> None:
    records = made(rows, by_label)
    assert (records.size, records.width, records.labels, records.whole) == (len(rows), 2, 2, WHOLE)
    assert records.class_weights == by_label
    found = units(rows, by_label)
    assert all(0 <= weight <= WHOLE for weight in found)
    check_sums(records, rows, found)
    labels = [label for _, label, _ in rows]
    assert records.label_counts().tolist() == [WHOLE * labels.count(k) for k in (0, 1)], "of records, not of weights"
    chosen = np.arange(len(rows))[::2]
    check_sums(records.rows(chosen), rows[::2], found[::2])
    check_sums(records.kept(), rows, found)


def slow_weights(found: list[int], most: int) -> list[int]:
    """Of a person whose rows would count so much by themselves."""
    share, of = WHOLE * min(len(found), most) // most, WHOLE * len(found)
    upto = [sum(found[:place]) for place in range(len(found) + 1)]
    return [floor(Fraction(share * b, of)) - floor(Fraction(share * a, of)) for a, b in itertools.pairwise(upto)]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from([x for x, _, _ in ROWS]), st.integers(0, 1), st.floats(0.0, 1.0)), min_size=1
        ),
        min_size=1,
        max_size=5,
    ),
    st.tuples(st.integers(1, WHOLE), st.integers(1, WHOLE)),
    st.sampled_from([1, 3, WHOLE]),
)
def test_rows_of_persons_have_weights_of_their_own(
    user_level: list[list[Row]], by_label: tuple[int, int], most: int
) -> None:
    rows = [row for user in user_level for row in user]
    numbers = np.repeat(np.arange(len(user_level)), [len(user) for user in user_level])
    X, y, weights = zip(*rows, strict=True)
    plain = GroupedRecords(InMemory(X, y), numbers, most, np.array(weights))
    records = plain.weighed(by_label)
    by_person = [slow_weights(units(user, by_label), most) for user in user_level]
    assert all(min(found) >= 0 and sum(found) <= WHOLE for found in by_person)
    check_sums(records, rows, [weight for found in by_person for weight in found])
    assert (records.label_counts() == GroupedRecords(InMemory(X, y), numbers).label_counts()).all()
    backwards = np.arange(len(user_level))[::-1]
    check_sums(
        records.rows(backwards),
        [row for user in user_level[::-1] for row in user],
        [weight for found in by_person[::-1] for weight in found],
    )
    assert plain.class_weights is None


def vector(row: Row, by_label: tuple[int, int], weights: np.ndarray) -> np.ndarray:
    dense, cells = np.split(weights, [MAP.size])
    parts = made([row], by_label).gradient_sums(MAP, BOUND).total(dense.reshape(1, -1), cells.reshape(1, 1, 4))
    return np.concatenate([part.reshape(-1) for part in parts]).astype(object)


@pytest.mark.parametrize("by_label", [(WHOLE, WHOLE), (2, WHOLE), (WHOLE, 1)])
def test_a_replaced_record_moves_each_sum_by_no_more_than_one_without_weights(by_label: tuple[int, int]) -> None:
    """Over all tiny records, of all weights, for fixed weights of labels."""
    others = [ROWS[3], ROWS[17]]
    tables = [made([*others, row], by_label) for row in ROWS]
    error_counts = np.array([records.error_counts(TREES) for records in tables])
    assert np.ptp(error_counts, axis=0).max() == WHOLE
    leads = error_counts[:, 0] - error_counts[:, 1]
    assert np.ptp(leads) <= 2 * WHOLE
    at_leaves = np.array([records.leaf_counts(TREE.root) for records in tables])
    moved = np.abs(at_leaves[:, None] - at_leaves[None]).sum(axis=(2, 3)).max()
    assert moved == 2 * WHOLE, "two records of full weight of one label, in two leaves"
    labels = np.array([records.label_counts() for records in tables])
    assert np.ptp(labels[:, 1]) == WHOLE
    generator = np.random.default_rng(0)
    for scale in (0, 1 << 18, 1 << 24):
        weights = generator.integers(-scale, scale + 1, MAP.size + 4).astype(np.int32)
        for row, found in zip(ROWS, [vector(row, by_label, weights) for row in ROWS], strict=True):
            norm = int((found**2).sum())
            (part,) = units([row], by_label)
            assert norm * WHOLE**2 <= (BOUND * part) ** 2
            if scale == 0 and part == WHOLE:  # all slopes are full
                assert norm > 0.9 * BOUND**2


def test_weights_of_one_leave_no_trace() -> None:
    X, y = np.random.default_rng(1).normal(size=(40, 2)), np.arange(40) % 2
    plain = InMemory(X, y)
    records = Weighted(plain, by_row=np.ones(40))
    dense = np.arange(MAP.size, dtype=np.int32).reshape(1, -1) << 18
    cells = np.arange(4, dtype=np.int32).reshape(1, 1, 4) << 18
    sums = (source.gradient_sums(MAP, BOUND).total(dense, cells) for source in (records, plain))
    for found, expected in zip(*sums, strict=True):
        assert (found == expected).all()
    assert (records.conjunctions(CUTS, 2).table == WHOLE * plain.conjunctions(CUTS, 2).table).all()
    assert records.coinciding(X[:3]) == 3


def test_records_of_no_weight_count_nothing_and_are_still_there() -> None:
    records = made([(x, label, 0.0) for x, label, _ in ROWS])
    assert records.size == len(ROWS)
    assert records.error_counts(TREES).tolist() == [0, 0]
    assert not records.conjunctions(CUTS, 2).table.any()


def test_weighing_again_replaces_the_weights_of_labels_alone() -> None:
    records = made(list(ROWS), (3, WHOLE))
    again = weighed(records, (WHOLE, 5))
    assert again.class_weights == (WHOLE, 5)
    assert (again.error_counts(TREES) == made(list(ROWS), (WHOLE, 5)).error_counts(TREES)).all()
    plain = weighed(InMemory([1.0, 2.0], [0, 1]), (1, WHOLE))
    assert isinstance(plain, Weighted)
    assert plain.class_weights == (1, WHOLE)


def test_what_adds_up_records_without_weights_is_refused() -> None:
    records = made(list(ROWS))
    asked: tuple[Callable[[], object], ...] = (
        records.gathered,
        lambda: records.blocks(5),
        lambda: list(records.answers((), 5)),
        lambda: records.part(np.array([0])),
        lambda: records.relabelled(TREE),
    )
    for ask in asked:
        with pytest.raises(ParameterError, match="not proved for records with weights"):
            ask()
    with pytest.raises(ParameterError, match="records that count one each"):
        Weighted(records)


@pytest.mark.parametrize("by_label", [(0, WHOLE), (WHOLE + 1, 1), (1,), (1, 1, 1), (0.5, 1)])
def test_weights_of_labels_are_checked(by_label: tuple[int, ...]) -> None:
    with pytest.raises(ParameterError, match="class_weight"):
        Weighted(InMemory([1.0, 2.0], [0, 1]), by_label)


@pytest.mark.parametrize("by_row", [[0.5], [0.5, 1.1], [-0.1, 1.0], [np.nan, 1.0], [[0.5], [0.5]]])
def test_weights_of_rows_are_checked_without_a_word_of_them(by_row: list[float]) -> None:
    with pytest.raises(DataError, match=r"a number from 0 to 1 for each row; received others\.$"):
        Weighted(InMemory([1.0, 2.0], [0, 1]), by_row=np.array(by_row))
    assert MOST_WEIGHTED * WHOLE < 2**31


def test_progress_and_repr_do_not_tell_weights() -> None:
    told: list[list[Progress]] = []
    for rows in (list(ROWS), [(x, label, 1.0) for x, label, _ in ROWS]):
        heard: list[Progress] = []
        with reporting(heard.append):
            made(rows).conjunctions(CUTS, 2)
        told.append(heard)
    assert told[0] == told[1]
    assert repr(made(list(ROWS))) == "Weighted(48 records, 2 columns, 2 labels)"
