"""Trees that are taught at once and kept as arrays vote as those that learn one by one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray
from support.committees import NUMBERS, Parts, assert_same_votes, by_loop, kept_and_read, partition, queries, tables

from pcqr.data.records import InMemory
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.committees import Members, committee_from_arrays, trained
from pcqr.hypotheses.trees import DecisionTree, Leaf, Predicate
from pcqr.hypotheses.trees import committee as committees
from pcqr.hypotheses.trees.committee import TreeCommittee

COLUMNS = 2
Case = tuple[DecisionTrees, tuple[InMemory, Parts]]


def binary(predicates: int, **others: Any) -> DecisionTrees:
    """Trees that ask columns of zeros and ones."""
    return DecisionTrees(predicates=tuple(Predicate(j, 0.5) for j in range(predicates)), **others)


def cases(*depths: int | None) -> st.SearchStrategy[Case]:
    """Any questions, some of them twice or with answers that others imply, two labels or three."""
    predicate = st.builds(Predicate, st.integers(0, COLUMNS - 1), NUMBERS)
    asked = st.lists(predicate, min_size=1, max_size=4).map(tuple)
    classes = st.builds(DecisionTrees, st.sampled_from(depths), labels=st.integers(2, 3), predicates=asked)
    return classes.flatmap(lambda hypotheses: st.tuples(st.just(hypotheses), tables(COLUMNS, hypotheses.labels)))


@pytest.fixture
def never_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is trained alone counts as not trained at once."""

    def refuse(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(committees, "train_one", refuse)


@pytest.mark.usefixtures("never_alone")
@pytest.mark.parametrize("depth", [1, 2, 3])
@given(st.data())
def test_the_votes_are_those_of_trees_that_learn_one_by_one(depth: int, data: st.DataObject) -> None:
    hypotheses, (records, parts) = data.draw(cases(depth))
    committee, members = trained(hypotheses, records, parts), by_loop(hypotheses, records, parts)
    assert isinstance(committee, TreeCommittee)
    assert_same_votes(committee, members, queries(records.X))
    assert_same_votes(kept_and_read(committee), members, queries(records.X))


@pytest.mark.usefixtures("never_alone")
@pytest.mark.parametrize(("depth", "labels"), [(1, 2), (1, 5), (2, 2), (2, 5), (3, 2), (3, 5)])
def test_many_records_in_many_groups(depth: int, labels: int) -> None:
    """More rows than are gathered at a time; parts with several words of records of a label; labels with a pattern."""

    class FewRows(InMemory):
        point_rows = 512

    rng = np.random.default_rng(depth)
    X = rng.integers(0, 2, size=(1_500, 9)).astype(np.float64)
    signal = (X[:, 3] * (1 + X[:, 5]) + X[:, 8]).astype(np.int64) % labels
    y = np.where(rng.random(1_500) < 0.3, rng.integers(0, labels, 1_500), signal)
    hypotheses, records = binary(9, depth=depth, labels=labels), FewRows(X, y, labels)
    for count in (1, 4, 150):
        parts = partition(1_500, count, seed=count)
        committee = trained(hypotheses, records, parts)
        assert_same_votes(committee, by_loop(hypotheses, records, parts), np.unique(X, axis=0))


@given(cases(1, 2), st.data())
@settings(max_examples=60)
def test_another_record_changes_one_vote_at_most(case: Case, data: st.DataObject) -> None:
    hypotheses, (records, parts) = case
    place = data.draw(st.integers(0, records.size - 1))
    X, y = records.X.copy(), records.y.copy()
    X[place], y[place] = data.draw(NUMBERS), (y[place] + 1) % hypotheses.labels
    asked = queries(np.concatenate((records.X, X)))
    other = InMemory(X, y, hypotheses.labels)
    before, after = (trained(hypotheses, each, parts).counts(asked) for each in (records, other))
    assert (before.sum(axis=1) == len(parts)).all()
    assert (np.abs(after - before).sum(axis=1) <= 2).all(), "one vote, from one label to another"


def changing(records: int) -> DecisionTrees:
    """A class whose trees are deeper on so many records than on one more."""
    open_depth = binary(4, deepest=2)
    return replace(open_depth, operations=open_depth.cost(records, 2))


def test_parts_that_differ_by_a_record_may_differ_in_depth() -> None:
    hypotheses = changing(10)
    assert (hypotheses.depth_for(10), hypotheses.depth_for(11)) == (2, 1)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (105, 4)).astype(np.float64)
    records, parts = InMemory(X, X[:, 0].astype(int) ^ X[:, 1].astype(int)), partition(105, 10, seed=0)
    committee = trained(hypotheses, records, parts)
    assert_same_votes(committee, by_loop(hypotheses, records, parts), np.unique(X, axis=0))
    leaves = committee.arrays()["leaves"]
    assert {tuple(row) for row in leaves.tolist()} >= {(0, 1, 1, 0)}, "the parts of ten records find the pattern"


