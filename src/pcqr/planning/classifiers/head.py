"""Plans for the private head: the feature map by a rule on n·ε, noise from (ε, δ), steps from n and the noise.

Only public numbers, public rows and the schema enter. What (ε, δ) allow all T sums together is one number μ: noise of
σ = 2M·√T/μ on each. The gradients g, which are the sums scaled to sensitivity 1, then carry noise of √T/μ each and 1/μ
on their mean, whatever T is: more steps cost time, not accuracy. Weights move by about τ times the mean of g, τ =
T·(step size)/(1 − β), so a margin carries noise of about τ/μ, whatever the number of coordinates is:

    τ = N · μ           makes that noise N, whatever the table.
    T                   is what it takes to get there with steps of at most `largest_step`/n, within limits.

The loss of unit vectors has a curvature of at most n/4, so steps below 8(1 + β)/n are stable for any of them. Those of
ferns are far from each other, so that the curvature is much smaller, and longer steps are stable, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from pcqr.accounting import PureEvent
from pcqr.algorithms.head import Shape, head_guarantee, shape_of
from pcqr.checks import check_delta, check_integer, check_positive
from pcqr.errors import InfeasiblePlan
from pcqr.hypotheses.trees.predicates import predicates_of_points, predicates_of_schema
from pcqr.noise import LARGEST_SCALE
from pcqr.plan import LARGEST_HEAD_TERM, HeadStage
from pcqr.records.arrays import Points
from pcqr.records.ferns import Ferns
from pcqr.records.head_features import WHOLE_SHARE, HeadFeatures
from pcqr.records.predicates import Predicates
from pcqr.records.vectors import PredicateVectors
from pcqr.schema import Schema

MOMENTUM = 0.9
CUTS = 20
"""The most cuts through a number: more than trees can afford."""
MOST_PREDICATES, MOST_ENTRIES = 1_000, 4 * 10**8
"""The most predicates, and the most entries, of 16 bits each, of the records' dense vectors."""
FEWEST_FERNS = 50
_PRECISION = 1e-6  # relative, of the noise


@dataclass(frozen=True)
class Recipe:
    """What a head is made of from n·ε = `strength` on."""

    strength: float
    share: int
    """The dense part's share of the squared norm, in 256ths."""
    ferns: int
    depth: int
    noise: float
    """N, the noise of a margin."""
    largest_step: float
    """In units of 1/n."""
    least_steps: int
    most_steps: int
    rarest: float
    """The least share of the public rows at which a category, or another column of two values, is asked for."""
    whitening: float
    """Dense directions are divided by their public standard deviation to this power."""


RULE = (
    Recipe(0.0, 256, 0, 0, 0.85, 12.0, 100, 300, 0.03, 0.3),
    Recipe(12_000.0, 256, 0, 0, 0.85, 12.0, 100, 300, 0.01, 0.3),
    Recipe(20_000.0, 128, 200, 9, 1.0, 128.0, 80, 300, 0.01, 0.3),
    Recipe(100_000.0, 26, 400, 13, 1.0, 512.0, 80, 300, 0.005, 0.3),
)


def recipe_for(records: int, epsilon: float) -> Recipe:
    """The recipe for n = `records` and ε = `epsilon`: a fixed function of public numbers."""
    return max((recipe for recipe in RULE if recipe.strength <= records * epsilon), key=lambda found: found.strength)


