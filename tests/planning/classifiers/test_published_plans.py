"""Which classifier is published, and with which plan: functions of public numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pcqr.planning.classifiers.piloted import feature_maps

from pcqr.errors import ParameterError
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.plan import (
    AskedPlan,
    AskedStage,
    Budget,
    ContestStage,
    CountedPlan,
    DrawPlan,
    LinearPlan,
    PilotedPlan,
    StackedStage,
)
from pcqr.planning import Request
from pcqr.planning.classifiers.published import plan_published
from pcqr.planning.classifiers.rule import choose, has_contest, trees_for
from pcqr.records.feature_map import FeatureMap
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import PredicateVectors

PREDICATES = tuple(Predicate(0, float(cut)) for cut in range(12))
TREES = DecisionTrees(predicates=PREDICATES)
MAPS = (FeatureMap(PredicateVectors.of(PREDICATES, 1), None, 256),)


def request(**changes: Any) -> Request:
    plain = Request(records=20_000, features=1, hypotheses=TREES, budget=Budget(1.0, 1e-6))
    return plain.but(**changes)


def for_method(asked: Request, method: str) -> tuple[FeatureMap, ...]:
    """Where a pilot is compared there is one more map, and where labels are counted that of the careful linear classifier."""
    chosen = choose(asked.records, asked.epsilon, 2) if method == "auto" else method
    has_pilot = chosen == "asked" and has_contest(asked.records, asked.epsilon)
    return MAPS * (2 if chosen == "counted" or has_pilot else 1)


@pytest.mark.parametrize(
    ("records", "epsilon", "labels", "expected"),
    [
        (1_199, 1.0, 2, "tree"),
        (1_200, 1.0, 2, "asked"),
        (7_999, 1.0, 2, "asked"),
        (8_000, 1.0, 2, "counted"),
        (149_999, 1.0, 2, "counted"),
        (150_000, 1.0, 2, "linear"),
        (59_999, 1.0, 2, "counted"),
        (60_000, 1.0, 2, "linear"),
        (99_999, 1.0, 2, "linear"),
        (100_000, 1.0, 2, "counted"),
        (400_000, 0.05, 2, "counted"),
        (400_000, 0.1, 2, "linear"),
        (1_500_000, 0.1, 2, "linear"),
        (119_999, 0.01, 2, "tree"),
        (120_000, 0.01, 2, "asked"),
        (799_999, 0.01, 2, "asked"),
        (2_999, 1.0, 3, "tree"),
        (3_000, 1.0, 3, "linear"),
        (10**6, 4.0, 3, "linear"),
    ],
)
def test_the_rule(records: int, epsilon: float, labels: int, expected: str) -> None:
    assert choose(records, epsilon, labels) == expected


def test_trees_are_few_where_little_can_be_learned() -> None:
    assert trees_for(1, 1.0) == trees_for(599, 1.0) == DecisionTrees(deepest=3, cuts=10)
    assert trees_for(60_000, 0.01) == trees_for(1_499, 1.0) == DecisionTrees(cuts=15)
    assert trees_for(150_000, 0.01) == trees_for(10**9, 1.0) == DecisionTrees()


@settings(max_examples=20, deadline=None)
@given(
    epsilon=st.floats(0.05, 10.0),
    delta=st.floats(1e-12, 1e-3),
    records=st.integers(100, 10**6),
    method=st.sampled_from(["auto", "tree", "linear", "asked", "counted"]),
)
def test_every_plan_keeps_epsilon_and_delta(epsilon: float, delta: float, records: int, method: str) -> None:
    asked = request(epsilon=epsilon, delta=delta, records=records)
    plan = plan_published(asked, method, for_method(asked, method))  # type: ignore[arg-type]
    assert plan.guarantee.within(epsilon, delta)
    assert plan.guarantee.epsilon > 0.98 * epsilon
    assert plan.guarantee.is_pure or not isinstance(plan, DrawPlan)


def test_the_kinds_of_plans() -> None:
    assert isinstance(plan_published(request(), "tree"), DrawPlan)
    assert isinstance(plan_published(request(records=700), "auto"), DrawPlan)
    asked, contest = (
        plan_published(request(records=n), "auto", maps) for n, maps in ((2_999, MAPS), (3_000, 2 * MAPS))
    )
    assert isinstance(asked, AskedPlan)
    assert isinstance(asked.asked, AskedStage)
    assert isinstance(contest, AskedPlan)
    assert isinstance(contest.asked, ContestStage)
    counted = plan_published(request(records=9_000), "auto", 2 * MAPS)
    assert isinstance(counted, CountedPlan)
    assert isinstance(counted.counted.otherwise, StackedStage)
    assert isinstance(plan_published(request(records=150_000), "auto", MAPS), LinearPlan)
    public, predicates = np.arange(0.5, 12.5)[:, None], PREDICATES
    maps = feature_maps(150_000, 1.0, 2, predicates, 1, public, None)
    assert isinstance(plan_published(request(records=150_000), "auto", maps), PilotedPlan)


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="method must be one of 'auto', 'tree'"):
        plan_published(request(), "forest")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="hypotheses"):
        plan_published(request(hypotheses=Thresholds()), "auto")
    for method in ("linear", "asked", "counted"):
        with pytest.raises(ParameterError, match="maps must be a feature map for the linear classifier"):
            plan_published(request(), method)
    three = request(hypotheses=replace(TREES, labels=3))
    with pytest.raises(ParameterError, match="'tree' or 'linear' for more than two classes"):
        plan_published(three, "counted", 2 * MAPS)
    with pytest.raises(ParameterError, match="'tree' or 'linear' for more than two classes"):
        plan_published(three, "asked", MAPS)
    for count in (1, 3, 5):
        with pytest.raises(
            ParameterError, match="maps must be that of the careful linear classifier, and then one or three"
        ):
            plan_published(request(), "counted", count * MAPS)


def test_several_classes_have_a_block_of_weights_each() -> None:
    plan = plan_published(request(hypotheses=replace(TREES, labels=3)), "auto", MAPS)
    assert isinstance(plan, LinearPlan)
    assert plan.linear.classes == plan.linear.blocks == 3
    assert plan.guarantee.within(1.0, 1e-6)
