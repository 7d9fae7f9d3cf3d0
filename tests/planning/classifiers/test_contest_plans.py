"""Plans for a pilot against trees: both ways keep (ε, δ) and use them up, limits are functions of public numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.either import CAREFUL_MAP, COLUMNS, MAP, PILOT_MAP, PREDICATES, TREES, request_for

from pcqr.accounting import PureEvent
from pcqr.algorithms.contest import contest_guarantee
from pcqr.algorithms.head import NoisySums, sums_guarantee, sums_of
from pcqr.algorithms.sspp import sspp_guarantee
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.plan import ContestStage, DrawStage, HeadStage
from pcqr.planning.classifiers import rule
from pcqr.planning.classifiers.contest import plan_contest, scout_map
from pcqr.planning.classifiers.dense import DENSE, dense_features
from pcqr.planning.classifiers.piloted import head_maps
from pcqr.planning.classifiers.recipes import Recipe, mixed, plain, posterior, scout
from pcqr.planning.classifiers.rule import CONTEST, POSTERIOR_CONTEST
from pcqr.records.ferns import Ferns
from pcqr.records.head_features import HeadFeatures
from pcqr.records.vectors import ColumnVectors, PredicateVectors

MAPS = PILOT_MAP, MAP
COLUMNS_ALONE = HeadFeatures(ColumnVectors.unknown(COLUMNS), None, 256)
FERNED = HeadFeatures(MAP.dense, Ferns(PREDICATES + PREDICATES[:1], 2, COLUMNS), 128)
PUBLIC = np.random.default_rng(0).normal(size=(200, COLUMNS))


def plan_for(records: int, epsilon: float, delta: float = 1e-6, **limits: Any) -> ContestStage:
    return plan_contest(request_for(records, epsilon, delta), replace(TREES, **limits), MAPS, delta)


def strength(stage: HeadStage) -> float:
    """μ of all its sums together."""
    return math.sqrt(stage.steps) / stage.event.noise_multiplier


@settings(max_examples=20, deadline=None)
@given(epsilon=st.floats(0.02, 4.0), delta=st.floats(1e-12, 1e-3), records=st.integers(100, 10**6))
def test_both_ways_keep_epsilon_and_delta_and_use_them_up(epsilon: float, delta: float, records: int) -> None:
    plan = plan_for(records, epsilon, delta)
    stated = contest_guarantee(plan, TREES, COLUMNS, delta)
    assert stated.within(epsilon, delta)
    assert stated.delta > 0.99999 * delta
    before = [sums_of(plan.pilot), NoisySums(plan.comparison, 1, plan.scale, 1)]
    tree = sums_guarantee(before, 0.2 * delta, beside=(plan.draw,))
    head = sums_guarantee([*before, sums_of(plan.head)], 0.8 * delta)
    is_as_long_as_may_be = plan.draw.epsilon > 0.999 * epsilon  # a large δ would pay for more
    assert 0.999 * epsilon < tree.epsilon <= epsilon or (is_as_long_as_may_be and tree.epsilon <= epsilon)
    assert 0.999 * epsilon < head.epsilon <= epsilon


@settings(max_examples=15, deadline=None)
@given(epsilon=st.floats(1e-4, 100.0), delta=st.floats(1e-100, 0.1), records=st.integers(1, 10**6))
def test_every_plan_is_within_epsilon_and_delta(epsilon: float, delta: float, records: int) -> None:
    """Also where one of the ways cannot use them up: noise that the grid limits, a δ that pays for all of ε."""
    plan = plan_for(records, epsilon, delta)
    assert contest_guarantee(plan, TREES, COLUMNS, delta).within(epsilon, delta)
    assert 0.0 < 2 * plan.tree <= epsilon


def test_strengths_add_up_by_squares() -> None:
    plan = plan_for(10_000, 1.0)
    lead = 1.0 / plan.comparison.noise_multiplier
    whole = math.hypot(strength(plan.pilot), lead, strength(plan.head))
    assert strength(plan.pilot) / whole == pytest.approx(CONTEST.pilot)
    assert lead / whole == pytest.approx(CONTEST.lead)
    assert 0.96 < strength(plan.head) / whole < 0.99, "the head has nearly all"


def test_a_tree_needs_a_larger_lead_the_noisier_a_pilot_is() -> None:
    """In proportion to what its vectors are spread over, and to 1/(n·ε); within limits."""

    def tree_from(records: int, epsilon: float, spread: float) -> float:
        return rule.tree_from(records, epsilon, spread, CONTEST)

    from_here = tree_from(3_000, 1.0, 14.0)
    assert from_here == pytest.approx(CONTEST.behind * 14.0 / 3_000)
    assert CONTEST.least < tree_from(3_000, 1.0, 13.0) < from_here < tree_from(3_000, 1.0, 15.0) < 0.5
    assert tree_from(30_000, 0.1, 14.0) == pytest.approx(from_here)
    assert tree_from(2_000, 0.75, 7.0) == pytest.approx(from_here)
    turn = CONTEST.behind * 14.0 / CONTEST.least
    assert tree_from(math.ceil(turn) + 1, 1.0, 14.0) == tree_from(10**6, 1.0, 14.0) == CONTEST.least
    assert tree_from(math.floor(0.9 * turn), 1.0, 14.0) > 1.1 * CONTEST.least
    assert tree_from(3_000, 1.0, 10**4) == 1.0


@pytest.mark.parametrize(
    ("maps", "spread"),
    [
        ((MAP, MAP), 2.25),
        ((PILOT_MAP, MAP), 3.0),
        ((MAP, PILOT_MAP), 3.0),
        ((CAREFUL_MAP, FERNED), 2.25),
        ((COLUMNS_ALONE, MAP), 6.0),
        ((MAP, COLUMNS_ALONE), 6.0),
    ],
)
def test_the_lead_is_planned_for_the_wider_of_both_maps(maps: tuple[HeadFeatures, HeadFeatures], spread: float) -> None:
    """A number counts as one column, a category as a quarter, and the constant as one."""
    plan = plan_contest(request_for(1_000, 1.0), TREES, maps, 1e-6)
    assert plan.tree_from == pytest.approx(CONTEST.behind * spread, abs=1)
    many = plan_contest(request_for(200_001, 0.5), TREES, maps, 1e-6)
    assert many.tree_from == math.ceil(CONTEST.least * 200_001) > CONTEST.least * 200_001
    assert plan_contest(request_for(5, 1.0), TREES, maps, 1e-6).tree_from == 5, "no more than all records"


def test_posteriors_compare_with_less_noise_and_share_their_sums() -> None:
    (known,) = head_maps(5_000, 1.0, 2, PREDICATES, COLUMNS, PUBLIC, None)
    plan = plan_contest(request_for(5_000, 1.0), TREES, (known, known), 1e-6)
    assert (plan.pilot.is_posterior, plan.pilot.steps) == (True, 1)
    assert (plan.head.is_posterior, plan.head.steps) == (True, posterior(5_000, 1.0).least_steps)
    lead = 1.0 / plan.comparison.noise_multiplier
    whole = math.hypot(strength(plan.pilot), lead, strength(plan.head))
    assert strength(plan.pilot) / whole == pytest.approx(POSTERIOR_CONTEST.pilot)
    assert lead / whole == pytest.approx(POSTERIOR_CONTEST.lead)
    assert known.dense is not None
    assert plan.tree_from == math.ceil(POSTERIOR_CONTEST.least * 5_000) > POSTERIOR_CONTEST.behind * known.dense.spread
    weaker = plan_contest(request_for(5_000, 0.1), TREES, (known, known), 1e-6)
    assert weaker.tree_from == math.ceil(POSTERIOR_CONTEST.behind * known.dense.spread / 0.1)
    later = plan_contest(request_for(8_000, 1.0), TREES, (known, known), 1e-6)
    assert not later.pilot.is_posterior
    assert not later.head.is_posterior


@given(epsilon=st.floats(0.01, 10.0), records=st.integers(10, 10**5))
@settings(max_examples=10, deadline=None)
def test_the_slack_of_a_tree_is_all_of_its_epsilon_but_twice_eta(epsilon: float, records: int) -> None:
    plan = plan_for(records, epsilon)
    drawn = sspp_guarantee(DrawStage(plan.tree), replace(TREES, depth=plan.depth), records, COLUMNS, None)
    assert 2 * plan.tree + plan.slack >= drawn.epsilon
    assert plan.slack < 1e-3 * epsilon + 1e-6


@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_trees_are_compared_up_to_depth_3_and_drawn_at_their_own(depth: int) -> None:
    plan = plan_for(5_000, 1.0, depth=depth)
    assert (plan.shallow, plan.depth) == (min(3, depth), depth)


@pytest.mark.parametrize("depth", [2, 4, 5])
def test_a_posterior_is_compared_with_trees_up_to_depth_4(depth: int) -> None:
    (known,) = head_maps(5_000, 1.0, 2, PREDICATES, COLUMNS, PUBLIC, None)
    plan = plan_contest(request_for(5_000, 1.0), replace(TREES, depth=depth), (known, known), 1e-6)
    assert plan.pilot.is_posterior
    assert (plan.shallow, plan.depth) == (min(4, depth), depth)


def test_without_a_declared_depth_it_is_that_of_the_records() -> None:
    assert plan_for(5_000, 1.0).depth == TREES.depth_for(5_000) == 4


@pytest.mark.parametrize(
    ("features", "recipe"),
    [(MAP, plain(10_000, 1.0)), (FERNED, mixed(10_000, 1.0)), (dense_features(COLUMNS, PUBLIC, None), DENSE)],
    ids=["plain", "mixed", "dense"],
)
def test_each_descent_is_planned_by_the_recipe_of_its_map(features: HeadFeatures, recipe: Recipe) -> None:
    """τ is N·μ as far as the longest steps go, and N is less for a pilot, which makes fewer of them."""
    pilot = scout(recipe)
    assert pilot == replace(recipe, noise=pilot.noise, least_steps=pilot.least_steps)
    assert pilot.noise < recipe.noise
    assert pilot.least_steps < recipe.least_steps / 2
    plan = plan_contest(request_for(10_000, 1.0), TREES, (features, features), 1e-6)
    for stage, made in ((plan.pilot, pilot), (plan.head, recipe)):
        way = stage.steps * stage.step_size / (1 - stage.momentum)
        longest = made.least_steps * made.largest_step / 10_000 / (1 - stage.momentum)
        assert way == pytest.approx(min(made.noise * strength(stage), longest))
        assert stage.steps == made.least_steps
        assert (stage.dense, stage.ferns, stage.depth) == (features.size, features.count, features.depth)


def test_the_map_of_the_pilot_asks_the_same_questions_and_is_whitened_little() -> None:
    """Whatever its head is: also where that is whitened more, or has ferns. A posterior's pilot has the head's map."""
    for records in (8_000, 40_000, 400_000):
        found = scout_map(records, 1.0, PREDICATES, COLUMNS, PUBLIC, None)
        assert found == HeadFeatures(PredicateVectors.of(PREDICATES, COLUMNS, PUBLIC, 0.2), None, 256)
        assert found.dense != PredicateVectors.of(PREDICATES, COLUMNS, PUBLIC, 0.55)
    for records in (3_000, 7_999):
        (of_head,) = head_maps(records, 1.0, 2, PREDICATES, COLUMNS, PUBLIC, None)
        assert scout_map(records, 1.0, PREDICATES, COLUMNS, PUBLIC, None) == of_head
    assert scout_map(4_000, 1.0, PREDICATES, COLUMNS, None, None) == MAP, "without public rows nothing is whitened"


@pytest.mark.parametrize(
    ("epsilon", "delta", "told"),
    [
        (0.001, 0.9, "leave nothing of ε for a tree. Nearest feasible change: a larger ε"),
        (1e-9, 1e-12, "noise is larger than can be drawn. Nearest feasible change: a larger ε or δ"),
    ],
)
def test_what_leaves_nothing_is_no_plan(epsilon: float, delta: float, told: str) -> None:
    with pytest.raises(InfeasiblePlan, match=told):
        plan_for(5_000, epsilon, delta)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 1e-6), (1.0, 1e-10), (4.0, 1e-9)])
def test_bounded_range_leaves_a_tree_four_fifths_of_epsilon(epsilon: float, delta: float) -> None:
    """As a pure release it would have less."""
    plan = plan_for(math.ceil(5_000 / epsilon), epsilon, delta)
    assert 0.77 * epsilon < 2 * plan.tree < 0.85 * epsilon
    before = [sums_of(plan.pilot), NoisySums(plan.comparison, 1, plan.scale, 1)]
    pure = (PureEvent(0.97 * 2 * plan.tree),)
    assert not sums_guarantee(before, 0.2 * delta, beside=pure).within(epsilon, 0.2 * delta)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_pilot_and_head_have_a_map_each(count: int) -> None:
    with pytest.raises(ParameterError, match=f"maps must be those of the pilot and of the head; received '{count} of"):
        plan_contest(request_for(5_000, 1.0), TREES, (MAP,) * count, 1e-6)


@pytest.mark.parametrize("limits", [{"depth": 6, "operations": 1e3}, {"operations": 1.0}, {"memory": 1.0}])
def test_trees_that_are_too_large_are_refused_when_planning(limits: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="depth"):
        plan_for(3_000, 2.0, **limits)
