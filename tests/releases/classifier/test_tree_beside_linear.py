"""A linear classifier beside a tree: the run against its parts, what a neighbour moves, refusals, what it learns."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.releases import Forbidden
from support.stages import COLUMNS, MAP, PREDICATES, TREES, beside_tree, bits, plan_beside_tree, planned

from pcqr.data.records import GroupedRecords, InMemory, Records
from pcqr.data.records.arrays import Points
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.gradient_sums import GRID
from pcqr.data.records.predicates import Leaf, Node, Predicate, Split
from pcqr.data.records.vectors import ColumnVectors, Directions, PredicateVectors
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees
from pcqr.privacy.composition import Sequence
from pcqr.privacy.entropy import Entropy, SeededEntropy
from pcqr.progress import Progress, reporting
from pcqr.releases.classifier import run as module
from pcqr.releases.classifier.descent import dp_gradient_descent, shape_of
from pcqr.releases.classifier.plan import LinearStage
from pcqr.releases.classifier.rule import recipe_for
from pcqr.releases.classifier.run import may_use_empirical_bayes, most_coordinates, publish
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp

DELTA = 1e-6
PUBLIC = bits(300)
SEEN = FeatureMap(PredicateVectors.of(PREDICATES, COLUMNS, PUBLIC, 0.4), None, 256)
FERNED = FeatureMap(MAP.dense, Ferns((*PREDICATES, PREDICATES[0]), 2, COLUMNS), 128)
MAPS: dict[str, tuple[FeatureMap, Points | None]] = {
    "no public rows": (MAP, None),
    "public rows": (MAP, PUBLIC),
    "empirical Bayes": (SEEN, PUBLIC),
    "ferns": (FERNED, None),
    "ferns and public rows": (FERNED, PUBLIC),
}
EACH_MAP = pytest.mark.parametrize("name", MAPS)
ROOT = Split(PREDICATES[0], Leaf(0), Split(PREDICATES[3], Leaf(0), Leaf(1)))


def plan_for(
    records: int, epsilon: float, delta: float = DELTA, features: FeatureMap = MAP, public: Points | None = None
) -> Sequence:
    return Sequence(beside_tree(plan_beside_tree(records, epsilon, delta, features, public)))


def altered(stage: Sequence, eta: float | None = None, **changes: Any) -> Sequence:
    """With another η, and other numbers of the linear classifier."""
    draw, linear = beside_tree(stage)
    return Sequence((draw if eta is None else DrawStage(eta), replace(linear, **changes)))


def linear_of(stage: Sequence) -> LinearStage:
    return beside_tree(stage)[1]


def run(
    trees: DecisionTrees,
    features: FeatureMap,
    records: Records,
    stage: Sequence,
    entropy: Entropy,
    *,
    public: Points | None = None,
) -> LinearClassifier:
    maps = {linear_of(stage).features: features}
    found = publish(stage, trees, records, entropy, maps=maps, public=public)
    assert isinstance(found, LinearClassifier)
    return found


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
    features: FeatureMap,
    X: Points,
    records: Any,
    stage: Sequence,
    seed: int,
    public: Points | None,
    trees: DecisionTrees = TREES,
) -> tuple[DecisionTree, LinearClassifier]:
    """The tree, and then a linear classifier on a table with one more column, the tree's label, on the run's noise.

    `records` are made of tables.
    """
    entropy, (draw, planned) = SeededEntropy(seed), beside_tree(stage)
    tree = sspp(trees, records(X), None, draw, entropy)
    assert isinstance(tree, DecisionTree)
    shown = None if public is None else wider_by(tree, public)
    asked = (*PREDICATES, *(Predicate(COLUMNS, label + 0.5) for label in range(trees.labels - 1)))
    dense = PredicateVectors.of(asked, COLUMNS + 1, shown, planned.whitening)
    ferns = None if features.ferns is None else replace(features.ferns, features=COLUMNS + 1)
    flat = FeatureMap(dense, ferns, features.share)
    linear = replace(planned, dense=flat.size)
    return tree, dp_gradient_descent(flat, records(wider_by(tree, X)), linear, entropy, public=shown)


def check_parts(found: LinearClassifier, tree: DecisionTree, linear: LinearClassifier) -> None:
    assert found.feature_map.tree == tree.simplified().root
    assert replace(found.feature_map, tree=None) == linear.feature_map
    assert (found.weights, found.scales, found.cells) == (linear.weights, linear.scales, linear.cells)


@EACH_MAP
@pytest.mark.parametrize("seed", [1, 5])
def test_a_run_is_its_parts_on_the_same_noise(name: str, seed: int) -> None:
    features, public = MAPS[name]
    records = crossed(1_000)
    planned = plan_for(1_000, 4.0, features=features, public=public)
    assert linear_of(planned).is_empirical_bayes is (name == "empirical Bayes")
    stage = altered(planned, eta=0.01)  # so that η shows
    tree, linear = in_parts(features, records.X, lambda X: InMemory(X, records.y), stage, seed, public)
    found = run(TREES, features, records, stage, SeededEntropy(seed), public=public)
    check_parts(found, tree, linear)
    assert found == run(TREES, features, records, stage, SeededEntropy(seed), public=public)
    assert (found.predict(records.X) == linear.predict(wider_by(tree, records.X))).all()


@pytest.mark.parametrize("public", [None, PUBLIC], ids=["no public rows", "public rows"])
@pytest.mark.parametrize("features", [MAP, FERNED], ids=["predicates", "ferns"])
def test_three_classes_have_two_more_coordinates(features: FeatureMap, public: Points | None) -> None:
    X = bits(900)
    y = (X[:, 0] + (X[:, 0] != X[:, 1])).astype(np.int8)  # needs two columns at once
    trees, records = replace(TREES, labels=3), InMemory(X, y, 3)
    plan = plan_beside_tree(900, 6.0, DELTA, features, public, trees)
    assert plan.guarantee.within(6.0, DELTA)
    stage = Sequence(beside_tree(plan))
    assert linear_of(stage).dense == most_coordinates(features, 3) == most_coordinates(features) + 1
    tree, linear = in_parts(features, X, lambda table: InMemory(table, y, 3), stage, 3, public, trees)
    found = run(trees, features, records, stage, SeededEntropy(3), public=public)
    check_parts(found, tree, linear)
    assert (found.predict(X) == y).mean() > 0.9


def test_the_temperature_is_the_plans_and_the_depth_is_that_of_the_class() -> None:
    """At η = 0 trees are drawn blindly, at a large one it is the best: trees of several coins."""
    records, stage = crossed(400), plan_for(400, 8.0)
    cold, hot = (
        [run(TREES, MAP, records, altered(stage, eta=eta), SeededEntropy(s)).feature_map.tree for s in range(4)]
        for eta in (9.0, 0.0)
    )
    for tree in cold:
        assert tree is not None
        assert (DecisionTree(tree, COLUMNS).predict(records.X) == records.y).all()
    assert len(set(hot)) > 1
    stumps = replace(TREES, depth=1)
    shallow = run(stumps, MAP, records, altered(stage, eta=9.0), SeededEntropy(0)).feature_map.tree
    assert shallow is None or DecisionTree(shallow, COLUMNS).depth == 1


@EACH_MAP
@pytest.mark.parametrize("root", [Leaf(0), Leaf(1), Split(PREDICATES[2], Leaf(1), Leaf(1))])
def test_a_tree_that_says_one_thing_leaves_the_map_as_it_is(
    name: str, root: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    features, public = MAPS[name]
    monkeypatch.setattr(module, "sspp", lambda *_: DecisionTree(root, COLUMNS))
    records, plan = majority(500), plan_for(500, 8.0, features=features, public=public)
    found = run(TREES, features, records, plan, SeededEntropy(3), public=public)
    linear = replace(linear_of(plan), dense=features.size)
    assert found.feature_map == features
    assert found == dp_gradient_descent(features, records, linear, SeededEntropy(3), public=public)


@EACH_MAP
def test_so_does_one_that_says_the_same_of_all_public_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    features, public = MAPS[name]
    far = Split(Predicate(0, 7.0), Leaf(1), Leaf(0))
    monkeypatch.setattr(module, "sspp", lambda *_: DecisionTree(far, COLUMNS))
    records, plan = majority(500), plan_for(500, 8.0, features=features, public=public)
    found = run(TREES, features, records, plan, SeededEntropy(3), public=public)
    assert found.feature_map.tree == (far if public is None else None)


@EACH_MAP
@pytest.mark.parametrize("root", [ROOT, Split(PREDICATES[1], Leaf(0), Leaf(1)), Split(PREDICATES[1], Leaf(1), Leaf(0))])
def test_no_tree_leads_to_more_coordinates_than_there_is_room_for(name: str, root: Split) -> None:
    """Also one that repeats a predicate of the map, and one that says its opposite."""
    features, public = MAPS[name]
    found = features.beside(root, public, 0.4)
    assert found.size <= most_coordinates(features) == COLUMNS + 2
    assert (found.ferns is None) == (features.ferns is None)


def test_a_map_of_more_directions_than_predicates_has_room_by_itself() -> None:
    """Where the tree says nothing, the map is the one that was given."""
    matrix = np.arange((COLUMNS + 1) * 9, dtype=np.int16).reshape(COLUMNS + 1, 9)
    dense = PredicateVectors(PREDICATES, (256,) * COLUMNS, (-256,) * COLUMNS, COLUMNS, Directions.of(matrix, 3))
    assert most_coordinates(FeatureMap(dense, None, 256)) == 9
    assert most_coordinates(MAP) == most_coordinates(SEEN) == COLUMNS + 2


@pytest.mark.parametrize("label", [0, 1])
def test_labels_that_are_all_alike_end_in_a_linear_classifier_as_well(label: int) -> None:
    records, plan = InMemory(bits(500), np.full(500, label, dtype=np.int8)), plan_for(500, 8.0)
    found = run(TREES, MAP, records, plan, SeededEntropy(0))
    assert found.feature_map.tree is None
    assert (found.predict(records.X) == label).all()


def test_who_listens_hears_of_the_sums_whatever_the_tree_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same stages, as often, and the tree before the sums."""
    records, plan = crossed(300), plan_for(300, 12.0)
    heard: list[list[Progress]] = []
    for seed, eta in ((0, 0.0), (1, 9.0)):
        told: list[Progress] = []
        with reporting(told.append):
            run(TREES, MAP, records, altered(plan, eta=eta), SeededEntropy(seed))
        heard.append(told)
    assert heard[0] == heard[1]
    stages = [each.stage for each in heard[0]]
    assert stages[-1] == "linear classifier, noisy sums"
    drawn: list[int] = []

    def watched(trees: Any, *others: Any) -> Any:
        drawn.append(len(told))
        return sspp(trees, *others)

    monkeypatch.setattr(module, "sspp", watched)
    told = []
    with reporting(told.append):
        run(TREES, MAP, records, plan, SeededEntropy(0))
    assert drawn == [0]


