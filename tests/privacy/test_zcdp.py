"""ρ of releases that have a proof of one: against divergences computed otherwise, and none for all others."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.stages import COLUMNS, MAP, TREES, beside_tree, guarantee_of, plan_beside_tree, planned

from pcqr import (
    AgnosticRelease,
    ConfidentMaxAggregate,
    MultipartyClassifier,
    NoisyMaxAggregate,
    PrivateClassifier,
    SubsampleAggregate,
    UniversalRelease,
)
from pcqr.data.records.predicates import Predicate
from pcqr.hypotheses import DecisionTrees, LogisticTeachers, Thresholds
from pcqr.mechanisms.noisy_max import GaussianMax
from pcqr.privacy.accounting import (
    ApproximateEvent,
    BoundedRangeEvent,
    Composed,
    ConcentratedEvent,
    DiscreteGaussianEvent,
    Event,
    GaussianEvent,
    NoisySumsEvent,
    OneOf,
    PureEvent,
    Repeated,
    concentrated_epsilon,
)
from pcqr.privacy.accounting.renyi import divergence
from pcqr.privacy.composition import Branch, Context, Sequence, Stage, zcdp
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.classifier.plan import ComparisonStage, LinearStage
from pcqr.releases.classifier.rule import recipe_for
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.plan import PublishedPlan

ORDERS = [1.0 + 2.0**power for power in range(-10, 20)]
N = 10_000
CONTEXT = Context(TREES, N, COLUMNS)


def rho_of(stage: Stage, records: int = N, trees: DecisionTrees = TREES) -> float:
    rho = guarantee_of(stage, records, trees=trees).rho
    assert rho is not None
    return rho


def at(event: Event, order: float) -> float:
    """The Rényi divergence of an event, of the options the largest: by the accountant's own formulas for each."""
    match event:
        case Composed(events):
            return math.fsum(at(each, order) for each in events)
        case OneOf(events):
            return max(at(each, order) for each in events)
        case NoisySumsEvent(multiplier, steps):
            return steps * divergence(DiscreteGaussianEvent(multiplier), order)
        case PureEvent() | BoundedRangeEvent():
            return divergence(event, order)
    raise AssertionError(event)


def check_orders(stage: Stage, records: int = N, trees: DecisionTrees = TREES) -> float:
    """ρ bounds the divergence at every order, and is reached."""
    rho = rho_of(stage, records, trees)
    event = stage.event(Context(trees, records, COLUMNS))
    costs = [at(event, order) / order for order in ORDERS]
    assert max(costs) <= rho * (1 + 1e-9)
    assert max(costs) >= 0.9 * rho
    return rho


# Stages ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_a_draw_has_an_eighth_of_its_epsilon_squared(epsilon: float) -> None:
    rho = check_orders(DrawStage(epsilon / 2.0))
    assert rho == pytest.approx(epsilon**2 / 8.0, rel=1e-6)
    event = DrawStage(epsilon / 2.0).event(CONTEXT)
    assert isinstance(event, BoundedRangeEvent)
    assert rho >= event.epsilon**2 / 8.0, "of the interval, twice the numerical error included"


def test_noisy_sums_have_their_own() -> None:
    stage = planned(N, MAP, recipe_for("plain", N, 1.0), 1.0)
    rho = check_orders(stage)
    one = divergence(DiscreteGaussianEvent(stage.scale / (2 * stage.bound)), 7.0)
    assert stage.steps * one <= 7.0 * rho <= stage.steps * one * (1 + 1e-11)
    stated = guarantee_of(stage, N)
    assert concentrated_epsilon(rho, 1e-6) >= stated.epsilon  # its own figure is tighter
    assert rho < stated.epsilon**2 / 10.0


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_tree_and_the_linear_classifier_beside_it_add_up(epsilon: float) -> None:
    draw, linear = beside_tree(plan_beside_tree(N, epsilon))
    rho = check_orders(Sequence((draw, linear)))
    assert rho == pytest.approx(rho_of(draw) + rho_of(linear), rel=1e-11)
    assert rho >= rho_of(draw) + rho_of(linear)
    assert rho < 0.3 * epsilon**2
    for other in (DrawStage(2.0 * draw.inverse_temperature), draw):
        louder = replace(linear, scale=linear.scale / 3)
        assert rho_of(Sequence((other, louder))) == pytest.approx(rho_of(other) + 9 * rho_of(linear), rel=1e-9)


