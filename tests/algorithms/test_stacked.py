"""A linear classifier beside a tree: the run against its parts, what a neighbour moves, the stated figures, and what it learns."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from pcqr.algorithms.stacked import check_stacked, may_use_empirical_bayes, most_coordinates, stacked, stacked_guarantee
from pcqr.planning.classifiers.stacked import plan_stacked
from support.either import BUDGETS, COLUMNS, MAP, PREDICATES, TREES, bits, exact_delta, request_for
from support.releases import Forbidden

from pcqr.accounting import BoundedRangeEvent, Event, PureEvent, Repeated, compose
from pcqr.algorithms import sspp as drawing
from pcqr.algorithms import stacked as module
from pcqr.algorithms.empirical_bayes import EmpiricalBayes
from pcqr.algorithms.linear import descend, shape_of
from pcqr.algorithms.sspp import sspp
from pcqr.entropy import SeededEntropy
from pcqr.errors import DataError, ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree
from pcqr.mechanisms.fine_gaussian import fine_gaussian_epsilon
from pcqr.plan import DrawStage, LinearStage, StackedStage
from pcqr.planning.classifiers.linear import plan_linear
from pcqr.planning.classifiers.recipes import plain
from pcqr.progress import Progress, reporting
from pcqr.records import InMemory, Persons, Records
from pcqr.records.arrays import Points
from pcqr.records.branching import Leaf, Node, Split
from pcqr.records.directions import Directions
from pcqr.records.feature_map import FeatureMap
from pcqr.records.ferns import Ferns
from pcqr.records.gradient_sums import GRID
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import ColumnVectors, PredicateVectors

DELTA, COUNT = 1e-6, PureEvent(0.03)
PUBLIC = bits(300)
SEEN = FeatureMap(PredicateVectors.of(PREDICATES, COLUMNS, PUBLIC, 0.4), None, 256)
FERNED = FeatureMap(MAP.dense, Ferns((*PREDICATES, PREDICATES[0]), 2, COLUMNS), 128)
MAPS: dict[str, tuple[FeatureMap, Points | None]] = {
    "no public rows": (MAP, None),
    "public rows": (MAP, PUBLIC),
    "a posterior": (SEEN, PUBLIC),
    "ferns": (FERNED, None),
    "ferns and public rows": (FERNED, PUBLIC),
}
EACH_MAP = pytest.mark.parametrize("name", MAPS)
ROOT = Split(PREDICATES[0], Leaf(0), Split(PREDICATES[3], Leaf(0), Leaf(1)))


def plan_for(
    records: int, epsilon: float, delta: float = DELTA, features: FeatureMap = MAP, public: Points | None = None
) -> StackedStage:
    return plan_stacked(request_for(records, epsilon, delta), TREES, features, delta, 0.3, public=public)


def crossed(records: int) -> InMemory:
    X = bits(records)
    return InMemory(X, (X[:, 0] != X[:, 1]).astype(np.int8))


def majority(records: int) -> InMemory:
    X = bits(records)
    return InMemory(X, (X.sum(axis=1) > 2).astype(np.int8))


# The run --------------------------------------------------------------------------------------------------------------


def wider_by(tree: DecisionTree, X: Points) -> NDArray[np.float64]:
    return np.column_stack([X, tree.predict(X)])


def in_parts(
    features: FeatureMap, X: Points, records: Any, plan: StackedStage, seed: int, public: Points | None
) -> tuple[DecisionTree, LinearClassifier]:
    """The tree, and then a linear classifier on a table that has one more column: what the tree says. `records` are made of tables.

    On the noise that the run has.
    """
    entropy = SeededEntropy(seed)
    tree = sspp(replace(TREES, depth=plan.depth), records(X), None, DrawStage(plan.tree), entropy)
    assert isinstance(tree, DecisionTree)
    shown = None if public is None else wider_by(tree, public)
    dense = PredicateVectors.of((*PREDICATES, Predicate(COLUMNS, 0.5)), COLUMNS + 1, shown, plan.whitening)
    ferns = None if features.ferns is None else replace(features.ferns, features=COLUMNS + 1)
    flat = FeatureMap(dense, ferns, features.share)
    linear = replace(plan.linear, dense=flat.size)
    evidence = EmpiricalBayes(flat, shown) if linear.is_empirical_bayes else None
    return tree, descend(flat, records(wider_by(tree, X)), linear, entropy, evidence=evidence)


def check_parts(found: LinearClassifier, tree: DecisionTree, linear: LinearClassifier) -> None:
    assert found.feature_map.tree == tree.simplified().root
    assert replace(found.feature_map, tree=None) == linear.feature_map
    assert (found.weights, found.scales, found.cells) == (linear.weights, linear.scales, linear.cells)


@EACH_MAP
@pytest.mark.parametrize("seed", [1, 5])
def test_a_run_is_its_parts_on_the_same_noise(name: str, seed: int) -> None:
    features, public = MAPS[name]
    records = crossed(1_000)
    plan = plan_for(1_000, 4.0, features=features, public=public)
    assert plan.linear.is_empirical_bayes is (name == "a posterior")
    plan = replace(plan, tree=0.01)  # so that η shows
    tree, linear = in_parts(features, records.X, lambda X: InMemory(X, records.y), plan, seed, public)
    found = stacked(TREES, features, records, plan, SeededEntropy(seed), public=public)
    check_parts(found, tree, linear)
    assert found == stacked(TREES, features, records, plan, SeededEntropy(seed), public=public)
    assert (found.predict(records.X) == linear.predict(wider_by(tree, records.X))).all()


@pytest.mark.parametrize("public", [None, PUBLIC], ids=["no public rows", "public rows"])
@pytest.mark.parametrize("features", [MAP, FERNED], ids=["predicates", "ferns"])
def test_three_classes_have_two_more_coordinates(features: FeatureMap, public: Points | None) -> None:
    """The run against a tree, and then a linear classifier on a table whose last column is the tree's label."""
    X = bits(900)
    y = (X[:, 0] + (X[:, 0] != X[:, 1])).astype(np.int8)  # needs two columns at once
    trees, records = replace(TREES, labels=3), InMemory(X, y, 3)
    request = replace(request_for(900, 6.0, DELTA), hypotheses=trees)
    plan = plan_stacked(request, trees, features, DELTA, 0.3, public=public)
    assert stacked_guarantee(plan, trees, COLUMNS, DELTA).within(6.0, DELTA)
    assert plan.linear.dense == most_coordinates(features, 3) == most_coordinates(features) + 1
    entropy = SeededEntropy(3)
    tree = sspp(replace(trees, depth=plan.depth), records, None, DrawStage(plan.tree), entropy)
    assert isinstance(tree, DecisionTree)
    asked = (*PREDICATES, Predicate(COLUMNS, 0.5), Predicate(COLUMNS, 1.5))
    shown = None if public is None else wider_by(tree, public)
    dense = PredicateVectors.of(asked, COLUMNS + 1, shown, plan.whitening)
    ferns = None if features.ferns is None else replace(features.ferns, features=COLUMNS + 1)
    flat = FeatureMap(dense, ferns, features.share)
    linear = descend(flat, InMemory(wider_by(tree, X), y, 3), replace(plan.linear, dense=flat.size), entropy)
    found = stacked(trees, features, records, plan, SeededEntropy(3), public=public)
    check_parts(found, tree, linear)
    assert (found.predict(X) == y).mean() > 0.9


