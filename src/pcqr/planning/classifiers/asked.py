"""Plans for one question about trees, and a tree or a head after it. Only public numbers, rows and the schema enter."""

from __future__ import annotations

import math
from dataclasses import replace

from pcqr.accounting import PureEvent
from pcqr.algorithms.asked import asked_guarantee, for_head
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.plan import AskedStage
from pcqr.planning.classifiers.dense import recipe_of
from pcqr.planning.classifiers.head import plan_head
from pcqr.planning.classifiers.rule import FEW, SHALLOW, many_mistakes, question_share
from pcqr.planning.request import Request
from pcqr.records.head_features import HeadFeatures

_ROUNDING = 1e-9  # relative: sums of ε are rounded up


def plan_asked(request: Request, trees: DecisionTrees, features: HeadFeatures) -> AskedStage:
    """The question has its share of ε; the tree, or the head on `features`, all that it leaves."""
    n, epsilon, delta = request.records, request.epsilon, request.delta
    question = PureEvent(question_share(n, epsilon) * epsilon)
    left = (epsilon - question.epsilon) * (1.0 - _ROUNDING)
    depth = trees.depth_for(n)
    tree = inverse_temperature_for(replace(trees, depth=depth), left, records=n, features=request.features)
    head = plan_head(n, features, recipe_of(features, n, epsilon), epsilon, for_head(delta), beside=(question,))
    spread = 1.0 if features.dense is None else features.dense.spread
    most = many_mistakes(n, epsilon, spread, is_posterior=head.is_posterior)
    few, many = (math.floor(limit * n) for limit in (FEW, most))
    plan = AskedStage(question.epsilon, min(SHALLOW, depth), few, many, tree, depth, head)
    guarantee = asked_guarantee(plan, trees, request.features, delta)
    if not guarantee.within(epsilon, delta):
        raise AssertionError(f"The plan gives {guarantee}, more than ε = {epsilon}, δ = {delta}.")
    return plan
