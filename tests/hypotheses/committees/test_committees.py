"""Teachers trained at once and kept as arrays vote as those that learn one by one, exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.committees import NUMBERS, Parts, assert_same_votes, by_loop, kept_and_read, partition, queries, tables
from support.learners import slowly_learned

from pcqr.data.records import Encoded, InMemory
from pcqr.data.schema import Column, Schema
from pcqr.errors import DataError
from pcqr.hypotheses import (
    Halfspaces,
    Intervals,
    Rectangles,
    Stumps,
    Thresholds,
    UnionsOfIntervals,
    halfspaces,
    rectangles,
)
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.committees import Borders, Committee, Members, committee_from_arrays, trained
from pcqr.hypotheses.halfspaces import LINE, Sides
from pcqr.hypotheses.rectangles import Boxes

ON_THE_LINE: tuple[HypothesisClass, ...] = (
    *(Thresholds(), Thresholds("both"), Intervals()),
    *(UnionsOfIntervals(1), UnionsOfIntervals(2), UnionsOfIntervals(9)),
)
DECLARED = (-math.pi, 0.0, 0.1, 0.2, 0.3, 1.0, 2.5, 1e300)
STUMPS: tuple[HypothesisClass, ...] = (Stumps(), Stumps(DECLARED), Stumps([DECLARED, [], [0.5]]), Stumps([]))
"""Of three columns."""
BORDERS: list[tuple[HypothesisClass, int]] = [(each, 1) for each in ON_THE_LINE] + [(each, 3) for each in STUMPS]
PLANE: list[tuple[HypothesisClass, int]] = [(Rectangles(), 2), (Halfspaces(), 2)]
KINDS: dict[type[HypothesisClass], type[Committee]] = {Rectangles: Boxes, Halfspaces: Sides}

Case = tuple[HypothesisClass, tuple[InMemory, Parts]]


def cases(of: list[tuple[HypothesisClass, int]], most: int = 12) -> st.SearchStrategy[Case]:
    return st.sampled_from(of).flatmap(lambda case: st.tuples(st.just(case[0]), tables(case[1], most=most)))


@given(cases(BORDERS, most=9) | cases(PLANE))
@settings(deadline=None, max_examples=250)
def test_the_votes_are_those_of_teachers_that_learn_one_by_one(case: Case) -> None:
    hypotheses, (records, parts) = case
    committee, members = trained(hypotheses, records, parts), by_loop(hypotheses, records, parts)
    assert isinstance(committee, KINDS.get(type(hypotheses), Borders))
    if isinstance(committee, Borders):
        members = Members([slowly_learned(hypotheses, records.X[part], records.y[part]) for part in parts], 2)
        assert [hypotheses.learn(records.X[part], records.y[part]) for part in parts] == list(members.members)
    assert_same_votes(committee, members, queries(records.X))
    assert_same_votes(kept_and_read(committee), members, queries(records.X))


@pytest.mark.parametrize(("hypotheses", "columns"), [*BORDERS, *PLANE], ids=str)
def test_many_records_in_many_groups(hypotheses: HypothesisClass, columns: int) -> None:
    """More rows than are gathered at a time, ties in every part, labels that are mostly those of a threshold."""

    class FewRows(InMemory):
        point_rows = 64

    rng = np.random.default_rng(5)
    X = rng.integers(0, 12 if columns == 2 else 60, size=(600, columns)) / 4.0
    y = ((X[:, -1] > X[:, -1].mean()) ^ (rng.random(600) < 0.2)).astype(np.int8)
    few = FewRows(X, y)
    for count in (1, 7, 150, 600):
        parts = partition(600, count, seed=count)
        committee, loop = trained(hypotheses, few, parts), by_loop(hypotheses, few, parts)
        assert_same_votes(committee, loop, queries(X[:60]))
        assert_same_votes(committee, trained(hypotheses, InMemory(X, y), parts), queries(X[:60]))


@given(cases([*BORDERS, *PLANE]), st.data())
@settings(deadline=None, max_examples=200)
def test_another_record_changes_one_vote_at_most(case: Case, data: st.DataObject) -> None:
    hypotheses, (records, parts) = case
    place = data.draw(st.integers(0, records.size - 1))
    X, y = records.X.copy(), records.y.copy()
    X[place], y[place] = data.draw(NUMBERS), 1 - y[place]
    asked = queries(np.concatenate((records.X, X)))
    before, after = (trained(hypotheses, each, parts).counts(asked) for each in (records, InMemory(X, y)))
    assert (before.sum(axis=1) == len(parts)).all()
    assert (np.abs(after - before).sum(axis=1) <= 2).all(), "one vote, from one label to the other"


@pytest.mark.parametrize(
    ("hypotheses", "module", "step"), [(Rectangles(), rectangles, "_count"), (Halfspaces(), halfspaces, "_score")]
)
def test_a_teacher_that_fails_casts_a_fixed_vote(
    hypotheses: HypothesisClass, module: Any, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = getattr(module, step)

    def fail_on_some(X: Any, *others: Any) -> Any:
        if X[0, 0] < 2:
            raise MemoryError
        return shipped(X, *others)

    monkeypatch.setattr(module, step, fail_on_some)
    records, parts = InMemory(np.arange(10.0).reshape(5, 2), np.ones(5)), [np.array([j]) for j in range(5)]
    committee = trained(hypotheses, records, parts)
    assert_same_votes(committee, by_loop(hypotheses, records, parts), queries(records.X))
    assert committee.counts(np.array([[4.0, 5.0]])).tolist() == [[1, 4]]


def borders() -> dict[str, NDArray[Any]]:
    """Five teachers: borders 1.25, 2.25 and 3.25 in column 0, 777.5 in column 3."""
    columns = np.array([0, 0, 0, 3, 3], dtype=np.int64)
    switches = np.array([[1.25, 2.25], [-math.inf, 3.25], [math.inf] * 2, [777.5, math.inf], [-math.inf] * 2])
    return Borders.of(columns, switches, 4).arrays()


def boxes() -> dict[str, NDArray[Any]]:
    """A box, a half-plane and an empty set."""
    inf = math.inf
    edges = np.array([[0.25, 1.25, -3.5, 2.5], [-inf, inf, 777.5, inf], [inf, -inf, inf, -inf]])
    return {"kind": np.array("boxes"), "edges": edges}


def sides() -> dict[str, NDArray[Any]]:
    """Two lines and two constants."""
    lines = np.array([[0.0, 0.0, 1.25, 0.0], [777.5, 2.0, 777.5, 1.0], [0.0] * 4, [0.0] * 4])
    return {"kind": np.array("sides"), "lines": lines, "constants": np.array([LINE, LINE, 0, 1])}


BORDER_DAMAGES: dict[str, Any] = {
    "another kind of teachers": {"kind": np.array("halfplanes")},
    "a kind that is no text": {"kind": np.array(7)},
    "kinds": {"kind": np.array(["borders"])},
    "fewer teachers than votes": {"size": np.array(1)},
    "fewer than no votes": {"base": np.array(0)},
    "too many votes": {"base": np.array(4)},
    "a size that is no integer": {"size": np.array(5.0)},
    "no teachers": {"size": np.array(0), "base": np.array(0)}
    | dict.fromkeys(("columns", "ones"), np.array([], dtype=int))
    | {"starts": np.array([0]), "borders": np.array([])},
    "a column after the last": {"features": np.array(3)},
    "a column before the first": {"columns": np.array([-1, 3])},
    "columns that are out of order": {"columns": np.array([3, 0])},
    "a column twice": {"columns": np.array([3, 3])},
    "columns in a table": {"columns": np.array([[0, 3]])},
    "a column without borders": {"columns": np.array([0, 1, 3]), "starts": np.array([0, 0, 3, 4])},
    "a start too few": {"starts": np.array([0, 4])},
    "starts that begin later": {"starts": np.array([1, 3, 4])},
    "starts that end earlier": {"starts": np.array([0, 3, 3])},
    "starts that end later": {"starts": np.array([0, 3, 5])},
    "starts so far apart that their differences overflow": {
        "columns": np.arange(4),
        "starts": np.array([0, 2**63 - 1, -(2**63), -1, 4]),
    },
    "starts that turn back": {"columns": np.array([0, 2, 3]), "starts": np.array([0, 5, 3, 4])},
    "a border that is no number": {"borders": np.array([1.25, 2.25, 3.25, math.nan])},
    "a border at the end of the line": {"borders": np.array([1.25, 2.25, 3.25, math.inf])},
    "borders out of order": {"borders": np.array([2.25, 1.25, 3.25, 777.5])},
    "a border twice": {"borders": np.array([1.25, 1.25, 3.25, 777.5])},
    "borders of texts": {"borders": np.array(["a", "b", "c", "d"])},
    "more sums than borders": {"ones": np.array([1, 0, -1, 1, 1])},
    "more borders than sums": {"borders": np.array([1.25, 2.25, 3.25, 777.5, 778.5])},
    "sums with fractions": {"ones": np.array([1.0, 0.0, -1.0, 1.0])},
    "sums above the number of teachers": {"ones": np.array([9, 0, -1, 1])},
    "sums below nothing": {"ones": np.array([1, 0, -9, 1])},
}
BOX_DAMAGES: dict[str, Any] = {
    "no boxes": np.zeros((0, 4)),
    "three edges": np.zeros((2, 3)),
    "a row": np.zeros(4),
    "an edge that is no number": np.array([[0.25, math.nan, -3.5, 2.5]]),
    "integers": np.zeros((2, 4), dtype=np.int64),
}
SIDE_DAMAGES: dict[str, Any] = {
    "no teachers": {"lines": np.zeros((0, 4)), "constants": np.zeros(0, dtype=np.int8)},
    "three numbers": {"lines": np.ones((4, 3))},
    "more lines than teachers": {"lines": np.arange(20.0).reshape(5, 4)},
    "a line that is no number": {"lines": np.array([[0.0, 0.0, 1.25, math.nan], *[[0.0, 1.0, 2.0, 3.0]] * 3])},
    "a line without end": {"lines": np.array([[0.0, 0.0, 1.25, math.inf], *[[0.0, 1.0, 2.0, 3.0]] * 3])},
    "a line from a point to itself": {"constants": np.array([LINE, LINE, LINE, 1])},
    "integers": {"lines": np.arange(16).reshape(4, 4)},
    "another label": {"constants": np.array([LINE, LINE, 0, 2])},
    "labels in a table": {"constants": np.array([[LINE, LINE, 0, 1]])},
    "labels with fractions": {"constants": np.array([-1.0, -1.0, 0.0, 1.0])},
}
DAMAGES: list[tuple[dict[str, NDArray[Any]], str, dict[str, Any]]] = [
    *((borders(), name, damage) for name, damage in BORDER_DAMAGES.items()),
    *((boxes(), name, {"edges": damage}) for name, damage in BOX_DAMAGES.items()),
    *((sides(), name, damage) for name, damage in SIDE_DAMAGES.items()),
]


@pytest.mark.parametrize(("arrays", "name", "damage"), DAMAGES, ids=[name for _, name, _ in DAMAGES])
def test_arrays_that_no_committee_gave_are_refused_without_a_word_about_them(
    arrays: dict[str, NDArray[Any]], name: str, damage: dict[str, Any]
) -> None:
    committee_from_arrays(arrays)
    with pytest.raises(DataError) as caught:
        committee_from_arrays(arrays | damage)
    assert not any(character.isdigit() for character in str(caught.value)), name


def test_borders_at_both_ends_of_the_numbers_are_read_again() -> None:
    """Their difference overflows, and a warning would tell of it."""
    committee = Borders.of(np.zeros(2, dtype=np.int64), np.array([[-1.5e308], [1.5e308]]), 1)
    assert_same_votes(kept_and_read(committee), committee, np.array([[-1.6e308], [0.0], [1.6e308]]))


def test_an_encoded_table_is_taught_as_its_matrix() -> None:
    rng = np.random.default_rng(0)
    schema = Schema((Column("age", bounds=(18, 90), missing=True), Column("job", "categorical", ["nurse", "cook"])))
    table = {"age": rng.integers(10, 99, 300), "job": rng.choice(["nurse", "cook"], 300)}
    y = ((table["age"] > 50) ^ (rng.random(300) < 0.1)).astype(np.int8)
    encoded = Encoded(schema.compact(table), y)
    dense = encoded.gathered()
    for hypotheses in (Stumps(), Stumps([0.5, 30.0, 50.0])):
        parts = partition(300, 20, seed=1)
        committee = trained(hypotheses, encoded, parts)
        assert_same_votes(committee, by_loop(hypotheses, dense, parts), dense.X)


def test_a_switch_counts_where_x_is_above_it() -> None:
    columns = np.array([0, 0, 0, 2], dtype=np.int64)
    switches = np.array([[1.0, 2.0], [-math.inf, 1.0], [math.inf, math.inf], [5.0, math.inf]])
    committee = Borders.of(columns, switches, 3)
    X = np.array([[1.0, 9.0, 5.0], [1.5, 9.0, 5.0], [2.0, 9.0, 5.5], [2.5, 9.0, 0.0]])
    assert committee.counts(X)[:, 1].tolist() == [1, 1, 2, 0]
    assert committee.counts(X).sum(axis=1).tolist() == [4] * 4
    assert committee.borders.tolist() == [1.0, 2.0, 5.0]
