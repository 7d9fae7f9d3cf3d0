"""Plans for the linear classifier: within (ε, δ), with no more noise than that takes, from public numbers alone."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.algorithms.linear import linear_guarantee
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.plan import DescentStage
from pcqr.planning.classifiers.linear import LARGEST_STEP, STEPS, plan_linear


@given(
    records=st.integers(1, 2**31 - 1),
    predicates=st.integers(1, 500),
    epsilon=st.floats(1e-3, 20.0),
    delta=st.floats(1e-12, 0.1),
    classes=st.sampled_from([2, 3, 20]),
)
def test_a_plan_keeps_its_promise_and_wastes_next_to_nothing(
    records: int, predicates: int, epsilon: float, delta: float, classes: int
) -> None:
    plan = plan_linear(records, predicates, epsilon, delta, classes=classes)
    assert linear_guarantee(plan, delta).within(epsilon, delta)
    assert not linear_guarantee(replace(plan, scale=plan.scale * (1 - 1e-5)), delta).within(epsilon, delta)
    assert STEPS[0] <= plan.steps <= STEPS[1]
    assert plan.step_size <= LARGEST_STEP / records


def test_weights_carry_the_same_noise_on_every_table_that_has_enough_steps() -> None:
    for records, epsilon, noise in ((1_000, 0.1, 1.0), (10_000, 1.0, 0.85), (30_000, 1.0, 0.7), (30_000, 4.0, 0.7)):
        plan = plan_linear(records, 100, epsilon, 1e-6)
        mu = plan.sensitivity * plan.steps**0.5 / plan.scale
        assert plan.steps * plan.step_size / (1 - plan.momentum) == pytest.approx(noise * mu, rel=1e-9)


def test_more_records_or_a_larger_epsilon_take_more_steps_up_to_a_limit() -> None:
    steps = [plan_linear(records, 100, 1.0, 1e-6).steps for records in (10**3, 10**5, 2 * 10**5, 10**7)]
    assert steps == sorted(steps)
    assert len(set(steps)) >= 3
    assert plan_linear(10**7, 100, 1.0, 1e-6, most_steps=50).steps == 50


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"records": 0}, "records"),
        ({"records": 2**31}, "records"),
        ({"predicates": 0}, "predicates"),
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": float("inf")}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
        ({"most_steps": 0}, "most_steps"),
        ({"classes": 1}, "classes"),
    ],
)
def test_bad_numbers_are_refused(change: dict[str, float], name: str) -> None:
    good: dict[str, float] = {"records": 100, "predicates": 10, "epsilon": 1.0, "delta": 1e-6}
    with pytest.raises(ParameterError, match=name):
        plan_linear(**{**good, **change})  # type: ignore[arg-type]


def test_noise_that_cannot_be_drawn_is_refused() -> None:
    with pytest.raises(InfeasiblePlan, match="larger ε"):
        plan_linear(100, 10, 1e-9, 1e-9)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"bound": 2**24 + 1}, "bound"),
        ({"bound": 0}, "bound"),
        ({"steps": 0}, "steps"),
        ({"scale": 0.0}, "scale"),
        ({"scale": 2.0**51}, "scale"),
        ({"momentum": 1.0}, "momentum"),
        ({"step_size": float("nan")}, "step_size"),
    ],
)
def test_what_is_no_plan_is_refused(change: dict[str, float], name: str) -> None:
    good = DescentStage(100, 10, 5, 2**20, 1e7, 0.9, 0.1)
    with pytest.raises(ParameterError, match=name):
        replace(good, **change)  # type: ignore[arg-type]
