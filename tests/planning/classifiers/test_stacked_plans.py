"""Plans for a linear classifier beside a tree: every one keeps (ε, δ) and uses them up, and a tree costs less than its share."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pcqr.algorithms.stacked import stacked_guarantee
from pcqr.planning.classifiers.counted import plan_counted
from pcqr.planning.classifiers.stacked import plan_stacked
from support.either import COLUMNS, MAP, PREDICATES, TREES, bits, request_for, share_kept

from pcqr.accounting import PureEvent
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.plan import CountedStage, DrawStage, StackedStage
from pcqr.planning.classifiers.dense import dense_features
from pcqr.planning.classifiers.linear import plan_linear
from pcqr.planning.classifiers.recipes import mixed, plain, posterior
from pcqr.planning.classifiers.rule import COUNT_SHARE, STACKED_SHARE
from pcqr.records.arrays import Points
from pcqr.records.feature_map import FeatureMap
from pcqr.records.ferns import Ferns
from pcqr.records.vectors import ColumnVectors, PredicateVectors

PUBLIC = bits(200)
SEEN = FeatureMap(PredicateVectors.of(PREDICATES, COLUMNS, PUBLIC, 0.4), None, 256)
FERNED = FeatureMap(MAP.dense, Ferns(PREDICATES + PREDICATES[:1], 2, COLUMNS), 128)


def plan_for(
    records: int,
    epsilon: float,
    delta: float = 1e-6,
    share: float = STACKED_SHARE,
    features: FeatureMap = MAP,
    public: Points | None = None,
    beside: tuple[PureEvent, ...] = (),
    **limits: Any,
) -> StackedStage:
    trees = replace(TREES, **limits)
    request = request_for(records, epsilon, delta)
    return plan_stacked(request, trees, features, delta, share, public=public, beside=beside)


@settings(max_examples=20, deadline=None)
@given(
    epsilon=st.floats(0.02, 6.0),
    delta=st.floats(1e-9, 1e-3),
    records=st.integers(100, 10**6),
    share=st.floats(0.05, 0.8),
    counts=st.booleans(),
)
def test_every_plan_keeps_epsilon_and_delta_and_uses_them_up(
    epsilon: float, delta: float, records: int, share: float, counts: bool
) -> None:
    """With a tiny δ and a large ε what the grid adds is all of δ at some μ, and the figure jumps there."""
    beside = (PureEvent(0.03 * epsilon),) if counts else ()
    plan = plan_for(records, epsilon, delta, share, beside=beside)
    stated = stacked_guarantee(plan, TREES, COLUMNS, delta, beside=beside)
    assert stated.within(epsilon, delta)
    assert stated.epsilon > 0.999 * epsilon
    assert stated.delta > 0.999 * delta


@settings(max_examples=15, deadline=None)
@given(
    epsilon=st.floats(1e-4, 100.0),
    delta=st.floats(1e-100, 0.1),
    records=st.integers(1, 10**6),
    share=st.floats(0.01, 0.95),
)
def test_every_plan_is_within_epsilon_and_delta(epsilon: float, delta: float, records: int, share: float) -> None:
    """Also where they cannot be used up: a few records, a δ that pays for all of ε, noise that the grid limits."""
    plan = plan_for(records, epsilon, delta, share)
    assert stacked_guarantee(plan, TREES, COLUMNS, delta).within(epsilon, delta)
    assert 0.0 < 2 * plan.tree <= share * epsilon
    assert (plan.records, plan.depth) == (records, TREES.depth_for(records))


@pytest.mark.parametrize(("share", "least", "most"), [(0.3, 0.85, 0.9), (0.5, 0.66, 0.72)])
def test_a_tree_costs_its_head_less_than_its_share(share: float, least: float, most: float) -> None:
    """At δ = 10⁻⁶ and ε = .1; by itself, as a pure release would, the sums would add up to 1 − s."""
    assert least < share_kept(plan_for(50_000, 0.1, share=share).linear, 0.1, 1e-6) < most


@pytest.mark.parametrize(("epsilon", "delta"), [(0.03, 1e-6), (1.0, 1e-6), (1.0, 1e-12), (5.0, 1e-9)])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_a_head_keeps_more_than_beside_a_pure_release(epsilon: float, delta: float, share: float) -> None:
    plan = plan_for(20_000, epsilon, delta, share)
    pure = plan_linear(20_000, MAP, plain(20_000, epsilon), epsilon, delta, beside=(PureEvent(2 * plan.tree),))
    assert share_kept(plan.linear, epsilon, delta) > 1.001 * share_kept(pure, epsilon, delta)
    assert 1.0 - share < share_kept(plan.linear, epsilon, delta) < 1.0


@given(epsilon=st.floats(0.01, 10.0), records=st.integers(10, 10**5))
@settings(max_examples=10, deadline=None)
def test_the_slack_of_a_tree_is_all_of_its_epsilon_but_twice_eta(epsilon: float, records: int) -> None:
    plan = plan_for(records, epsilon)
    drawn = sspp_guarantee(DrawStage(plan.tree), replace(TREES, depth=plan.depth), records, COLUMNS, None)
    assert 2 * plan.tree + plan.slack >= drawn.epsilon
    assert plan.slack < 1e-3 * epsilon + 1e-6
    assert drawn.epsilon == pytest.approx(STACKED_SHARE * epsilon, rel=1e-6)


def test_other_releases_are_paid_for() -> None:
    count = PureEvent(0.1)
    alone, after = plan_for(20_000, 1.0), plan_for(20_000, 1.0, beside=(count,))
    assert after.tree == alone.tree
    assert after.linear.scale > 1.05 * alone.linear.scale
    assert not stacked_guarantee(alone, TREES, COLUMNS, 1e-6, beside=(count,)).within(1.0, 1e-6)


# What the linear classifier is made of ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("features", "recipe"), [(MAP, plain(10_000, 1.0)), (FERNED, mixed(10_000, 1.0))])
def test_the_head_is_planned_by_the_recipe_of_its_map_with_room_for_the_tree(features: FeatureMap, recipe: Any) -> None:
    plan = plan_for(10_000, 1.0, features=features)
    assert plan.whitening == recipe.whitening
    assert (plan.linear.dense, plan.linear.ferns, plan.linear.depth) == (COLUMNS + 2, features.count, features.depth)
    assert (plan.linear.share, plan.linear.steps, plan.linear.classes) == (features.share, recipe.least_steps, 2)
    strength = math.sqrt(plan.linear.steps) / plan.linear.event.noise_multiplier
    way = plan.linear.steps * plan.linear.step_size / (1 - plan.linear.momentum)
    longest = recipe.least_steps * recipe.largest_step / 10_000 / (1 - plan.linear.momentum)
    assert way == pytest.approx(min(recipe.noise * strength, longest))


@pytest.mark.parametrize(("rows", "is_empirical_bayes"), [(0, False), (4 * 7 - 1, False), (4 * 7, True), (200, True)])
def test_a_posterior_needs_public_rows_whatever_the_tree_says(rows: int, is_empirical_bayes: bool) -> None:
    """Four for each predicate, for the tree and for the constant; otherwise it is a descent."""
    plan = plan_for(5_000, 1.0, features=SEEN, public=PUBLIC[:rows] if rows else None)
    assert plan.linear.is_empirical_bayes is is_empirical_bayes
    made = posterior(5_000, 1.0) if is_empirical_bayes else plain(5_000, 1.0)
    assert (plan.linear.steps, plan.whitening) == (made.least_steps, made.whitening)
    assert plan.linear.dense == COLUMNS + 2
    assert stacked_guarantee(plan, TREES, COLUMNS, 1e-6).within(1.0, 1e-6)
    assert not plan_for(8_000, 1.0, features=SEEN, public=PUBLIC).linear.is_empirical_bayes, (
        "strong enough for a descent"
    )
    assert not plan_for(5_000, 1.0, features=MAP, public=PUBLIC).linear.is_empirical_bayes, (
        "not seen through directions"
    )


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_trees_are_drawn_at_their_own_depth(depth: int) -> None:
    assert plan_for(5_000, 1.0, depth=depth).depth == depth


@pytest.mark.parametrize(
    ("records", "epsilon", "delta"), [(20_001, 0.5, 1e-6), (9_000, 1.0, 1e-9), (100_000, 0.1, 1e-6)]
)
def test_where_labels_are_counted_a_tree_has_the_share_of_the_rule(records: int, epsilon: float, delta: float) -> None:
    """And a linear classifier beside it the 90 % of δ that the careful linear classifier leaves."""
    request = request_for(records, epsilon, delta)
    plan = plan_counted(request, TREES, (MAP, SEEN), public=PUBLIC)
    assert isinstance(plan, CountedStage)
    count = PureEvent(COUNT_SHARE * epsilon)
    by_hand = plan_stacked(request, TREES, SEEN, 0.9 * delta, 0.3, public=PUBLIC, beside=(count,))
    assert isinstance(plan.otherwise, StackedStage)
    assert replace(plan.otherwise, linear=by_hand.linear) == by_hand
    assert plan.otherwise.linear.scale == pytest.approx(by_hand.linear.scale, rel=1e-6)
    assert STACKED_SHARE == 0.3


def test_where_labels_are_counted_public_rows_are_asked_for_a_posterior() -> None:
    request = request_for(5_000, 1.0)
    for public, is_empirical_bayes in ((PUBLIC, True), (None, False)):
        last = plan_counted(request, TREES, (MAP, SEEN), public=public).otherwise
        assert isinstance(last, StackedStage)
        assert last.linear.is_empirical_bayes is is_empirical_bayes


# What is no plan ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "share", "beside", "told"),
    [
        (1.0, 1e-6, 0.3, (0.8,), "leave nothing of ε = 1 for a linear classifier. Nearest feasible change: a larger ε"),
        (
            1.0,
            1e-6,
            0.3,
            (0.4, 0.3),
            "leave nothing of ε = 1 for a linear classifier. Nearest feasible change: a larger ε",
        ),
        (1.0, 1e-6, 1.0, (), "leave nothing of ε = 1 for a linear classifier. Nearest feasible change: a larger ε"),
        (1e-9, 1e-12, 0.3, (), "noise is larger than can be drawn. Nearest feasible change: a larger ε or δ"),
    ],
)
def test_what_leaves_nothing_is_no_plan(
    epsilon: float, delta: float, share: float, beside: tuple[float, ...], told: str
) -> None:
    with pytest.raises(InfeasiblePlan, match=told):
        plan_for(5_000, epsilon, delta, share, beside=tuple(map(PureEvent, beside)))


@pytest.mark.parametrize(
    "features",
    [
        FeatureMap(ColumnVectors.unknown(COLUMNS), None, 256),
        dense_features(COLUMNS, np.random.default_rng(0).normal(size=(200, COLUMNS)), None),
        FeatureMap(None, FERNED.ferns, 0),
    ],
    ids=["columns", "dense", "ferns"],
)
def test_a_map_without_predicates_has_no_tree_beside_it(features: FeatureMap) -> None:
    with pytest.raises(ParameterError, match="features must be a feature map of predicates"):
        plan_for(10_000, 1.0, features=features)


@pytest.mark.parametrize("limits", [{"depth": 6, "operations": 1e3}, {"operations": 1.0}, {"memory": 1.0}])
def test_trees_that_are_too_large_are_refused_when_planning(limits: dict[str, Any]) -> None:
    with pytest.raises(ParameterError, match="depth"):
        plan_for(3_000, 2.0, **limits)
