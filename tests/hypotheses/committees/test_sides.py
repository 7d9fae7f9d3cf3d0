"""Half-planes kept as directed lines vote as half-planes do one by one, exactly."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.committees import NUMBERS, Parts, assert_same_votes, by_loop, kept_and_read, partition, queries, tables

from pcqr.data.records import InMemory
from pcqr.errors import DataError
from pcqr.hypotheses import Halfspaces, halfspaces
from pcqr.hypotheses.committees import committee_from_arrays, trained
from pcqr.hypotheses.halfspaces import LINE, Sides


@given(tables(2))
@settings(max_examples=60)
def test_the_votes_are_those_of_half_planes_that_learn_one_by_one(case: tuple[InMemory, Parts]) -> None:
    records, parts = case
    committee, members = trained(Halfspaces(), records, parts), by_loop(Halfspaces(), records, parts)
    assert isinstance(committee, Sides)
    assert_same_votes(committee, members, queries(records.X))
    assert_same_votes(kept_and_read(committee), members, queries(records.X))


def test_many_records_in_many_groups() -> None:
    """On a grid, where many queries lie on the lines of many teachers."""

    class FewRows(InMemory):
        point_rows = 64

    rng = np.random.default_rng(5)
    X = rng.integers(0, 12, size=(600, 2)) / 4.0
    y = ((X.sum(axis=1) > 3) ^ (rng.random(600) < 0.2)).astype(np.int8)
    records = FewRows(X, y)
    for count in (1, 7, 150, 600):
        parts = partition(600, count, seed=count)
        assert_same_votes(trained(Halfspaces(), records, parts), by_loop(Halfspaces(), records, parts), queries(X[:60]))


@given(tables(2), st.data())
@settings(max_examples=50)
def test_another_record_changes_one_vote_at_most(case: tuple[InMemory, Parts], data: st.DataObject) -> None:
    records, parts = case
    place = data.draw(st.integers(0, records.size - 1))
    X, y = records.X.copy(), records.y.copy()
    X[place], y[place] = data.draw(NUMBERS), 1 - y[place]
    asked = queries(np.concatenate((records.X, X)))
    before, after = (trained(Halfspaces(), each, parts).counts(asked) for each in (records, InMemory(X, y)))
    assert (before.sum(axis=1) == len(parts)).all()
    assert (np.abs(after - before).sum(axis=1) <= 2).all(), "one vote, from one label to the other"


def test_a_teacher_that_fails_casts_a_fixed_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    scored = halfspaces._score

    def fail_on_some(X: Any, *others: Any) -> Any:
        if X[0, 0] < 2:
            raise MemoryError
        return scored(X, *others)

    monkeypatch.setattr(halfspaces, "_score", fail_on_some)
    records, parts = InMemory(np.arange(10.0).reshape(5, 2), np.ones(5)), [np.array([j]) for j in range(5)]
    committee = trained(Halfspaces(), records, parts)
    assert_same_votes(committee, by_loop(Halfspaces(), records, parts), records.X)
    assert committee.counts(np.array([[4.0, 5.0]])).tolist() == [[1, 4]]


def arrays() -> dict[str, NDArray[Any]]:
    """Two lines and two constants."""
    lines = np.array([[0.0, 0.0, 1.25, 0.0], [777.5, 2.0, 777.5, 1.0], [0.0] * 4, [0.0] * 4])
    return {"kind": np.array("sides"), "lines": lines, "constants": np.array([LINE, LINE, 0, 1])}


DAMAGES: dict[str, dict[str, NDArray[Any]]] = {
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


@pytest.mark.parametrize("damage", DAMAGES)
def test_arrays_that_no_committee_gave_are_refused_without_a_word_about_them(damage: str) -> None:
    with pytest.raises(DataError) as caught:
        committee_from_arrays(arrays() | DAMAGES[damage])
    assert not any(character.isdigit() for character in str(caught.value))
