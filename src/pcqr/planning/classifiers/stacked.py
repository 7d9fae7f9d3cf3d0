"""Plans for a head beside a tree: a share of ε for the tree, and what its draw leaves for the head.

Only public numbers, rows and the schema enter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pcqr.accounting import PureEvent
from pcqr.algorithms.head import shape_of
from pcqr.algorithms.sspp import slack_of
from pcqr.algorithms.stacked import may_have_evidence, most_coordinates, stacked_guarantee
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.plan import StackedStage
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
    beside: Sequence[PureEvent] = (),
) -> StackedStage:
    """The plan within ε and `delta` for a tree with this `share` of ε, and a head on `features` beside it.

    `beside` are other releases on the same records, which (ε, δ) have to pay for, too.
    """
    n, epsilon, classes = request.records, request.epsilon, trees.labels
    depth = trees.depth_for(n)
    drawn = replace(trees, depth=depth)
    tree = inverse_temperature_for(drawn, share * epsilon, records=n, features=request.features)
    slack = slack_of(tree, drawn, n, request.features)
    _, ferns, levels, dense_share = shape_of(features)
    shape = most_coordinates(features, classes), ferns, levels, dense_share
    recipe = recipe_of(features, n, epsilon, classes)
    if recipe.is_posterior and not may_have_evidence(features, public):
        recipe = plain(n, epsilon)
    start = StackedStage(tree, depth, slack, recipe.whitening, stage_for(n, shape, recipe, 1.0, classes=classes))
    parts = ((1.0, coordinates(shape, classes)),)
    mu = largest_mu(parts, float(epsilon), float(delta), (*beside, start.draw))
    plan = replace(start, head=stage_for(n, shape, recipe, mu, classes=classes))
    guarantee = stacked_guarantee(plan, trees, request.features, delta, beside=beside)
    if not guarantee.within(epsilon, delta):
        raise AssertionError(f"The plan gives {guarantee}, more than ε = {epsilon}, δ = {delta}.")
    return plan