# What a neighbour moves -----------------------------------------------------------------------------------------------

M = 1 << 24
asked = st.sampled_from(PREDICATES)
sides: st.SearchStrategy[Node] = st.recursive(
    st.builds(Leaf, st.integers(0, 1)), lambda below: st.builds(Split, asked, below, below), max_leaves=8
)
splits = st.builds(Split, asked, sides, sides)
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


def units_of(people: list[Rows], most: int) -> GroupedRecords:
    counts = [len(rows) for rows in people]
    table = table_of(np.concatenate([np.array(rows) for rows in people]))
    return GroupedRecords(table, np.repeat(np.arange(len(people)), counts), most)


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
    before, after = (total(units_of(each, most), found, weights) for each in (people, [other, *people[1:]]))
    moved = (after - before).astype(object)
    assert sum(each * each for each in moved) <= (2 * M) ** 2


def test_a_run_on_persons_is_its_parts_on_the_same_noise() -> None:
    X, whose = bits(900), np.arange(900) // 3
    y = (X[:, 0] != X[:, 1]).astype(np.int8)
    plan = altered(plan_for(300, 12.0), eta=0.05)

    def user_level(table: Points) -> GroupedRecords:
        return GroupedRecords(InMemory(table, y), whose)

    tree, linear = in_parts(MAP, X, user_level, plan, 4, None)
    check_parts(run(TREES, MAP, user_level(X), plan, SeededEntropy(4)), tree, linear)


