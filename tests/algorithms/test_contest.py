"""A pilot against the best shallow tree: the run against its parts, what a neighbour moves, and the stated figures."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.either import (
    BUDGETS,
    CAREFUL_MAP,
    COLUMNS,
    MAP,
    PILOT_MAP,
    PREDICATES,
    TREES,
    bits,
    exact_delta,
    request_for,
)
from support.releases import Forbidden

from pcqr.accounting import BoundedRangeEvent, Event, Repeated, compose
from pcqr.algorithms import contest as module
from pcqr.algorithms import sspp as drawing
from pcqr.algorithms.contest import TREE_SHARE, contest, contest_guarantee
from pcqr.algorithms.head import descend, head_guarantee, shape_of
from pcqr.algorithms.sspp import sspp
from pcqr.entropy import SeededEntropy
from pcqr.errors import DataError, ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.head import Head
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees
from pcqr.noise import discrete_gaussian
from pcqr.plan import ContestStage, DrawStage
from pcqr.planning.classifiers.contest import plan_contest
from pcqr.records import InMemory, Persons, Records
from pcqr.records.head_features import HeadFeatures
from pcqr.records.persons import row_weights
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import PredicateVectors

DELTA = 1e-6
MAPS = PILOT_MAP, MAP
Maps = tuple[HeadFeatures, HeadFeatures]


def plan_for(records: int, epsilon: float, delta: float = DELTA) -> ContestStage:
    return plan_contest(request_for(records, epsilon, delta), TREES, MAPS, delta)


def shape_for(records: int, shallow: int, bound: int | None = None) -> ContestStage:
    """A plan for so many records whose noise is of no interest: planning takes time."""
    pilot, head = (replace(part, records=records, bound=bound or part.bound) for part in (FOR_400.pilot, FOR_400.head))
    return replace(FOR_400, pilot=pilot, head=head, tree_from=0, shallow=shallow)


def alone(records: int) -> InMemory:
    """A majority of five: a head's question. The best tree of depth 3 is wrong about 1 in 4."""
    X = bits(records)
    return InMemory(X, (X.sum(axis=1) > 2).astype(np.int8))


def crossed(records: int) -> InMemory:
    """Columns that act together: a tree's question."""
    X = bits(records)
    return InMemory(X, (X[:, 0] != X[:, 1]).astype(np.int8))


FOR_400 = plan_for(400, 20.0)


class Silence:
    """Stands in for the noise of a lead, and keeps what it would be added to."""

    lead: int

    def __radd__(self, lead: int) -> int:
        self.lead = lead
        return lead


def lead_of(records: Records, pilot: Head, plan: ContestStage, trees: DecisionTrees = TREES) -> int:
    """The lead of trees on `pilot`, in M-ths of a record and without noise, as the run itself computes it."""
    silence = Silence()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "descend", lambda *_, **__: pilot)
        patch.setattr(module, "sspp", lambda *_: pilot)
        patch.setattr(module, "discrete_gaussian", lambda *_: silence)
        contest(trees, MAPS, records, plan, Forbidden())
    assert type(silence.lead) is int
    return silence.lead


# The run --------------------------------------------------------------------------------------------------------------


def in_parts(maps: Maps, records: InMemory, plan: ContestStage, seed: int) -> tuple[int, Hypothesis]:
    """The noisy lead, and what comes after it."""
    entropy, M = SeededEntropy(seed), plan.pilot.bound
    pilot = descend(maps[0], records, plan.pilot, entropy)
    shallow = replace(TREES, depth=plan.shallow).learn(records.X, records.y)
    wrong, best = (int((found.predict(records.X) != records.y).sum()) for found in (pilot, shallow))
    lead = M * (wrong - best) + discrete_gaussian(plan.scale, entropy)
    if lead >= M * plan.tree_from:
        return lead, sspp(replace(TREES, depth=plan.depth), records, None, DrawStage(plan.tree), entropy)
    return lead, descend(maps[1], records, plan.head, entropy, start=pilot if maps[0] == maps[1] else None)


