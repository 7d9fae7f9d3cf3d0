"""Teachers on the line and stumps, trained at once and kept as borders, vote as those that learn one by one."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.committees import Parts, assert_same_votes, by_loop, kept_and_read, partition, queries, tables
from support.learners import slowly_learned

from pcqr.data.records import InMemory
from pcqr.errors import DataError
from pcqr.hypotheses import Intervals, Stumps, Thresholds, UnionsOfIntervals
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.committees import Borders, Members, committee_from_arrays, trained

ON_THE_LINE: tuple[HypothesisClass, ...] = (
    *(Thresholds(), Thresholds("both"), Intervals()),
    *(UnionsOfIntervals(1), UnionsOfIntervals(2), UnionsOfIntervals(9)),
)
DECLARED = (-math.pi, 0.0, 0.1, 0.2, 0.3, 1.0, 2.5, 1e300)
STUMPS: tuple[HypothesisClass, ...] = (Stumps(), Stumps(DECLARED), Stumps([DECLARED, [], [0.5]]), Stumps([]))
"""Of three columns."""
CASES = [(hypotheses, 1) for hypotheses in ON_THE_LINE] + [(hypotheses, 3) for hypotheses in STUMPS]


def slowly_trained(hypotheses: HypothesisClass, records: InMemory, parts: Parts) -> Members:
    members = [slowly_learned(hypotheses, records.X[part], records.y[part]) for part in parts]
    return Members(members, 2)


@given(st.sampled_from(CASES).flatmap(lambda case: st.tuples(st.just(case[0]), tables(case[1], most=9))))
@settings(deadline=None, max_examples=150)
def test_the_votes_are_those_of_slow_learners_one_by_one(case: tuple[HypothesisClass, tuple[InMemory, Parts]]) -> None:
    hypotheses, (records, parts) = case
    committee, members = trained(hypotheses, records, parts), slowly_trained(hypotheses, records, parts)
    assert isinstance(committee, Borders)
    learned = [hypotheses.learn(records.X[part], records.y[part]) for part in parts]
    assert learned == list(members.members)
    assert_same_votes(committee, members, queries(records.X))
    assert_same_votes(kept_and_read(committee), members, queries(records.X))


@pytest.mark.parametrize(("hypotheses", "columns"), CASES, ids=str)
def test_many_records_in_many_groups(hypotheses: HypothesisClass, columns: int) -> None:
    """More rows than are gathered at a time, ties in every part, labels that are mostly those of a threshold."""

    class FewRows(InMemory):
        point_rows = 64

    rng = np.random.default_rng(5)
    X = rng.integers(0, 60, size=(600, columns)) / 4.0
    y = ((X[:, -1] > 7) ^ (rng.random(600) < 0.2)).astype(np.int8)
    few = FewRows(X, y)
    for count in (1, 7, 150, 600):
        parts = partition(600, count, seed=count)
        committee, loop = trained(hypotheses, few, parts), by_loop(hypotheses, few, parts)
        assert_same_votes(committee, loop, queries(X[:60]))
        assert_same_votes(committee, trained(hypotheses, InMemory(X, y), parts), queries(X[:60]))


@given(st.sampled_from(CASES).flatmap(lambda case: st.tuples(st.just(case[0]), tables(case[1]))), st.data())
@settings(deadline=None, max_examples=100)
def test_another_record_changes_one_vote_at_most(
    case: tuple[HypothesisClass, tuple[InMemory, Parts]], data: st.DataObject
) -> None:
    hypotheses, (records, parts) = case
    place = data.draw(st.integers(0, records.size - 1))
    X, y = records.X.copy(), records.y.copy()
    X[place], y[place] = data.draw(st.floats(-20, 20)), 1 - y[place]
    asked = queries(np.concatenate((records.X, X)))
    before, after = (trained(hypotheses, each, parts).counts(asked) for each in (records, InMemory(X, y)))
    assert (before.sum(axis=1) == len(parts)).all()
    assert (np.abs(after - before).sum(axis=1) <= 2).all(), "one vote, from one label to the other"


def arrays() -> dict[str, NDArray[Any]]:
    """Five teachers: borders 1.25, 2.25 and 3.25 in column 0, 777.5 in column 3."""
    columns = np.array([0, 0, 0, 3, 3], dtype=np.int64)
    switches = np.array([[1.25, 2.25], [-math.inf, 3.25], [math.inf] * 2, [777.5, math.inf], [-math.inf] * 2])
    return Borders.of(columns, switches, 4).arrays()


DAMAGES: dict[str, Any] = {
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


@pytest.mark.parametrize("damage", DAMAGES)
def test_arrays_that_no_committee_gave_are_refused_without_a_word_about_them(damage: str) -> None:
    assert committee_from_arrays(arrays()).counts(np.array([[2.0, 0.0, 0.0, 800.0]])).tolist() == [[2, 3]]
    with pytest.raises(DataError) as caught:
        committee_from_arrays(arrays() | DAMAGES[damage])
    assert not any(character.isdigit() for character in str(caught.value))


def test_borders_at_both_ends_of_the_numbers_are_read_again() -> None:
    """Their difference overflows, and a warning would tell of it."""
    committee = Borders.of(np.zeros(2, dtype=np.int64), np.array([[-1.5e308], [1.5e308]]), 1)
    assert_same_votes(kept_and_read(committee), committee, np.array([[-1.6e308], [0.0], [1.6e308]]))
