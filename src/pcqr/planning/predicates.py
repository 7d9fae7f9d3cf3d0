"""How much private predicates get, by n·ε alone, and the noise that this buys.

In a plan they get shares of the Gaussian-DP parameter μ of the whole. By themselves (`plan_private_schema`) they get
all of it, in the same proportions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import NamedTuple

from pcqr.accounting import Event
from pcqr.accounting.gaussian import GAUSSIAN_OF_RANGE
from pcqr.algorithms.predicates import MOST_CATEGORIES, check_columns
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.plan import Context, PredicatesStage, account
from pcqr.plan.predicates import GRID
from pcqr.schema import Column, Schema
from pcqr.schema.raw import RawColumn

_ROOTS = [2.0 ** (half / 2.0) for half in range(-10, 29)]
GRID_CUTS = tuple(sorted([0.0, *_ROOTS, *(-root for root in _ROOTS[::3])]))
"""Where a number is cut of which nothing is known and nothing is bought: 0, the powers of √2 from 1/32 to 16,384, and
minus every third of these."""
MOST_ON_GRID = 3_000
"""The most predicates that the grid makes."""
FEWEST, FEWEST_WITH_TEXTS = 1_200, 800
"""n·ε below which a plan looks at nothing: cuts would be noise. Without a look, texts say nothing at all."""
SAFE_FROM = 5_000
"""n·ε from which on a number is cut well however far from 0 it lies, compared with its spread."""
FAILING = 0.1
"""The share of δ that pays for categories of single records."""
_SHARE_IN_PLANS = 0.4
"""About the share of μ that they get in a plan: with all of it, as much is known at this share of n·ε."""
_PRECISION = 1e-6  # relative, of μ


class PredicatesRecipe(NamedTuple):
    """What is bought: L levels of cuts, and which shares of μ pay for cuts, counts and categories."""

    levels: int
    cuts: float
    counts: float
    categories: float

    @property
    def parts(self) -> int:
        """Into how many parts a predicate may cut each cell between the cuts that were bought, at equal distances."""
        return 4 if self.levels == 2 else 2

    @property
    def cuts_a_number(self) -> int:
        """2^L − 1."""
        return (1 << self.levels) - 1

    def left(self, *, has_numbers: bool = True, has_texts: bool = True) -> float:
        """Return the share of μ that is left. Shares of Gaussian noise add up by squares."""
        shares = [self.cuts, self.counts] * has_numbers + [self.categories] * has_texts
        return math.sqrt(1.0 - math.fsum(share * share for share in shares))


class Purchase(NamedTuple):
    """What a plan buys of columns of which nothing is public but their kinds. A function of public numbers."""

    recipe: PredicatesRecipe
    columns: tuple[RawColumn, ...]

    @property
    def numeric(self) -> int:
        """p, the columns of numbers and dates."""
        return sum(column.is_number for column in self.columns)

    @property
    def categorical(self) -> int:
        """p_c, the columns of texts."""
        return sum(column.kind == "categorical" for column in self.columns)

    @property
    def left(self) -> float:
        """Return the share of μ that is left for the stages that follow."""
        return self.recipe.left(has_numbers=bool(self.numeric), has_texts=bool(self.categorical))

    def stage(self, records: int, mu: float, delta: float) -> PredicatesStage:
        """Return the stage in a plan of (μ, δ) in all."""
        return predicates_stage(self.recipe, records, self.numeric, self.categorical, mu, delta)

    def event(self, records: int, mu: float, delta: float) -> Event:
        """Return what that stage is to an accountant."""
        return self.stage(records, mu, delta).event(Context(Thresholds(), records, 1))


def predicates_recipe(records: int, epsilon: float, *, has_texts: bool = False) -> PredicatesRecipe | None:
    """Return what n = `records` and ε allow to a plan; None where it should look at nothing."""
    size = records * epsilon
    if size < (FEWEST_WITH_TEXTS if has_texts else FEWEST):
        return None
    if size < SAFE_FROM:
        return PredicatesRecipe(2, 0.3, 0.0, 0.3)
    return PredicatesRecipe(3, 0.25, 0.1, 0.33)


def schema_of_kinds(columns: Sequence[RawColumn], *, gaps: bool = True) -> Schema:
    """Return the schema of columns of which nothing is known but their kinds; without `gaps` no number is missing."""
    known = check_columns(columns).columns
    return Schema(tuple(column if column.kind == "categorical" else replace(column, missing=gaps) for column in known))


def grid_schema(columns: Sequence[RawColumn], *, gaps: bool = True) -> Schema:
    """Return that schema with every number cut at `GRID_CUTS`: a function of public things."""
    schema = schema_of_kinds(columns, gaps=gaps)
    cut = [column if column.kind == "categorical" else replace(column, cuts=GRID_CUTS) for column in schema.columns]
    return Schema(tuple(cut))


def widest_schema(purchase: Purchase, *, gaps: bool = True) -> Schema:
    """Return a schema that has as many cuts and categories as any that the purchase may bring, cut further.

    A function of public things: plans are made for it, so that they suit whatever is bought (proofs/predicates.md).
    """
    cells = purchase.recipe.parts << purchase.recipe.levels
    names = tuple(f"category {place}" for place in range(MOST_CATEGORIES))

    def widest(column: Column, raw: RawColumn) -> Column:
        if raw.is_number:
            return replace(column, cuts=tuple(map(float, range(1, cells))))
        return replace(column, categories=names) if raw.kind == "categorical" else column

    schema = schema_of_kinds(purchase.columns, gaps=gaps)
    return Schema(tuple(map(widest, schema.columns, purchase.columns)))


def predicates_stage(
    recipe: PredicatesRecipe, records: int, numeric: int, categorical: int, mu: float, delta: float
) -> PredicatesStage:
    """Return the stage for p = `numeric` and p_c = `categorical` columns in a plan of (μ, δ) in all."""
    levels = recipe.levels if numeric else 0
    selection = recipe.cuts * mu / (GAUSSIAN_OF_RANGE * math.sqrt(numeric * levels)) if levels else 0.0
    counts = _noise(recipe.counts * mu, numeric) if levels else None
    categories = _noise(recipe.categories * mu, categorical)
    threshold = None
    if categories is not None:
        chance = FAILING * delta / categorical * (1.0 - 1e-9)
        threshold = 1.0 + 2.0 / GRID - categories * NormalDist().inv_cdf(chance)
    return PredicatesStage(records, numeric, categorical, levels, selection, counts, categories, threshold)


def plan_private_schema(
    records: int, numeric: int, categorical: int, epsilon: float, delta: float
) -> tuple[PredicatesStage, Guarantee]:
    """Return the stage within (ε, δ) that makes a schema and nothing else, and its guarantee.

    Raises
    ------
    ParameterError
        When there is no column to buy anything for.
    InfeasiblePlan
        When n·ε is so small that cuts would be noise.
    """
    if not numeric + categorical:
        raise ParameterError("X", "a table with a column of numbers, dates or texts: all else needs no ε", "none")
    recipe = predicates_recipe(records, epsilon / _SHARE_IN_PLANS)
    if recipe is None:
        fewest = FEWEST * _SHARE_IN_PLANS
        raise InfeasiblePlan(
            f"With n = {records:,} and ε = {epsilon:g} private cuts would be noise: n·ε is below {fewest:g}.",
            f"ε ≥ {fewest / records:.2g} at this n, public rows, or a declared schema",
        )

    def at(mu: float) -> tuple[PredicatesStage, Guarantee]:
        stage = predicates_stage(recipe, records, numeric, categorical, mu, delta)
        return stage, account(stage, Context(Thresholds(), records, 1), delta)

    def is_kept(mu: float) -> bool:
        return at(mu)[1].within(epsilon * (1.0 - 1e-9), delta)

    low = high = epsilon / math.sqrt(-2.0 * math.log(delta))
    while not is_kept(low):
        low /= 2.0
    while is_kept(high):
        low, high = high, 2.0 * high
    while high > low * (1.0 + _PRECISION):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    return at(low)


def _noise(mu: float, columns: int) -> float | None:
    """Return σ, in records, of counts of which a replaced record moves two a column; None where none are bought."""
    return math.sqrt(2.0 * columns) / mu if mu and columns else None
