"""GroupedRecords behind sums over records: each counts as much as one record, with all its rows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.data.records import GroupedRecords, InMemory
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.gradient_sums import GradientSums
from pcqr.data.records.predicates import Leaf, Predicate, Split, leaves_of, leaves_reached
from pcqr.data.records.user_level import MOST_PERSONS, WHOLE, row_weights
from pcqr.data.records.vectors import ColumnVectors
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.privacy.entropy import SeededEntropy
from pcqr.progress import Progress, reporting

CUTS = (Predicate(0, 0.5), Predicate(0, 1.5), Predicate(1, 0.5))
TREES = (
    DecisionTree(Split(CUTS[0], Leaf(0), Leaf(1)), 2),
    DecisionTree(Split(CUTS[2], Leaf(1), Split(CUTS[1], Leaf(0), Leaf(1))), 2),
    DecisionTree(Leaf(1), 2),
)
MAP = FeatureMap(
    ColumnVectors(centres=(0.0, 0.0), scales=(3.0, 5.0), constant=7, features=2),
    Ferns(CUTS[:2], depth=2, features=2),
    128,
)
BOUND = 1 << 10

Row = tuple[tuple[float, float], int]
User = tuple[Row, ...]
ROWS: tuple[Row, ...] = tuple(((float(a), float(b)), c) for a in (0, 2) for b in (0, 1) for c in (0, 1))
TINY: tuple[User, ...] = (
    *((row,) for row in ROWS),
    *itertools.product(ROWS[::3], repeat=2),
    *itertools.product(ROWS[::5], repeat=3),
    (*ROWS,) * 3,
    (ROWS[0],) * 63 + (ROWS[3],) * 37,
    (ROWS[1],) * 200,
)


def made(user_level: list[User], *, mixed: bool = False, most: int = 1) -> GroupedRecords:
    """One source of all; `mixed`: the rows of different persons in turns."""
    rows = [(row, number) for number, user in enumerate(user_level) for row in user]
    if mixed:
        rows.sort(key=lambda entry: (entry[0], entry[1]))
        rows = [*rows[::2], *rows[1::2]]
    X = [row[0] for row, _ in rows]
    return GroupedRecords(InMemory(X, [row[1] for row, _ in rows]), np.array([number for _, number in rows]), most)


@given(st.lists(st.integers(1, 300), min_size=1, max_size=8), st.integers(1, WHOLE))
def test_the_weights_of_each_person_are_even_and_add_up_to_a_whole_at_most(counts: list[int], most: int) -> None:
    found = row_weights(np.array(counts), most)
    for count, weights in zip(counts, np.split(found, np.cumsum(counts)[:-1]), strict=True):
        share = WHOLE * min(count, most) // most
        assert weights.size == count
        assert 1 <= weights.sum() == share <= WHOLE
        assert set(weights.tolist()) <= {share // count, -(-share // count)}
    assert [int(weights.sum()) for weights in np.split(row_weights(np.array(counts)), np.cumsum(counts)[:-1])] == [
        WHOLE
    ] * len(counts)


def test_eta_is_divided_exactly() -> None:
    assert math.frexp(WHOLE)[0] == 0.5


def shares(user: User) -> list[Fraction]:
    count = len(user)
    return [
        Fraction(math.floor(Fraction(WHOLE * (j + 1), count)) - math.floor(Fraction(WHOLE * j, count)))
        for j in range(count)
    ]


@pytest.mark.parametrize("mixed", [False, True])
def test_every_sum_is_that_of_a_loop_over_persons(mixed: bool) -> None:
    user_level: list[User] = [*TINY[:20], TINY[-3], TINY[-2]]
    records = made(user_level, mixed=mixed)
    assert (records.size, records.width, records.labels, records.whole) == (len(user_level), 2, 2, WHOLE)
    if mixed:  # the order of a person's rows is that of the table: only what does not depend on it is compared
        user_level = [user for user in user_level if len(user) in (1, 2)]
        records = made(user_level, mixed=True)
    weighted = [(row, share) for user in user_level for row, share in zip(user, shares(user), strict=True)]
    labels = [sum(share for (_, label), share in weighted if label == wanted) for wanted in (0, 1)]
    assert records.label_counts().tolist() == labels
    assert sum(labels) == WHOLE * len(user_level)
    X, y = np.array([row[0] for row, _ in weighted]), np.array([row[1] for row, _ in weighted])
    wrong = [
        sum(share for (_, share), is_wrong in zip(weighted, tree.predict(X) != y, strict=True) if is_wrong)
        for tree in TREES
    ]
    assert records.error_counts(TREES).tolist() == wrong
    at_leaves = [[0, 0] for _ in leaves_of(TREES[0].root)]
    places = [place for x in X for place, (rows, _) in enumerate(leaves_reached(TREES[0].root, x[None])) if rows.size]
    for place, ((_, label), share) in zip(places, weighted, strict=True):
        at_leaves[place][label] += int(share)
    assert records.leaf_counts(TREES[0].root).tolist() == at_leaves
    counts = records.conjunctions(CUTS, 2)
    assert counts.records == WHOLE * len(user_level)
    for size in range(3):
        for members in itertools.combinations(range(3), size):
            (row,) = counts.sets.rows(np.array([members], dtype=np.int64).reshape(1, size))
            found = [
                sum(
                    share
                    for (x, label), share in weighted
                    if label == wanted and all(x[CUTS[j].feature] > CUTS[j].cut for j in members)
                )
                for wanted in (0, 1)
            ]
            assert counts.table[row].tolist() == found


def linear_total(user_level: list[User], weights: np.ndarray, most: int = 1) -> np.ndarray:
    dense, cells = np.split(weights, [MAP.size])
    parts = made(user_level, most=most).gradient_sums(MAP, BOUND).total(dense.reshape(1, -1), cells.reshape(1, 1, 4))
    return np.concatenate([part.reshape(-1) for part in parts])


@pytest.mark.parametrize("most", [1, 3, WHOLE])
def test_what_a_person_adds_to_each_sum_is_no_more_than_what_a_record_adds(most: int) -> None:
    """Over all tiny persons, some with more rows than weights: counts by 1, leads by 2M, vectors of norm M."""
    others: list[User] = [TINY[0], TINY[9], TINY[25]]
    bases = [made([*others, user], most=most) for user in TINY]
    ones = [int(records.label_counts()[1]) // WHOLE for records in bases]
    assert max(ones) - min(ones) == 1
    error_counts = np.array([records.error_counts(TREES) for records in bases])
    assert (np.ptp(error_counts, axis=0) <= WHOLE).all()
    assert np.ptp(error_counts, axis=0).max() == WHOLE
    at_leaves = np.array([records.leaf_counts(TREES[0].root) for records in bases])
    moved = np.abs(at_leaves[:, None] - at_leaves[None]).sum(axis=(2, 3))
    assert moved.max() == 2 * WHOLE if most == 1 else moved.max() <= 2 * WHOLE
    pairs = itertools.permutations(range(len(TREES)), 2)
    leads = [
        [BOUND * int(each) // WHOLE for each in error_counts[:, one] - error_counts[:, other]] for one, other in pairs
    ]
    assert all(max(lead) - min(lead) <= 2 * BOUND for lead in leads)
    generator = np.random.default_rng(0)
    for scale in (0, 1 << 18, 1 << 24):
        weights = generator.integers(-scale, scale + 1, MAP.size + 4).astype(np.int32)
        vectors = [linear_total([user], weights, most) for user in TINY]
        norms = [int((vector.astype(object) ** 2).sum()) for vector in vectors]
        assert max(norms) <= BOUND**2
        if scale == 0 and most == 1:  # all slopes are full
            assert max(norms) > 0.9 * BOUND**2
        together = linear_total([TINY[3], TINY[-2]], weights, most)
        assert (together == vectors[3] + vectors[-2]).all()


def test_the_mean_of_equal_rows_is_nearly_the_row() -> None:
    weights = np.zeros(MAP.size + 4, dtype=np.int32)
    one, many = (linear_total([(ROWS[7],) * count], weights) for count in (1, 50))
    assert (np.abs(one - many) <= 50 + abs(one) // 50).all()


def test_records_of_one_row_each_are_weighed_without_a_trace() -> None:
    X, y = np.random.default_rng(1).normal(size=(40, 2)), np.arange(40) % 2
    plain = InMemory(X, y)
    records = GroupedRecords(plain, np.arange(40))
    dense = np.arange(MAP.size, dtype=np.int32).reshape(1, -1) << 18
    cells = np.arange(4, dtype=np.int32).reshape(1, 1, 4) << 18
    for found, expected in zip(
        records.gradient_sums(MAP, BOUND).total(dense, cells),
        plain.gradient_sums(MAP, BOUND).total(dense, cells),
        strict=True,
    ):
        assert (found == expected).all()
    assert (records.conjunctions(CUTS, 2).table == WHOLE * plain.conjunctions(CUTS, 2).table).all()


def test_persons_at_positions_bring_all_their_rows() -> None:
    records = made([TINY[0], TINY[20], TINY[-3], TINY[1]])
    chosen = records.rows(np.array([2, 0]))
    assert (chosen.size, chosen.rows(np.array([1])).part(np.array([0])).X.tolist()) == (2, [list(TINY[0][0][0])])
    part = chosen.part(np.array([1, 0]))
    expected = [*TINY[0], *TINY[-3]]
    assert part.X.tolist() == [list(x) for x, _ in expected]
    assert part.y.tolist() == [label for _, label in expected]


def test_one_row_each_is_a_row_of_each_by_coins_whose_number_is_public() -> None:
    user_level: list[User] = [
        tuple(((float(number), float(row)), 0) for row in range(number + 1)) for number in range(5)
    ]
    records = made(user_level)
    seen, firsts = [set[float]() for _ in user_level], set[float]()
    entropy = SeededEntropy(3)
    for _ in range(200):
        one = records.one_each(entropy).gathered()
        assert sorted(one.X[:, 0].tolist()) == [0.0, 1.0, 2.0, 3.0, 4.0]
        for number, row in one.X.tolist():
            seen[int(number)].add(row)
        firsts.add(float(one.X[0, 0]))
    assert [len(rows) for rows in seen] == [1, 2, 3, 4, 5]
    assert firsts == {0.0, 1.0, 2.0, 3.0, 4.0}, "in a secret order: ids, which number persons, must not decide ties"


def test_what_adds_up_rows_without_weights_is_refused() -> None:
    records = made([TINY[0], TINY[20]])
    asked: tuple[Callable[[], object], ...] = (
        records.gathered,
        lambda: records.blocks(5),
        lambda: list(records.answers((), 5)),
    )
    for ask in asked:
        with pytest.raises(ParameterError, match="not proved for persons"):
            ask()
    from pcqr.hypotheses import Stumps

    with pytest.raises(ParameterError, match="not proved for persons"):
        Stumps(cuts=[0.5]).draw_on(records, 0.1, entropy=0)


def test_a_source_of_persons_shows_how_many_there_are_and_nothing_of_rows() -> None:
    assert (
        repr(made([TINY[0], TINY[-1]]))
        == repr(made([TINY[1], TINY[2]]))
        == "GroupedRecords(2 persons, 2 columns, 2 labels)"
    )


def test_progress_does_not_tell_rows() -> None:
    told: list[list[Progress]] = []
    for user_level in ([TINY[0], TINY[1]], [TINY[-1], TINY[-2]]):
        heard: list[Progress] = []
        with reporting(heard.append):
            made(list(user_level)).conjunctions(CUTS, 2)
        told.append(heard)
    assert told[0] == told[1]


def test_numbers_of_persons_are_checked() -> None:
    rows = InMemory([1.0, 2.0], [0, 1])
    for numbers in ([0], [0, 2], [-1, 0], [0, 1, 1]):
        with pytest.raises((DataError, ValueError)):
            GroupedRecords(rows, np.array(numbers))
    assert MOST_PERSONS * WHOLE < 2**31


def test_relabelled_and_kept_persons_are_the_same_persons() -> None:
    user_level: list[User] = [TINY[20], TINY[3], TINY[-3]]
    records = made(user_level)
    for again in (records.kept(), records.relabelled(TREES[2])):
        assert again.size == 3
        assert (again.part(np.array([2])).X == records.part(np.array([2])).X).all()
    assert records.relabelled(TREES[2]).label_counts().tolist() == [0, 3 * WHOLE]
    assert isinstance(records.gradient_sums(MAP, BOUND), GradientSums)
