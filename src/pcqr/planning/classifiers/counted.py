"""Plans for what `auto` does with two classes: a count of the labels, and what may come after it.

Only public numbers, public rows and the schema enter.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pcqr.accounting import PureEvent
from pcqr.algorithms.counted import CAREFUL_SHARE, counted_guarantee
from pcqr.algorithms.doubted import TREE_SHARE, lead_of, tree_leaf
from pcqr.algorithms.head import shape_of
from pcqr.algorithms.leaves import shares
from pcqr.errors import ParameterError
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.plan import CountedStage, DoubtedStage, HeadStage, PilotedStage
from pcqr.planning.classifiers.dense import recipe_of
from pcqr.planning.classifiers.head import (
    coordinates,
    head_features,
    head_predicates,
    largest_mu,
    noise_scale,
    plan_head,
    stage_for,
)
from pcqr.planning.classifiers.piloted import plan_piloted
from pcqr.planning.classifiers.recipes import CAREFUL, Recipe
from pcqr.planning.classifiers.rule import (
    COUNT_SHARE,
    DOUBT,
    DOUBTED_FROM,
    MIDWAY,
    RARE_BELOW,
    TREE_FROM,
    UNEVEN_BELOW,
)
from pcqr.planning.request import Request
from pcqr.records.arrays import Points
from pcqr.records.head_features import HeadFeatures
from pcqr.records.predicates import Predicates
from pcqr.schema import Schema

_ROUNDING = 1e-9  # relative: sums of ε are rounded up
_PRECISION = 1e-4  # relative, of the tree's ε


def careful_map(
    declared: Predicates | None, records: int, columns: int, public: Points | None, schema: Schema | None
) -> HeadFeatures:
    """The feature map of the careful head: over `declared` predicates, or few that public things give."""
    questions = head_predicates(CAREFUL.rarest, records, public, schema) if declared is None else declared
    return head_features(CAREFUL, questions, columns, public, schema)


def plan_counted(request: Request, trees: DecisionTrees, maps: Sequence[HeadFeatures]) -> CountedStage:
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
    otherwise: HeadStage | DoubtedStage | PilotedStage
    if len(others) > 1:
        otherwise = plan_piloted(n, others, epsilon, rest, beside=(count,))
    elif n * epsilon < DOUBTED_FROM:
        otherwise = plan_head(n, others[0], recipe_of(others[0], n, epsilon), epsilon, rest, beside=(count,))
    else:
        otherwise = plan_doubted(request, trees, others[0], recipe_of(others[0], n, epsilon), rest, count)
    rare, uneven = math.ceil(RARE_BELOW / epsilon), math.ceil(UNEVEN_BELOW * n)
    plan = CountedStage(count.epsilon, rare, tree, depth, uneven, stops_early, otherwise)
    guarantee = counted_guarantee(plan, trees, request.features, request.delta)
    if not guarantee.within(epsilon, request.delta):
        raise AssertionError(f"The plan gives {guarantee}, more than ε = {epsilon}, δ = {request.delta}.")
    return plan


def plan_doubted(
    request: Request, trees: DecisionTrees, features: HeadFeatures, recipe: Recipe, delta: float, beside: PureEvent
) -> DoubtedStage:
    """A head with all that the comparison leaves, and the coldest tree that what is spent midway leaves room for."""
    n, epsilon, shape = request.records, request.epsilon, shape_of(features)
    going_on = math.sqrt(1.0 - DOUBT**2)
    parts = (going_on, coordinates(shape, 2)), (DOUBT, 1)
    mu = largest_mu(parts, float(epsilon), shares(delta, TREE_SHARE)[1], (beside,))
    head = stage_for(n, shape, recipe, going_on * mu)
    depth, midway, scale = trees.depth_for(n), math.ceil(MIDWAY * head.steps), noise_scale(1, DOUBT * mu)
    stage = DoubtedStage(head, midway, scale, math.ceil(TREE_FROM * n), 1.0 / n, depth)

    def is_kept(of_tree: float) -> bool:
        leaf = tree_leaf(head, midway, lead_of(stage), delta, (beside, PureEvent(of_tree)))
        return leaf.within(epsilon * (1.0 - _ROUNDING), delta)

    low, high = 0.0, epsilon - beside.epsilon
    while high - low > _PRECISION * epsilon:
        middle = (low + high) / 2.0
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    drawn = replace(trees, depth=depth)
    return replace(stage, tree=inverse_temperature_for(drawn, low, records=n, features=request.features))
