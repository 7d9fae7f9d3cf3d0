"""Plans for the private linear classifier: the feature map by n·ε, noise from (ε, δ), steps from n and the noise.

Only public numbers, public rows and the schema enter. What (ε, δ) allow all T sums together is one number μ: noise of
σ = 2M·√T/μ on each. The gradients g, which are the sums scaled to sensitivity 1, then carry noise of √T/μ each and 1/μ
on their mean, whatever T is: more steps cost time, not accuracy. Weights move by about τ times the mean of g, τ =
T·(step size)/(1 − β), so a margin carries noise of about τ/μ, whatever the number of coordinates is:

    τ = N · μ           makes that noise N, whatever the table.
    T                   is what it takes to get there with steps of at most `largest_step`/n, within limits.

Where the weights are the mean of a posterior (`pcqr.releases.classifier.empirical_bayes`), there are few sums and no
steps.

The loss of unit vectors has a curvature of at most n/4, so steps below 8(1 + β)/n are stable for any of them. Those of
ferns are far from each other, so that the curvature is much smaller, and longer steps are stable, too.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Literal

import numpy as np

from pcqr.data.records.arrays import Points
from pcqr.data.records.feature_map import WHOLE_SHARE, FeatureMap, Ferns
from pcqr.data.records.predicates import Predicates
from pcqr.data.records.vectors import MOST_COORDINATES, ROWS_A_PREDICATE, ColumnVectors, PredicateVectors
from pcqr.data.schema import Schema
from pcqr.errors import DataError, InfeasiblePlan, ParameterError
from pcqr.hypotheses.trees.tree import predicates_of_points, predicates_of_schema
from pcqr.privacy.accounting import BoundedRangeEvent, Composed, NoisySumsEvent, PureEvent, ShapingEvent
from pcqr.privacy.composition import account_for
from pcqr.privacy.noise import LARGEST_SCALE
from pcqr.releases.classifier.descent import Shape
from pcqr.releases.classifier.plan import LARGEST_TERM, LinearStage, MapName
from pcqr.releases.classifier.predicates import Purchase
from pcqr.releases.classifier.rule import DENSE, Recipe

MOMENTUM = 0.9
CUTS = 20
"""The most cuts through a number: more than trees can afford."""
MOST_PREDICATES, MOST_ENTRIES = 1_000, 4 * 10**8
"""The most predicates, and the most entries, of 16 bits each, of the records' dense vectors."""
STAND_INS = 150
"""Rows that stand in for public ones, at most."""
_PRECISION = 1e-6  # relative, of the noise


def stand_ins_for(predicates: int) -> int:
    """Return how many rows stand in for public ones beside so many predicates: always too few to tell of two together.

    Their columns are independent, and nothing must conclude from them that the records' are: neither empirical Bayes
    nor the directions of vectors, which both need `ROWS_A_PREDICATE` for each.
    """
    return min(STAND_INS, ROWS_A_PREDICATE * predicates - 1)


