"""In one pass or one by one: which, and that nobody could tell by the votes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray
from support.committees import assert_same_votes, by_loop, partition, queries

from pcqr.data.records import InMemory
from pcqr.hypotheses import DecisionTrees, Finite, Halfspaces, Intervals, Rectangles, Stumps, Thresholds
from pcqr.hypotheses.base import Labels, Points
from pcqr.hypotheses.committees import Arrays, Borders, Members, groups, trained
from pcqr.hypotheses.thresholds import Threshold
from pcqr.hypotheses.trees import Predicate
from pcqr.progress import Progress, reporting

X = np.random.default_rng(0).random((60, 1))
RECORDS = InMemory(X, (X[:, 0] > 0.5).astype(np.int8))
PARTS = partition(60, 9, seed=0)
TREES = DecisionTrees(depth=2, predicates=(Predicate(0, 0.3), Predicate(0, 0.5)))


class LearnsOtherwise(Thresholds):
    """Each teacher cuts at its largest record."""

    def learn(self, X: ArrayLike, y: ArrayLike) -> Threshold:  # noqa: ARG002
        return Threshold(float(np.max(X)))


class LearnsByName(Thresholds):
    """A subclass with a method of its own that is not `learn`."""

    def named(self) -> str:
        return "thresholds"


class TeachesOtherwise(LearnsOtherwise):
    """And can do it at once."""

    def learn_parts(self, X: Points, y: Labels, ends: NDArray[np.int64]) -> Arrays:  # noqa: ARG002
        starts = np.append(0, ends[:-1])
        return {"switches": np.maximum.reduceat(X[:, 0], starts)[:, None]}


class LearnsAnew(TeachesOtherwise):
    """The last word is this one's."""

    def learn(self, X: ArrayLike, y: ArrayLike) -> Threshold:  # noqa: ARG002
        return Threshold(float(np.min(X)))


@pytest.mark.parametrize(
    ("hypotheses", "kind"),
    [
        (Thresholds(), Borders),
        (LearnsByName(), Borders),
        (TeachesOtherwise(), Borders),
        (LearnsOtherwise(), Members),
        (LearnsAnew(), Members),
        (Finite((Threshold(0.2), Threshold(0.5))), Members),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),
)
def test_a_class_that_learns_in_a_way_of_its_own_is_asked_teacher_by_teacher(hypotheses: Any, kind: type) -> None:
    committee = trained(hypotheses, RECORDS, PARTS)
    assert type(committee) is kind
    assert_same_votes(committee, by_loop(hypotheses, RECORDS, PARTS), queries(X))


class Strange:
    """What somebody else's hypothesis may say of a point."""

    def __init__(self, labels: ArrayLike) -> None:
        self.labels = np.asarray(labels)

    def predict(self, X: Points) -> Any:
        return np.resize(self.labels, X.shape[0])


@pytest.mark.parametrize("labels", [[0, 1, 7], [0, -1], [0.0, np.nan], [0.5, 1.0], ["0", "1"], [None, 1]], ids=str)
@pytest.mark.parametrize("hypotheses", [Thresholds(), Intervals(), Stumps(), TREES], ids=repr)
def test_labels_that_do_not_exist_make_only_those_teachers_fail_that_see_them(hypotheses: Any, labels: Any) -> None:
    records = RECORDS.relabelled(Strange(labels))
    alone = [np.array([place]) for place in range(60)]
    for parts in (alone, PARTS):
        assert_same_votes(trained(hypotheses, records, parts), by_loop(hypotheses, records, parts), queries(X))


def groups_of(sizes: list[int], rows: int) -> Iterator[list[int]]:
    parts = [np.arange(size) for size in sizes]
    return ([part.size for part in group] for group in groups(parts, rows))


def test_groups_are_neighbours_with_so_many_rows_and_one_part_at_least() -> None:
    assert list(groups_of([3, 3, 3, 2, 2], 6)) == [[3, 3], [3, 2], [2]]
    assert list(groups_of([3, 3], 6)) == [[3, 3]]
    assert list(groups_of([9, 9, 8], 6)) == [[9], [9], [8]]
    assert list(groups_of([1], 64)) == [[1]]


@pytest.mark.parametrize(
    ("hypotheses", "steps"),
    [
        *((Rectangles(), 9), (Halfspaces(), 9), (DecisionTrees(depth=1), 9), (DecisionTrees(), 9)),
        *((replace(TREES, depth=4), 9), (TREES, 1), (Stumps(), 1)),
    ],
    ids=str,
)
def test_progress_is_told_of_every_teacher_where_each_takes_its_time(hypotheses: Any, steps: int) -> None:
    told: list[Progress] = []
    plane = InMemory(np.column_stack((X, X[::-1])), RECORDS.y)
    with reporting(told.append):
        committee = trained(hypotheses, plane, PARTS)
    assert told == [Progress("teachers", done, steps) for done in range(steps + 1)]
    assert_same_votes(committee, by_loop(hypotheses, plane, PARTS), queries(plane.X))


def test_a_listener_that_breaks_off_is_no_failure_of_a_teacher() -> None:
    def stop(_: object) -> None:
        raise ValueError("enough")

    for hypotheses in (Thresholds(), LearnsOtherwise()):
        with reporting(stop), pytest.raises(ValueError, match="enough"):
            trained(hypotheses, RECORDS, PARTS)


@pytest.mark.parametrize("labels", [[False, True], [0.0, 1.0], np.array([1, 0], dtype=np.uint64)], ids=str)
def test_labels_of_another_type_are_labels(labels: Any) -> None:
    records = RECORDS.relabelled(Strange(labels))
    committee = trained(Intervals(), records, PARTS)
    assert isinstance(committee, Borders)
    assert_same_votes(committee, by_loop(Intervals(), records, PARTS), queries(X))
