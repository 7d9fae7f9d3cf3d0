"""Plans of boosted trees: within (ε, δ), close to it, and fixed functions of public numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pcqr.algorithms.boosting import boosting_guarantee
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.planning.classifiers.boosting import MOST_OPERATIONS, plan_boosting, work


@settings(deadline=None, max_examples=40)
@given(
    records=st.integers(1, 5_000_000),
    predicates=st.integers(1, 300),
    epsilon=st.floats(0.001, 20.0),
    delta=st.sampled_from([0.0, 1e-12, 1e-6, 1e-3]),
)
def test_every_plan_keeps_its_budget_and_uses_it(records: int, predicates: int, epsilon: float, delta: float) -> None:
    plan = plan_boosting(records, predicates, epsilon, delta)
    stated = boosting_guarantee(plan)
    assert stated.within(epsilon, delta)
    assert stated.epsilon > 0.999 * epsilon
    assert plan.inverse_temperature >= epsilon / plan.rounds / 2 * 0.999, "never worse than pure composition"
    hotter = replace(plan, inverse_temperature=plan.inverse_temperature * (1 + 1e-6) + 1e-12)
    assert not boosting_guarantee(hotter).within(epsilon, delta)
    assert plan.offered <= predicates
    assert work(plan) <= MOST_OPERATIONS


def test_the_rules() -> None:
    small, medium, large = (plan_boosting(n, 130, 1.0, 1e-6) for n in (10_000, 40_000, 200_000))
    assert (small.rounds, small.depth, small.offered) == (32, 3, 80)
    assert (medium.rounds, medium.depth, medium.offered) == (64, 3, 80)
    assert (large.rounds, large.depth, large.offered) == (64, 4, 40)
    assert [plan.rounds * plan.step for plan in (small, medium, large)] == [6.0, 6.0, 12.0]
    assert plan_boosting(50_000, 130, 4.0, 1e-6).depth == 3, "a large ε does not fill the leaves"
    assert plan_boosting(10_000, 20, 1.0, 1e-6).offered == 20
    assert plan_boosting(10_000, 20, 1.0, 1e-6, seed=5).seed == 5


def test_a_delta_buys_sharper_draws() -> None:
    pure, approximate = (plan_boosting(32_561, 128, 1.0, delta) for delta in (0.0, 1e-6))
    assert boosting_guarantee(pure).is_pure
    assert approximate.inverse_temperature > 2 * pure.inverse_temperature


def test_a_limit_on_work_is_kept_by_offering_less() -> None:
    free = plan_boosting(400_000, 130, 1.0, 1e-6)
    bound = plan_boosting(400_000, 130, 1.0, 1e-6, operations=work(free) / 10)
    assert bound.offered < free.offered
    assert work(bound) <= work(free) / 10 < work(replace(bound, offered=bound.offered + 1))
    assert replace(bound, offered=free.offered, inverse_temperature=0.0) == replace(free, inverse_temperature=0.0)
    with pytest.raises(ParameterError, match="operations"):
        plan_boosting(400_000, 130, 1.0, 1e-6, operations=1e6)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("records", (0, 10, 1.0, 1e-6)),
        ("predicates", (10, 0, 1.0, 1e-6)),
        ("epsilon", (10, 10, 0.0, 1e-6)),
        ("epsilon", (10, 10, math.inf, 1e-6)),
        ("delta", (10, 10, 1.0, -0.1)),
        ("delta", (10, 10, 1.0, 1.0)),
    ],
)
def test_bad_numbers_are_refused(name: str, given: tuple[int, int, float, float]) -> None:
    with pytest.raises(ParameterError, match=name):
        plan_boosting(*given)


def test_an_epsilon_below_the_rounding_is_refused() -> None:
    with pytest.raises(InfeasiblePlan, match="rounding"):
        plan_boosting(10**6, 100, 1e-12, 0.0)


def test_the_largest_budgets_are_planned_for() -> None:
    assert plan_boosting(100, 10, 1e-4, 0.3).inverse_temperature > 1e-3, "δ alone allows more than ε would"
    assert plan_boosting(100, 10, 1e16, 1e-6).inverse_temperature == 2.0**52 / 100
