"""Plans keep (ε, δ), come from public numbers alone, and grow better with more of them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import binom
from support.requests import request_of

from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.hypotheses import Intervals, Rectangles, Stumps, Thresholds
from pcqr.planner import expectation as model
from pcqr.planner.certificate import sampling_slack
from pcqr.planner.request import Request
from pcqr.releases.agnostic.planning import plan_agnostic
from pcqr.releases.semi_private.planning import plan_semi_private
from pcqr.releases.subsample.planning import plan_subsample
from pcqr.releases.universal.planning import plan_universal


def request(**changes: Any) -> Request:
    plain = request_of(30_000, 1, Thresholds(), 2.0, 1e-6, 300, 0.1, 0.05)
    return plain.but(**changes)


@settings(max_examples=5, deadline=None)
@given(
    epsilon=st.floats(0.2, 20.0),
    delta=st.floats(1e-10, 0.1),
    records=st.integers(2_000, 10**7),
    queries=st.integers(1, 10_000),
)
def test_every_plan_keeps_epsilon_and_delta(epsilon: float, delta: float, records: int, queries: int) -> None:
    asked = request(epsilon=epsilon, delta=delta, records=records, queries=queries)
    for make in (plan_subsample, plan_agnostic, plan_universal):
        try:
            plan = make(asked, "calibrated")
        except InfeasiblePlan:
            continue
        assert plan.guarantee.within(epsilon, delta)
        assert plan.guarantee.epsilon > 0.9 * epsilon
        assert plan.vote.teachers % 2 == 1
        assert plan.tested.teachers <= plan.tested.subsample <= records
        assert (plan.tested.teachers - 1) // 2 > plan.tested.sparse_vector.threshold


def test_pins_are_respected() -> None:
    plan = plan_universal(
        request(teachers=501, unstable=7, sampling_rate=0.5, inverse_temperature=0.1, publish_share=0.25), "calibrated"
    )
    assert plan.vote.teachers == 501
    assert plan.vote.sparse_vector.unstable == 7
    assert plan.vote.subsample == 15_000
    assert plan.vote.inverse_temperature == 0.1
    assert 2 * plan.publish.inverse_temperature == pytest.approx(0.5, rel=1e-6)


def test_the_nearest_feasible_size_is_feasible() -> None:
    with pytest.raises(InfeasiblePlan) as caught:
        plan_agnostic(request(records=50, epsilon=0.5), "calibrated")
    needed = int("".join(c for c in caught.value.needed.split("records")[0] if c.isdigit()))
    plan_agnostic(request(records=needed, epsilon=0.5), "calibrated")


def test_more_records_lower_the_predicted_loss() -> None:
    predicted = [plan_agnostic(request(records=n), "calibrated").prediction for n in (10_000, 100_000, 1_000_000)]
    errors = [p.excess_error for p in predicted if p is not None]
    assert errors == sorted(errors, reverse=True)
    assert len(errors) == 3


def test_the_accuracy_certificate_needs_many_records_and_then_holds() -> None:
    small = plan_agnostic(request(queries=2_000), "calibrated")
    large = plan_agnostic(request(queries=2_000, records=10**8, alpha=0.15, teachers=13_561, unstable=80), "calibrated")
    assert not small.certified
    assert large.certified
    assert not plan_subsample(request(records=10**8), "calibrated").certified


def test_large_tables_are_sampled_down_to_what_a_class_can_be_drawn_on() -> None:
    large = request(records=400_000, features=2, hypotheses=Rectangles(), epsilon=8.0, teachers=51)
    limit = Rectangles().largest_support
    assert plan_agnostic(large, "calibrated").tested.subsample <= limit
    universal = plan_universal(large.but(queries=10**6, alpha=0.001), "calibrated")
    assert universal.publish.after_queries <= limit
    with pytest.raises(ParameterError, match="sampling_rate"):
        plan_agnostic(large.but(sampling_rate=0.5), "calibrated")
    with pytest.raises(ParameterError, match="public"):
        plan_agnostic(large.but(public=10_000), "calibrated")


def test_semi_private_plans_are_pure() -> None:
    plan = plan_semi_private(request(hypotheses=Intervals(), public=200))
    assert plan.guarantee.is_pure
    assert plan.guarantee.within(2.0, 0.0)
    assert plan_semi_private(request(records=10**8, hypotheses=Stumps(cuts=[0.5]))).certified


def test_unanswered_share_agrees_with_simulation() -> None:
    rng = np.random.default_rng(0)
    for share, queries, budget in ((0.02, 300, 5), (0.1, 200, 10), (0.3, 100, 8)):
        unstable = rng.random((4_000, queries)) < share
        before: NDArray[np.int64] = np.cumsum(unstable, axis=1) - unstable.astype(np.int64)
        answered = (~unstable) & (before < budget)
        truth = 1.0 - answered.mean()
        estimate = float(model.unanswered_share(np.array(share), queries, np.array(budget)))
        assert estimate == pytest.approx(truth, abs=0.03)


def test_sampling_slack_covers_the_coin_flip_counterexample() -> None:
    """With m = 8·ln(1/(αβ))/α coin-flip labels exceed γ + α with probability .286: no certificate may promise α."""
    alpha, beta = 0.001, 0.05
    m = math.ceil(8 * math.log(1 / (alpha * beta)) / alpha)
    assert m == 79_228
    assert binom.sf(math.floor(m * (0.5 + alpha)), m, 0.5) == pytest.approx(0.286, abs=5e-4)
    slack = sampling_slack(m, beta)
    assert slack > alpha
    assert 0.9 * beta < binom.sf(math.floor(m * (0.5 + slack)), m, 0.5) <= beta
