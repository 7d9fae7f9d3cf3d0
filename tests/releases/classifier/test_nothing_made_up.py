"""A plan holds what the user asked for, what follows from it, and no other number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pcqr import PrivateClassifier, SemiPrivateLearner, UniversalRelease
from pcqr.hypotheses import Stumps, Thresholds
from pcqr.releases.protocol.plan import Aim, Budget, Plan
from pcqr.releases.words import plan_facts, plan_lines

X = np.random.default_rng(0).normal(size=(400, 3))
Y = (X[:, 0] > 0).astype(int)
PUBLIC = X[:50] + 1e-9


def plan_of(estimator: Any) -> Plan:
    plan: Plan = estimator.fit(X, Y, public=PUBLIC).plan_
    return plan


def test_the_semi_private_learner_is_pure_and_answers_any_number_of_queries() -> None:
    plan = plan_of(SemiPrivateLearner(Stumps(), 3.0, alpha=0.45, beta=0.2, entropy=1))
    assert plan.delta == 0.0
    assert plan.guarantee.within(3.0, 0.0)
    assert (plan.budget, plan.aim) == (Budget(3.0), Aim(None, 0.45, 0.2))
    assert plan_facts(plan).keys() & {"queries", "delta", "alpha"} == {"delta", "alpha"}
    assert "α = 0.45" in plan_lines(plan)["accuracy"]


@pytest.mark.parametrize("method", ["tree", "linear", "auto"])
def test_a_private_classifier_aims_at_no_accuracy(method: Any) -> None:
    plan = plan_of(PrivateClassifier(20.0, 1e-6, method=method, entropy=1))
    assert not {"queries", "alpha", "beta"} & plan_facts(plan).keys()
    assert "accuracy" not in plan_lines(plan)
    assert (plan.budget, plan.aim, plan.proved, plan.certified) == (Budget(20.0, 1e-6), None, None, False)


def test_a_release_has_what_it_was_asked_for() -> None:
    plan = UniversalRelease(Thresholds(), epsilon=2.0, delta=1e-7, queries=70, alpha=0.2, beta=0.1).plan(30_000, 1)
    assert (plan.budget, plan.aim, plan.queries) == (Budget(2.0, 1e-7), Aim(70, 0.2, 0.1), 70)
    facts = plan_facts(plan)
    asked = {"epsilon": 2.0, "delta": 1e-7, "queries": 70, "alpha": 0.2, "beta": 0.1}
    assert {name: facts[name] for name in asked} == asked
    assert {"guarantee", "prediction", "proved", "certified", "vote", "publish"} < facts.keys()