def ferns_for(recipe: Recipe, classes: int) -> int:
    """L: with C > 2 classes each cell has C weights, so there are C/2 times fewer ferns."""
    return min(recipe.ferns, max(2 * recipe.ferns // classes, FEWEST_FERNS))


def head_predicates(recipe: Recipe, records: int, public: Points | None, schema: Schema | None) -> Predicates:
    """The public questions of the dense part: by public rows, else by the schema. None without both."""
    most = min(MOST_PREDICATES, max(1, MOST_ENTRIES // records))
    if public is not None:
        return predicates_of_points(public, CUTS, most, rarest_category=recipe.rarest)
    return () if schema is None else predicates_of_schema(schema, CUTS, most)


def head_features(
    recipe: Recipe,
    predicates: Predicates,
    columns: int,
    classes: int,
    public: Points | None,
    schema: Schema | None,
    *,
    seed: int = 0,
) -> HeadFeatures:
    """The public feature map that `recipe` asks for, over `predicates` on a table of so many `columns`.

    Ferns cut the columns that the predicates cut, where public rows or the schema say between which values: without
    any such column there are none, and the dense part has the whole norm.
    """
    source = schema if public is None else public
    asked = sorted({predicate.feature for predicate in predicates})
    if isinstance(source, Schema):
        asked = [place for place in asked if source.features[place].is_indicator or source.features[place].bounds]
    count = ferns_for(recipe, classes)
    ferns = None if source is None or not asked or not count else Ferns.of(source, asked, count, recipe.depth, seed)
    share = WHOLE_SHARE if ferns is None else recipe.share
    dense = PredicateVectors.of(predicates, columns, public, recipe.whitening) if share else None
    return HeadFeatures(dense, ferns, share)


def plan_head(
    records: int,
    features: HeadFeatures,
    recipe: Recipe,
    epsilon: float,
    delta: float,
    *,
    classes: int = 2,
    seed: int = 0,
    beside: Sequence[PureEvent] = (),
) -> HeadStage:
    """The plan for n = `records` and a feature map made by `recipe` within (`epsilon`, `delta`).

    `beside` are other releases on the same records, which (ε, δ) have to pay for, too.
    """
    check_integer("records", records, least=1)
    check_integer("classes", classes, least=2)
    check_positive("epsilon", epsilon)
    check_delta(delta)
    shape = shape_of(features)
    mu = _largest_mu(shape, classes, float(epsilon), float(delta), tuple(beside))
    wanted = recipe.noise * mu * records * (1.0 - MOMENTUM) / recipe.largest_step
    steps = max(math.ceil(min(wanted, recipe.most_steps)), recipe.least_steps)
    step_size = min(recipe.noise * mu * (1.0 - MOMENTUM) / steps, recipe.largest_step / records)
    plan = _plan(records, shape, classes, steps, mu, step_size, seed)
    guarantee = head_guarantee(plan, delta, beside=beside)
    if not guarantee.within(epsilon, delta):
        raise AssertionError(f"The plan gives {guarantee}, more than ε = {epsilon}, δ = {delta}.")
    return plan


def _plan(records: int, shape: Shape, classes: int, steps: int, mu: float, step_size: float, seed: int) -> HeadStage:
    scale = 2.0 * LARGEST_HEAD_TERM * math.sqrt(steps) / mu
    if scale > LARGEST_SCALE:
        raise InfeasiblePlan("The noise is larger than can be drawn.", "a larger ε or δ")
    return HeadStage(records, *shape, steps, LARGEST_HEAD_TERM, scale, MOMENTUM, step_size, classes, seed)


@lru_cache(maxsize=256)
def _largest_mu(shape: Shape, classes: int, epsilon: float, delta: float, beside: tuple[PureEvent, ...]) -> float:
    """The largest μ, to within the precision, whose sums are within (ε, δ) whatever T is, together with `beside`."""

    def is_kept(mu: float) -> bool:
        # T matters to rounding alone, which the last digits of ε cover.
        plan = _plan(1, shape, classes, 1, mu, 1.0, 0)
        return head_guarantee(plan, delta, beside=beside).within(epsilon * (1.0 - 1e-9), delta)

    # ρ-zCDP is (ρ + 2√(ρ·ln(1/δ)), δ)-DP (Bun and Steinke 2016), and the figures in use are better.
    needed, left = -math.log(delta), epsilon - math.fsum(event.epsilon for event in beside)
    low = math.sqrt(2.0) * left / (math.sqrt(needed + left) + math.sqrt(needed)) * (1.0 - _PRECISION)
    high = 2.0 * low
    while is_kept(high):
        low, high = high, 2.0 * high
    while high > low * (1.0 + _PRECISION):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    return low
