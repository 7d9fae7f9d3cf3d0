"""Plans for a head that two pilots choose: strengths by n·ε, noise from (ε, δ). Only public numbers enter.

Gaussian noise adds up by squares: pilots with a share k of the strength μ each and a lead with c of it leave
√(1 − 2k² − c²) for the head. The larger n·ε is, the sooner pilots see what there is to see.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pcqr.accounting import PureEvent
from pcqr.algorithms.head import shape_of
from pcqr.algorithms.piloted import piloted_guarantee
from pcqr.plan import PilotedStage
from pcqr.planning.classifiers.head import coordinates, head_features, largest_mu, noise_scale, stage_for
from pcqr.planning.classifiers.recipes import Recipe, ferned, mixed, plain
from pcqr.planning.classifiers.rule import FERNED_FROM, LEAD, PILOTED_FROM, has_some_ferns, mixed_from, pilot_share
from pcqr.records.arrays import Points
from pcqr.records.head_features import HeadFeatures
from pcqr.records.predicates import Predicates
from pcqr.schema import Schema

Recipes = tuple[Recipe, Recipe, Recipe]


def recipes(records: int, epsilon: float, classes: int = 2) -> Recipes:
    """Those of the three heads: without ferns, with some, with hardly anything else."""
    return plain(records, epsilon, classes), mixed(records, epsilon, classes), ferned(records, epsilon, classes)


def head_maps(
    records: int,
    epsilon: float,
    classes: int,
    predicates: Predicates,
    columns: int,
    public: Points | None,
    schema: Schema | None,
) -> tuple[HeadFeatures, ...]:
    """The public feature maps of a head: one that the rule names, or all three where pilots choose among them."""
    made: tuple[Recipe, ...] = recipes(records, epsilon, classes)
    if has_some_ferns(records, epsilon):
        made = made[1:2]
    elif records * epsilon < PILOTED_FROM:
        made = made[:1]
    maps = tuple(head_features(recipe, predicates, columns, public, schema) for recipe in made)
    return maps if all(features.ferns for features in maps[1:]) else maps[:1]


def plan_piloted(
    records: int,
    maps: Sequence[HeadFeatures],
    epsilon: float,
    delta: float,
    *,
    classes: int = 2,
    seed: int = 0,
    beside: Sequence[PureEvent] = (),
) -> PilotedStage:
    """The plan for n = `records` and the three feature `maps` of `recipes` within (`epsilon`, `delta`)."""
    share = pilot_share(records, epsilon)
    left = math.sqrt(1.0 - 2.0 * share**2 - LEAD**2)
    shapes, made = [shape_of(features) for features in maps], recipes(records, epsilon, classes)
    sizes = [coordinates(shape, classes) for shape in shapes]
    parts = (share, sizes[0]), (share, sizes[2]), (LEAD, 1), (left, max(sizes))
    mu = largest_mu(parts, float(epsilon), float(delta), tuple(beside))
    pilots = tuple(
        stage_for(records, shapes[place], made[place], share * mu, classes=classes, seed=seed) for place in (0, 2)
    )
    heads = tuple(
        stage_for(records, shape, recipe, left * mu, classes=classes, seed=seed)
        for shape, recipe in zip(shapes, made, strict=True)
    )
    lead = noise_scale(1, LEAD * mu)
    least = max(-records, math.ceil(mixed_from(records, epsilon) * records))
    plan = PilotedStage(pilots, lead, least, math.ceil(FERNED_FROM * records), heads)
    guarantee = piloted_guarantee(plan, delta, beside=beside)
    if not guarantee.within(epsilon, delta):
        raise AssertionError(f"The plan gives {guarantee}, more than ε = {epsilon}, δ = {delta}.")
    return plan
