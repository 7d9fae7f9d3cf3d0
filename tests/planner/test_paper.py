"""The paper's explicit formulas, against figures worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy.stats import binom, poisson
from support.requests import request_of

from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.hypotheses import Thresholds
from pcqr.planner import paper
from pcqr.planner.request import Request
from pcqr.releases.agnostic.planning import plan_agnostic
from pcqr.releases.subsample.planning import plan_subsample
from pcqr.releases.universal.planning import plan_universal


@pytest.mark.parametrize(
    ("d", "alpha", "m", "n"), [(1, 0.1, 1000, 5.6e11), (1, 0.1, 100, 4.0e11), (10, 0.05, 1000, 7.0e12)]
)
def test_records_needed(d: int, alpha: float, m: int, n: float) -> None:
    assert paper.records_needed(d, m, 1.0, 1e-6, alpha, 0.05) == pytest.approx(n, rel=0.02)


def test_unstable_cutoff_is_rounded_up() -> None:
    exact = 1000 * 0.1 / 8 + 0.25 * math.sqrt(3 * 100 * math.log(1000 / 0.05))
    assert paper.unstable_cutoff(1000, 0.1, 0.05) == math.ceil(exact)
    assert paper.unstable_cutoff(1, 0.01, 0.5) == 1


def test_public_points() -> None:
    assert paper.public_points(1, 0.1, 0.05) == math.ceil(320 * (math.log(10) + math.log(20)))


def request(**changes: Any) -> Request:
    plain = request_of(10**12, 1, Thresholds(), 0.9, 1e-6, 1000, 0.1, 0.05)
    return plain.but(**changes)


def test_with_enough_records_every_algorithm_has_a_paper_plan_within_its_budget() -> None:
    for make in (plan_subsample, plan_agnostic, plan_universal):
        plan = make(request(records=10**13), "paper")
        assert plan.guarantee.within(0.9, 1e-6)
        assert not plan.certified
    universal = plan_universal(request(records=10**13), "paper")
    assert universal.publish.after_queries == 1000
    assert plan_agnostic(request(), "paper").tested.copies == math.floor(math.log(2e6))


def test_too_few_records_are_refused_with_the_number_needed() -> None:
    with pytest.raises(InfeasiblePlan, match=r"n ≥ [\d,]+ records by the paper's formula; there are 1,000"):
        plan_agnostic(request(records=1000), "paper")


@pytest.mark.parametrize(
    "change", [{"epsilon": 1.5}, {"delta": 0.04}, {"sampling_rate": 0.5}, {"inverse_temperature": 1.0}]
)
def test_paper_mode_has_the_papers_range(change: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(change))):
        plan_agnostic(request(**change), "paper")


def test_the_bound_on_copies_fails_above_the_largest_delta() -> None:
    """P[Poisson(1) ≥ 4] = .0190 > e⁻⁴: with δ = 2e⁻⁴ = .0366 the printed tail bound is false."""
    assert poisson.sf(3, 1.0) == pytest.approx(0.0190, abs=5e-5)
    assert poisson.sf(3, 1.0) > math.exp(-4)
    for delta in (paper.LARGEST_DELTA, 0.01, 1e-3, 1e-6, 1e-9):
        assert binom.sf(math.floor(math.log(2 / delta)), 10**6, 1e-6) <= delta / 2
