"""How much private predicates get, by n·ε alone, and the noise that this buys.

In a plan they get shares of the Gaussian-DP parameter μ of the whole. By themselves (`plan_private_schema`) they get
all of it, in the same proportions.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pcqr.data.schema import Column, Schema
from pcqr.data.schema.raw import Floats, RawColumn, RawTable
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.halving import cut_at, halved, places
from pcqr.privacy.accounting import Event
from pcqr.privacy.accounting.gaussian import GAUSSIAN_OF_RANGE
from pcqr.privacy.composition import Context, account
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.noise import IntegerArray, discrete_gaussians
from pcqr.releases.classifier.plan import GRID, PredicatesStage

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

    def remaining(self, *, has_numbers: bool = True, has_texts: bool = True) -> float:
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
    def remaining(self) -> float:
        """Return the share of μ that is left for the stages that follow."""
        return self.recipe.remaining(has_numbers=bool(self.numeric), has_texts=bool(self.categorical))

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


# ---------------------------------------------------------------------------------------------------------------------
# A schema made of private records: cuts of numbers, counts between them, categories. Proof: proofs/predicates.md.


MOST_CATEGORIES = 100
"""Of more categories of a column, those with the largest noisy counts are kept."""
MOST_HALVED, LEAST_LOSS = 2.0**22, 2.0**14
"""Of n records about max(2²², 2¹⁴/ε₀) decide where a column is cut, and at most n/256 more. Their quantiles are those
of all records to within .1 % of n."""


def private_schema(table: RawTable, stage: PredicatesStage, entropy: Entropy) -> Schema:
    """Return a schema with private cuts and categories: `PredicatesStage.event` states what it costs.

    Numbers and dates have `cuts`, and `shares` where counts were bought. Any of them may be missing. Texts have the
    categories that were shown, sorted by name, with their `shares`; all others are `other`.

    Raises
    ------
    ParameterError
        When the stage is for another table, or two columns would have features of one name. Nothing was drawn then.
    """
    schema = check_table(table, stage)
    taken = set(schema.feature_names)
    columns = []
    for column, raw in zip(schema.columns, table.columns, strict=True):
        if raw.is_number:
            columns.append(_numeric(column, table, stage, entropy))
        elif raw.kind == "categorical":
            columns.append(_categorical(column.name, table, stage, entropy, taken))
            taken |= set(columns[-1].feature_names)
        else:
            columns.append(column)
    return Schema(tuple(columns))


def check_table(table: RawTable, stage: PredicatesStage) -> Schema:
    """Return what is known of the columns without a look at a record. Raise where the stage is for another table."""
    found = (table.size, len(table.named("numeric", "date")), len(table.named("categorical")))
    planned = (stage.records, stage.numeric, stage.categorical)
    if found != planned:
        raise ParameterError("stage", f"one for n, p, p_c = {found}", planned)
    return check_columns(table.columns)


def check_columns(columns: Iterable[RawColumn]) -> Schema:
    """Return what is known of these columns. Raise where two of them would have features of one name."""
    return Schema(tuple(column.public_column for column in columns))


def _numeric(column: Column, table: RawTable, stage: PredicatesStage, entropy: Entropy) -> Column:
    name = column.name
    if not stage.levels:
        return column
    drawn = halved(_places(name, table, stage, entropy), stage.levels, stage.selection, entropy)
    cuts = sorted(set(map(cut_at, drawn)))
    if stage.counts is None:
        return Column(name, column.kind, missing=True, cuts=cuts)
    counts = np.zeros(len(cuts) + 1, dtype=np.int64)
    for block in table.numbers([name]):
        counts += np.bincount(np.searchsorted(cuts, _present(block[name])), minlength=counts.size)
    kept, noisy = joined(cuts, noisy_counts(counts, stage.counts, stage.bound, entropy), stage.counts * stage.bound)
    return Column(name, column.kind, missing=True, cuts=kept, shares=shares(noisy, stage))


def _places(name: str, table: RawTable, stage: PredicatesStage, entropy: Entropy) -> IntegerArray:
    """Return where the cells of a column stand, of the rows that decide its cuts. **Private.** Gaps are left out."""
    share, coins = deciding_share(stage.records, stage.selection), _Coins(entropy)
    found = []
    for block in table.numbers([name]):
        cells = block[name]
        if share < 256:
            cells = cells[coins.draw(cells.size) < share]  # a coin for each row, also for a gap
        found.append(places(_present(cells)))
    return np.concatenate(found)


def deciding_share(records: int, selection: float) -> int:
    """Return how many of 256 of n = `records` decide the cuts of a column, on average: all, unless n is very large."""
    deciding = max(MOST_HALVED, min(LEAST_LOSS / selection, records))  # infinite without `min` where ε₀ is tiny
    return min(256, math.ceil(256 * deciding / records))


class _Coins:
    """Uniform bytes, the same for the same rows in whatever blocks they come."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy, self._remaining = entropy, np.empty(0, dtype=np.uint8)

    def draw(self, count: int) -> NDArray[np.uint8]:
        if count > self._remaining.size:
            words = self._entropy.words(math.ceil((count - self._remaining.size) / 8))
            self._remaining = np.concatenate([self._remaining, words.view(np.uint8)])
        drawn, self._remaining = np.split(self._remaining, [count])
        return drawn


