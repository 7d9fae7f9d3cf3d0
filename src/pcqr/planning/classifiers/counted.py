"""Plans for what `auto` does with two classes: a count of the labels, and what may come after it.

Only public numbers, public rows and the schema enter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pcqr.accounting import PureEvent
from pcqr.algorithms.counted import CAREFUL_SHARE, counted_guarantee
from pcqr.algorithms.leaves import shares
from pcqr.errors import ParameterError
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.plan import CountedStage, PilotedStage, StackedStage
from pcqr.planning.classifiers.head import head_features, head_predicates, plan_head
from pcqr.planning.classifiers.piloted import plan_piloted
from pcqr.planning.classifiers.recipes import CAREFUL
from pcqr.planning.classifiers.rule import COUNT_SHARE, RARE_BELOW, STACKED_SHARE, UNEVEN_BELOW
from pcqr.planning.classifiers.stacked import plan_stacked
from pcqr.planning.request import Request
from pcqr.records.arrays import Points
from pcqr.records.head_features import HeadFeatures
from pcqr.records.predicates import Predicates
from pcqr.schema import Schema

_ROUNDING = 1e-9  # relative: sums of ε are rounded up


def careful_map(
    declared: Predicates | None, records: int, columns: int, public: Points | None, schema: Schema | None
) -> HeadFeatures:
    """The feature map of the careful head: over `declared` predicates, or few that public things give."""
    questions = head_predicates(CAREFUL.rarest, records, public, schema) if declared is None else declared
    return head_features(CAREFUL, questions, columns, public, schema)


def plan_counted(
    request: Request, trees: DecisionTrees, maps: Sequence[HeadFeatures], *, public: Points | None = None
) -> CountedStage:
    """3 % of ε for the count; the rest for what comes after it, on `maps`: the careful one, then the others."""
    n, epsilon, count = request.records, request.epsilon, PureEvent(COUNT_SHARE * request.epsilon)
    if len(maps) not in (2, 4):
        raise ParameterError("maps", "that of the careful head, and then one or three", f"{len(maps)} of them")
    careful, *others = maps
    for_careful, rest = shares(request.delta, CAREFUL_SHARE)
    depth = trees.depth_for(n)
    left = (epsilon - count.epsilon) * (1.0 - _ROUNDING)
    tree = inverse_temperature_for(replace(trees, depth=depth), left, records=n, features=request.features)
    stops_early = plan_head(n, careful, CAREFUL, epsilon, for_careful, beside=(count,))
    otherwise: StackedStage | PilotedStage
    if len(others) > 1:
        otherwise = plan_piloted(n, others, epsilon, rest, beside=(count,))
    else:
        otherwise = plan_stacked(request, trees, others[0], rest, STACKED_SHARE, public=public, beside=(count,))
    rare, uneven = math.ceil(RARE_BELOW / epsilon), math.ceil(UNEVEN_BELOW * n)
    plan = CountedStage(count.epsilon, rare, tree, depth, uneven, stops_early, otherwise)
    guarantee = counted_guarantee(plan, trees, request.features, request.delta)
    if not guarantee.within(epsilon, request.delta):
        raise AssertionError(f"The plan gives {guarantee}, more than ε = {epsilon}, δ = {request.delta}.")
    return plan
