"""Rectangles kept as edges vote as rectangles do one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from support.committees import NUMBERS, Parts, assert_same_votes, by_loop, kept_and_read, partition, queries, tables

from pcqr.data.records import InMemory
from pcqr.errors import DataError
from pcqr.hypotheses import Rectangles, rectangles
from pcqr.hypotheses.committees import Members, committee_from_arrays, trained
from pcqr.hypotheses.rectangles import EMPTY, Boxes, Rectangle


@given(tables(2))
@settings(max_examples=150)
def test_the_votes_are_those_of_rectangles_that_learn_one_by_one(case: tuple[InMemory, Parts]) -> None:
    records, parts = case
    committee, members = trained(Rectangles(), records, parts), by_loop(Rectangles(), records, parts)
    assert isinstance(committee, Boxes)
    assert_same_votes(committee, members, queries(records.X))
    assert_same_votes(kept_and_read(committee), members, queries(records.X))


@given(tables(2), st.data())
@settings(max_examples=50)
def test_another_record_changes_one_vote_at_most(case: tuple[InMemory, Parts], data: st.DataObject) -> None:
    records, parts = case
    place = data.draw(st.integers(0, records.size - 1))
    X, y = records.X.copy(), records.y.copy()
    X[place], y[place] = data.draw(NUMBERS), 1 - y[place]
    asked = queries(np.concatenate((records.X, X)))
    before, after = (trained(Rectangles(), each, parts).counts(asked) for each in (records, InMemory(X, y)))
    assert (before.sum(axis=1) == len(parts)).all()
    assert (np.abs(after - before).sum(axis=1) <= 2).all(), "one vote, from one label to the other"


def test_a_teacher_that_fails_casts_a_fixed_vote(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = rectangles._count

    def fail_on_some(X: Any, *others: Any) -> Any:
        if X[0, 0] < 2:
            raise MemoryError
        return counted(X, *others)

    monkeypatch.setattr(rectangles, "_count", fail_on_some)
    records, parts = InMemory(np.arange(10.0).reshape(5, 2), np.ones(5)), [np.array([j]) for j in range(5)]
    committee = trained(Rectangles(), records, parts)
    assert_same_votes(committee, by_loop(Rectangles(), records, parts), queries(records.X))
    assert committee.counts(np.array([[4.0, 5.0]])).tolist() == [[1, 4]]


class Contrary(Rectangles):
    """A class with a learner of its own."""

    def learn(self, X: ArrayLike, y: ArrayLike) -> Rectangle:  # noqa: ARG002
        return EMPTY


def test_a_learner_of_its_own_is_asked_teacher_by_teacher() -> None:
    committee = trained(Contrary(), InMemory(np.ones((2, 2)), [1, 1]), partition(2, 2, seed=0))
    assert isinstance(committee, Members)
    assert committee.counts(np.ones((1, 2))).tolist() == [[2, 0]]


def arrays() -> dict[str, NDArray[Any]]:
    """A box, a half-plane and an empty set."""
    inf = math.inf
    edges = np.array([[0.25, 1.25, -3.5, 2.5], [-inf, inf, 777.5, inf], [inf, -inf, inf, -inf]])
    return {"kind": np.array("boxes"), "edges": edges}


DAMAGES: dict[str, NDArray[Any]] = {
    "no boxes": np.zeros((0, 4)),
    "three edges": np.zeros((2, 3)),
    "a row": np.zeros(4),
    "an edge that is no number": np.array([[0.25, math.nan, -3.5, 2.5]]),
    "integers": np.zeros((2, 4), dtype=np.int64),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_arrays_that_no_committee_gave_are_refused_without_a_word_about_them(damage: str) -> None:
    with pytest.raises(DataError) as caught:
        committee_from_arrays(arrays() | {"edges": DAMAGES[damage]})
    assert not any(character.isdigit() for character in str(caught.value))