def test_persons_of_one_row_are_records() -> None:
    records, plan = crossed(200), plan_for(200, 20.0)
    user_level = GroupedRecords(records, np.arange(200))
    assert user_level.whole == 64
    found = [run(TREES, MAP, each, plan, SeededEntropy(2)) for each in (user_level, records)]
    assert found[0] == found[1]


# What is refused ------------------------------------------------------------------------------------------------------


def refused(
    kind: type[Exception],
    told: str,
    records: Records,
    stage: Sequence,
    features: FeatureMap = MAP,
    public: Points | None = None,
    **others: Any,
) -> None:
    """Before a bit is drawn."""
    with pytest.raises(kind, match=told):
        run(replace(TREES, **others), features, records, stage, Forbidden(), public=public)


def test_what_does_not_fit_is_refused_before_anything_is_drawn() -> None:
    records, plan = crossed(400), plan_for(400, 20.0)
    refused(ParameterError, "plan for 300 records", crossed(300), plan)
    three = InMemory(records.X, records.y, 3)
    refused(ParameterError, "a plan for 3 classes", three, plan, labels=3)
    refused(DataError, "y must be records with 3 labels", records, plan, labels=3)
    refused(DataError, "y must be records with 2 labels", three, plan)
    refused(DataError, "X", InMemory(np.zeros((400, COLUMNS + 1)), records.y), plan)
    refused(ParameterError, "plan for this feature map", records, plan, FERNED)
    refused(ParameterError, "plan for this feature map", records, plan_for(400, 20.0, features=FERNED))
    asked = (*PREDICATES, Predicate(COLUMNS, 0.5))
    refused(DataError, "columns that the predicates ask about", records, plan, predicates=asked)


