"""Guarantees and plans in words and in JSON."""

from __future__ import annotations

import json
from dataclasses import replace

from pcqr import Guarantee, SemiPrivateLearner
from pcqr.hypotheses import Thresholds
from pcqr.privacy.unit import Unit
from pcqr.releases.words import plan_facts, promise


def test_a_promise_is_about_the_unit() -> None:
    stated = Guarantee(1.0, 1e-6)
    described = (
        "If any one of the 1,000 private records were different, no set of outcomes of this release would become more "
    )
    assert promise(stated, 1000) == f"{described}than e^1 = 2.72 times as likely, plus a probability of 1e-06."
    user = promise(replace(stated, unit=Unit.user(4)), 1000)
    assert user.startswith("If the rows (at most 4) of any one of the 1,000 persons were different, no ")


def test_json_says_the_adjacency_in_words() -> None:
    learner = SemiPrivateLearner(Thresholds(), epsilon=1.0).fit([[0.0], [1.0]], [0, 1], public=[[0.5]])
    stated = learner.guarantee_
    facts = plan_facts(learner.plan_)
    assert facts["guarantee"] == stated.facts()
    assert list(json.loads(json.dumps(stated.facts()))) == [
        *("epsilon", "delta", "proof", "assumptions", "is_private", "adjacency", "steps", "is_charged", "rho")
    ]
    assert stated.facts()["adjacency"] == "replace one record"
