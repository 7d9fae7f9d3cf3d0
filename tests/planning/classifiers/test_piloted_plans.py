"""Plans for piloted linear classifiers keep (ε, δ), use them up, and give all three linear classifiers the same strength."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pcqr.algorithms.piloted import piloted_guarantee
from pcqr.planning.classifiers.piloted import plan_piloted, recipes

from pcqr.accounting import PureEvent
from pcqr.plan import PilotedStage
from pcqr.planning.classifiers.linear import linear_predicates, make_feature_map
from pcqr.planning.classifiers.rule import LEAD, mixed_from, pilot_share
from pcqr.records.feature_map import FeatureMap

PUBLIC = np.random.default_rng(0).normal(size=(500, 3))


def maps_for(records: int, epsilon: float, classes: int = 2) -> list[FeatureMap]:
    made = recipes(records, epsilon, classes)
    predicates = linear_predicates(made[0].rarest, records, PUBLIC, None)
    return [make_feature_map(recipe, predicates, 3, PUBLIC, None) for recipe in made]


def mu_of(plan: PilotedStage, place: int) -> float:
    linear = plan.linears[place]
    return math.sqrt(linear.steps) / linear.event.noise_multiplier


@settings(max_examples=20, deadline=None)
@given(
    st.sampled_from([8_000, 35_000, 440_000]),
    st.floats(0.05, 8.0),
    st.sampled_from([1e-5, 1e-6, 1e-9]),
    st.sampled_from([2, 7]),
    st.sampled_from([(), (PureEvent(0.001),)]),
)
def test_every_plan_keeps_its_budget_and_uses_it_up(
    records: int, epsilon: float, delta: float, classes: int, beside: tuple[PureEvent, ...]
) -> None:
    plan = plan_piloted(records, maps_for(records, epsilon, classes), epsilon, delta, classes=classes, beside=beside)
    stated = piloted_guarantee(plan, delta, beside=beside)
    assert stated.within(epsilon, delta)
    # Where the grid of millions of cells is no longer small beside δ, the figure jumps, and a part of ε stays unused.
    assert stated.epsilon > (0.999 if epsilon <= 1.0 and delta >= 1e-6 else 0.9) * epsilon
    assert [mu_of(plan, place) for place in range(3)] == pytest.approx([mu_of(plan, 0)] * 3)
    assert 0 < -plan.mixed_from <= records
    assert plan.ferned_from == 0


def test_pilots_take_the_less_the_larger_the_strength() -> None:
    shares = [pilot_share(records, 1.0) for records in (30_000, 151_515, 250_000, 500_000, 10**8)]
    assert shares == pytest.approx([0.33, 0.33, 0.2, 0.1, 0.1], rel=1e-3)


def test_the_stronger_a_head_is_beside_its_pilots_the_less_their_defeat_says_of_it() -> None:
    shares = [mixed_from(records, 1.0) for records in (30_000, 150_000, 300_000, 10**8)]
    assert shares == pytest.approx([-0.008, -0.008, -0.016, -16.0 / 3.0])
    assert plan_piloted(10**8, maps_for(10**8, 1.0, 2), 1.0, 1e-6).mixed_from == -(10**8), "no more than all records"


def test_strengths_add_up_by_squares() -> None:
    plan = plan_piloted(40_000, maps_for(40_000, 1.0), 1.0, 1e-6)
    pilots = [math.sqrt(pilot.steps) / pilot.event.noise_multiplier for pilot in plan.pilots]
    lead = 1.0 / plan.comparison.noise_multiplier
    whole = math.sqrt(sum(mu**2 for mu in pilots) + lead**2 + mu_of(plan, 0) ** 2)
    assert [mu / whole for mu in pilots] == pytest.approx([0.33, 0.33])
    assert lead / whole == pytest.approx(LEAD)
