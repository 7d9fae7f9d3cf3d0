"""Plans for a pilot against trees, and a head with or without a tree after it: strengths by n·ε, noise from (ε, δ).

Only public numbers, rows and the schema enter. Gaussian noise adds up by squares: a pilot with a share k of the
strength μ and a lead with c of it leave √(1 − k² − c²) for the head.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from pcqr.accounting import DiscreteGaussianEvent
from pcqr.algorithms.contest import STACKED_SHARE, contest_guarantee
from pcqr.algorithms.head import NoisySums, shape_of, sums_of
from pcqr.algorithms.leaves import shares
from pcqr.errors import ParameterError
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.plan import ContestStage
from pcqr.planning.classifiers.dense import recipe_of
from pcqr.planning.classifiers.head import coordinates, head_features, largest_mu, noise_scale, stage_for
from pcqr.planning.classifiers.recipes import LITTLE_WHITENING, POSTERIOR_BELOW, plain, scout
from pcqr.planning.classifiers.rule import CONTEST, CONTEST_DEPTH, LED_SHARE, POSTERIOR_CONTEST, tree_from
from pcqr.planning.classifiers.stacked import plan_stacked
from pcqr.planning.request import Request
from pcqr.records.arrays import Points
from pcqr.records.head_features import HeadFeatures
from pcqr.records.predicates import Predicates
from pcqr.schema import Schema


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
    *,
    public: Points | None = None,
) -> ContestStage:
    """The plan on `maps`, those of the pilot and of the head, within ε and `delta`."""
    if len(maps) != 2:
        raise ParameterError("maps", "those of the pilot and of the head", f"{len(maps)} of them")
    n, epsilon = request.records, request.epsilon
    shapes, recipes = [shape_of(features) for features in maps], [recipe_of(features, n, epsilon) for features in maps]
    made = scout(recipes[0]), recipes[1]
    rule = POSTERIOR_CONTEST if made[0].is_posterior else CONTEST
    spread = max((features.dense.spread for features in maps if features.dense is not None), default=1.0)
    for_stacked, for_head = shares(delta, STACKED_SHARE)
    left = math.sqrt(1.0 - rule.pilot**2 - rule.lead**2)
    pilot_size, head_size = (coordinates(shape, 2) for shape in shapes)
    parts = (rule.pilot, pilot_size), (rule.lead, 1), (left, head_size)
    mu = largest_mu(parts, float(epsilon), float(for_head), ())
    pilot, head = (
        stage_for(n, shape, recipe, share * mu)
        for shape, recipe, share in zip(shapes, made, (rule.pilot, left), strict=True)
    )
    lead = noise_scale(1, rule.lead * mu)
    before = sums_of(pilot), NoisySums(DiscreteGaussianEvent(lead / pilot.sensitivity), steps=1, scale=lead, draws=1)
    stacked = plan_stacked(request, trees, maps[1], for_stacked, LED_SHARE, public=public, before=before)
    shallow, tree_leads = min(CONTEST_DEPTH, stacked.depth), math.ceil(tree_from(n, epsilon, spread, rule) * n)
    plan = ContestStage(pilot, shallow, lead, tree_leads, stacked, head)
    guarantee = contest_guarantee(plan, trees, request.features, delta)
    if not guarantee.within(epsilon, delta):
        raise AssertionError(f"The plan gives {guarantee}, more than ε = {epsilon}, δ = {delta}.")
    return plan