def test_a_map_of_columns_is_refused_before_anything_is_drawn() -> None:
    columns = FeatureMap(ColumnVectors.unknown(COLUMNS), None, 256)
    plan = altered(plan_for(400, 20.0), dense=columns.size + 9)
    refused(ParameterError, "features must be a feature map of predicates", crossed(400), plan, columns)


def test_a_plan_without_room_for_the_tree_is_refused_before_anything_is_drawn() -> None:
    """Whatever tree would be drawn: also where it would be a leaf."""
    records, plan = InMemory(bits(400), np.ones(400)), plan_for(400, 20.0)
    assert linear_of(plan).dense == COLUMNS + 2
    for room in (1, COLUMNS, COLUMNS + 1):
        told = f"a linear classifier with room for {COLUMNS + 2} coordinates; received {room}"
        refused(ParameterError, told, records, altered(plan, dense=room))
    wider = run(TREES, MAP, crossed(400), altered(plan, dense=50), SeededEntropy(0))
    assert wider.feature_map.size == COLUMNS + 2, "more room does no harm"


NO_ROWS = "public must be public rows for empirical Bayes, four for each predicate"


@pytest.mark.parametrize("rows", [0, 1, 4 * (COLUMNS + 2) - 1])
def test_empirical_bayes_without_public_rows_is_refused_before_anything_is_drawn(rows: int) -> None:
    plan = plan_for(400, 10.0, features=SEEN, public=PUBLIC)
    assert linear_of(plan).is_empirical_bayes
    few = PUBLIC[:rows] if rows else None
    assert not may_use_empirical_bayes(SEEN, few, has_tree=True)
    assert may_use_empirical_bayes(SEEN, few, has_tree=False)
    refused(ParameterError, NO_ROWS, crossed(400), plan, SEEN, few)
    enough = PUBLIC[: 4 * (COLUMNS + 2)]
    assert may_use_empirical_bayes(SEEN, enough, has_tree=True)
    assert run(TREES, SEEN, crossed(400), plan, SeededEntropy(0), public=enough).classes == 2


def test_empirical_bayes_on_a_map_that_does_not_allow_it_is_refused_before_anything_is_drawn() -> None:
    plan = plan_for(400, 10.0, features=SEEN, public=PUBLIC)
    refused(ParameterError, NO_ROWS, crossed(400), plan, MAP, PUBLIC)
    steps = LinearStage(400, *shape_of(FERNED), 3, M, 6.0 * M, 0.5, 0.05)
    for has_tree in (False, True):
        assert not may_use_empirical_bayes(FERNED, PUBLIC, has_tree=has_tree)
    assert not steps.is_empirical_bayes