@pytest.mark.parametrize("maps", [MAPS, (MAP, MAP)], ids=["two maps", "one map"])
@pytest.mark.parametrize("is_crossed", [True, False])
def test_a_run_is_its_parts_on_the_same_noise(is_crossed: bool, maps: Maps) -> None:
    """By the planned limit, and by those of whole records just at the lead and just above it.

    On one map the head begins where the pilot ended.
    """
    records = (crossed if is_crossed else alone)(2_000)
    plan = replace(plan_contest(request_for(2_000, 8.0), TREES, maps, DELTA), tree=0.01)  # so that η shows
    lead, _ = in_parts(maps, records, plan, 5)
    assert (lead >= plan.bound * plan.tree_from) is is_crossed
    assert lead % plan.bound, "between two records"
    for limit in (plan.tree_from, lead // plan.bound, lead // plan.bound + 1):
        at = replace(plan, tree_from=limit)
        found = contest(TREES, maps, records, at, SeededEntropy(5))
        assert (lead, found) == in_parts(maps, records, at, 5)
        assert isinstance(found, DecisionTree if lead >= plan.bound * limit else Head)


def test_where_a_head_begins(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its pilot if that has the very same map, not only one of the same shape; else at 0."""
    records, begun = alone(400), []
    alike = HeadFeatures(PredicateVectors.of(PREDICATES, COLUMNS, bits(30), 0.0), None, 256)
    assert shape_of(alike) == shape_of(MAP)

    def watched(
        features: HeadFeatures, *_: Any, start: Head | None = None, called: str = "head", **others: Any
    ) -> Head:
        assert others in ({"evidence": None}, {})
        if called == "head":
            begun.append(start)
        return Head.of(features, 2, np.ones((1, features.size)), np.zeros((1, 0, 1)))

    monkeypatch.setattr(module, "descend", watched)
    for maps in ((MAP, MAP), (alike, MAP), (MAP, alike), MAPS):
        plan = plan_contest(request_for(400, 20.0), TREES, maps, DELTA)
        contest(TREES, maps, records, replace(plan, tree_from=400), SeededEntropy(0))
    assert begun == [watched(MAP, called="pilot"), None, None, None]


@pytest.mark.parametrize("limit", [-150, -1, 0, 1, 77])
def test_the_choice_turns_at_whole_records(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tree where the noisy lead is the limit, a head where it is 1/M of a record less."""
    records, pilot = alone(400), Head.of(MAP, 2, np.zeros((1, MAP.size)), np.zeros((1, 0, 1)))
    plan = replace(FOR_400, tree_from=limit)
    lead = lead_of(records, pilot, plan)
    monkeypatch.setattr(module, "descend", lambda *_, called="head", **__: pilot if called == "pilot" else "head")
    monkeypatch.setattr(module, "sspp", lambda *_: "tree")
    for missing, kind in ((0, "tree"), (1, "head")):
        noise = plan.bound * limit - lead - missing
        monkeypatch.setattr(module, "discrete_gaussian", lambda *_, noise=noise: noise)
        assert str(contest(TREES, MAPS, records, plan, Forbidden())) == kind


# What a neighbour moves -----------------------------------------------------------------------------------------------

KINDS = [(np.array([a, b, 0.0, 0.0, 0.0]), label) for a, b, label in product((0.0, 1.0), (0.0, 1.0), (0, 1))]
"""All records of two bits and a label; the other columns are empty."""


def pilot_by(weights: Any) -> Head:
    return Head.of(MAP, 2, np.asarray(weights, dtype=np.float64).reshape(1, MAP.size), np.zeros((1, 0, 1)))


def table_of(places: tuple[int, ...]) -> InMemory:
    X, y = zip(*(KINDS[place] for place in places), strict=True)
    return InMemory(np.array(X), np.array(y, dtype=np.int8))


@pytest.mark.parametrize("shallow", [1, 2])
def test_over_all_neighbours_the_lead_moves_by_two_records_at_most_and_by_two(shallow: int) -> None:
    """All tables of three such records, up to their order, and all that differ from them in one."""
    plan, trees = shape_for(3, shallow), DecisionTrees(depth=shallow, predicates=PREDICATES[:2])
    reached = set()
    for weights in ([0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, -1], [2, -1, 0, 0, 0, 0]):
        pilot = pilot_by(weights)
        leads: dict[tuple[int, ...], int] = {}
        for places in combinations_with_replacement(range(len(KINDS)), 3):
            records = table_of(places)
            wrong = int((pilot.predict(records.X) != records.y).sum())
            best = int((trees.enumerate(records.X) != records.y).sum(axis=1).min())
            leads[places] = lead_of(records, pilot, plan, trees)
            assert leads[places] == plan.bound * (wrong - best)
        for here, lead in leads.items():
            for place, other in product(range(3), range(len(KINDS))):
                there = tuple(sorted((*here[:place], other, *here[place + 1 :])))
                reached.add(leads[there] - lead)
    assert reached == {move * plan.bound for move in (-2, -1, 0, 1, 2)}


@settings(max_examples=40, deadline=None)
@given(data=st.data(), shallow=st.integers(1, 4))
def test_a_neighbour_of_any_table_moves_the_lead_by_two_records_at_most(data: st.DataObject, shallow: int) -> None:
    row = st.lists(st.integers(0, 1), min_size=COLUMNS + 1, max_size=COLUMNS + 1)
    rows = np.array(data.draw(st.lists(row, min_size=2, max_size=30)))
    pilot = pilot_by(data.draw(st.lists(st.floats(-2, 2), min_size=MAP.size, max_size=MAP.size)))
    plan = shape_for(len(rows), shallow)
    before = lead_of(InMemory(rows[:, 1:].astype(np.float64), rows[:, 0].astype(np.int8)), pilot, plan)
    rows[data.draw(st.integers(0, len(rows) - 1))] = data.draw(row)
    after = lead_of(InMemory(rows[:, 1:].astype(np.float64), rows[:, 0].astype(np.int8)), pilot, plan)
    assert abs(after - before) <= 2 * plan.bound
    assert before % plan.bound == 0


# The stated figures ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("records", "epsilon", "delta"), BUDGETS)
def test_the_stated_figures_hold_and_are_used_up(records: int, epsilon: float, delta: float) -> None:
    """Both ways, in closed form: pilot and lead beside a tree, which has a fifth of δ, and with the head's sums."""
    plan = plan_for(records, epsilon, delta)
    stated = contest_guarantee(plan, TREES, COLUMNS, delta)
    assert stated.within(epsilon, delta)
    assert stated.epsilon > 0.99999 * epsilon
    assert stated.delta > 0.99999 * delta
    least, tree = (
        exact_delta([plan.pilot], (), at * stated.epsilon, plan.scale, ranged=2 * plan.tree) for at in (0.9995, 1.0)
    )
    head = exact_delta([plan.pilot, plan.head], (), stated.epsilon, plan.scale)
    assert tree <= 0.2 * delta < least
    assert 0.999 * 0.8 * delta < head <= 0.8 * delta


def coarse(tree: float) -> ContestStage:
    """Noise that is far from continuous: Rényi composition has the better figure."""
    plan = plan_for(10_000, 1.0)
    pilot = replace(plan.pilot, bound=1, scale=90.0, steps=7)
    head = replace(plan.head, bound=1, scale=50.0, steps=20)
    return replace(plan, pilot=pilot, scale=40.0, tree=tree, head=head, slack=1e-3)


@pytest.mark.parametrize("eta", [0.0, 0.1, 1.0, 5.0])
def test_the_figures_are_those_of_compositions_by_hand(eta: float) -> None:
    """The larger ε of both ways, and the δ of both: a fifth for the tree, which is of bounded range."""
    plan = coarse(eta)
    before: list[Event] = [Repeated(plan.pilot.event, 7), plan.comparison]
    of_tree = compose([*before, BoundedRangeEvent(2 * eta + 2e-3)], 0.2 * DELTA, accountant="Rényi")
    of_head = compose([*before, Repeated(plan.head.event, 20)], 0.8 * DELTA, accountant="Rényi")
    assert (of_tree.epsilon > of_head.epsilon) is (eta >= 1.0)
    stated = contest_guarantee(plan, TREES, COLUMNS, DELTA)
    assert stated.epsilon == pytest.approx(max(of_tree.epsilon, of_head.epsilon), rel=1e-8)
    assert stated.delta == pytest.approx(DELTA, rel=1e-8)
    assert stated.delta <= DELTA
    assert (stated.proof, TREE_SHARE) == ("contest", 0.2)
    for part in ("where it is a tree", "where it is a head"):
        assert any(part in step for step in stated.steps)


def test_a_lead_is_a_number_that_moves_by_two_records() -> None:
    """To an accountant it is one more sum: of the same strength as the pilot it costs as much as the pilot."""
    plan = coarse(0.0)
    single = replace(plan.pilot, steps=1)
    same = replace(plan, pilot=single, scale=single.scale)
    as_two = replace(plan, pilot=replace(single, steps=2), scale=1e9)
    one, other = (contest_guarantee(stage, TREES, COLUMNS, DELTA).epsilon for stage in (same, as_two))
    assert one == pytest.approx(other, rel=1e-6)


def test_the_tree_is_accounted_for_as_it_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """At its own η and depth, with the error of its sampler on either side; a slack that is less than 2λ is refused."""
    plan, asked = replace(plan_for(10_000, 1.0), shallow=1, tree=0.1, depth=2, slack=2.8), []

    def dear(*those: Any) -> Guarantee:
        asked.append(those)
        return Guarantee(3.0)

    monkeypatch.setattr(drawing, "sspp_guarantee", dear)
    stated = contest_guarantee(replace(plan, slack=2.81), TREES, COLUMNS, DELTA)
    assert asked == [(DrawStage(0.1), replace(TREES, depth=2), 10_000, COLUMNS, None)]
    assert 5.0 < stated.epsilon < 5.82 + 0.5
    with pytest.raises(ParameterError, match=r"slack must be at least 2\.8 for these trees"):
        contest_guarantee(replace(plan, slack=2.79), TREES, COLUMNS, DELTA)


def louder(part: Any, factor: float) -> Any:
    return replace(part, scale=factor * part.scale)


def test_less_noise_than_planned_is_not_within_epsilon() -> None:
    """Pilot and lead are paid for in both ways: also where the other one costs nothing."""
    plan = plan_for(10_000, 1.0)
    assert contest_guarantee(plan, TREES, COLUMNS, DELTA).within(1.0, DELTA)
    no_head, no_tree = replace(plan, head=louder(plan.head, 100.0)), replace(plan, tree=0.0)
    for base in (plan, no_head, no_tree):
        assert contest_guarantee(base, TREES, COLUMNS, DELTA).within(1.0, DELTA)
        for change in (louder(base, 0.7), replace(base, pilot=louder(base.pilot, 0.9))):
            assert not contest_guarantee(change, TREES, COLUMNS, DELTA).within(1.0, DELTA)
    for base in (plan, no_head):
        colder = replace(base, tree=1.001 * base.tree, slack=1.1 * base.slack)
        assert not contest_guarantee(colder, TREES, COLUMNS, DELTA).within(1.0, DELTA)
    for base in (plan, no_tree):
        stronger = replace(base, head=louder(base.head, 0.99))
        assert not contest_guarantee(stronger, TREES, COLUMNS, DELTA).within(1.0, DELTA)
        more = replace(base, head=replace(base.head, steps=base.head.steps + 2))
        assert not contest_guarantee(more, TREES, COLUMNS, DELTA).within(1.0, DELTA)


def test_pilot_and_lead_are_paid_for_beside_the_head() -> None:
    plan = replace(plan_for(10_000, 1.0), tree=0.0)
    assert contest_guarantee(plan, TREES, COLUMNS, DELTA).epsilon > head_guarantee(plan.head, 0.8 * DELTA).epsilon


# What is refused ------------------------------------------------------------------------------------------------------


def test_what_does_not_fit_is_refused_before_anything_is_drawn() -> None:
    records, plan = alone(400), FOR_400
    with pytest.raises(ParameterError, match="plan for 300 records"):
        contest(TREES, MAPS, alone(300), plan, Forbidden())
    for maps in ((MAP, MAP), (PILOT_MAP, PILOT_MAP), MAPS[::-1], (CAREFUL_MAP, MAP), (PILOT_MAP, CAREFUL_MAP)):
        with pytest.raises(ParameterError, match="plan for this feature map"):
            contest(TREES, maps, records, plan, Forbidden())
    for some in ((MAP,), MAPS[:1], (*MAPS, MAP), ()):
        with pytest.raises(ParameterError, match="maps must be those of the pilot and of the head"):
            contest(TREES, some, records, plan, Forbidden())
    with pytest.raises(ParameterError, match="2 classes"):
        contest(replace(TREES, labels=3), MAPS, records, plan, Forbidden())
    with pytest.raises(DataError, match="y"):
        contest(TREES, MAPS, InMemory(records.X, records.y, 3), plan, Forbidden())
    wide = replace(TREES, predicates=(*PREDICATES, Predicate(COLUMNS, 0.5)))
    with pytest.raises(DataError, match="columns that the predicates ask about"):
        contest(wide, MAPS, records, plan, Forbidden())
    with pytest.raises(DataError, match="X"):
        contest(TREES, MAPS, InMemory(np.zeros((400, COLUMNS + 1)), records.y), plan, Forbidden())


def test_trees_that_are_too_large_to_count_are_refused_before_anything_is_drawn() -> None:
    """Those that are compared as well as those that are drawn, whichever are the deeper ones."""
    records, plan = alone(400), FOR_400
    assert plan.shallow < plan.depth
    enough, few = (replace(TREES, operations=TREES.cost(400, depth) + 1.0) for depth in (plan.depth, plan.shallow))
    turned = replace(plan, shallow=plan.depth, depth=plan.shallow)
    for stage in (plan, turned):
        assert isinstance(contest(enough, MAPS, records, stage, SeededEntropy(0)), Head | DecisionTree)
        for trees in (few, replace(TREES, operations=1.0)):
            with pytest.raises(ParameterError, match="raise operations"):
                contest(trees, MAPS, records, stage, Forbidden())


# Persons --------------------------------------------------------------------------------------------------------------


PILOT = pilot_by([1.0, -1.0, 0.5, 0.25, 0.0, -0.1])
SMALL = DecisionTrees(predicates=PREDICATES[:3])
Rows = list[list[int]]
"""Those of one person: the label, and then the columns."""
a_row = st.lists(st.integers(0, 1), min_size=COLUMNS + 1, max_size=COLUMNS + 1)
a_person = st.lists(a_row, min_size=1, max_size=5)


def lead_of_persons(people: list[Rows], most: int) -> int:
    """M = 8: its steps are eighths of a person, those of mistakes 64ths. Trees are tried one by one, too."""
    counts = np.array([len(rows) for rows in people])
    rows, weights = np.concatenate([np.array(rows) for rows in people]), row_weights(counts, most)
    X, y = rows[:, 1:].astype(np.float64), rows[:, 0].astype(np.int8)
    persons = Persons(InMemory(X, y), np.repeat(np.arange(len(people)), counts), most)
    lead = lead_of(persons, PILOT, shape_for(len(people), 1, bound=8), SMALL)
    wrong = int(weights[PILOT.predict(X) != y].sum())
    best = int(((replace(SMALL, depth=1).enumerate(X) != y) * weights).sum(axis=1).min())
    assert lead == math.floor(Fraction(8 * (wrong - best), 64))
    return lead


@settings(max_examples=40, deadline=None)
@given(people=st.lists(a_person, min_size=1, max_size=6), other=a_person, most=st.sampled_from([1, 3, 64]))
def test_a_person_moves_the_lead_by_two_records_at_most(people: list[Rows], other: Rows, most: int) -> None:
    """Whatever a person's rows are and however many there are; the lead is rounded down to M-ths."""
    assert abs(lead_of_persons([other, *people[1:]], most) - lead_of_persons(people, most)) <= 2 * 8


@pytest.mark.parametrize("most", [1, 3])
def test_a_person_may_move_the_lead_by_two_records(most: int) -> None:
    """Three rows alike, which the pilot gets right, and then wrong; with them a tree has nothing left to get wrong."""
    one, other = ([[label, 1, 0, 0, 0, 0]] * 3 for label in (1, 0))
    assert PILOT.predict(np.array([[1.0, 0, 0, 0, 0]])).tolist() == [1]
    assert lead_of_persons([other, other], most) - lead_of_persons([one, other], most) == 2 * 8


def test_the_lead_of_persons_is_rounded_down() -> None:
    """The rows of a person of three have 21, 21 and 22 64ths. Trees do not see the last two columns, the pilot does."""
    wrong, right = [0, 1, 0, 0, 0, 0], [1, 1, 0, 0, 0, 0]
    assert lead_of_persons([[wrong, right, wrong]], 1) == 2, "43 − 21 64ths are 2.75 eighths"
    one, other = [1, 0, 0, 0, 1, 0], [0, 0, 0, 0, 0, 0]
    assert lead_of_persons([[one, other, other]], 1) == -3, "−21 64ths are −2.6 eighths"


def test_persons_of_one_row_are_records() -> None:
    records, plan = alone(40), plan_for(40, 20.0)
    persons = Persons(records, np.arange(40))
    assert persons.whole == 64
    assert lead_of(persons, PILOT, plan) == lead_of(records, PILOT, plan)
    assert contest(TREES, MAPS, persons, plan, SeededEntropy(2)) == contest(
        TREES, MAPS, records, plan, SeededEntropy(2)
    )
