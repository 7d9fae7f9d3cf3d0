"""Plans for a tree and a linear classifier: each keeps (ε, δ) and uses them up; a tree costs less than its share."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.stages import (
    COLUMNS,
    MAP,
    PREDICATES,
    TREES,
    beside_tree,
    bits,
    guarantee_of,
    plan_beside_tree,
    planned,
    request_for,
    share_kept,
)

from pcqr import PrivateClassifier
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.vectors import ColumnVectors, PredicateVectors
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.privacy.accounting import BoundedRangeEvent, PureEvent
from pcqr.privacy.composition import Sequence
from pcqr.releases.classifier import planning as published
from pcqr.releases.classifier.feature_maps import dense_features
from pcqr.releases.classifier.planning import plan_published
from pcqr.releases.classifier.rule import TREE_SHARE, Recipe, recipe_for

PUBLIC = bits(200)
SEEN = FeatureMap(PredicateVectors.of(PREDICATES, COLUMNS, PUBLIC, 0.4), None, 256)
FERNED = FeatureMap(MAP.dense, Ferns(PREDICATES + PREDICATES[:1], 2, COLUMNS), 128)


def with_share(monkeypatch: pytest.MonkeyPatch, share: float) -> None:
    monkeypatch.setattr(published, "TREE_SHARE", share)


def strong(records: int, epsilon: float) -> float:
    """ε, or as much as makes n·ε = 3,000: below that a tree is published alone."""
    return max(epsilon, 3_000.0 / records * (1 + 1e-9))


@settings(max_examples=20, deadline=None)
@given(
    epsilon=st.floats(0.02, 6.0),
    delta=st.floats(1e-9, 1e-3),
    records=st.integers(1_000, 10**6),
    labels=st.sampled_from([2, 3, 7]),
    share=st.floats(0.05, 0.8),
)
def test_every_plan_keeps_epsilon_and_delta_and_uses_them_up(
    epsilon: float, delta: float, records: int, labels: int, share: float
) -> None:
    """With a tiny δ and a large ε what the grid adds is all of δ at some μ, and the figure jumps there."""
    epsilon = strong(records, epsilon)
    with pytest.MonkeyPatch.context() as patched:
        with_share(patched, share)
        plan = plan_beside_tree(records, epsilon, delta, trees=replace(TREES, labels=labels))
    assert plan.guarantee == guarantee_of(plan.stage, records, delta, replace(TREES, labels=labels))
    assert plan.guarantee.within(epsilon, delta)
    assert plan.guarantee.epsilon > 0.999 * epsilon
    assert plan.guarantee.delta > 0.999 * delta


@settings(max_examples=15, deadline=None)
@given(
    epsilon=st.floats(1e-4, 100.0),
    delta=st.floats(1e-100, 0.1),
    records=st.integers(30, 10**6),
    share=st.floats(0.01, 0.95),
)
def test_every_plan_is_within_epsilon_and_delta(epsilon: float, delta: float, records: int, share: float) -> None:
    """Also where they cannot be used up: a few records, a δ that pays for all of ε, noise that the grid limits."""
    epsilon = strong(records, epsilon)
    with pytest.MonkeyPatch.context() as patched:
        with_share(patched, share)
        draw, linear = beside_tree(plan_beside_tree(records, epsilon, delta))
    assert 0.0 < 2 * draw.inverse_temperature <= share * epsilon
    assert linear.records == records


@pytest.mark.parametrize(("share", "least", "most"), [(0.2, 0.92, 0.96), (0.3, 0.85, 0.9), (0.5, 0.66, 0.72)])
def test_a_tree_costs_its_linear_classifier_less_than_its_share(
    share: float, least: float, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At δ = 10⁻⁶ and ε = .1; by itself, as a pure release would, the sums would add up to 1 − s."""
    with_share(monkeypatch, share)
    _, linear = beside_tree(plan_beside_tree(50_000, 0.1))
    assert least < share_kept(linear, 0.1, 1e-6) < most


