"""How much private predicates get, by n·ε alone, and the noise that this buys.

In a plan they get shares of the Gaussian-DP parameter μ of the whole. By themselves (`plan_private_schema`) they get
all of it, in the same proportions.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

from pcqr.accounting.gaussian import GAUSSIAN_OF_RANGE
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.plan import Context, PredicatesStage, account
from pcqr.plan.predicates import GRID

FEWEST = 1_200
"""n·ε below which a plan looks at nothing: cuts would be noise."""
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


def predicates_recipe(records: int, epsilon: float) -> PredicatesRecipe | None:
    """Return what n = `records` and ε allow to a plan; None where it should look at nothing."""
    size = records * epsilon
    if size < FEWEST:
        return None
    if size < 5_000:
        return PredicatesRecipe(2, 0.3, 0.0, 0.3)
    if size < 30_000:
        return PredicatesRecipe(3, 0.3, 0.2, 0.2)
    return PredicatesRecipe(4, 0.25, 0.2, 0.2)


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
