"""A linear classifier that two pilots choose: the run against its parts on the same noise, the choice, and the stated figures."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from pcqr.algorithms.piloted import FERNED, MIXED, PLAIN, choose_linear, piloted_guarantee, piloted_linear
from support.releases import Forbidden

from pcqr.accounting import PureEvent, Repeated, compose
from pcqr.algorithms.linear import descend, linear_guarantee, shape_of
from pcqr.entropy import SeededEntropy
from pcqr.errors import ParameterError
from pcqr.mechanisms.fine_gaussian import fine_gaussian_epsilon
from pcqr.noise import discrete_gaussian
from pcqr.plan import LinearStage, PilotedStage
from pcqr.records import InMemory
from pcqr.records.feature_map import FeatureMap
from pcqr.records.ferns import Ferns
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import PredicateVectors

M, DELTA = 2**24, 1e-6
PUBLIC = np.random.default_rng(1).normal(size=(200, 2))
DENSE = PredicateVectors.of([Predicate(feature, cut) for feature in range(2) for cut in (-0.5, 0.0, 0.5)], 2, PUBLIC)
FERNS = Ferns.of(PUBLIC, range(2), count=30, depth=4, seed=1)
MAPS = FeatureMap(DENSE, None, 256), FeatureMap(DENSE, FERNS, 128), FeatureMap(DENSE, FERNS, 13)


def stage(features: FeatureMap, records: int, steps: int, multiplier: float) -> LinearStage:
    return LinearStage(records, *shape_of(features), steps, M, multiplier * 2 * M, momentum=0.5, step_size=0.05)


def a_plan(records: int, multiplier: float = 10.0) -> PilotedStage:
    pilots = stage(MAPS[0], records, 5, 3 * multiplier), stage(MAPS[2], records, 7, 3 * multiplier)
    linears = tuple(stage(features, records, 9, multiplier) for features in MAPS)
    return PilotedStage(pilots, 2 * multiplier * M, -records // 100, 0, linears)


def crossed(count: int) -> InMemory:
    """Columns that act together: no predicate alone says anything."""
    X = np.random.default_rng(2).normal(size=(count, 2))
    return InMemory(X, (X[:, 0] * X[:, 1] > 0).astype(np.int8))


def alone(count: int) -> InMemory:
    X = np.random.default_rng(3).normal(size=(count, 2))
    return InMemory(X, (X[:, 0] > 0).astype(np.int8))


def test_a_run_is_its_parts_on_the_same_noise() -> None:
    records, plan, entropy = crossed(400), a_plan(400), SeededEntropy(5)
    plain, ferned = (
        descend(MAPS[0], records, plan.pilots[0], entropy),
        descend(MAPS[2], records, plan.pilots[1], entropy),
    )
    wrong = [int((pilot.predict(records.X) != records.y).sum()) for pilot in (plain, ferned)]
    lead = M * (wrong[0] - wrong[1]) + discrete_gaussian(plan.scale, entropy)
    place = 2 if lead >= 0 else 1 if lead >= -4 * M else 0
    expected = descend(MAPS[place], records, plan.linears[place], entropy)
    assert piloted_linear(MAPS, records, plan, SeededEntropy(5)) == expected


@pytest.mark.parametrize(
    ("records", "place"), [(crossed(4_000), FERNED), (alone(4_000), PLAIN)], ids=["crossed", "alone"]
)
def test_what_columns_do_together_decides(records: InMemory, place: int) -> None:
    plan = replace(a_plan(4_000, 0.5), mixed_from=4, ferned_from=400)
    published = piloted_linear(MAPS, records, plan, SeededEntropy(0))
    assert published.feature_map == MAPS[place]


def test_the_choice_turns_at_whole_records() -> None:
    plan = a_plan(400)
    leads = {-400 * M: PLAIN, -4 * M - 1: PLAIN, -4 * M: MIXED, -1: MIXED, 0: FERNED, 400 * M: FERNED}
    assert {lead: choose_linear(lead, plan) for lead in leads} == leads


def test_the_figures_are_those_of_all_sums_together() -> None:
    plan = a_plan(4_000, 20.0)
    events = [Repeated(part.event, part.steps) for part in (*plan.pilots, plan.linears[2])]
    renyi = compose([*events, plan.comparison], DELTA, accountant="Rényi").epsilon
    squares = sum(part.steps / part.event.noise_multiplier**2 for part in (*plan.pilots, plan.linears[2]))
    shift = math.sqrt(squares + 1 / plan.comparison.noise_multiplier**2)
    closer = fine_gaussian_epsilon(shift * (1 + 1e-12), DELTA, plan.scale, 1_000)
    stated = piloted_guarantee(plan, DELTA)
    assert stated.epsilon == pytest.approx(min(renyi, closer), rel=1e-6)
    assert stated.proof == "piloted"
    assert stated.delta <= DELTA
    assert stated.epsilon > linear_guarantee(plan.linears[2], DELTA).epsilon


def test_the_costliest_head_counts() -> None:
    plan = a_plan(4_000)
    for place in range(3):
        linears = [
            replace(linear, scale=linear.scale * 1.5) if other != place else linear
            for other, linear in enumerate(plan.linears)
        ]
        assert piloted_guarantee(replace(plan, linears=tuple(linears)), DELTA).epsilon == pytest.approx(
            piloted_guarantee(plan, DELTA).epsilon, rel=1e-6
        )
    quieter = tuple(replace(linear, scale=linear.scale * 1.5) for linear in plan.linears)
    assert (
        piloted_guarantee(replace(plan, linears=quieter), DELTA).epsilon < 0.9 * piloted_guarantee(plan, DELTA).epsilon
    )


def test_the_costliest_head_is_that_of_the_most_steps_by_squared_noise() -> None:
    """9 steps at 10 cost more than 20 at 20, though fewer."""
    plan = a_plan(4_000)
    longer = replace(plan.linears[1], steps=20, scale=2 * plan.linears[1].scale)
    mixed = replace(plan, linears=(plan.linears[0], longer, plan.linears[2]))
    assert piloted_guarantee(mixed, DELTA).epsilon >= piloted_guarantee(plan, DELTA).epsilon


def test_a_lead_with_less_noise_costs_more() -> None:
    plan = a_plan(4_000)
    assert (
        piloted_guarantee(replace(plan, scale=plan.scale / 5), DELTA).epsilon > piloted_guarantee(plan, DELTA).epsilon
    )


def test_other_releases_beside_it_are_paid_for() -> None:
    plan = a_plan(4_000)
    stated = piloted_guarantee(plan, DELTA, beside=(PureEvent(0.1),))
    assert stated.epsilon > piloted_guarantee(plan, DELTA).epsilon


def test_a_neighbour_moves_the_lead_by_two_records_at_most() -> None:
    records, plan = crossed(300), a_plan(300)
    pilots = [
        descend(MAPS[place], records, pilot, SeededEntropy(7))
        for place, pilot in ((0, plan.pilots[0]), (2, plan.pilots[1]))
    ]
    whole = records.mistakes(pilots)
    moved = set()
    for i in range(0, 300, 7):
        X, y = records.X.copy(), records.y.copy()
        X[i], y[i] = -X[i], 1 - y[i]
        there = InMemory(X, y).mistakes(pilots)
        moved.add(int((there[0] - there[1]) - (whole[0] - whole[1])))
    assert max(map(abs, moved)) <= 2
    assert len(moved) > 1


def test_what_does_not_fit_is_refused_before_anything_is_drawn() -> None:
    records, plan = crossed(400), a_plan(400)
    with pytest.raises(ParameterError, match="3 feature maps"):
        piloted_linear(MAPS[:2], records, plan, Forbidden())
    with pytest.raises(ParameterError, match="feature map"):
        piloted_linear((MAPS[0], MAPS[2], MAPS[1]), records, plan, Forbidden())
    with pytest.raises(ParameterError, match="plan for 300 records"):
        piloted_linear(MAPS, crossed(300), plan, Forbidden())


def test_stages_must_belong_together() -> None:
    plan = a_plan(400)
    for change, message in (
        ({"linears": plan.linears[:2]}, "3 LinearStages"),
        ({"pilots": plan.pilots[::-1]}, "first and the last linear classifier"),
        ({"pilots": (replace(plan.pilots[0], records=399), plan.pilots[1])}, "same records"),
        ({"ferned_from": -5}, "ferned_from"),
        ({"mixed_from": -401}, "mixed_from"),
        ({"scale": 0.0}, "scale"),
    ):
        with pytest.raises(ParameterError, match=message):
            replace(plan, **change)
