"""A head that is doubted midway: the run against its parts on the same noise, the lead, and the stated figures."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.either import BUDGETS, COLUMNS, MAP, PREDICATES, TREES, bits, exact_delta, request_for, share_kept
from support.releases import Forbidden

from pcqr.accounting import PureEvent, Repeated, compose
from pcqr.algorithms.doubted import doubted, doubted_guarantee
from pcqr.algorithms.head import descend, descents
from pcqr.algorithms.leaves import shares
from pcqr.algorithms.sspp import sspp, sspp_guarantee
from pcqr.entropy import SeededEntropy
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.head import Head
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees
from pcqr.hypotheses.trees.partition import least_mistakes
from pcqr.noise import discrete_gaussian
from pcqr.plan import DoubtedStage, DrawStage
from pcqr.planning.classifiers.counted import plan_doubted
from pcqr.planning.classifiers.recipes import plain
from pcqr.progress import Progress, reporting, under_way
from pcqr.records import InMemory
from pcqr.records.predicates import Predicate

DELTA = 1e-6
COUNT = PureEvent(0.03)


def plan_for(records: int, epsilon: float, delta: float = DELTA, count: PureEvent = COUNT) -> DoubtedStage:
    asked = request_for(records, epsilon, delta)
    return plan_doubted(asked, TREES, MAP, plain(records, epsilon), delta, count)


def alone(records: int) -> InMemory:
    """A majority of five: a head's question."""
    X = bits(records)
    return InMemory(X, (X.sum(axis=1) > 2).astype(np.int8))


def crossed(records: int) -> InMemory:
    """Columns that act together: a tree's question."""
    X = bits(records)
    return InMemory(X, (X[:, 0] != X[:, 1]).astype(np.int8))


@pytest.mark.parametrize("is_crossed", [True, False])
def test_a_run_is_its_parts_on_the_same_noise(is_crossed: bool) -> None:
    records, plan = (crossed if is_crossed else alone)(1_000), plan_for(1_000, 8.0)
    entropy, trees = SeededEntropy(5), replace(TREES, depth=plan.depth)
    descent = descents(MAP, records, plan.head, entropy, (plan.midway, plan.head.steps))
    wrong = int((next(descent).predict(records.X) != records.y).sum())
    best = int((trees.learn(records.X, records.y).predict(records.X) != records.y).sum())
    lead = plan.bound * (wrong - best) + discrete_gaussian(plan.scale, entropy)
    assert (lead >= plan.bound * plan.tree_from) is is_crossed
    expected = sspp(trees, records, None, DrawStage(plan.tree), entropy) if is_crossed else next(descent)
    assert doubted(TREES, MAP, records, plan, SeededEntropy(5)) == expected
    assert isinstance(expected, DecisionTree if is_crossed else Head)


def test_the_choice_turns_at_whole_records() -> None:
    records, plan = crossed(400), replace(plan_for(400, 20.0), scale=1e-9 * 2**24)
    (midway,) = records.mistakes([next(descents(MAP, records, plan.head, SeededEntropy(1), (plan.midway,)))])
    lead = int(midway)  # the best tree makes no mistake, and there is hardly any noise: 2⁻⁶ of a record
    assert lead > 0
    for tree_from, kind in ((lead - 1, DecisionTree), (lead + 1, Head)):
        assert isinstance(doubted(TREES, MAP, records, replace(plan, tree_from=tree_from), SeededEntropy(1)), kind)


@pytest.mark.parametrize("stops", [(10,), (4, 10), (3, 7, 20)])
def test_a_descent_with_stops_is_one_without_on_the_same_noise(stops: tuple[int, ...]) -> None:
    """The head at a stop is that of a descent which ends there."""
    records = alone(300)
    plan = replace(plan_for(300, 20.0).head, steps=stops[-1])
    for stop, found in zip(stops, descents(MAP, records, plan, SeededEntropy(3), stops), strict=True):
        assert found == descend(MAP, records, replace(plan, steps=stop), SeededEntropy(3))


def test_the_least_number_of_mistakes_is_that_of_all_trees_and_moves_by_one() -> None:
    trees, rng = DecisionTrees(depth=2, predicates=PREDICATES[:3]), np.random.default_rng(4)
    moved = set()
    for _ in range(40):
        X, y = rng.integers(0, 2, (9, 3)).astype(np.float64), rng.integers(0, 2, 9).astype(np.int8)
        best = least_mistakes(trees.count(X, y).counts)
        assert best == (trees.enumerate(X) != y).sum(axis=1).min()
        X[0], y[0] = rng.integers(0, 2, 3), rng.integers(0, 2)
        moved.add(least_mistakes(trees.count(X, y).counts) - best)
    assert moved == {-1, 0, 1}


def test_a_neighbour_moves_the_lead_by_two_records_at_most() -> None:
    trees, records, plan = replace(TREES, depth=1), alone(60), plan_for(60, 20.0)
    midway = next(descents(MAP, records, plan.head, SeededEntropy(7), (plan.midway,)))

    def lead(there: InMemory) -> int:
        return int(there.mistakes([midway])[0]) - least_mistakes(trees.count_on(there).counts)

    moved = set()
    for i in range(60):
        X, y = records.X.copy(), records.y.copy()
        X[i], y[i] = 1 - X[i], 1 - y[i] if i % 2 else y[i]
        moved.add(lead(InMemory(X, y)) - lead(records))
    assert max(map(abs, moved)) <= 2
    assert len(moved) > 1


