"""The ρ of what is published at once: against divergences computed otherwise, and none for what answers over time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from pcqr import AgnosticRelease, NoisyMaxAggregate, PrivateClassifier, SubsampleAggregate, UniversalRelease
from pcqr.accounting import BoundedRangeEvent, DiscreteGaussianEvent, PureEvent, concentrated_epsilon
from pcqr.accounting.renyi import divergence
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.plan import CountedPlan, DrawPlan, HeadPlan, Plan
from pcqr.release.account.concentration import concentration

ORDERS = [1.0 + 2.0**power for power in range(-10, 20)]


def planned(method: str, epsilon: float = 1.0) -> Plan:
    rng = np.random.default_rng(0)
    X, public = rng.normal(size=(3_000, 2)), rng.normal(size=(50, 2))
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
    plan = planned("head")
    assert isinstance(plan, HeadPlan)
    rho, stage = concentration(plan), plan.head
    assert rho is not None
    one = divergence(DiscreteGaussianEvent(stage.scale / (2 * stage.bound)), 7.0)
    assert stage.steps * one <= 7.0 * rho <= stage.steps * one * (1 + 1e-11)
    assert concentrated_epsilon(rho, 1e-6) >= plan.guarantee.epsilon  # its own figure is tighter
    assert rho < plan.guarantee.epsilon**2 / 10.0


def test_a_count_and_the_worse_of_two() -> None:
    plan = planned("counted")
    assert type(plan) is CountedPlan
    rho, stage = concentration(plan), plan.counted
    assert rho is not None
    count = PureEvent(stage.count)
    sums = DiscreteGaussianEvent(stage.head.scale / stage.head.sensitivity)
    tree = BoundedRangeEvent(2.0 * stage.tree)
    for order in ORDERS:
        with_sums = divergence(count, order) + stage.head.steps * divergence(sums, order)
        assert max(with_sums, divergence(count, order) + divergence(tree, order)) <= rho * order * (1 + 1e-9)
    assert rho < 0.3 * plan.guarantee.epsilon**2
    hotter = replace(plan, counted=replace(stage, count=2.0 * stage.count))
    assert concentration(hotter) != rho


def test_what_is_not_proved_has_none() -> None:
    releases = (SubsampleAggregate, AgnosticRelease, UniversalRelease, NoisyMaxAggregate)
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