# Options --------------------------------------------------------------------------------------------------------------

DRAW = DrawStage(0.3)
LINEAR = LinearStage(N, 8, 0, 0, 256, 3, 2**20, 6.0 * 2**21, 0.9, 0.1)
COMPARISON = ComparisonStage(N, 2**20, 2.0**20, 0)
OF_DRAW, OF_LINEAR, OF_COMPARISON = 0.6**2 / 8, 3 / (2 * 6.0**2), 2.0


def silent(stage: Any) -> Any:
    return DrawStage(0.0) if isinstance(stage, DrawStage) else replace(stage, scale=1e4 * stage.scale)


@pytest.mark.parametrize(
    ("stage", "expected"),
    [
        (DRAW, OF_DRAW),
        (LINEAR, OF_LINEAR),
        (COMPARISON, OF_COMPARISON),
        (Branch((DRAW, silent(LINEAR))), OF_DRAW),
        (Branch((silent(DRAW), LINEAR)), OF_LINEAR),
        (Branch((LINEAR, DRAW)), OF_DRAW),
        (Branch((Sequence((LINEAR, LINEAR)), DRAW)), 2 * OF_LINEAR),
        (Branch((Sequence((LINEAR, DRAW)), DRAW)), OF_LINEAR + OF_DRAW),
        (Sequence((COMPARISON, Branch((LINEAR, DRAW)))), OF_COMPARISON + OF_DRAW),
        (Sequence((silent(COMPARISON), Branch((LINEAR, DRAW)), LINEAR)), OF_DRAW + OF_LINEAR),
        (Branch((Branch((LINEAR, silent(LINEAR))), Sequence((DRAW, Branch((LINEAR, DRAW)))))), 2 * OF_DRAW),
    ],
)
def test_every_part_counts_and_of_every_branch_the_costliest_option(stage: Stage, expected: float) -> None:
    assert OF_LINEAR < OF_DRAW
    assert rho_of(stage) == pytest.approx(expected, rel=1e-6)
    assert rho_of(stage) >= expected


def test_a_draw_in_an_option_keeps_its_interval() -> None:
    """Rényi divergence needs one for each history, not the same one for all (proofs/plans.md)."""
    within = Sequence((LINEAR, Branch((DRAW, silent(DRAW)))))
    assert rho_of(within) == rho_of(Sequence((LINEAR, DRAW)))
    assert guarantee_of(within, N).epsilon > guarantee_of(Sequence((LINEAR, DRAW)), N).epsilon


# Events ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (PureEvent(0.4), 0.08),
        (BoundedRangeEvent(0.4), 0.02),
        (GaussianEvent(5.0), 0.02),
        (DiscreteGaussianEvent(5.0), 0.02),
        (NoisySumsEvent(5.0, 7, 2.0, 3), 0.14),
        (ConcentratedEvent(0.3), 0.3),
        (Repeated(PureEvent(0.4), 3), 0.24),
        (Repeated(Composed((PureEvent(0.4), GaussianEvent(5.0))), 3), 0.3),
        (Repeated(OneOf((PureEvent(0.4), GaussianEvent(5.0))), 2), 0.16),
        (Guarantee(9.0, rho=0.5), 0.5),
        (Composed((Guarantee(9.0, rho=0.5), PureEvent(0.4))), 0.58),
    ],
)
def test_the_rho_of_every_kind_of_event(event: Event, expected: float) -> None:
    rho = zcdp(event)
    assert rho == pytest.approx(expected, rel=1e-10)
    assert rho is not None
    assert rho >= expected