def test_parts_that_the_learner_refuses_cast_the_fixed_vote() -> None:
    hypotheses = binary(4, depth=1)
    hypotheses = replace(hypotheses, operations=hypotheses.cost(10, 1))
    with pytest.raises(ParameterError):
        hypotheses.depth_for(11)
    X = np.ones((105, 4))
    records, parts = InMemory(X, np.ones(105)), partition(105, 10, seed=0)
    committee = trained(hypotheses, records, parts)
    assert committee.counts(X[:1]).tolist() == [[5, 5]]
    assert_same_votes(committee, by_loop(hypotheses, records, parts), X[:3])


class Contrary(DecisionTrees):
    """A class with a learner of its own."""

    def learn(self, X: ArrayLike, y: ArrayLike) -> DecisionTree:
        found = super().learn(X, y)
        return DecisionTree(Leaf(1), found.features)


def test_a_learner_of_its_own_is_asked_teacher_by_teacher() -> None:
    hypotheses = Contrary(depth=1, predicates=(Predicate(0, 0.5),))
    committee = trained(hypotheses, InMemory([0.0, 1.0, 2.0], [0, 0, 0]), partition(3, 3, seed=0))
    assert isinstance(committee, Members)
    assert committee.counts(np.array([[0.0]])).tolist() == [[0, 3]]


def arrays() -> dict[str, NDArray[Any]]:
    """Two trees of depth 2 on two columns, with three labels."""
    return {
        "kind": np.array("trees"),
        "labels": np.array(3),
        "features": np.array(2),
        "columns": np.array([[0, 1, 1], [1, 0, 0]]),
        "cuts": np.array([[0.25, 777.5, -3.5], [1.5, 0.5, 2.5]]),
        "leaves": np.array([[0, 1, 2, 0], [2, 2, 1, 0]]),
    }


DAMAGES: dict[str, dict[str, NDArray[Any]]] = {
    "one label": {"labels": np.array(1), "leaves": np.zeros((2, 4), dtype=np.int8)},
    "more labels than fit": {"labels": np.array(128)},
    "labels with a fraction": {"labels": np.array(3.0)},
    "several numbers of labels": {"labels": np.array([3])},
    "no columns": {"features": np.array(0), "columns": np.zeros((2, 3), dtype=np.int64)},
    "more columns than fit": {"features": np.array(2**31)},
    "a column before the first": {"columns": np.array([[0, 1, -1], [1, 0, 0]])},
    "a column after the last": {"columns": np.array([[0, 1, 2], [1, 0, 0]])},
    "columns with fractions": {"columns": np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])},
    "a cut that is no number": {"cuts": np.array([[0.25, math.nan, -3.5], [1.5, 0.5, 2.5]])},
    "a cut without end": {"cuts": np.array([[0.25, math.inf, -3.5], [1.5, 0.5, 2.5]])},
    "cuts for one tree": {"cuts": np.array([[0.25, 777.5, -3.5]])},
    "cuts in a row": {"cuts": np.array([0.25, 777.5, -3.5])},
    "a label below the first": {"leaves": np.array([[0, 1, 2, 0], [2, 2, -1, 0]])},
    "a label above the last": {"leaves": np.array([[0, 1, 3, 0], [2, 2, 1, 0]])},
    "leaves for three trees": {"leaves": np.zeros((3, 4), dtype=np.int8)},
    "too few leaves": {"leaves": np.zeros((2, 2), dtype=np.int8)},
    "no power of two": {
        "columns": np.zeros((2, 2), dtype=np.int64),
        "cuts": np.zeros((2, 2)),
        "leaves": np.zeros((2, 3), dtype=np.int8),
    },
    "no questions": {
        "columns": np.zeros((2, 0), dtype=np.int64),
        "cuts": np.zeros((2, 0)),
        "leaves": np.zeros((2, 1), dtype=np.int8),
    },
    "no trees": {
        "columns": np.zeros((0, 3), dtype=np.int64),
        "cuts": np.zeros((0, 3)),
        "leaves": np.zeros((0, 4), dtype=np.int8),
    },
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_arrays_that_no_committee_gave_are_refused_without_a_word_about_them(damage: str) -> None:
    with pytest.raises(DataError) as caught:
        committee_from_arrays(arrays() | DAMAGES[damage])
    assert not any(character.isdigit() for character in str(caught.value))
