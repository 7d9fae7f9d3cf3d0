"""A tree or a linear classifier: the stated figures against a closed form, what is chosen, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.either import BUDGETS, COLUMNS, FEATURES, TREES, bits, exact_delta, request_for, share_kept
from support.releases import Forbidden

from pcqr.accounting import PureEvent
from pcqr.algorithms.compare import better_of_two, compared_guarantee
from pcqr.algorithms.linear import linear_guarantee
from pcqr.entropy import SeededEntropy
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.linear import LinearHypothesis
from pcqr.hypotheses.trees import DecisionTree
from pcqr.plan import ComparedStage
from pcqr.planning.classifiers.published import plan_compared
from pcqr.records import InMemory


def plan_for(records: int, epsilon: float, delta: float = 1e-6) -> ComparedStage:
    return plan_compared(request_for(records, epsilon, delta), TREES)


@pytest.mark.parametrize(("records", "epsilon", "delta"), BUDGETS)
def test_the_stated_figures_hold_and_are_used_up(records: int, epsilon: float, delta: float) -> None:
    plan = plan_for(records, epsilon, delta)
    stated = compared_guarantee(plan, TREES, COLUMNS, delta)
    assert stated.within(epsilon, delta)
    assert stated.epsilon > 0.998 * epsilon
    assert 0.9 * delta < exact_delta(plan.linear, (2 * plan.tree, 2 * plan.comparison), stated.epsilon) <= delta


def test_composition_is_cheaper_than_adding_up() -> None:
    plan = plan_for(10_000, 1.0)
    alone = linear_guarantee(plan.linear, 1e-6).epsilon
    together = compared_guarantee(plan, TREES, COLUMNS, 1e-6).epsilon
    assert alone < together < alone + 2 * (plan.tree + plan.comparison)


@pytest.mark.parametrize(
    ("epsilon", "delta", "least", "most"),
    [
        *((epsilon, 1e-6, 0.91, 0.94) for epsilon in (0.03, 0.3, 1.0)),
        (1.0, 1e-9, 0.885, 0.905),
        (1.0, 1e-10, 0.88, 0.89),
        (5.0, 1e-12, 0.87, 0.88),
    ],
)
def test_the_share_of_its_budget_that_the_linear_classifier_keeps(
    epsilon: float, delta: float, least: float, most: float
) -> None:
    plan = plan_for(int(30_000 / epsilon), epsilon, delta)
    assert least < share_kept(plan.linear, epsilon, delta) < most


def test_less_noise_than_planned_is_not_within_epsilon() -> None:
    plan = plan_for(10_000, 1.0)
    louder = replace(plan, linear=replace(plan.linear, scale=plan.linear.scale / 1.01))
    assert not compared_guarantee(louder, TREES, COLUMNS, 1e-6).within(1.0, 1e-6)
    assert not compared_guarantee(replace(plan, tree=1.2 * plan.tree), TREES, COLUMNS, 1e-6).within(1.0, 1e-6)
    assert not compared_guarantee(replace(plan, comparison=1.4 * plan.comparison), TREES, COLUMNS, 1e-6).within(1, 1e-6)


@pytest.mark.parametrize("delta", [1e-10, 1e-12, 1e-20])
def test_a_tiny_delta_is_kept(delta: float) -> None:
    """At 10⁻²⁰ the grid would take all of δ, and the figure is that of Rényi composition."""
    plan = plan_for(10_000, 1.0, delta)
    assert compared_guarantee(plan, TREES, COLUMNS, delta).within(1.0, delta)


def test_other_releases_cost_something() -> None:
    linear = plan_for(10_000, 1.0).linear
    assert linear_guarantee(linear, 1e-6, beside=(PureEvent(0.2),)).epsilon > linear_guarantee(linear, 1e-6).epsilon


def test_the_better_one_is_published() -> None:
    X = bits(20_000)
    plan = plan_for(20_000, 1.0)
    majority = (X.sum(axis=1) > COLUMNS / 2).astype(np.int8)
    parity = (X[:, 0] != X[:, 1]).astype(np.int8)
    assert isinstance(better_of_two(TREES, FEATURES, InMemory(X, majority), plan, SeededEntropy(0)), LinearHypothesis)
    tree = better_of_two(TREES, FEATURES, InMemory(X, parity), plan, SeededEntropy(0))
    assert isinstance(tree, DecisionTree)
    assert (tree.predict(X) == parity).all()


def test_where_both_are_as_good_it_is_linear_eight_times_of_nine() -> None:
    """90 runs, 80 linear ones expected: fewer than 66, or all of them, come out once in 25,000 times."""
    X = bits(400)
    plan = replace(plan_for(400, 1.0), comparison=0.0)
    plan = replace(plan, linear=replace(plan.linear, steps=1))
    drawn = [
        better_of_two(TREES, FEATURES, InMemory(X, X[:, 0].astype(np.int8)), plan, SeededEntropy(seed))
        for seed in range(90)
    ]
    assert 66 <= sum(isinstance(hypothesis, LinearHypothesis) for hypothesis in drawn) <= 89


def test_what_does_not_fit_is_refused_before_anything_is_drawn() -> None:
    X, plan = bits(100), plan_for(100, 1.0)
    y = np.zeros(100, dtype=np.int8)
    with pytest.raises(ParameterError, match="plan"):
        better_of_two(TREES, FEATURES, InMemory(X[:50], y[:50]), plan, Forbidden())
    with pytest.raises(DataError, match="y"):
        better_of_two(TREES, FEATURES, InMemory(X, y + np.int8(2)), plan, Forbidden())
    with pytest.raises(ParameterError, match="2 classes"):
        better_of_two(replace(TREES, labels=3), FEATURES, InMemory(X, y), plan, Forbidden())