@pytest.mark.parametrize("width", [1, COLUMNS - 1, COLUMNS + 1])
@pytest.mark.parametrize("name", ["public rows", "empirical Bayes"])
def test_public_rows_of_another_table_are_refused_before_anything_is_drawn(name: str, width: int) -> None:
    features, public = MAPS[name]
    plan = plan_for(400, 10.0, features=features, public=public)
    refused(DataError, "public", crossed(400), plan, features, np.zeros((100, width)))
    refused(DataError, "public", crossed(400), plan, features, np.zeros((0, COLUMNS)))
    refused(DataError, "public must be finite", crossed(400), plan, features, np.full((100, COLUMNS), np.nan))


def test_a_map_that_has_a_tree_is_refused_before_anything_is_drawn() -> None:
    features = MAP.beside(ROOT, None, 0.5)
    plan = altered(plan_for(400, 20.0), dense=50)
    refused(ParameterError, "features must be a feature map of predicates", crossed(400), plan, features)


def test_trees_that_are_too_large_to_count_are_refused_before_anything_is_drawn() -> None:
    records, plan = crossed(400), plan_for(400, 20.0)
    operations = TREES.cost(400, 2) + 1.0
    refused(ParameterError, "raise operations", records, plan, depth=3, operations=operations)
    few = replace(TREES, depth=2, operations=operations)
    assert run(few, MAP, records, plan, SeededEntropy(0)).classes == 2


# What it learns -------------------------------------------------------------------------------------------------------


def accuracy(hypothesis: LinearClassifier, truth: Any) -> float:
    X = np.array(np.meshgrid(*[[0.0, 1.0]] * COLUMNS)).reshape(COLUMNS, -1).T
    return float((hypothesis.predict(X) == truth(X)).mean())


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("public", [None, PUBLIC], ids=["no public rows", "public rows"])
def test_it_learns_what_columns_do_together_and_a_linear_classifier_alone_does_not(
    seed: int, public: Points | None
) -> None:
    def truth(X: Points) -> Any:
        return X[:, 0] != X[:, 1]

    records = crossed(4_000)
    by_itself = planned(4_000, MAP, recipe_for("plain", 4_000, 2.0), 2.0, DELTA)
    assert accuracy(dp_gradient_descent(MAP, records, by_itself, SeededEntropy(seed)), truth) <= 0.75
    plan = plan_for(4_000, 2.0, public=public)
    assert accuracy(run(TREES, MAP, records, plan, SeededEntropy(seed), public=public), truth) > 0.95


@pytest.mark.parametrize("seed", range(3))
def test_it_learns_what_they_do_by_themselves(seed: int) -> None:
    """A majority of five, of which the best tree of depth 3 gets 1 in 4 or 5 wrong, and single columns."""
    records, plan = majority(8_000), plan_for(8_000, 2.0, public=PUBLIC)
    best = replace(TREES, depth=3).learn(records.X, records.y)
    assert np.mean(best.predict(records.X) == records.y) < 0.85
    linear = run(TREES, MAP, records, plan, SeededEntropy(seed), public=PUBLIC)
    assert accuracy(linear, lambda X: X.sum(axis=1) > 2) > 0.95
    single = InMemory(records.X, records.X[:, 3].astype(np.int8))
    linear = run(TREES, MAP, single, plan, SeededEntropy(seed), public=PUBLIC)
    assert accuracy(linear, lambda X: X[:, 3] > 0.5) > 0.95


def test_empirical_bayes_learns_both() -> None:
    plan = plan_for(3_000, 2.0, features=SEEN, public=PUBLIC)
    assert linear_of(plan).is_empirical_bayes
    together = run(TREES, SEEN, crossed(3_000), plan, SeededEntropy(1), public=PUBLIC)
    assert accuracy(together, lambda X: X[:, 0] != X[:, 1]) > 0.95
    each = run(TREES, SEEN, majority(3_000), plan, SeededEntropy(1), public=PUBLIC)
    assert accuracy(each, lambda X: X.sum(axis=1) > 2) > 0.9
