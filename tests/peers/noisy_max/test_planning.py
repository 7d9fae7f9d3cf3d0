"""Plans for noisy majorities keep (ε, δ), with no more noise than that takes, from public numbers alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit, ndtr
from support.requests import request_of

from pcqr.errors import InfeasiblePlan
from pcqr.hypotheses import Intervals, Thresholds
from pcqr.peers.noisy_max.algorithm import noisy_max_guarantee
from pcqr.peers.noisy_max.mechanism import ExponentialMax, GaussianMax, NoisyMax
from pcqr.peers.noisy_max.plan import NoisyMaxPlan, NoisyMaxStage
from pcqr.peers.noisy_max.planning import overturned_share, plan_noisy_max, smallest_noise
from pcqr.planning import Request


def request(**changes: Any) -> Request:
    plain = request_of(30_000, 1, Thresholds(), 2.0, 1e-6, 300, 0.1, 0.05)
    return plain.but(**changes)


def predicted(plan: NoisyMaxPlan) -> float:
    assert plan.prediction is not None
    assert plan.prediction.unanswered_share == plan.prediction.unstable_share == 0.0
    return plan.prediction.excess_error


@settings(max_examples=30)
@given(
    epsilon=st.floats(1e-3, 1e4),
    delta=st.floats(1e-12, 0.1),
    records=st.integers(1, 10**9),
    queries=st.integers(1, 10**6),
)
def test_every_plan_keeps_epsilon_and_delta(epsilon: float, delta: float, records: int, queries: int) -> None:
    plan = plan_noisy_max(request(epsilon=epsilon, delta=delta, records=records, queries=queries))
    assert plan.guarantee.within(epsilon, delta)
    assert plan.guarantee == noisy_max_guarantee(plan.vote, delta)
    assert plan.vote.teachers % 2 == 1
    assert plan.vote.teachers <= records
    assert (plan.vote.records, plan.vote.queries) == (records, queries)
    assert 0 <= predicted(plan) <= 0.5
    assert not plan.certified


def less(noise: NoisyMax, factor: float) -> NoisyMax:
    if isinstance(noise, GaussianMax):
        return GaussianMax(noise.scale / factor)
    return ExponentialMax(noise.inverse_temperature * factor)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 8.0])
@pytest.mark.parametrize("queries", [1, 30, 10_000])
def test_noise_is_the_smallest_that_epsilon_and_delta_allow(epsilon: float, queries: int) -> None:
    asked = request(epsilon=epsilon, queries=queries)
    gaussian, exponential = smallest_noise(asked)
    assert isinstance(gaussian, GaussianMax)
    assert isinstance(exponential, ExponentialMax)
    for noise in (gaussian, exponential):
        kept, broken = (
            noisy_max_guarantee(NoisyMaxStage(30_000, 101, queries, form), 1e-6) for form in (noise, less(noise, 1.001))
        )
        assert kept.within(epsilon, 1e-6)
        assert not broken.within(epsilon, 1e-6)


def test_one_answer_is_pure() -> None:
    plan = plan_noisy_max(request(queries=1))
    assert plan.guarantee.is_pure
    assert isinstance(plan.vote.noise, ExponentialMax)
    assert plan.vote.noise.inverse_temperature == pytest.approx(1.0, rel=1e-5), "ε/2, and not ε"


def test_the_form_is_chosen_by_public_numbers() -> None:
    """Hard queries near the boundary favour the exponential form, a clear majority the Gaussian's short tails."""
    assert isinstance(plan_noisy_max(request()).vote.noise, ExponentialMax)
    assert isinstance(plan_noisy_max(request(records=10**9, teachers=301)).vote.noise, GaussianMax)


def test_what_makes_it_harder_raises_the_predicted_error() -> None:
    easy = predicted(plan_noisy_max(request()))
    for harder in ({"queries": 3_000}, {"epsilon": 0.5}, {"records": 3_000}, {"hypotheses": Intervals()}):
        assert predicted(plan_noisy_max(request(**harder))) > 1.1 * easy
    assert predicted(plan_noisy_max(request(teachers=29_999))) > easy
    assert predicted(plan_noisy_max(request(teachers=3))) > easy


def test_pins_are_respected_and_those_of_other_algorithms_do_not_matter() -> None:
    assert plan_noisy_max(request(teachers=77)).vote.teachers == 77
    other = request(unstable=3, sampling_rate=0.5, inverse_temperature=0.1, publish_share=0.2, public=10)
    assert plan_noisy_max(other) == plan_noisy_max(request())


def test_teachers_are_at_most_one_a_record() -> None:
    with pytest.raises(InfeasiblePlan, match=r"n_samples = 50\. Nearest feasible change: n ≥ 101 records"):
        plan_noisy_max(request(records=50, teachers=101))


@pytest.mark.parametrize("impossible", [{"epsilon": 1e-300}, {"epsilon": 5e-324}, {"queries": 2**60}])
def test_noise_that_cannot_be_drawn_is_said_to_be_infeasible(impossible: dict[str, float]) -> None:
    with pytest.raises(InfeasiblePlan, match="a larger ε or fewer queries"):
        plan_noisy_max(request(**impossible))


def test_an_epsilon_beyond_reason_comes_to_an_end() -> None:
    assert plan_noisy_max(request(epsilon=1.7e308)).guarantee.within(1.7e308, 1e-6)


@pytest.mark.parametrize("noise", [GaussianMax(40.0), ExponentialMax(0.02)], ids=str)
@pytest.mark.parametrize(("teachers", "error"), [(301.0, 0.03), (51.0, 0.002), (2_001.0, 0.2), (9.0, 0.5)])
def test_the_share_of_overturned_majorities_is_its_integral(noise: NoisyMax, teachers: float, error: float) -> None:
    def overturned(t: float) -> float:
        lead = 0.5 * teachers * (1.0 - np.exp(-t / error))
        chance = ndtr(-lead / noise.scale) if isinstance(noise, GaussianMax) else expit(-2 * 0.02 * lead)
        return 2.0 * float(chance)

    expected = quad(overturned, 0.0, 0.5, points=[error / 10, error] if error < 0.5 else None, limit=200)[0]
    assert overturned_share(noise, np.array([teachers]), np.array([error]))[0] == pytest.approx(expected, rel=1e-3)


def test_the_plan_says_what_work_it_is() -> None:
    plan = plan_noisy_max(request().but(records=1_000, teachers=31))
    assert plan.work(1_000) == ((33, 31),)
    assert plan.vote.teacher_records == 32
