"""Plans for a head beside a tree: a share of ε for the tree, and what its draw leaves for the head.

Only public numbers, rows and the schema enter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pcqr.accounting import PureEvent
from pcqr.algorithms.head import NoisySums, shape_of
from pcqr.algorithms.sspp import sspp_guarantee
from pcqr.algorithms.stacked import may_have_evidence, most_coordinates, stacked_guarantee
from pcqr.guarantee import rounded_up
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.plan import DrawStage, StackedStage
from pcqr.planning.classifiers.dense import recipe_of
from pcqr.planning.classifiers.head import coordinates, largest_mu, stage_for
from pcqr.planning.classifiers.recipes import plain
from pcqr.planning.request import Request
from pcqr.records.arrays import Points
from pcqr.records.head_features import HeadFeatures


def plan_stacked(
    request: Request,
    trees: DecisionTrees,
    features: HeadFeatures,
    delta: float,
    share: float,
    *,
    public: Points | None = None,
    before: Sequence[NoisySums] = (),
    beside: Sequence[PureEvent] = (),
) -> StackedStage:
    """The plan within ε and `delta` for a tree with this `share` of ε, and a head on `features` beside it.

    `before` and `beside` are other releases on the same records, which (ε, δ) have to pay for, too.
    """
    n, epsilon = request.records, request.epsilon
    depth = trees.depth_for(n)
    drawn = replace(trees, depth=depth)
    tree = inverse_temperature_for(drawn, share * epsilon, records=n, features=request.features)
    slack = rounded_up(sspp_guarantee(DrawStage(tree), drawn, n, request.features, None).epsilon - 2.0 * tree)
    _, *cells = shape_of(features)
    shape = (most_coordinates(features), *cells)
    recipe = recipe_of(features, n, epsilon)
    if recipe.is_posterior and not may_have_evidence(features, public):
        recipe = plain(n, epsilon)
    start = StackedStage(tree, depth, slack, recipe.whitening, stage_for(n, shape, recipe, 1.0))
    parts = ((1.0, coordinates(shape, 2)),)
    mu = largest_mu(parts, float(epsilon), float(delta), (*beside, start.draw), tuple(before))
    plan = replace(start, head=stage_for(n, shape, recipe, mu))
    guarantee = stacked_guarantee(plan, trees, request.features, delta, before=before, beside=beside)
    if not guarantee.within(epsilon, delta):
        raise AssertionError(f"The plan gives {guarantee}, more than ε = {epsilon}, δ = {delta}.")
    return plan
