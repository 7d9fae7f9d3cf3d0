"""Plans keep (ε, δ) and use them up; public numbers alone decide."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pcqr import IndividualKNN, InfeasiblePlan, ParameterError
from pcqr.privacy.unit import PRESENCE, RECORD, Unit
from pcqr.releases.knn.plan import IndividualPlan, IndividualStage
from pcqr.releases.knn.run import individual_guarantee
from pcqr.serialization import Document

PUBLIC = np.random.default_rng(0).normal(size=(400, 3))


def planned(records: int = 50_000, **parameters: Any) -> IndividualPlan:
    return IndividualKNN(**parameters).plan(records, public=PUBLIC)


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("adjacency", ["replace", "remove"])
def test_plans_keep_the_budget_and_use_it_up(epsilon: float, adjacency: Any) -> None:
    plan = planned(epsilon=epsilon, delta=1e-6, queries=200, adjacency=adjacency)
    assert 0.99 * epsilon < plan.guarantee.epsilon <= epsilon
    assert plan.guarantee.delta <= 1e-6
    assert plan.guarantee.unit == plan.vote.unit == (RECORD if adjacency == "replace" else PRESENCE)
    assert individual_guarantee(plan.vote, 1e-6).epsilon == plan.guarantee.epsilon


def test_whoever_is_removed_may_spend_twice_as_much() -> None:
    replaced, removed = (planned(adjacency=adjacency).vote for adjacency in ("replace", "remove"))
    assert removed.budget == pytest.approx(2.0 * replaced.budget, rel=1e-3)


def test_more_queries_need_more_neighbours_and_more_noise() -> None:
    few, many = (planned(queries=queries).vote for queries in (100, 10_000))
    assert many.reach > few.reach
    assert many.count_scale > few.count_scale
    assert many.vote_scale > few.vote_scale
    assert planned(neighbours=5_000).vote.reach == 40
    assert (planned(queries=100).remaining.queries, planned(unanswered=7).remaining.unstable) == (1_600, 7)


def test_the_number_of_classes_is_in_the_plan() -> None:
    plan = planned(classes=tuple("abcdef"))
    assert plan.vote.classes == 6
    assert plan.vote.draws == 7 * plan.vote.limit


def test_too_few_records_are_refused() -> None:
    with pytest.raises(InfeasiblePlan, match="drown all votes"):
        planned(records=20, epsilon=0.1)


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"adjacency": "add"}, "adjacency"),
        ({"neighbours": 0}, "neighbours"),
        ({"unanswered": 0}, "unanswered"),
        ({"queries": 1 << 21}, "queries"),
        ({"delta": 0.0}, "delta"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], name: str) -> None:
    with pytest.raises(ParameterError) as caught:
        planned(**parameters)
    assert caught.value.name == name


def test_without_public_rows_nothing_is_near() -> None:
    with pytest.raises(ParameterError, match="public must be public rows, which say what is near"):
        IndividualKNN().plan(1_000, features=3)


def test_a_stage_has_a_ladder_of_noise() -> None:
    stage = planned().vote
    steps = np.array(stage.ladder)
    assert steps[0] == stage.least
    assert steps[-1] >= stage.records * stage.grid > steps[-3]
    np.testing.assert_allclose(steps[1:] / steps[:-1], math.sqrt(2.0), rtol=1e-6)
    assert stage.least_scale == min(stage.count_scale, stage.noise_at(0)) >= stage.grid / 8


def test_stages_that_cannot_be_run_are_refused() -> None:
    good = planned().vote
    for change in (
        {"unit": Unit.user(2)},
        {"reach": 0},
        {"reach": 401},
        {"limit": 2**21},
        {"least": 0},
        {"budget": 0.0},
        {"records": 2**30},
        {"least_weight": 0.0},
        {"count_scale": 2.0**60},
        {"vote_scale": 2.0**60},
    ):
        fields = {name: getattr(good, name) for name in IndividualStage.__dataclass_fields__} | change
        with pytest.raises(ParameterError):
            IndividualStage(**fields)


@pytest.mark.parametrize("adjacency", ["replace", "remove"])
def test_plans_are_documents(adjacency: Any) -> None:
    plan = planned(adjacency=adjacency)
    assert Document.from_json(plan.to_json()) == plan


@pytest.mark.parametrize(("neighbours", "reach"), [(125, 1), (2_000, 16)])
def test_with_few_queries_a_record_at_the_query_can_vote_three_times(neighbours: int, reach: int) -> None:
    """Noise of √(3/b) votes, however many neighbours there are."""
    vote = planned(epsilon=0.3, queries=1, neighbours=neighbours).vote
    assert vote.reach == reach
    assert vote.vote_scale * math.sqrt(neighbours) == pytest.approx(math.sqrt(3.0 / vote.budget), rel=1e-9)