@pytest.mark.parametrize(("records", "epsilon", "delta"), BUDGETS)
def test_the_stated_figures_hold_and_are_used_up(records: int, epsilon: float, delta: float) -> None:
    """Both ways in closed form: T sums and the lead; and t sums, the lead and a tree. The count is beside them."""
    count = PureEvent(0.03 * epsilon)
    plan = plan_for(records, epsilon, delta, count)
    stated = doubted_guarantee(plan, TREES, COLUMNS, delta, beside=(count,))
    assert stated.within(epsilon, delta)
    assert stated.epsilon > 0.999999 * epsilon
    lead = plan.comparison.noise_multiplier
    of_tree = sspp_guarantee(DrawStage(plan.tree), replace(TREES, depth=plan.depth), records, COLUMNS, None).epsilon
    half = replace(plan.head, steps=plan.midway)
    for part, pure, share in ((plan.head, (count.epsilon,), 0.9), (half, (count.epsilon, of_tree), 0.1)):
        assert 0.9 * share * delta < exact_delta(part, pure, stated.epsilon, lead) <= share * delta


def test_the_figures_are_those_of_compositions_by_hand() -> None:
    """Where Rényi composition is the better figure: coarse noise, far from continuous."""
    head = replace(plan_for(10_000, 1.0).head, bound=1, scale=50.0, steps=20)
    plan = DoubtedStage(head, 5, 40.0, 100, 0.1, 4)
    lead = plan.comparison
    tree = sspp_guarantee(DrawStage(0.1), TREES, 10_000, COLUMNS, None).epsilon
    for_tree, for_head = shares(DELTA, 0.1)
    ways = (
        compose([Repeated(head.event, 5), lead, COUNT, PureEvent(tree)], for_tree, accountant="Rényi").epsilon,
        compose([Repeated(head.event, 20), lead, COUNT], for_head, accountant="Rényi").epsilon,
    )
    stated = doubted_guarantee(plan, TREES, COLUMNS, DELTA, beside=(COUNT,))
    assert stated.epsilon == pytest.approx(max(ways), rel=1e-9)
    assert (stated.proof, stated.delta <= DELTA) == ("doubted", True)


def test_less_noise_than_planned_is_not_within_epsilon() -> None:
    plan = plan_for(10_000, 1.0)
    for louder in (
        replace(plan, scale=plan.scale / 1.2),
        replace(plan, head=replace(plan.head, scale=plan.head.scale / 1.01)),
        replace(plan, tree=1.001 * plan.tree),
        replace(plan, midway=plan.midway + 1),
    ):
        assert not doubted_guarantee(louder, TREES, COLUMNS, DELTA, beside=(COUNT,)).within(1.0, DELTA)


@pytest.mark.parametrize(("records", "epsilon"), [(200_000, 0.03), (60_000, 0.1), (10_000, 1.0), (5_000, 4.0)])
def test_what_the_doubt_costs(records: int, epsilon: float) -> None:
    plan = plan_for(records, epsilon, count=PureEvent(0.03 * epsilon))
    assert 0.96 < share_kept(plan.head, epsilon, DELTA) < 1.0
    assert 0.42 * epsilon < 2 * plan.tree < 0.46 * epsilon


def test_a_tree_ends_the_descent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the other steps is drawn, and whoever listens hears of the tree."""

    def a_tree(*_: object) -> None:
        with under_way("a tree"):
            pass

    monkeypatch.setattr("pcqr.algorithms.doubted.sspp", a_tree)
    told: list[Progress] = []
    records, plan = crossed(1_000), plan_for(1_000, 8.0)
    with reporting(told.append):
        doubted(TREES, MAP, records, plan, SeededEntropy(5))
    sums = [progress.done for progress in told if progress.stage == "head, noisy sums"]
    assert max(sums) < plan.midway
    assert told[-2:] == [Progress("a tree", 0, 1), Progress("a tree", 1, 1)]


def test_what_does_not_fit_is_refused_before_anything_is_drawn() -> None:
    records, plan = alone(400), plan_for(400, 20.0)
    with pytest.raises(ParameterError, match="plan for 300 records"):
        doubted(TREES, MAP, alone(300), plan, Forbidden())
    with pytest.raises(ParameterError, match="raise operations"):
        doubted(replace(TREES, operations=1.0), MAP, records, plan, Forbidden())
    wide = replace(TREES, predicates=(*PREDICATES, Predicate(COLUMNS, 0.5)))
    with pytest.raises(DataError, match="columns that the predicates ask about"):
        doubted(wide, MAP, records, plan, Forbidden())
    with pytest.raises(DataError, match="3 labels"):
        doubted(replace(TREES, labels=3), MAP, records, plan, Forbidden())


def test_the_lead_is_on_as_fine_a_grid_as_the_sums() -> None:
    plan = plan_for(10_000, 1.0)
    strength = math.sqrt(plan.head.steps) / plan.head.event.noise_multiplier
    assert 1 / plan.comparison.noise_multiplier == pytest.approx(0.2 / math.sqrt(0.96) * strength, rel=1e-9)