@pytest.mark.parametrize(
    "event",
    [
        Guarantee(0.5),
        Guarantee(0.5, 1e-6),
        ApproximateEvent(0.5, 1e-6),
        Composed((PureEvent(0.1), Guarantee(0.5))),
        OneOf((PureEvent(0.1), Guarantee(0.5))),
        Repeated(Guarantee(0.5), 2),
        Composed((PureEvent(0.1), OneOf((PureEvent(0.1), Repeated(Guarantee(0.5), 2))))),
    ],
)
def test_a_part_without_one_leaves_the_whole_without_one(event: Event) -> None:
    assert zcdp(event) is None


# Plans of estimators --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["tree", "linear", "auto"])
def test_a_published_classifier_has_that_of_its_stages(method: Any) -> None:
    rng = np.random.default_rng(0)
    X, public = rng.normal(size=(3_000, 2)), rng.normal(size=(50, 2))
    trees = DecisionTrees(depth=1, predicates=(Predicate(0, 0.0), Predicate(1, 0.0)))
    classifier = PrivateClassifier(epsilon=1.0, method=method, trees=trees, entropy=0)
    plan = classifier.fit(X, (X[:, 0] > 0).astype(int), public=public).plan_
    assert isinstance(plan, PublishedPlan)
    assert plan.guarantee.rho is not None
    assert plan.guarantee.rho == zcdp(plan.stage.event(Context(trees, 3_000, 2)))
    assert plan.guarantee.rho <= (1 / 8 if method == "tree" else 0.1) * plan.guarantee.epsilon**2 * (1 + 1e-6)


@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_a_student_of_soft_votes_is_one_vector_with_noise(classes: tuple[int, ...]) -> None:
    public = np.random.default_rng(0).normal(size=(60, 2))
    plan = MultipartyClassifier(LogisticTeachers(), epsilon=1.0, classes=classes).plan(3_000, public=public)
    rho, stage = plan.guarantee.rho, plan.student
    assert rho is not None
    assert rho >= (stage.sensitivity / stage.scale) ** 2 / 2.0
    assert rho == pytest.approx((stage.sensitivity / stage.scale) ** 2 / 2.0, rel=1e-9)
    assert all(divergence(stage.release, order) <= rho * order for order in ORDERS)
    assert rho < plan.guarantee.epsilon**2 / 2.0


@pytest.mark.parametrize("noise", ["gaussian", "exponential", "laplace"])
@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_noisy_majorities_have_that_of_an_answer_m_times(noise: Any, classes: tuple[int, ...]) -> None:
    plan = NoisyMaxAggregate(LogisticTeachers(), queries=30, classes=classes, noise=noise).plan(60_000, 2)
    rho = plan.guarantee.rho
    assert rho is not None
    answer = plan.vote.answer
    costs = [30 * divergence(answer, order) / order for order in ORDERS]
    assert max(costs) <= rho <= max(costs) * (1 + 1e-2)
    assert rho < plan.guarantee.epsilon**2 / 12.0
    if isinstance(plan.vote.noise, GaussianMax):
        moved = 30 if len(classes) == 2 else 60
        assert rho == pytest.approx(moved / (2 * plan.vote.noise.scale**2), rel=1e-9)


def test_what_is_not_proved_has_none() -> None:
    for release in (SubsampleAggregate, AgnosticRelease):
        assert release(Thresholds(), queries=20, vote="stability").plan(60_000, 1).guarantee.rho is None
    for other in (
        UniversalRelease,
        ConfidentMaxAggregate,
    ):  # the draw, too: its votes are in no range
        assert other(Thresholds(), queries=20).plan(60_000, 1).guarantee.rho is None