def _present(cells: Floats) -> Floats:
    return cells[~np.isnan(cells)]


def _categorical(name: str, table: RawTable, stage: PredicatesStage, entropy: Entropy, taken: set[str]) -> Column:
    """Return the column with the categories that are shown, but for those whose feature's name is `taken`."""
    shown = shown_categories(_counted(name, table), stage, entropy) if stage.categories is not None else {}
    free = [text for text in shown if f"{name}={text}" not in taken]
    kept = sorted(sorted(free, key=lambda text: (-shown[text], text))[:MOST_CATEGORIES])
    return Column(name, "categorical", kept, other=True, shares=shares([shown[text] for text in kept], stage))


def _counted(name: str, table: RawTable) -> Counter[str]:
    """Return how often each text occurs. **Private.**"""
    counts: Counter[str] = Counter()
    for block in table.texts([name]):
        held = block[name]
        found = np.bincount(held.places, minlength=len(held.texts)).tolist()
        for text, count in zip(held.texts, found, strict=True):
            if text is not None and count:
                counts[text] += count
    return counts


def shown_categories(counts: Mapping[str, int], stage: PredicatesStage, entropy: Entropy) -> dict[str, int]:
    """Return the noisy counts, in M-ths of a record, that reach the threshold. All `counts` are at least 1."""
    if stage.categories is None or not counts:
        return {}
    texts = sorted(counts)
    noisy = noisy_counts(np.array([counts[text] for text in texts]), stage.categories, stage.bound, entropy)
    return {text: count for text, count in zip(texts, noisy, strict=True) if count >= stage.least_count}


def noisy_counts(counts: IntegerArray, scale: float, bound: int, entropy: Entropy) -> list[int]:
    """Return counts of records, in M-ths of one, M = `bound`, with Gaussian noise of σ = `scale` records on each."""
    found: list[int] = (counts * bound + discrete_gaussians(scale * bound, counts.size, entropy)).tolist()
    return found


def joined(cuts: Sequence[float], counts: Sequence[int], least: float) -> tuple[list[float], list[int]]:
    """Return cuts and the counts between them, cells of less than `least` joined to the next one, or to the last.

    Of some cuts one always stays, the middle one if no cell has so many: a column without any would ask nothing.
    """
    kept: list[float] = []
    found: list[int] = []
    open_count = 0
    for place, count in enumerate(counts):
        open_count += count
        if place == len(cuts):
            if open_count < least and len(kept) > 1:
                kept.pop()
                open_count += found.pop()
            found.append(open_count)
        elif open_count >= least:
            kept.append(cuts[place])
            found.append(open_count)
            open_count = 0
    if cuts and not kept:
        middle = len(cuts) // 2
        return [cuts[middle]], [sum(counts[: middle + 1]), sum(counts[middle + 1 :])]
    return kept, found


def shares(counts: Sequence[int], stage: PredicatesStage) -> list[float]:
    """Return the shares of all records that noisy `counts`, in M-ths of a record, speak for."""
    positive = [max(count, 0) for count in counts]
    whole = max(stage.records * stage.bound, sum(positive))
    return [count / whole for count in positive]
