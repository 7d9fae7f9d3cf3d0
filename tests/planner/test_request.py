"""Requests: a demand on n records, made of a budget, an aim and pins."""

from __future__ import annotations

from typing import Any

import pytest

from pcqr.errors import ParameterError
from pcqr.hypotheses import Stumps
from pcqr.planner.request import Demand, Request
from pcqr.privacy.unit import Unit
from pcqr.releases.agnostic.planning import plan_agnostic
from pcqr.releases.noisy_max.planning import plan_noisy_max
from pcqr.releases.protocol.plan import Aim, Budget, Pins
from pcqr.releases.semi_private.planning import plan_semi_private
from pcqr.releases.subsample.planning import plan_subsample
from pcqr.releases.universal.planning import plan_universal

BUDGET, AIM, PINS = Budget(1.0, 1e-6), Aim(300, 0.1, 0.05), Pins(teachers=101)
DEMAND = Demand(features=2, hypotheses=Stumps(), budget=BUDGET, aim=AIM, pins=PINS, public=50)
FIXED = Stumps(cuts=[0.5])
BARE = Request(records=1_000, features=1, hypotheses=FIXED, budget=BUDGET)


def test_a_demand_on_n_records_is_a_request() -> None:
    request = DEMAND.on(1_000)
    assert request == Request(
        records=1_000, features=2, hypotheses=Stumps(), budget=BUDGET, aim=AIM, pins=PINS, public=50
    )
    assert request.on(2_000).records == 2_000
    assert (request.epsilon, request.delta) == (1.0, 1e-6)
    assert (request.queries, request.alpha, request.beta) == (300, 0.1, 0.05)


def test_numbers_are_changed_by_name_wherever_they_stand() -> None:
    changed = DEMAND.on(1_000).but(records=7, epsilon=2.0, beta=0.2, queries=5, unstable=3, public=None)
    assert changed == Request(
        records=7,
        features=2,
        hypotheses=Stumps(),
        budget=Budget(2.0, 1e-6),
        aim=Aim(5, 0.1, 0.2),
        pins=Pins(teachers=101, unstable=3),
    )
    assert DEMAND.but() == DEMAND
    assert DEMAND.but(aim=None).aim is None
    for name in ("gamma", "records"):
        with pytest.raises(TypeError, match=name):
            DEMAND.but(**{name: 1})
    with pytest.raises(TypeError, match="alpha"):
        BARE.but(alpha=0.2)  # there is no aim to change


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("records", 0),
        ("features", 0),
        ("public", 0),
        ("hypotheses", "stumps"),
        ("delta", 0.0),
        ("unit", Unit.user(3)),
    ],
)
def test_nonsense_is_refused(name: str, value: Any) -> None:
    with pytest.raises(ParameterError) as refusal:
        DEMAND.on(1_000).but(**{name: value})
    assert refusal.value.name == name


@pytest.mark.parametrize("name", ["queries", "alpha", "beta"])
def test_what_nobody_asked_for_has_no_value(name: str) -> None:
    with pytest.raises(ParameterError, match=name):
        getattr(BARE, name)
    with pytest.raises(ParameterError, match="queries"):
        _ = BARE.but(aim=Aim(None, 0.1, 0.05)).queries


@pytest.mark.parametrize("make", [plan_subsample, plan_agnostic, plan_universal])
@pytest.mark.parametrize("mode", ["calibrated", "paper"])
def test_votes_are_not_planned_without_an_aim(make: Any, mode: str) -> None:
    with pytest.raises(ParameterError, match=r"queries|alpha|beta"):
        make(BARE.but(epsilon=0.9), mode)
    with pytest.raises(ParameterError, match="queries"):
        plan_noisy_max(BARE)


def test_what_is_published_at_once_needs_no_aim_and_makes_none_up() -> None:
    plan = plan_semi_private(BARE.but(delta=0.0))
    assert (plan.budget, plan.aim, plan.proved, plan.certified) == (Budget(1.0), None, None, False)
    aimed = plan_semi_private(BARE.but(delta=0.0, records=10**8, aim=Aim(None, 0.1, 0.05)))
    assert aimed.certified
    assert aimed.aim == Aim(None, 0.1, 0.05)