def test_the_temperature_and_the_depth_are_the_plans() -> None:
    """At η = 0 trees are drawn blindly, at a large one it is the best: trees of several coins, at their own depth."""
    records, plan = crossed(400), plan_for(400, 8.0)
    cold = {stacked(TREES, MAP, records, replace(plan, tree=9.0), SeededEntropy(s)).feature_map.tree for s in range(4)}
    hot = [stacked(TREES, MAP, records, replace(plan, tree=0.0), SeededEntropy(s)).feature_map.tree for s in range(4)]
    for tree in cold:
        assert tree is not None
        assert (DecisionTree(tree, COLUMNS).predict(records.X) == records.y).all()
    assert len(set(hot)) > 1
    shallow = stacked(TREES, MAP, records, replace(plan, tree=9.0, depth=1), SeededEntropy(0)).feature_map.tree
    assert shallow is None or DecisionTree(shallow, COLUMNS).depth == 1


@EACH_MAP
@pytest.mark.parametrize("root", [Leaf(0), Leaf(1), Split(PREDICATES[2], Leaf(1), Leaf(1))])
def test_a_tree_that_says_one_thing_leaves_the_map_as_it_is(
    name: str, root: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, public = MAPS[name]
    monkeypatch.setattr(module, "sspp", lambda *_: DecisionTree(root, COLUMNS))
    records, plan = majority(500), plan_for(500, 8.0, features=features, public=public)
    found = stacked(TREES, features, records, plan, SeededEntropy(3), public=public)
    evidence = EmpiricalBayes(features, public) if plan.linear.is_empirical_bayes else None
    linear = replace(plan.linear, dense=features.size)
    assert found.feature_map == features
    assert found == descend(features, records, linear, SeededEntropy(3), evidence=evidence)


@EACH_MAP
def test_so_does_one_that_says_the_same_of_all_public_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    features, public = MAPS[name]
    far = Split(Predicate(0, 7.0), Leaf(1), Leaf(0))
    monkeypatch.setattr(module, "sspp", lambda *_: DecisionTree(far, COLUMNS))
    records, plan = majority(500), plan_for(500, 8.0, features=features, public=public)
    found = stacked(TREES, features, records, plan, SeededEntropy(3), public=public)
    assert found.feature_map.tree == (far if public is None else None)


@EACH_MAP
@pytest.mark.parametrize("root", [ROOT, Split(PREDICATES[1], Leaf(0), Leaf(1)), Split(PREDICATES[1], Leaf(1), Leaf(0))])
def test_no_tree_leads_to_more_coordinates_than_there_is_room_for(name: str, root: Split) -> None:
    """Also one that repeats a question of the map, and one that says its opposite."""
    features, public = MAPS[name]
    found = features.beside(root, public, 0.4)
    assert found.size <= most_coordinates(features) == COLUMNS + 2
    assert (found.ferns is None) == (features.ferns is None)


def test_a_map_of_more_directions_than_questions_has_room_by_itself() -> None:
    """Where the tree says nothing, the map is the one that was given."""
    matrix = np.arange((COLUMNS + 1) * 9, dtype=np.int16).reshape(COLUMNS + 1, 9)
    dense = PredicateVectors(PREDICATES, (256,) * COLUMNS, (-256,) * COLUMNS, COLUMNS, Directions.of(matrix, 3))
    assert most_coordinates(FeatureMap(dense, None, 256)) == 9
    assert most_coordinates(MAP) == most_coordinates(SEEN) == COLUMNS + 2


@pytest.mark.parametrize("label", [0, 1])
def test_labels_that_are_all_alike_end_in_a_head_as_well(label: int) -> None:
    records, plan = InMemory(bits(500), np.full(500, label, dtype=np.int8)), plan_for(500, 8.0)
    found = stacked(TREES, MAP, records, plan, SeededEntropy(0))
    assert found.feature_map.tree is None
    assert (found.predict(records.X) == label).all()


def test_who_listens_hears_of_the_sums_whatever_the_tree_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same stages, as often, and the tree before the sums."""
    records, plan = crossed(300), plan_for(300, 8.0)
    heard: list[list[Progress]] = []
    for seed, eta in ((0, 0.0), (1, 9.0)):
        told: list[Progress] = []
        with reporting(told.append):
            stacked(TREES, MAP, records, replace(plan, tree=eta), SeededEntropy(seed))
        heard.append(told)
    assert heard[0] == heard[1]
    stages = [each.stage for each in heard[0]]
    assert stages[-1] == "linear, noisy sums"
    drawn: list[int] = []

    def watched(trees: Any, *others: Any) -> Any:
        drawn.append(len(told))
        return sspp(trees, *others)

    monkeypatch.setattr(module, "sspp", watched)
    told = []
    with reporting(told.append):
        stacked(TREES, MAP, records, plan, SeededEntropy(0))
    assert drawn == [0]


# What a neighbour moves -----------------------------------------------------------------------------------------------

M = 1 << 24
questions = st.sampled_from(PREDICATES)
sides: st.SearchStrategy[Node] = st.recursive(
    st.builds(Leaf, st.integers(0, 1)), lambda below: st.builds(Split, questions, below, below), max_leaves=8
)
splits = st.builds(Split, questions, sides, sides)
row = st.lists(st.integers(0, 1), min_size=COLUMNS + 1, max_size=COLUMNS + 1)
NAMES = st.sampled_from(sorted(MAPS))


def total(records: Records, features: FeatureMap, weights: NDArray[np.int32]) -> NDArray[np.int64]:
    """One sum, all of its numbers in a line."""
    dense, cells = np.split(weights, [features.size])
    shape = 1, features.count, 1 << features.depth
    parts = records.gradient_sums(features, M).total(dense.reshape(1, -1), cells.reshape(shape))
    return np.concatenate([part.reshape(-1) for part in parts])


def table_of(rows: NDArray[Any]) -> InMemory:
    return InMemory(rows[:, 1:].astype(np.float64), rows[:, 0].astype(np.int8))


def some_weights(features: FeatureMap, seed: int) -> NDArray[np.int32]:
    return np.random.default_rng(seed).integers(-4 * GRID, 4 * GRID, features.coordinates).astype(np.int32)


@settings(max_examples=60, deadline=None)
@given(name=NAMES, root=splits, rows=st.lists(row, min_size=1, max_size=12), other=row, data=st.data())
def test_a_neighbour_moves_no_sum_by_more_than_2_m_whatever_the_tree_is(
    name: str, root: Split, rows: list[list[int]], other: list[int], data: st.DataObject
) -> None:
    features, public = MAPS[name]
    found = features.beside(root, public, 0.4)
    weights = some_weights(found, data.draw(st.integers(0, 2**16)))
    table = np.array(rows)
    before = total(table_of(table), found, weights)
    table[data.draw(st.integers(0, len(rows) - 1))] = other
    moved = (total(table_of(table), found, weights) - before).astype(object)
    assert sum(each * each for each in moved) <= (2 * M) ** 2


@EACH_MAP
@pytest.mark.parametrize("root", [ROOT, Split(PREDICATES[1], Leaf(1), Leaf(0))])
def test_a_neighbour_may_move_a_sum_by_that(name: str, root: Split) -> None:
    """The same record with another label, at weights 0; rounding takes less than a thousandth."""
    features, public = MAPS[name]
    found = features.beside(root, public, 0.4)
    assert found.tree == root
    weights = np.zeros(found.coordinates, dtype=np.int32)
    one, other = (table_of(np.array([[label, 1, 0, 1, 1, 0]])) for label in (0, 1))
    moved = total(other, found, weights) - total(one, found, weights)
    assert 0.999 * 2 * M < math.hypot(*moved.tolist()) <= 2 * M


Rows = list[list[int]]
a_person = st.lists(row, min_size=1, max_size=5)


def persons_of(people: list[Rows], most: int) -> Persons:
    counts = [len(rows) for rows in people]
    table = table_of(np.concatenate([np.array(rows) for rows in people]))
    return Persons(table, np.repeat(np.arange(len(people)), counts), most)


@settings(max_examples=40, deadline=None)
@given(
    name=NAMES,
    root=splits,
    people=st.lists(a_person, min_size=1, max_size=5),
    other=a_person,
    most=st.sampled_from([1, 3, 64]),
    seed=st.integers(0, 2**16),
)
def test_nor_does_a_person(name: str, root: Split, people: list[Rows], other: Rows, most: int, seed: int) -> None:
    features, public = MAPS[name]
    found = features.beside(root, public, 0.4)
    weights = some_weights(found, seed)
    before, after = (total(persons_of(each, most), found, weights) for each in (people, [other, *people[1:]]))
    moved = (after - before).astype(object)
    assert sum(each * each for each in moved) <= (2 * M) ** 2


def test_a_run_on_persons_is_its_parts_on_the_same_noise() -> None:
    X, whose = bits(900), np.arange(900) // 3
    y = (X[:, 0] != X[:, 1]).astype(np.int8)
    plan = replace(plan_for(300, 8.0), tree=0.05)

    def persons(table: Points) -> Persons:
        return Persons(InMemory(table, y), whose)

    tree, linear = in_parts(MAP, X, persons, plan, 4, None)
    check_parts(stacked(TREES, MAP, persons(X), plan, SeededEntropy(4)), tree, linear)


def test_persons_of_one_row_are_records() -> None:
    records, plan = crossed(200), plan_for(200, 20.0)
    persons = Persons(records, np.arange(200))
    assert persons.whole == 64
    found = [stacked(TREES, MAP, each, plan, SeededEntropy(2)) for each in (persons, records)]
    assert found[0] == found[1]


# The stated figures ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("beside", [(), (COUNT,)], ids=["alone", "after a count"])
@pytest.mark.parametrize(("records", "epsilon", "delta"), BUDGETS)
def test_the_stated_figures_hold_and_are_used_up(
    records: int, epsilon: float, delta: float, beside: tuple[PureEvent, ...]
) -> None:
    """In closed form, at 400 places of the interval."""
    count = tuple(PureEvent(event.epsilon * epsilon) for event in beside)
    plan = plan_stacked(request_for(records, epsilon, delta), TREES, MAP, delta, 0.3, beside=count)
    stated = stacked_guarantee(plan, TREES, COLUMNS, delta, beside=count)
    assert stated.within(epsilon, delta)
    assert (stated.proof, stated.delta) == ("stacked", delta)
    pure = [event.epsilon for event in count]
    assert 0.99 * delta < exact_delta([plan.linear], pure, stated.epsilon, ranged=2 * plan.tree) <= delta


@pytest.mark.parametrize("beside", [(), (COUNT,), (COUNT, PureEvent(0.2))])
@pytest.mark.parametrize("eta", [0.01, 0.15, 0.5])
def test_on_a_fine_grid_the_figure_is_that_of_continuous_noise_beside_a_range(
    beside: tuple[PureEvent, ...], eta: float
) -> None:
    """The interval is 2η + 4λ long, `slack` being 2λ."""
    plan = replace(plan_for(10_000, 1.0), tree=eta, slack=0.01)
    linear = plan.linear
    shift = math.sqrt(linear.steps) * linear.sensitivity / linear.scale * (1 + 1e-12)
    pure = [event.epsilon for event in beside]
    by_hand = fine_gaussian_epsilon(shift, DELTA, linear.scale, linear.draws, pure, ranged=2 * eta + 0.02)
    stated = stacked_guarantee(plan, TREES, COLUMNS, DELTA, beside=beside)
    assert stated.epsilon == pytest.approx(by_hand, rel=1e-9)
    assert any("one of bounded range" in step for step in stated.steps)
    assert any("a tree, and noisy sums for the linear classifier beside it" in step for step in stated.steps)


@pytest.mark.parametrize("beside", [(), (COUNT,)])
@pytest.mark.parametrize("eta", [0.0, 0.1, 1.0])
def test_on_a_coarse_grid_it_is_that_of_renyi_composition(beside: tuple[PureEvent, ...], eta: float) -> None:
    plan = plan_for(10_000, 1.0)
    linear = replace(plan.linear, bound=1, scale=60.0, steps=20)
    coarse = replace(plan, tree=eta, slack=1e-3, linear=linear)
    events: list[Event] = [BoundedRangeEvent(2 * eta + 2e-3), Repeated(linear.event, 20), *beside]
    by_hand = compose(events, DELTA, accountant="Rényi")
    stated = stacked_guarantee(coarse, TREES, COLUMNS, DELTA, beside=beside)
    assert stated.epsilon == pytest.approx(by_hand.epsilon, rel=1e-9)
    assert stated.delta == DELTA


def louder(plan: StackedStage, **changes: Any) -> StackedStage:
    return replace(plan, linear=replace(plan.linear, **changes))


@pytest.mark.parametrize(("records", "epsilon"), [(10_000, 1.0), (100_000, 0.1)])
def test_less_noise_than_planned_is_not_within_epsilon(records: int, epsilon: float) -> None:
    plan = plan_for(records, epsilon)
    linear = plan.linear
    assert stacked_guarantee(plan, TREES, COLUMNS, DELTA).within(epsilon, DELTA)
    for change in (
        replace(plan, tree=1.001 * plan.tree, slack=1.1 * plan.slack),
        replace(plan, slack=0.001 * epsilon),
        louder(plan, scale=0.999 * linear.scale),
        louder(plan, steps=linear.steps + 1),
    ):
        assert not stacked_guarantee(change, TREES, COLUMNS, DELTA).within(epsilon, DELTA)
    assert not stacked_guarantee(plan, TREES, COLUMNS, 0.99 * DELTA).within(epsilon, DELTA)


def test_the_tree_is_accounted_for_as_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its own η and depth; a slack that is less than 2λ, all of its ε but 2η, is refused."""
    plan, asked = replace(plan_for(10_000, 1.0), tree=0.1, depth=2, slack=2.81), []

    def dear(*those: Any) -> Guarantee:
        asked.append(those)
        return Guarantee(3.0)

    monkeypatch.setattr(drawing, "sspp_guarantee", dear)
    assert 5.0 < stacked_guarantee(plan, TREES, COLUMNS, DELTA).epsilon < 6.8
    assert asked == [(DrawStage(0.1), replace(TREES, depth=2), 10_000, COLUMNS, None)]
    with pytest.raises(ParameterError, match=r"slack must be at least 2\.8 for these trees"):
        stacked_guarantee(replace(plan, slack=2.79), TREES, COLUMNS, DELTA)


def test_a_slack_that_is_too_small_is_refused() -> None:
    plan = plan_for(10_000, 1.0)
    for small in (0.0, 0.9 * plan.slack):
        with pytest.raises(ParameterError, match="slack must be at least"):
            stacked_guarantee(replace(plan, slack=small), TREES, COLUMNS, DELTA)
    colder = replace(plan, tree=4.0 * plan.tree)
    with pytest.raises(ParameterError, match="slack must be at least"):
        stacked_guarantee(colder, TREES, COLUMNS, DELTA)


# What is refused ------------------------------------------------------------------------------------------------------


def refused(
    kind: type[Exception],
    told: str,
    records: Records,
    plan: StackedStage,
    features: FeatureMap = MAP,
    public: Points | None = None,
    **others: Any,
) -> None:
    """By the check, and by the run before a bit is drawn."""
    trees = replace(TREES, **others)
    with pytest.raises(kind, match=told):
        check_stacked(trees, features, records, plan, public)
    with pytest.raises(kind, match=told):
        stacked(trees, features, records, plan, Forbidden(), public=public)


def test_what_does_not_fit_is_refused_before_anything_is_drawn() -> None:
    records, plan = crossed(400), plan_for(400, 20.0)
    check_stacked(TREES, MAP, records, plan)
    refused(ParameterError, "plan for 300 records", crossed(300), plan)
    refused(ParameterError, "a plan for 3 classes", records, plan, labels=3)
    refused(DataError, "y must be records with 2 labels", InMemory(records.X, records.y, 3), plan)
    refused(DataError, "X", InMemory(np.zeros((400, COLUMNS + 1)), records.y), plan)
    refused(ParameterError, "plan for this feature map", records, plan, FERNED)
    refused(ParameterError, "plan for this feature map", records, plan_for(400, 20.0, features=FERNED))
    asked = (*PREDICATES, Predicate(COLUMNS, 0.5))
    refused(DataError, "columns that the predicates ask about", records, plan, predicates=asked)


def test_a_map_of_columns_is_refused_before_anything_is_drawn() -> None:
    columns = FeatureMap(ColumnVectors.unknown(COLUMNS), None, 256)
    plan = louder(plan_for(400, 20.0), dense=columns.size + 9)
    refused(ParameterError, "features must be a feature map of predicates", crossed(400), plan, columns)


def test_a_plan_without_room_for_the_tree_is_refused_before_anything_is_drawn() -> None:
    """Whatever tree would be drawn: also where it would be a leaf."""
    records, plan = InMemory(bits(400), np.ones(400)), plan_for(400, 20.0)
    assert plan.linear.dense == COLUMNS + 2
    for room in (1, COLUMNS, COLUMNS + 1):
        small = louder(plan, dense=room)
        refused(
            ParameterError,
            f"a linear classifier with room for {COLUMNS + 2} coordinates; received {room}",
            records,
            small,
        )
    wider = stacked(TREES, MAP, crossed(400), louder(plan, dense=50), SeededEntropy(0))
    assert wider.feature_map.size == COLUMNS + 2, "more room does no harm"


@pytest.mark.parametrize("rows", [0, 1, 4 * (COLUMNS + 2) - 1])
def test_a_posterior_without_public_rows_is_refused_before_anything_is_drawn(rows: int) -> None:
    plan = plan_for(400, 4.0, features=SEEN, public=PUBLIC)
    assert plan.linear.is_empirical_bayes
    few = PUBLIC[:rows] if rows else None
    assert not may_use_empirical_bayes(SEEN, few)
    refused(ParameterError, "public must be public rows for a posterior", crossed(400), plan, SEEN, few)
    enough = PUBLIC[: 4 * (COLUMNS + 2)]
    assert may_use_empirical_bayes(SEEN, enough)
    assert stacked(TREES, SEEN, crossed(400), plan, SeededEntropy(0), public=enough).classes == 2


def test_a_posterior_on_a_map_that_has_none_is_refused_before_anything_is_drawn() -> None:
    plan = plan_for(400, 4.0, features=SEEN, public=PUBLIC)
    refused(ParameterError, "public must be public rows for a posterior", crossed(400), plan, MAP, PUBLIC)
    steps = LinearStage(400, *shape_of(FERNED), 3, M, 6.0 * M, 0.5, 0.05)
    assert not may_use_empirical_bayes(FERNED, PUBLIC)
    assert not steps.is_empirical_bayes


@pytest.mark.parametrize("width", [1, COLUMNS - 1, COLUMNS + 1])
@pytest.mark.parametrize("name", ["public rows", "a posterior"])
def test_public_rows_of_another_table_are_refused_before_anything_is_drawn(name: str, width: int) -> None:
    features, public = MAPS[name]
    plan = plan_for(400, 4.0, features=features, public=public)
    refused(DataError, "public", crossed(400), plan, features, np.zeros((100, width)))
    refused(DataError, "public", crossed(400), plan, features, np.zeros((0, COLUMNS)))
    refused(DataError, "public must be finite", crossed(400), plan, features, np.full((100, COLUMNS), np.nan))


def test_a_map_that_has_a_tree_is_refused_before_anything_is_drawn() -> None:
    features = MAP.beside(ROOT, None, 0.5)
    plan = louder(plan_for(400, 20.0), dense=50)
    refused(ParameterError, "features must be a feature map of predicates", crossed(400), plan, features)


def test_trees_that_are_too_large_to_count_are_refused_before_anything_is_drawn() -> None:
    records, plan = crossed(400), replace(plan_for(400, 20.0), depth=3)
    operations = TREES.cost(400, 2) + 1.0
    refused(ParameterError, "raise operations", records, plan, operations=operations)
    few = replace(TREES, operations=operations)
    assert stacked(few, MAP, records, replace(plan, depth=2), SeededEntropy(0)).classes == 2


# What it learns -------------------------------------------------------------------------------------------------------


def accuracy(hypothesis: LinearClassifier, truth: Any) -> float:
    X = np.array(np.meshgrid(*[[0.0, 1.0]] * COLUMNS)).reshape(COLUMNS, -1).T
    return float((hypothesis.predict(X) == truth(X)).mean())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("public", [None, PUBLIC], ids=["no public rows", "public rows"])
def test_it_learns_what_columns_do_together_and_a_head_alone_does_not(seed: int, public: Points | None) -> None:
    def truth(X: Points) -> Any:
        return X[:, 0] != X[:, 1]

    records = crossed(4_000)
    alone = plan_linear(4_000, MAP, plain(4_000, 2.0), 2.0, DELTA)
    assert accuracy(descend(MAP, records, alone, SeededEntropy(seed)), truth) <= 0.75
    plan = plan_for(4_000, 2.0, public=public)
    assert accuracy(stacked(TREES, MAP, records, plan, SeededEntropy(seed), public=public), truth) > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_it_learns_what_they_do_by_themselves(seed: int) -> None:
    """A majority of five, of which the best tree of depth 3 gets 1 in 4 or 5 wrong, and single columns."""
    records, plan = majority(8_000), plan_for(8_000, 2.0, public=PUBLIC)
    best = replace(TREES, depth=3).learn(records.X, records.y)
    assert np.mean(best.predict(records.X) == records.y) < 0.85
    linear = stacked(TREES, MAP, records, plan, SeededEntropy(seed), public=PUBLIC)
    assert accuracy(linear, lambda X: X.sum(axis=1) > 2) > 0.95
    single = InMemory(records.X, records.X[:, 3].astype(np.int8))
    linear = stacked(TREES, MAP, single, plan, SeededEntropy(seed), public=PUBLIC)
    assert accuracy(linear, lambda X: X[:, 3] > 0.5) > 0.95


def test_a_posterior_learns_both() -> None:
    plan = plan_for(3_000, 2.0, features=SEEN, public=PUBLIC)
    assert plan.linear.is_empirical_bayes
    together = stacked(TREES, SEEN, crossed(3_000), plan, SeededEntropy(1), public=PUBLIC)
    assert accuracy(together, lambda X: X[:, 0] != X[:, 1]) > 0.95
    each = stacked(TREES, SEEN, majority(3_000), plan, SeededEntropy(1), public=PUBLIC)
    assert accuracy(each, lambda X: X.sum(axis=1) > 2) > 0.9
