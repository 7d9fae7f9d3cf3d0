"""Plans for a pilot against trees, and a tree or a head after it: strengths by n·ε, noise from (ε, δ).

Only public numbers, rows and the schema enter. Gaussian noise adds up by squares: a pilot with a share k of the
strength μ and a lead with c of it leave √(1 − k² − c²) for the head. The tree, which is of bounded range, has what
they leave of ε.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pcqr.accounting import BoundedRangeEvent
from pcqr.algorithms.contest import TREE_SHARE, contest_guarantee
from pcqr.algorithms.head import NoisySums, shape_of, sums_guarantee, sums_of
from pcqr.algorithms.leaves import shares
from pcqr.algorithms.sspp import slack_of
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.plan import ContestStage
from pcqr.planning.classifiers.dense import recipe_of
from pcqr.planning.classifiers.head import coordinates, head_features, largest_mu, noise_scale, stage_for
from pcqr.planning.classifiers.recipes import LITTLE_WHITENING, POSTERIOR_BELOW, plain, scout
from pcqr.planning.classifiers.rule import CONTEST, POSTERIOR_CONTEST, tree_from
from pcqr.planning.request import Request
from pcqr.records.arrays import Points
from pcqr.records.head_features import HeadFeatures
from pcqr.records.predicates import Predicates
from pcqr.schema import Schema

_PRECISION = 1e-4  # relative, of what is left for the tree
_ROUNDING = 1e-9  # relative: sums of ε are rounded up


def scout_map(
    records: int, epsilon: float, predicates: Predicates, columns: int, public: Points | None, schema: Schema | None
) -> HeadFeatures:
    """The feature map of the pilot: predicates alone, whitened little where a descent is weak, else the head's own."""
    recipe = plain(records, epsilon)
    if records * epsilon >= POSTERIOR_BELOW:
        recipe = replace(recipe, whitening=LITTLE_WHITENING)
    return head_features(recipe, predicates, columns, public, schema)


def plan_contest(
    request: Request,
    trees: DecisionTrees,
    maps: Sequence[HeadFeatures],
    delta: float,
) -> ContestStage:
    """The plan on `maps`, those of the pilot and of the head, within ε and `delta`."""
    if len(maps) != 2:
        raise ParameterError("maps", "those of the pilot and of the head", f"{len(maps)} of them")
    n, epsilon = request.records, request.epsilon
    shapes, recipes = [shape_of(features) for features in maps], [recipe_of(features, n, epsilon) for features in maps]
    made = scout(recipes[0]), recipes[1]
    rule = POSTERIOR_CONTEST if made[0].is_posterior else CONTEST
    spread = max((features.dense.spread for features in maps if features.dense is not None), default=1.0)
    for_tree, for_head = shares(delta, TREE_SHARE)
    left = math.sqrt(1.0 - rule.pilot**2 - rule.lead**2)
    pilot_size, head_size = (coordinates(shape, 2) for shape in shapes)
    parts = (rule.pilot, pilot_size), (rule.lead, 1), (left, head_size)
    mu = largest_mu(parts, float(epsilon), float(for_head), ())
    pilot, head = (
        stage_for(n, shape, recipe, share * mu)
        for shape, recipe, share in zip(shapes, made, (rule.pilot, left), strict=True)
    )
    depth = trees.depth_for(n)
    start = ContestStage(
        pilot,
        shallow=min(rule.depth, depth),
        scale=noise_scale(1, rule.lead * mu),
        tree_from=math.ceil(tree_from(n, epsilon, spread, rule) * n),
        tree=0.0,
        depth=depth,
        head=head,
        slack=0.0,
    )
    length, drawn = _left_for_tree(start, epsilon, for_tree), replace(trees, depth=depth)
    tree = inverse_temperature_for(drawn, length, records=n, features=request.features)
    slack = slack_of(tree, drawn, n, request.features)
    tree = inverse_temperature_for(drawn, length - slack, records=n, features=request.features)  # for 4λ, not 2λ
    plan = replace(start, tree=tree, slack=slack)
    guarantee = contest_guarantee(plan, trees, request.features, delta)
    if not guarantee.within(epsilon, delta):
        raise AssertionError(f"The plan gives {guarantee}, more than ε = {epsilon}, δ = {delta}.")
    return plan


def _left_for_tree(plan: ContestStage, epsilon: float, delta: float) -> float:
    """The length of the longest range, of a tree's draw and at most ε, that fits beside pilot and lead."""
    sums = [sums_of(plan.pilot), NoisySums(plan.comparison, steps=1, scale=plan.scale, draws=1)]

    def fits(length: float) -> bool:
        stated = sums_guarantee(sums, delta, beside=(BoundedRangeEvent(length),))
        return stated.within(epsilon * (1.0 - _ROUNDING), delta)

    low, high = 0.0, epsilon
    while high - low > _PRECISION * epsilon:
        middle = (low + high) / 2.0
        low, high = (middle, high) if fits(middle) else (low, middle)
    if low == 0.0:
        raise InfeasiblePlan("The pilot and what is beside it leave nothing of ε for a tree.", "a larger ε")
    return low