@pytest.mark.parametrize(("epsilon", "delta"), [(0.15, 1e-6), (1.0, 1e-6), (1.0, 1e-12), (5.0, 1e-9)])
@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
def test_a_linear_classifier_keeps_more_than_beside_a_pure_release(
    epsilon: float, delta: float, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_share(monkeypatch, share)
    draw, linear = beside_tree(plan_beside_tree(20_000, epsilon, delta))
    pure: Any = (PureEvent(2 * draw.inverse_temperature),)
    recipe = recipe_for("plain", 20_000, epsilon)
    beside_pure = planned(20_000, MAP, recipe, epsilon, delta, beside=pure)
    assert share_kept(linear, epsilon, delta) > 1.001 * share_kept(beside_pure, epsilon, delta)
    assert 1.0 - share < share_kept(linear, epsilon, delta) < 1.0


@given(epsilon=st.floats(0.01, 10.0), records=st.integers(300, 10**5))
@settings(max_examples=10, deadline=None)
def test_the_figure_of_a_tree_is_its_share_of_epsilon(epsilon: float, records: int) -> None:
    """A numerical error of its draw included, which is twice in the interval."""
    epsilon = strong(records, epsilon)
    draw, _ = beside_tree(plan_beside_tree(records, epsilon))
    drawn = guarantee_of(draw, records)
    assert TREE_SHARE == 0.2
    assert drawn.epsilon == pytest.approx(TREE_SHARE * epsilon, rel=1e-6)
    assert drawn.epsilon <= TREE_SHARE * epsilon
    event = draw.event(request_for(records, epsilon).context)
    assert isinstance(event, BoundedRangeEvent)
    slack = drawn.epsilon - 2.0 * draw.inverse_temperature
    assert event.epsilon >= drawn.epsilon + slack
    assert slack < 1e-3 * epsilon + 1e-6


def test_the_tree_is_paid_for() -> None:
    by_itself = planned(20_000, MAP, recipe_for("plain", 20_000, 1.0), 1.0)
    draw, beside = beside_tree(plan_beside_tree(20_000, 1.0))
    assert beside.scale > 1.05 * by_itself.scale
    assert not guarantee_of(Sequence((draw, by_itself)), 20_000).within(1.0, 1e-6)


# What the linear classifier is made of --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("features", "recipe"),
    [(MAP, recipe_for("plain", 10_000, 1.0)), (FERNED, recipe_for("some ferns", 10_000, 1.0))],
    ids=["predicates", "ferns"],
)
def test_it_is_planned_by_the_recipe_of_its_map_with_room_for_the_tree(features: FeatureMap, recipe: Recipe) -> None:
    _, linear = beside_tree(plan_beside_tree(10_000, 1.0, features=features))
    assert linear.whitening == recipe.whitening
    assert (linear.dense, linear.ferns, linear.depth) == (COLUMNS + 2, features.count, features.depth)
    assert (linear.share, linear.steps, linear.classes) == (features.share, recipe.least_steps, 2)
    mu = math.sqrt(linear.sums.squared_mu)
    length = linear.steps * linear.step_size / (1 - linear.momentum)
    longest = recipe.least_steps * recipe.largest_step / 10_000 / (1 - linear.momentum)
    assert length == pytest.approx(min(recipe.noise * mu, longest))


@pytest.mark.parametrize(("rows", "is_empirical_bayes"), [(0, False), (4 * 7 - 1, False), (4 * 7, True), (200, True)])
def test_empirical_bayes_needs_public_rows_whatever_the_tree_says(rows: int, is_empirical_bayes: bool) -> None:
    """Four for each predicate, for the tree and for the constant; otherwise it is a descent."""
    plan = plan_beside_tree(5_000, 1.0, features=SEEN, public=PUBLIC[:rows] if rows else None)
    _, linear = beside_tree(plan)
    assert linear.is_empirical_bayes is is_empirical_bayes
    made = recipe_for("plain", 5_000, 1.0, may_use_bayes=is_empirical_bayes)
    assert (linear.steps, linear.whitening) == (made.least_steps, made.whitening)
    assert linear.dense == COLUMNS + 2
    assert plan.guarantee.within(1.0, 1e-6)
    _, strong = beside_tree(plan_beside_tree(8_000, 1.0, features=SEEN, public=PUBLIC))
    assert not strong.is_empirical_bayes, "strong enough for a descent"
    _, plain = beside_tree(plan_beside_tree(5_000, 1.0, features=MAP, public=PUBLIC))
    assert not plain.is_empirical_bayes, "not seen through directions"


# What is no plan ------------------------------------------------------------------------------------------------------


def test_what_leaves_nothing_is_no_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    with_share(monkeypatch, 1.0)
    told = "leave nothing of ε = 1 for a linear classifier. Nearest feasible change: a larger ε"
    with pytest.raises(InfeasiblePlan, match=told):
        plan_beside_tree(5_000, 1.0)


def test_noise_that_cannot_be_drawn_is_no_plan() -> None:
    told = "noise is larger than can be drawn. Nearest feasible change: a larger ε or δ"
    with pytest.raises(InfeasiblePlan, match=told):
        plan_published(request_for(5_000, 1e-9, 1e-12), "linear", {"plain": MAP})


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
        plan_published(request_for(10_000, 1.0), "auto", {"plain": features})


@pytest.mark.parametrize("limits", [{"depth": 6, "operations": 1e3}, {"operations": 1.0}, {"memory": 1.0}])
def test_trees_that_are_too_large_are_refused_by_the_work_of_the_plan(limits: dict[str, Any]) -> None:
    """Whoever plans asks the class whether it bears the work."""
    trees = replace(TREES, **limits)
    plan = plan_beside_tree(3_000, 2.0, trees=trees)
    assert plan.stage.work(3_000) == ((3_000, 1),)
    with pytest.raises(ParameterError, match="depth"):
        trees.check_work(plan.stage.work(3_000), COLUMNS)
    with pytest.raises(ParameterError, match="depth"):
        PrivateClassifier(2.0, trees=trees, classes=(0, 1)).plan(3_000, COLUMNS)