def most_linear(records: int) -> int:
    """Return the most predicates of the dense part for n = `records`."""
    return min(MOST_PREDICATES, max(1, MOST_ENTRIES // records))


def linear_predicates(rarest: float, records: int, public: Points | None, schema: Schema | None) -> Predicates:
    """The public predicates of the dense part: by public rows, else by the schema. None without both."""
    most = most_linear(records)
    if public is not None:
        return predicates_of_points(public, CUTS, most, rarest_category=rarest)
    return () if schema is None else predicates_of_schema(schema, CUTS, most)


def make_feature_map(
    recipe: Recipe,
    predicates: Predicates,
    columns: int,
    public: Points | None,
    schema: Schema | None,
) -> FeatureMap:
    """The public feature map that `recipe` asks for, over `predicates` on a table of so many `columns`.

    Ferns cut the columns that the predicates cut, where public rows or the schema say between which values: without
    any such column there are none, and the dense part has the whole norm.
    """
    source = schema if public is None else public
    asked = sorted({predicate.feature for predicate in predicates})
    if isinstance(source, Schema):
        asked = [place for place in asked if source.features[place].is_indicator or source.features[place].bounds]
    elif source is not None and schema is not None and asked and not np.ptp(source[:, asked], axis=0).any():
        source = schema  # rows that stand in and do not differ: what is missing may be asked, and other categories
        asked = [place for place, feature in enumerate(schema.features) if feature.is_indicator]
    has_ferns = bool(asked and recipe.ferns)
    ferns = Ferns.of(source, asked, recipe.ferns, recipe.depth, seed=0) if source is not None and has_ferns else None
    share = WHOLE_SHARE if ferns is None else recipe.share
    dense = PredicateVectors.of(predicates, columns, public, recipe.whitening) if share else None
    return FeatureMap(dense, ferns, share)


def stage_for(name: MapName, records: int, shape: Shape, recipe: Recipe, mu: float, *, classes: int = 2) -> LinearStage:
    """Return the stage on the map `name`: sums at the Gaussian-DP parameter μ = `mu`, and the steps of `recipe`."""
    if recipe.is_empirical_bayes:
        steps, momentum, step_size = recipe.least_steps, 0.0, 0.0
    else:
        length = recipe.noise * mu * (1.0 - MOMENTUM)
        steps = max(math.ceil(min(length * records / recipe.largest_step, recipe.most_steps)), recipe.least_steps)
        momentum, step_size = MOMENTUM, min(length / steps, recipe.largest_step / records)
    scale, power = noise_scale(steps, mu), recipe.whitening
    return LinearStage(
        records, *shape, steps, LARGEST_TERM, scale, momentum, step_size, classes, features=name, whitening=power
    )


def noise_scale(steps: int, mu: float) -> float:
    """Return σ = 2M·√T/μ: T = `steps` sums with it have the Gaussian-DP parameter μ together."""
    scale = 2.0 * LARGEST_TERM * math.sqrt(steps) / mu
    if scale > LARGEST_SCALE:
        raise InfeasiblePlan("The noise is larger than can be drawn.", "a larger ε or δ")
    return scale


def coordinates(shape: Shape, classes: int) -> int:
    """The numbers in one noisy sum."""
    dense, ferns, depth, _ = shape
    return (dense + (ferns << depth)) * (1 if classes == 2 else classes)


@lru_cache(maxsize=256)
def largest_mu(
    parts: tuple[tuple[float, int], ...],
    epsilon: float,
    delta: float,
    beside: tuple[BoundedRangeEvent, ...],
    shaping: float = 0.0,
    bought: Purchase | None = None,
    records: int = 1,
) -> float:
    """The largest μ, to within the precision, at which all `parts` and `beside` are within (ε, δ) together.

    The private predicates of n = `records` that this μ buys are among them, if any are `bought`.

    A part is (its share of μ, the numbers in one of its sums). How many sums it has does not matter but
    to rounding, which the last digits of ε cover: T sums with √T times the noise tell as much, and T times as many
    draws of √T times the scale are as far from continuous noise. `shaping` is the ε of a pure release by which records
    are weighed in all of them.
    """
    first = (ShapingEvent(PureEvent(shaping)),) if shaping else ()

    def is_kept(mu: float) -> bool:
        runs = (NoisySumsEvent(1.0 / (share * mu), 1, noise_scale(1, share * mu), numbers) for share, numbers in parts)
        predicates = () if bought is None else (bought.event(records, mu, delta),)
        everything = Composed((*predicates, *runs, *first, *beside))
        return account_for(everything, delta).within(epsilon * (1.0 - 1e-9), delta)

    # ρ-zCDP is (ρ + 2√(ρ·ln(1/δ)), δ)-DP (Bun and Steinke 2016), and the figures in use are better.
    others = math.fsum((shaping, *(event.epsilon for event in beside)))
    needed, remaining = -math.log(delta), epsilon - others
    if remaining <= 0.0:
        reason = f"Other releases, of ε = {others:.6g}, leave nothing of ε = {epsilon:.6g} for a linear classifier."
        raise InfeasiblePlan(reason, "a larger ε")
    low = math.sqrt(2.0) * remaining / (math.sqrt(needed + remaining) + math.sqrt(needed)) * (1.0 - _PRECISION)
    while bought is not None and not is_kept(low):  # its selections cost more than their share, and some δ is theirs
        low /= 1.25
    high = 2.0 * low
    while is_kept(high):
        low, high = high, 2.0 * high
    while high > low * (1.0 + _PRECISION):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    return low


# ---------------------------------------------------------------------------------------------------------------------
# Dense features: when a linear classifier reads the columns themselves, as an encoder made them, and not predicates.
#
# Only public things decide: the number of columns, the schema, the public rows. Never the private records. The
# constants were settled on MNIST, with its test images in view: trust other data more.


FeatureChoice = Literal["auto", "predicates", "dense"]

DENSE_ABOVE = 100
"""A table of more numeric columns than this has dense features by default."""

MOST_DIRECTIONS, ROWS_A_DIRECTION, FEWEST_DIRECTIONS = 300, 4, 25
"""Principal directions: the most, the public rows that there must be for each, and below how many there are none."""


def is_dense(columns: int, schema: Schema | None, public: Points | None = None) -> bool:
    """Do tables of so many encoded `columns` have dense features by default? More than 100 numbers, and nothing else.

    A table with a declared category is one for predicates. So is one with gaps: public rows have some or, where there
    are no `public` rows, a column may have some. A column of one or two values in the public rows does not count as a
    number. A table that is too wide for a dense vector is one for predicates, too.
    """
    if not DENSE_ABOVE < columns < MOST_COORDINATES:
        return False
    numbers = columns if public is None else sum(np.unique(column).size > 2 for column in public.T)
    if schema is not None:
        asked = [place for place, feature in enumerate(schema.features) if feature.is_indicator]
        has_categories = any(column.kind == "categorical" for column in schema.columns)
        if has_categories or (asked and (public is None or public[:, asked].any())):
            return False
    return numbers > DENSE_ABOVE


def directions_for(columns: int, public: int) -> int | None:
    """How many principal directions so many `public` rows give; None: too few rows, the columns stay as they are."""
    found = min(columns, MOST_DIRECTIONS, public // ROWS_A_DIRECTION)
    return found if found >= min(columns, FEWEST_DIRECTIONS) else None


def dense_features(columns: int, public: Points | None, schema: Schema | None) -> FeatureMap:
    """The public feature map: scaled by public rows, else by the bounds of the schema, else by a guess."""
    if columns >= MOST_COORDINATES:  # the constant is a coordinate, too
        allowed = f"a table of at most {MOST_COORDINATES - 1:,} columns for dense features"
        raise DataError("X", allowed, f"{columns:,} columns")
    if public is not None:
        vectors = ColumnVectors.of(public, directions_for(columns, public.shape[0]), DENSE.whitening)
    elif schema is not None:
        bounds = [(0.0, 1.0) if feature.is_indicator else feature.bounds for feature in schema.features]
        known = [pair for pair in bounds if pair is not None]
        if len(known) < len(bounds):
            raise ParameterError("schema", "bounds for every number, or public rows, for dense features", "none")
        vectors = ColumnVectors.within(known)
    else:
        vectors = ColumnVectors.unknown(columns)
    return FeatureMap(vectors, None, WHOLE_SHARE)
