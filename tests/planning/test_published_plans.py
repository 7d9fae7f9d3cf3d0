"""Which classifier is published, and with which plan: functions of public numbers."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcqr.errors import ParameterError
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.hypotheses.trees.predicates import Predicate
from pcqr.plan import BoostedPublishingPlan, LinearPublishingPlan, PublishingPlan
from pcqr.planning import Request
from pcqr.planning.published import choose, plan_published

PREDICATES = tuple(Predicate(0, float(cut)) for cut in range(12))
TREES = DecisionTrees(predicates=PREDICATES)


def request(**changes: object) -> Request:
    values = {
        "records": 20_000,
        "features": 1,
        "hypotheses": TREES,
        "epsilon": 1.0,
        "delta": 1e-6,
        "queries": 1,
        "alpha": 0.1,
        "beta": 0.05,
    }
    return Request(**(values | changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("records", "epsilon", "labels", "expected"),
    [
        (7_999, 1.0, 2, "tree"),
        (8_000, 1.0, 2, "linear"),
        (39_999, 1.0, 2, "linear"),
        (40_000, 1.0, 2, "boosted"),
        (400_000, 0.1, 2, "boosted"),
        (400_000, 0.01, 2, "tree"),
        (7_999, 1.0, 3, "tree"),
        (10**6, 4.0, 3, "linear"),
    ],
)
def test_the_rule(records: int, epsilon: float, labels: int, expected: str) -> None:
    assert choose(records, epsilon, labels) == expected


@settings(max_examples=20, deadline=None)
@given(
    epsilon=st.floats(0.05, 20.0),
    delta=st.floats(1e-12, 1e-3),
    records=st.integers(100, 10**6),
    method=st.sampled_from(["auto", "tree", "linear", "boosted"]),
)
def test_every_plan_keeps_epsilon_and_delta(epsilon: float, delta: float, records: int, method: str) -> None:
    plan = plan_published(request(epsilon=epsilon, delta=delta, records=records), method)  # type: ignore[arg-type]
    assert plan.guarantee.within(epsilon, delta)
    assert plan.guarantee.epsilon > 0.98 * epsilon
    assert plan.guarantee.is_pure or not isinstance(plan, PublishingPlan)


def test_the_kinds_of_plans() -> None:
    assert isinstance(plan_published(request(), "tree"), PublishingPlan)
    assert isinstance(plan_published(request(), "auto"), LinearPublishingPlan)
    assert isinstance(plan_published(request(records=10**6), "auto"), BoostedPublishingPlan)


def test_what_is_refused() -> None:
    with pytest.raises(ParameterError, match="method must be one of 'auto', 'tree'"):
        plan_published(request(), "forest")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="hypotheses"):
        plan_published(request(hypotheses=Thresholds()), "auto")
    three = request(hypotheses=replace(TREES, labels=3))
    with pytest.raises(ParameterError, match="'tree' or 'linear' for more than two classes"):
        plan_published(three, "boosted")


def test_several_classes_have_a_block_of_weights_each() -> None:
    plan = plan_published(request(hypotheses=replace(TREES, labels=3)), "auto")
    assert isinstance(plan, LinearPublishingPlan)
    assert plan.linear.classes == plan.linear.blocks == 3
    assert plan.guarantee.within(1.0, 1e-6)
