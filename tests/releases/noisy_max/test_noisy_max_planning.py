"""Plans for noisy majorities keep (ε, δ), with no more noise than that takes, from public numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import expit, ndtr
from scipy.stats import laplace, norm
from support.requests import request_of

from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.hypotheses import DecisionTrees, Intervals, Thresholds
from pcqr.mechanisms.noisy_max import ExponentialMax, GaussianMax, LaplaceMax, NoisyMax
from pcqr.planner.request import Request
from pcqr.releases.noisy_max.plan import NoisyMaxPlan, NoisyMaxStage
from pcqr.releases.noisy_max.planning import FORMS, _overturns, overturned_share, plan_noisy_max, smallest_noise
from pcqr.releases.noisy_max.run import noisy_max_guarantee


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
    if isinstance(noise, ExponentialMax):
        return ExponentialMax(noise.inverse_temperature * factor)
    return type(noise)(noise.scale / factor)


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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("labels", [2, 3])
def test_every_form_can_be_asked_for_and_has_the_smallest_noise(form: str, labels: int) -> None:
    asked = request(epsilon=1.0, hypotheses=DecisionTrees(depth=1, labels=labels))
    plan = plan_noisy_max(asked, noise=form)
    assert type(plan.vote.noise) is type(FORMS[form](1.0))
    assert plan.vote.labels == labels
    assert plan.guarantee.within(1.0, 1e-6)
    tighter = replace(plan.vote, noise=less(plan.vote.noise, 1.001))
    assert not noisy_max_guarantee(tighter, 1e-6).within(1.0, 1e-6)


def test_noise_itself_is_taken_as_it_is_or_refused() -> None:
    pinned = request(epsilon=5.0, delta=1e-5, queries=100, teachers=251)
    plan = plan_noisy_max(pinned, noise=LaplaceMax(20.0))
    assert (plan.vote.noise, plan.vote.teachers) == (LaplaceMax(20.0), 251)
    with pytest.raises(InfeasiblePlan, match=r"cost ε = 4\.61\d at δ = 1e-05; ε = 4 was allowed"):
        plan_noisy_max(pinned.but(epsilon=4.0), noise=LaplaceMax(20.0))


@pytest.mark.parametrize("noise", ["normal", "", 3.0, GaussianMax, ("gaussian",)])
def test_other_noise_is_refused(noise: Any) -> None:
    with pytest.raises(ParameterError, match="noise must be None, one of 'gaussian', 'exponential', 'laplace'"):
        plan_noisy_max(request(), noise=noise)


def test_laplace_noise_is_never_the_planners_own_choice() -> None:
    """It costs more than odds of the same ε, and overturns as many majorities or more."""
    lead = np.linspace(0.0, 400.0, 100)
    assert (_overturns(LaplaceMax(20.0), lead, 2) >= _overturns(ExponentialMax(0.05), lead, 2) - 1e-15).all()
    for changes in ({}, {"queries": 1}, {"records": 10**9}):
        assert predicted(plan_noisy_max(request(**changes))) <= predicted(
            plan_noisy_max(request(**changes), noise="laplace")
        )


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


def by_one_draw(lead: float) -> float:
    return float(ndtr(-lead / 40.0))


def by_a_draw_for_each(lead: float) -> float:
    return float(norm.sf(2 * lead, scale=np.hypot(40.0, 40.0)))


def by_odds(lead: float) -> float:
    return float(expit(-2 * 0.02 * lead))


@pytest.mark.parametrize("lead", [0.0, 7.0, 60.0])
def test_laplace_noise_on_both_counts_overturns_by_their_difference(lead: float) -> None:
    def both(z: float) -> float:
        return float(laplace.pdf(z, scale=40.0) * laplace.sf(2 * lead + z, scale=40.0))

    expected = quad(both, -2e3, 2e3, points=[0, -2 * lead])[0]
    assert _overturns(LaplaceMax(40.0), np.array([lead]), 2)[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("noise", "labels", "chance"),
    [
        (GaussianMax(40.0), 2, by_one_draw),
        (GaussianMax(40.0), 3, by_a_draw_for_each),
        (ExponentialMax(0.02), 3, by_odds),
    ],
    ids=["one draw", "a draw for each count", "odds"],
)
@pytest.mark.parametrize(("teachers", "error"), [(301.0, 0.03), (51.0, 0.002), (2_001.0, 0.2), (9.0, 0.5)])
def test_the_share_of_overturned_majorities_is_its_integral(
    noise: NoisyMax, labels: int, chance: Callable[[float], float], teachers: float, error: float
) -> None:
    def overturned(t: float) -> float:
        return 2.0 * chance(0.5 * teachers * (1.0 - np.exp(-t / error)))

    expected = quad(overturned, 0.0, 0.5, points=[error / 10, error] if error < 0.5 else None, limit=200)[0]
    found = overturned_share(noise, np.array([teachers]), np.array([error]), labels)[0]
    assert found == pytest.approx(expected, rel=1e-3)


def test_the_plan_says_what_work_it_is() -> None:
    plan = plan_noisy_max(request().but(records=1_000, teachers=31))
    assert plan.stages.work(1_000) == ((33, 31),)
    assert plan.vote.teacher_records == 32
