"""Plans for classifiers that are published at once: a tree, or a linear classifier with a tree beside it.

`method="auto"` chooses by a rule on public numbers alone (`pcqr.releases.classifier.rule.choose`). Gaussian noise adds
up by squares: pilots with a share k of the Gaussian-DP parameter μ each, and a comparison with c of it, leave
√(1 − 2k² − c²) of μ for the linear classifier. The tree is of bounded range, and costs less than its share of ε. A tree
alone has noisy counts at its leaves, for its probabilities: both are pure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

from pcqr.checks import check_delta
from pcqr.data.records.arrays import Points
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.predicates import Predicates
from pcqr.data.records.vectors import ColumnVectors
from pcqr.data.schema import Schema
from pcqr.errors import ParameterError
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.planner.request import Request
from pcqr.privacy.accounting import BoundedRangeEvent
from pcqr.privacy.composition import Branch, Context, Sequence, Stage, account
from pcqr.privacy.guarantee import Guarantee, rounded_up
from pcqr.releases.classifier.descent import Shape, shape_of
from pcqr.releases.classifier.feature_maps import coordinates, largest_mu, make_feature_map, noise_scale, stage_for
from pcqr.releases.classifier.plan import (
    LARGEST_TERM,
    ClassCountsStage,
    ComparisonStage,
    LeafCountsStage,
    LinearStage,
    MapName,
)
from pcqr.releases.classifier.predicates import Purchase
from pcqr.releases.classifier.rule import (
    CLASS_COUNTS_SHARE,
    COMPARISON_SHARE,
    DENSE_AS_IT_IS,
    LEAF_SHARE,
    PILOT_SHARE,
    TREE_SHARE,
    Choice,
    Construction,
    Recipe,
    choose,
    recipe_for,
)
from pcqr.releases.classifier.run import may_use_empirical_bayes, most_coordinates
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.plan import PublishedPlan

Maps = Mapping[MapName, FeatureMap]
_PRECISION = 1e-4
"""Of the share of ε that a tree beside private predicates has."""


def feature_maps(
    construction: Construction,
    records: int,
    epsilon: float,
    classes: int,
    predicates: Predicates,
    columns: int,
    public: Points | None,
    schema: Schema | None,
) -> Maps:
    """Return the public feature maps of a construction. Where nothing says how to make ferns, the plain one."""
    made = {
        name: make_feature_map(recipe_for(name, records, epsilon, classes), predicates, columns, public, schema)
        for name in construction.maps
    }
    if made and all(features.ferns is None for features in made.values()):
        return {"plain": next(iter(made.values()))}
    return made


def plan_published(
    request: Request,
    method: Choice,
    maps: Maps | None = None,
    *,
    public: Points | None = None,
    is_balanced: bool = False,
    has_row_weights: bool = False,
    bought: Purchase | None = None,
) -> PublishedPlan:
    """Return a plan within (ε, δ) for the method, or for what `choose` picks. A tree alone is pure: its δ is 0.

    A linear classifier is planned for `maps`, the public feature maps that `feature_maps` or `dense_features` makes.
    With two of them pilots choose. On a dense one there is no tree beside it. With `is_balanced` noisy counts of the
    labels come before all that they weigh. `has_row_weights`: records have weights, and only this fact is
    public. If private predicates are `bought`, their stage comes first, and trees and maps are of the widest
    schema it may show.
    """
    if method not in get_args(Choice):
        raise ParameterError("method", f"one of {', '.join(map(repr, get_args(Choice)))}", method)
    request.check_epsilon()
    trees = request.hypotheses
    if not isinstance(trees, DecisionTrees):
        raise ParameterError("hypotheses", "decision trees, whose public predicates all methods share", trees)
    chosen = choose(request.records, request.epsilon, method, is_balanced=is_balanced and bool(maps))
    context = Context(trees, request.records, request.features)
    counts = _class_counts(request, trees.labels) if is_balanced else None
    if not chosen.maps and not (maps and "dense" in maps):
        if bought is None:
            return _tree_with_counts(request, trees, context, counts)
        return _bought_tree(request, trees, context, bought, counts)
    if not maps:
        raise ParameterError("maps", "a feature map for the linear classifier", None)
    check_delta(request.delta)
    draw = _draw(request, trees, TREE_SHARE * request.epsilon) if chosen.has_tree and "dense" not in maps else None
    stage = _with_linear(request, trees, maps, context, counts, draw, public, bought, has_row_weights=has_row_weights)
    return _planned(request, stage, account(stage, context, request.delta))


def _planned(request: Request, stage: Stage, guarantee: Guarantee) -> PublishedPlan:
    if not guarantee.within(request.epsilon, request.delta):
        raise AssertionError(f"The plan gives {guarantee}, more than {request.budget}.")
    return PublishedPlan(**request.promise(guarantee), stage=stage)


def _tree_with_counts(
    request: Request, trees: DecisionTrees, context: Context, first: ClassCountsStage | None
) -> PublishedPlan:
    """A draw and counts at the leaves, and what comes `first`: they add up to ε. What sums round up is set aside."""
    epsilon = float(request.epsilon) if first is None else (request.epsilon - first.epsilon) * (1.0 - 1e-11)
    counts = LeafCountsStage(rounded_up(rounded_up(2.0 / (LEAF_SHARE * epsilon))))
    draw = _draw(request, trees, epsilon - counts.epsilon - 2.0 * (rounded_up(epsilon) - epsilon))
    stage = Sequence((draw, counts) if first is None else (first, draw, counts))
    stated = account(stage, context).explained(f"noisy counts at its leaves: 2/b, b = {counts.scale:.6g}")
    return _planned(request, stage, replace(stated, proof="leaf_counts"))


def _class_counts(request: Request, classes: int) -> ClassCountsStage:
    """Return noisy counts of the labels for their share of ε."""
    moved = ClassCountsStage(1.0, classes).moved
    return ClassCountsStage(moved / (CLASS_COUNTS_SHARE * request.epsilon), classes)


def _draw(request: Request, trees: DecisionTrees, epsilon: float) -> DrawStage:
    return DrawStage(inverse_temperature_for(trees, epsilon, records=request.records, features=request.features))


def _bought_tree(
    request: Request, trees: DecisionTrees, context: Context, bought: Purchase, labels: ClassCountsStage | None
) -> PublishedPlan:
    """Private predicates with their shares of the μ that (ε, δ) allow noisy sums, and a tree with the rest.

    Noisy counts of the `labels` have a share of their own, where they weigh the records.
    """
    check_delta(request.delta)
    epsilon, delta = float(request.epsilon), float(request.delta)
    shaping = 0.0 if labels is None else labels.epsilon
    predicates = bought.stage(request.records, largest_mu(((1.0, 1),), epsilon, delta, (), shaping), delta)
    first = (predicates,) if labels is None else (predicates, labels)
    counts = LeafCountsStage(rounded_up(2.0 / (LEAF_SHARE * epsilon)))

    def planned(share: float) -> Sequence:
        return Sequence((*first, _draw(request, trees, share * epsilon), counts))

    low, high = 0.0, 1.0
    while high - low > _PRECISION:
        middle = 0.5 * (low + high)
        is_kept = account(planned(middle), context, delta).within(epsilon * (1.0 - 1e-9), delta)
        low, high = (middle, high) if is_kept else (low, middle)
    return _planned(request, planned(low), account(planned(low), context, delta))


def _with_linear(
    request: Request,
    trees: DecisionTrees,
    maps: Maps,
    context: Context,
    counts: ClassCountsStage | None,
    draw: DrawStage | None,
    public: Points | None,
    bought: Purchase | None,
    *,
    has_row_weights: bool,
) -> Stage:
    n, epsilon, classes = request.records, request.epsilon, trees.labels
    shapes, recipes = {}, {}
    for name, features in maps.items():
        shapes[name] = _shape(features, classes, has_tree=draw is not None)
        recipes[name] = _recipe(
            name, features, n, epsilon, classes, public, has_tree=draw is not None, has_row_weights=has_row_weights
        )
    event = None if draw is None else draw.event(context)
    beside = (event,) if isinstance(event, BoundedRangeEvent) else ()
    shaping = 0.0 if counts is None else counts.epsilon
    sizes = [coordinates(shape, classes) for shape in shapes.values()]
    if len(maps) == 1:
        parts: tuple[tuple[float, int], ...] = ((1.0, sizes[0]),)
    else:
        remaining = math.sqrt(1.0 - len(sizes) * PILOT_SHARE**2 - COMPARISON_SHARE**2)
        parts = (*((PILOT_SHARE, size) for size in sizes), (COMPARISON_SHARE, 1), (remaining, max(sizes)))
    delta, rest = float(request.delta), 1.0 if bought is None else bought.remaining
    shares = tuple((rest * share, size) for share, size in parts)
    whole = largest_mu(shares, float(epsilon), delta, beside, shaping, bought, n)
    mu = rest * whole

    def linear(name: MapName, share: float) -> LinearStage:
        return stage_for(name, n, shapes[name], recipes[name], share * mu, classes=classes)

    linears: tuple[Stage, ...]
    if len(maps) == 1:
        linears = tuple(linear(name, 1.0) for name in maps)
    else:
        comparison = ComparisonStage(n, LARGEST_TERM, noise_scale(1, COMPARISON_SHARE * mu), lead=0)
        options = Branch(tuple(linear(name, parts[-1][0]) for name in maps))
        linears = (*(linear(name, PILOT_SHARE) for name in maps), comparison, options)
    first = () if bought is None else (bought.stage(n, whole, delta),)
    stages = (*first, *(stage for stage in (counts, draw) if stage is not None), *linears)
    return stages[0] if len(stages) == 1 else Sequence(stages)


def _shape(features: FeatureMap, classes: int, *, has_tree: bool) -> Shape:
    """The shape of a map, with room for any tree beside it."""
    dense, ferns, depth, share = shape_of(features)
    return most_coordinates(features, classes) if has_tree else dense, ferns, depth, share


def _recipe(
    name: MapName,
    features: FeatureMap,
    records: int,
    epsilon: float,
    classes: int,
    public: Points | None,
    *,
    has_tree: bool,
    has_row_weights: bool,
) -> Recipe:
    if isinstance(features.dense, ColumnVectors):
        return DENSE_AS_IT_IS if features.dense.directions is None else recipe_for("dense", records, epsilon)
    may_use_bayes = not has_row_weights and may_use_empirical_bayes(features, public, has_tree=has_tree)
    return recipe_for(name, records, epsilon, classes, may_use_bayes=may_use_bayes)
