"""The ρ of releases that have a proof of one: against divergences computed otherwise, and none for all others."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pcqr import (
    AgnosticRelease,
    ConfidentMaxAggregate,
    MultipartyClassifier,
    NoisyMaxAggregate,
    PrivateClassifier,
    SubsampleAggregate,
    UniversalRelease,
)
from pcqr.accounting import BoundedRangeEvent, DiscreteGaussianEvent, PureEvent, concentrated_epsilon
from pcqr.accounting.renyi import divergence
from pcqr.hypotheses import DecisionTrees, LogisticTeachers, Thresholds
from pcqr.peers.noisy_max.mechanism import GaussianMax
from pcqr.peers.noisy_max.plan import NoisyMaxPlan
from pcqr.plan import (
    AskedPlan,
    AskedStage,
    ContestStage,
    CountedPlan,
    DrawPlan,
    LinearPlan,
    LinearStage,
    PilotedStage,
    Plan,
    StackedStage,
)
from pcqr.release.account.concentration import concentration

ORDERS = [1.0 + 2.0**power for power in range(-10, 20)]


def planned(method: str, epsilon: float = 1.0, *, records: int = 3_000) -> Plan:
    rng = np.random.default_rng(0)
    X, public = rng.normal(size=(records, 2)), rng.normal(size=(50, 2))
    trees = DecisionTrees(depth=1)
    classifier = PrivateClassifier(epsilon=epsilon, method=method, trees=trees, entropy=0)  # type: ignore[arg-type]
    return classifier.fit(X, (X[:, 0] > 0).astype(int), public=public).plan_


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_a_draw_has_an_eighth_of_its_epsilon_squared(epsilon: float) -> None:
    plan = planned("tree", epsilon)
    assert type(plan) is DrawPlan
    rho = concentration(plan)
    assert rho is not None
    assert rho == pytest.approx(epsilon**2 / 8.0, rel=1e-9)
    event = BoundedRangeEvent(2.0 * (plan.guarantee.epsilon - plan.publish.inverse_temperature))
    assert all(divergence(event, order) <= rho * order for order in ORDERS)


def test_noisy_sums_have_their_own() -> None:
    plan = planned("linear")
    assert isinstance(plan, LinearPlan)
    rho, stage = concentration(plan), plan.linear
    assert rho is not None
    one = divergence(DiscreteGaussianEvent(stage.scale / (2 * stage.bound)), 7.0)
    assert stage.steps * one <= 7.0 * rho <= stage.steps * one * (1 + 1e-11)
    assert concentrated_epsilon(rho, 1e-6) >= plan.guarantee.epsilon  # its own figure is tighter
    assert rho < plan.guarantee.epsilon**2 / 10.0


def sums_of(stage: LinearStage, order: float) -> float:
    return stage.steps * divergence(stage.event, order)


def asked_of(stage: AskedStage, order: float) -> float:
    drawn = divergence(BoundedRangeEvent(2.0 * stage.tree), order)
    return divergence(PureEvent(stage.question), order) + max(drawn, sums_of(stage.linear, order))


def contest_of(stage: ContestStage, order: float) -> float:
    drawn = divergence(stage.draw, order)
    lead = divergence(DiscreteGaussianEvent(stage.scale / (2 * stage.bound)), order)
    return sums_of(stage.pilot, order) + lead + max(drawn, sums_of(stage.linear, order))


def stacked_of(stage: StackedStage, order: float) -> float:
    return divergence(stage.draw, order) + sums_of(stage.linear, order)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_question_and_the_worse_of_what_may_come_after_it(epsilon: float) -> None:
    plan = planned("asked", epsilon, records=math.floor(2_900 / epsilon))
    assert type(plan) is AskedPlan
    rho, stage = concentration(plan), plan.asked
    assert rho is not None
    assert isinstance(stage, AskedStage)
    for order in ORDERS:
        assert asked_of(stage, order) <= rho * order * (1 + 1e-9)
    assert rho < 0.3 * plan.guarantee.epsilon**2
    hotter = replace(plan, asked=replace(stage, question=2.0 * stage.question))
    assert concentration(hotter) != rho


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_contest_by_itself(epsilon: float) -> None:
    plan = planned("asked", epsilon, records=math.ceil(3_100 / epsilon))
    assert type(plan) is AskedPlan
    rho, stage = concentration(plan), plan.asked
    assert rho is not None
    assert isinstance(stage, ContestStage)
    for order in ORDERS:
        assert contest_of(stage, order) <= rho * order * (1 + 1e-9)
    assert rho < 0.3 * plan.guarantee.epsilon**2
    before = sums_of(stage.pilot, 1.0) + divergence(stage.comparison, 1.0)
    by_tree = before + (stage.tree + stage.slack) ** 2 / 2
    assert rho == pytest.approx(max(by_tree, before + sums_of(stage.linear, 1.0)))
    looser = replace(plan, asked=replace(stage, slack=2.0 * stage.tree))
    assert concentration(looser) == pytest.approx(before + 4.5 * stage.tree**2)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_a_count_and_the_worst_of_what_may_come_after_it(epsilon: float) -> None:
    plan = planned("counted", epsilon)
    assert type(plan) is CountedPlan
    rho, stage = concentration(plan), plan.counted
    assert rho is not None
    last = stage.otherwise
    assert isinstance(last, StackedStage)
    for order in ORDERS:
        ways = [divergence(BoundedRangeEvent(2.0 * stage.tree), order), sums_of(stage.careful, order)]
        ways.append(stacked_of(last, order))
        assert divergence(PureEvent(stage.count), order) + max(ways) <= rho * order * (1 + 1e-9)
    assert rho < 0.3 * plan.guarantee.epsilon**2
    hotter = replace(plan, counted=replace(stage, count=2.0 * stage.count))
    assert concentration(hotter) != rho


def quiet(stage: LinearStage) -> LinearStage:
    return replace(stage, scale=1e4 * stage.scale)


def of(plan: Plan) -> float:
    rho = concentration(plan)
    assert rho is not None
    return rho


def test_each_way_of_a_count_counts() -> None:
    """A tree and the linear classifier beside it add up; what a rare label has, and what an uncommon one, may be the costliest."""
    plan = planned("counted", 4.0)
    assert type(plan) is CountedPlan
    last = plan.counted.otherwise
    assert isinstance(last, StackedStage)
    weak, silent = replace(last, tree=0.0, slack=0.0, linear=quiet(last.linear)), quiet(plan.counted.careful)

    def rho(otherwise: StackedStage, careful: LinearStage = silent) -> float:
        """Less that of the count, where the tree of a rare label has no slack."""
        stated = replace(plan.guarantee, epsilon=plan.counted.count + 2 * 0.6)
        stage = replace(plan.counted, tree=0.6, careful=careful, otherwise=otherwise)
        return of(replace(plan, guarantee=stated, counted=stage)) - stage.count**2 / 2

    rare = 0.6**2 / 2
    assert rho(weak) == pytest.approx(rare)
    linear = replace(last.linear, scale=last.linear.scale / 3)
    of_linear = linear.steps / (2 * linear.event.noise_multiplier**2)
    assert of_linear > 2 * rare
    assert rho(replace(weak, linear=linear)) == pytest.approx(of_linear, rel=1e-6)
    assert rho(replace(weak, tree=1.0)) == pytest.approx(0.5, rel=1e-6), "(2η)²/8"
    assert rho(replace(weak, tree=1.0, slack=0.5)) == pytest.approx(3.0**2 / 8, rel=1e-6), "(2η + 4λ)²/8"
    assert rho(replace(weak, tree=0.1, slack=0.2, linear=linear)) == pytest.approx(of_linear + 0.045, rel=1e-6)
    loud = replace(plan.counted.careful, scale=linear.scale, steps=linear.steps, bound=linear.bound)
    assert rho(weak, careful=loud) == pytest.approx(of_linear, rel=1e-6)


def test_each_way_of_a_contest_counts() -> None:
    plan = planned("asked", 4.0, records=800)
    assert type(plan) is AskedPlan
    made = plan.asked
    assert isinstance(made, ContestStage)
    pilot, linear = quiet(made.pilot), quiet(made.linear)
    weak = replace(made, tree=0.0, slack=0.0, scale=1e4 * made.scale, pilot=pilot, linear=linear)

    def rho(contest: ContestStage) -> float:
        return of(replace(plan, asked=contest))

    assert rho(replace(weak, tree=0.6)) == pytest.approx(0.18, rel=1e-6)
    assert rho(replace(weak, tree=0.6, slack=0.1)) == pytest.approx(0.245, rel=1e-6)
    linear = replace(made.linear, scale=made.linear.scale / 3)
    of_linear = linear.steps / (2 * linear.event.noise_multiplier**2)
    assert of_linear > 0.36
    assert rho(replace(weak, linear=linear, tree=0.6)) == pytest.approx(of_linear, rel=1e-6), "the costlier of the two"
    lead = float(made.bound)  # half of what a record moves it by: ρ is 2
    assert rho(replace(weak, scale=lead)) == pytest.approx(2.0, rel=1e-6)
    assert rho(replace(weak, scale=lead, tree=0.6)) == pytest.approx(2.18, rel=1e-6)
    assert rho(replace(weak, scale=lead, tree=0.6, linear=linear)) == pytest.approx(2.0 + of_linear, rel=1e-6)
    loud = replace(made.pilot, scale=made.pilot.scale / 20)
    of_pilot = loud.steps / (2 * loud.event.noise_multiplier**2)
    assert rho(replace(weak, pilot=loud, tree=0.6)) == pytest.approx(of_pilot + 0.18, rel=1e-6)
    assert rho(replace(weak, pilot=loud, linear=linear)) == pytest.approx(of_pilot + of_linear, rel=1e-6)


def test_a_count_and_pilots() -> None:
    plan = planned("counted")
    assert type(plan) is CountedPlan
    plain = plan.counted.careful
    mixed, ferned = (replace(plain, ferns=3, depth=2, share=share) for share in (128, 13))
    piloted = PilotedStage((plain, ferned), plain.scale, 0, 0, (plain, mixed, ferned))
    rho = concentration(replace(plan, counted=replace(plan.counted, otherwise=piloted)))
    assert rho == pytest.approx(concentration(plan)), "a tree for a rare label is the costliest"
    stated = replace(plan.guarantee, epsilon=plan.counted.count)  # as though it cost nothing
    rho = concentration(replace(plan, guarantee=stated, counted=replace(plan.counted, tree=0.0, otherwise=piloted)))
    one = plain.steps / (2 * plain.event.noise_multiplier**2)
    lead = 1 / (2 * piloted.comparison.noise_multiplier**2)
    assert rho == pytest.approx(plan.counted.count**2 / 2 + 3 * one + lead, rel=1e-9)


@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_a_student_of_soft_votes_is_one_vector_with_noise(classes: tuple[int, ...]) -> None:
    public = np.random.default_rng(0).normal(size=(60, 2))
    plan = MultipartyClassifier(LogisticTeachers(), epsilon=1.0, classes=classes).plan(3_000, public=public)
    rho = concentration(plan)
    assert rho is not None
    stage = plan.student
    assert rho >= (stage.sensitivity / stage.scale) ** 2 / 2.0
    assert rho == pytest.approx((stage.sensitivity / stage.scale) ** 2 / 2.0, rel=1e-9)
    assert all(divergence(stage.event, order) <= rho * order for order in ORDERS)
    assert rho < plan.guarantee.epsilon**2 / 2.0


@pytest.mark.parametrize("noise", ["gaussian", "exponential", "laplace"])
@pytest.mark.parametrize("classes", [(0, 1), (0, 1, 2)])
def test_noisy_majorities_have_that_of_an_answer_m_times(noise: str, classes: tuple[int, ...]) -> None:
    plan = NoisyMaxAggregate(LogisticTeachers(), queries=30, classes=classes, noise=noise).plan(60_000, 2)
    rho = concentration(plan)
    assert rho is not None
    costs = [30 * divergence(plan.vote.event, order) / order for order in ORDERS]
    assert max(costs) <= rho <= max(costs) * (1 + 1e-2)
    assert rho < plan.guarantee.epsilon**2 / 12.0
    if isinstance(plan.vote.noise, GaussianMax):
        moved = 30 if len(classes) == 2 else 60
        assert rho == pytest.approx(moved / (2 * plan.vote.noise.scale**2), rel=1e-9)


def test_what_is_not_proved_has_none() -> None:
    releases = (SubsampleAggregate, AgnosticRelease, UniversalRelease, ConfidentMaxAggregate)
    for release in releases:  # a universal plan is a `DrawPlan`, too: its votes are in no range
        assert concentration(release(Thresholds(), queries=20).plan(60_000, 1)) is None


def test_a_plan_made_of_others_has_none() -> None:
    class Both(DrawPlan):
        """Publishes, and does something else."""

    plan = planned("tree")
    assert isinstance(plan, DrawPlan)
    fields = {name: getattr(plan, name) for name in ("mode", "budget", "guarantee", "publish")}
    assert concentration(Both(**fields)) is None
    rho = concentration(plan)
    assert rho is not None
    assert math.isfinite(rho)

    class Votes(NoisyMaxPlan):
        """Answers, and does something else."""

    votes = NoisyMaxAggregate(Thresholds(), queries=20).plan(60_000, 1)
    fields = {name: getattr(votes, name) for name in ("mode", "budget", "guarantee", "aim", "vote")}
    assert concentration(votes) is not None
    assert concentration(Votes(**fields)) is None
