"""Plans for confident answers keep (ε, δ), with no more noise than that takes, from public numbers alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.requests import request_of

from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.planner.request import Request
from pcqr.releases.confident.plan import ConfidentMaxPlan
from pcqr.releases.confident.planning import ConfidentPins, plan_confident_max
from pcqr.releases.confident.run import confident_max_guarantee


def request(**changes: Any) -> Request:
    return request_of(30_000, 1, Thresholds(), 2.0, 1e-6, 300, 0.1, 0.05).but(**changes)


def planned(asked: Request | None = None, **pins: Any) -> ConfidentMaxPlan:
    return plan_confident_max(request() if asked is None else asked, pins=ConfidentPins(**pins))


@settings(max_examples=20)
@given(
    epsilon=st.floats(1e-3, 1e3),
    delta=st.floats(1e-12, 0.1),
    records=st.integers(1, 10**9),
    queries=st.integers(1, 10**6),
    labels=st.sampled_from([2, 3, 10]),
)
def test_every_plan_keeps_epsilon_and_delta(
    epsilon: float, delta: float, records: int, queries: int, labels: int
) -> None:
    hypotheses = DecisionTrees(depth=1, labels=labels)
    asked = request(epsilon=epsilon, delta=delta, records=records, queries=queries, hypotheses=hypotheses)
    plan = planned(asked)
    assert plan.guarantee.within(epsilon, delta)
    assert plan.guarantee == confident_max_guarantee(plan.vote, delta)
    assert (plan.vote.records, plan.vote.asked, plan.vote.labels) == (records, queries, labels)
    assert 1 <= plan.vote.answered <= queries
    assert plan.prediction is not None
    assert 0 <= plan.prediction.excess_error <= 0.5 + 1e-9
    assert 0 <= plan.prediction.unstable_share <= 1
    assert not plan.certified


@pytest.mark.parametrize("check_scale", [None, 400.0])
@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_noise_is_the_smallest_that_epsilon_and_delta_allow(epsilon: float, check_scale: float | None) -> None:
    vote = planned(request(epsilon=epsilon), check_scale=check_scale).vote
    assert vote.noise.check_scale == (check_scale or pytest.approx(3.75 * vote.noise.answer_scale))
    less = replace(vote, noise=replace(vote.noise, answer_scale=vote.noise.answer_scale / 1.001))
    assert confident_max_guarantee(vote, 1e-6).within(epsilon, 1e-6)
    assert not confident_max_guarantee(less, 1e-6).within(epsilon, 1e-6)


def test_what_is_fixed_is_kept() -> None:
    pins = {"most_labels": 286, "threshold": 200, "check_scale": 150.0, "answer_scale": 40.0, "teachers": 250}
    vote = planned(request(epsilon=2.6, delta=1e-5, queries=640), **pins).vote
    assert (vote.answered, vote.teachers, vote.asked) == (286, 250, 640)
    assert (vote.noise.threshold, vote.noise.check_scale, vote.noise.answer_scale) == (200, 150.0, 40.0)


def test_the_papers_noise_does_not_fit_into_less() -> None:
    pins = {"most_labels": 286, "check_scale": 150.0, "answer_scale": 40.0}
    with pytest.raises(InfeasiblePlan, match=r"640 checks .* 286 labels .* cost ε = 2\.543 at δ = 1e-05; ε = 2\.5 was"):
        planned(request(epsilon=2.5, delta=1e-5, queries=640), **pins)


def test_checks_that_are_too_dear_by_themselves_are_infeasible() -> None:
    with pytest.raises(InfeasiblePlan, match="a larger check_scale"):
        planned(check_scale=0.01)


def test_more_than_one_teacher_a_record_is_infeasible() -> None:
    with pytest.raises(InfeasiblePlan, match="101 teachers need as many records"):
        planned(request(records=50), teachers=101)


@pytest.mark.parametrize(
    ("pins", "name"),
    [
        ({"most_labels": 0}, "most_labels"),
        ({"most_labels": 301}, "most_labels"),
        ({"threshold": -1}, "threshold"),
        ({"check_scale": 0.0}, "check_scale"),
        ({"answer_scale": "40"}, "answer_scale"),
        ({"teachers": 0}, "teachers"),
    ],
)
def test_other_pins_are_refused(pins: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        planned(**pins)
    assert caught.value.name == name


def test_what_makes_it_harder_raises_the_predicted_error() -> None:
    def excess(plan: ConfidentMaxPlan) -> float:
        assert plan.prediction is not None
        return plan.prediction.excess_error

    easy = excess(planned(most_labels=300))
    assert excess(planned(request(epsilon=0.2), most_labels=300)) > easy
    assert excess(planned(request(records=1_000), most_labels=300)) > easy
    assert excess(planned(most_labels=30)) > easy, "labels that are not given count as coins"
    assert excess(planned(most_labels=300, teachers=3)) > easy


def test_noise_that_cannot_be_drawn_is_said_to_be_infeasible() -> None:
    with pytest.raises(InfeasiblePlan):
        planned(request(epsilon=1e-300))
