"""What to do with a table of n records at ε: one method, the others beside it, what each gave on real tables.

Nothing here is a bound. What is proved is in `pcqr.advice.outlook`; this is what was measured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pcqr import registry
from pcqr.checks import check_delta, check_integer, check_positive
from pcqr.planner.expectation import enough, nothing_learned
from pcqr.releases.classifier.predicates import FEWEST as FEWEST_TO_BUY
from pcqr.releases.classifier.predicates import (
    FEWEST_WITH_TEXTS,
    GRID_CUTS,
    MOST_ON_GRID,
    SAFE_FROM,
    PredicatesRecipe,
    predicates_recipe,
)
from pcqr.releases.classifier.rule import FEWEST, trees_for

Source = Literal["public rows", "schema", "queries"]

PUBLISHED = "PrivateClassifier"
"""The option that needs nothing public. It was measured with nothing, with a schema and with public rows."""
FROM: Mapping[Source | None, str] = {
    None: "published from nothing",
    "schema": "published from schema",
    "public rows": "published",
    "queries": "published from queries",
}
"""The names of that option in `measured`, by what is public."""
ENOUGH_QUERIES = 200
"""So many queries can serve as public rows, from which a classifier's questions are made."""
TIE = 0.01
"""Mean losses that differ by less are taken to be equal, since the draw of 500 queries alone makes about as much of it;
then the earlier of `METHODS` is preferred."""
WIDE = 100
"""Columns from which a table is wider than any that was measured."""
CUTS, COLUMNS = 10, 10
"""Predicates a column where n·ε is small, and columns where nobody says how many there are."""


@dataclass(frozen=True)
class Situation:
    """What is known before anything private is touched: n, columns, (ε, δ), m, the number of public rows.

    None: m is not known (or has no end), or there are no public rows. `schema`: one can be written. By default nothing
    is public.
    """

    records: int
    epsilon: float
    delta: float = 1e-6
    columns: int | None = None
    queries: int | None = None
    public: int | None = None
    schema: bool = False

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1)
        check_positive("epsilon", self.epsilon)
        check_delta(self.delta)

    @property
    def n_epsilon(self) -> float:
        """n·ε."""
        return self.records * self.epsilon

    @property
    def public_source(self) -> Source | None:
        """What is public besides the columns and their kinds; None: nothing."""
        if self.public is not None:
            return "public rows"
        return "schema" if self.schema else None

    @property
    def has_enough_queries(self) -> bool:
        """Can the queries serve as public rows, if everybody may know them?"""
        return (self.queries or 0) >= ENOUGH_QUERIES

    @property
    def source(self) -> Source | None:
        """Where public predicates may come from; None: from nowhere."""
        return self.public_source or ("queries" if self.has_enough_queries else None)

    @property
    def recipe(self) -> PredicatesRecipe | None:
        """What a published classifier buys where nothing is public, or None for nothing. Columns may be texts."""
        return predicates_recipe(self.records, self.epsilon, has_texts=True)


@dataclass(frozen=True)
class Method:
    """A method: what it is called in measured.json, its algorithm's name in `pcqr.registry`, what it is in words
    and what it asks about a record.

    `trees`: it asks predicates. It needs something public that they come from, unless it is `PUBLISHED`, which buys
    them. `ends`: it may leave queries unanswered; otherwise it ends with a classifier that answers any number.
    """

    key: str
    name: str
    words: str
    hypotheses: str | None
    trees: bool
    ends: bool
    merit: str

    @property
    def algorithm(self) -> registry.Algorithm:
        return registry.algorithm(self.name)

    @property
    def needs_source(self) -> bool:
        """Must its predicates be public?"""
        return self.trees and self.name != PUBLISHED

    @property
    def at_once(self) -> bool:
        """Is a classifier published before anything is asked?"""
        return self.algorithm.publishes and self.algorithm.option is None

    @property
    def commanded(self) -> bool:
        """Does a command run it? Otherwise it is for Python alone and never recommended."""
        return self.algorithm.command_line is not None


METHODS = (
    Method(
        *("published", "PrivateClassifier", "published classifier", None, True, False),
        "It answers every query, however many, and nothing can be left unanswered",
    ),
    Method(
        *("tree", "SSPP", "published tree", "DecisionTrees()", True, False),
        "It answers every query, can be read as rules, and spends no δ",
    ),
    Method(
        *("universal trees", "UnvPrivCl", "universal release, trees of depth 2", "DecisionTrees(depth=2)", True, False),
        "It answers by votes and then publishes a tree that answers for ever",
    ),
    Method(
        *("votes trees", "AgPrivCl", "votes, trees of depth 2", "DecisionTrees(depth=2)", True, True),
        "Relabelling makes the teachers agree, so that few queries are left unanswered",
    ),
    Method(
        *("universal stumps", "UnvPrivCl", "universal release, stumps", "Stumps()", False, False),
        "It needs no public rows and no schema, and publishes a stump when its votes are used up",
    ),
    Method(
        *("votes stumps", "AgPrivCl", "votes, stumps", "Stumps()", False, True), "It needs no public rows and no schema"
    ),
    Method(
        *("SubSamp stumps", "SubSamp", "votes without relabelling, stumps", "Stumps()", False, True),
        "It is the simplest of all",
    ),
    Method(
        *("noisy max stumps", "noisy max", "noisy majorities, stumps", "Stumps()", False, True),
        "It labels each of the queries that it is planned for",
    ),
)
"""In the order in which near ties are decided: what is published at once, what is published later, what halts."""


@dataclass(frozen=True)
class Advised:
    """One method for one situation. `source`: what its predicates are made of; None: nothing public. It buys them, or
    cuts anywhere.

    `measured`: None where it was not, at n·ε that says anything. `alike`: it was, with that source. Otherwise it was
    with public rows, which are the best source, and cannot be preferred to others for that.
    """

    method: Method
    source: Source | None
    measured: Measured | None
    alike: bool


@dataclass(frozen=True)
class Advice:
    """The method to take, why, the others in order of preference, and what has to be kept in mind.

    `shortfall` says why nothing can be learned, if nothing can, and what would change that.
    """

    situation: Situation
    best: Advised
    reason: str
    others: tuple[Advised, ...]
    notes: tuple[str, ...]
    shortfall: str | None

    @property
    def buys(self) -> bool:
        """Is a classifier published with nothing public, so that a share of the budget is for predicates?"""
        return self.best.method.name == PUBLISHED and self.best.source is None


def advise(situation: Situation) -> Advice:
    """Of what a command can run the first of `METHODS` that no other beats near n·ε.

    One beats another by more than `TIE` in mean loss over the tables and sizes where both were measured. Where nothing
    was measured, the first.
    """
    possible = [
        _advised(method, situation) for method in METHODS if situation.source is not None or not method.needs_source
    ]
    runnable = [found for found in possible if found.method.commanded]
    rivals = [found for found in runnable if found.alike] or runnable[:1]
    best = next((found for found in rivals if not any(_beats(rival, found) for rival in rivals)), rivals[0])
    others = tuple(found for found in possible if found is not best)
    return Advice(situation, best, _reason(best, rivals), others, tuple(_notes(situation, best)), _shortfall(situation))


def _beats(rival: Advised, found: Advised) -> bool:
    losses = _beside(rival, found)
    return losses is not None and losses[0] < losses[1] - TIE


def _beside(one: Advised, other: Advised) -> tuple[float, float] | None:
    return None if one.measured is None or other.measured is None else one.measured.beside(other.measured)


def _advised(method: Method, situation: Situation) -> Advised:
    if method.name == PUBLISHED:
        found = measured_near(FROM[situation.public_source], situation.n_epsilon)
        if found is not None:
            return Advised(method, situation.public_source, found, alike=True)
        return Advised(method, situation.public_source, measured_near(method.key, situation.n_epsilon), alike=False)
    source = situation.source if method.trees else None
    found = measured_near(method.key, situation.n_epsilon)
    return Advised(method, source, found, alike=found is not None and source not in ("schema", "queries"))


def _reason(best: Advised, rivals: Sequence[Advised]) -> str:
    """Its merit, and its mean loss beside that of the best rival of another kind, with the n·ε of these."""
    found = [
        (theirs.mean_loss, ours.mean_loss, rival.method.words, ours)
        for rival in rivals
        if rival.method.name != best.method.name and rival.measured is not None and best.measured is not None
        if (ours := best.measured.where(rival.measured)) and (theirs := rival.measured.where(best.measured))
    ]
    if not found:
        return f"{best.method.merit}."
    theirs_lost, ours_lost, words, cells = min(found, key=lambda each: each[:3])
    return (
        f"{best.method.merit}. Where both were measured, at n·ε = {n_epsilon_in_words(cells)}, it lost "
        f"{100.0 * ours_lost:.1f} points on average, {words} {100.0 * theirs_lost:.1f}."
    )


def n_epsilon_in_words(found: Measured) -> str:
    """Return n·ε of what was measured, in words."""
    low, high = (f"{end:,.0f}" for end in found.n_epsilon)
    return low if low == high else f"{low} to {high}"


def bought_in_words(situation: Situation) -> str:
    """Return what a published classifier buys with nothing public, for which shares of μ."""
    recipe = situation.recipe
    if recipe is None:
        return f"nothing, as n·ε is below {FEWEST_WITH_TEXTS:,}. Numbers are cut on a public grid, texts are not used"
    shares = [f"{recipe.cuts_a_number} cuts a number for {_share(recipe.cuts)} of the Gaussian-DP parameter μ"]
    shares += [f"the counts between them for {_share(recipe.counts)}"] if recipe.counts else []
    shares += [f"the categories of texts for {_share(recipe.categories)}"]
    words = f"{', '.join(shares[:-1])} and {shares[-1]}. The classifier keeps {_share(recipe.remaining())}. "
    words += "Squares of shares add up to 1"
    if situation.n_epsilon < FEWEST_TO_BUY:
        words += f". Without texts nothing is bought, as n·ε is below {FEWEST_TO_BUY:,}: numbers have a public grid"
    return words


def _share(value: float) -> str:
    return f"{100.0 * value:.0f} %"


def _losses(situation: Situation, *keys: str) -> tuple[list[str], str] | None:
    """Return the mean losses of `keys` near n·ε where all of them were measured, and that n·ε, in words."""
    found = [measured_near(key, situation.n_epsilon) for key in keys]
    first, *others = found
    for other in others:
        first = None if first is None or other is None else first.where(other)
    if first is None:
        return None
    means = [cells.mean_loss for each in found if each is not None and (cells := each.where(first)) is not None]
    return [f"{100.0 * mean:.1f}".replace("-", "−") for mean in means], n_epsilon_in_words(first)


def _public_would_help(situation: Situation) -> str:
    """Return what 30 public rows or a schema would change where nothing is public."""
    saved = "30 public rows without labels (--public 30), or a schema (--schema), "
    saved += "would " + ("save that share" if situation.recipe else "tell where to cut numbers and which texts occur")
    named = {None: "with nothing public", "public rows": "with 2,000 public rows", "schema": "with a schema of bounds"}
    for sources in ((None, "public rows", "schema"), (None, "public rows")):
        found = _losses(situation, *(FROM[source] for source in sources))
        if found is not None:
            losses = ", ".join(f"{lost} {named[source]}" for lost, source in zip(found[0], sources, strict=True))
            return f"{saved}. Points lost on average at n·ε = {found[1]}: {losses}."
    return f"{saved}."


def _instead_of_a_schema(situation: Situation) -> str:
    """Return what public rows or nothing at all would change where there is a schema."""
    advice = "30 public rows are nearly as good as 2,000, and better than a schema: --public 30."
    found = _losses(situation, FROM["schema"], FROM["public rows"], FROM[None])
    if found is None:
        return advice
    (schema, rows, nothing), at = found
    return (
        f"{advice} Points lost on average at n·ε = {at}: {schema} with a schema of bounds, {rows} with 2,000 "
        f"public rows, {nothing} with nothing public. Columns with cuts make a schema better."
    )


def _shortfall(situation: Situation) -> str | None:
    if situation.n_epsilon < FEWEST:
        told = (
            f"n·ε = {situation.n_epsilon:.3g} is below {FEWEST}: a published classifier would be noise, and is refused."
        )
        return f"{told} {enough(situation.records, situation.epsilon, FEWEST)}"
    trees = trees_for(situation.records, situation.epsilon)
    columns = situation.columns or COLUMNS
    predicates = min(CUTS * columns, trees.most)
    if situation.public_source is None and situation.recipe is None:
        predicates = min((len(GRID_CUTS) + 1) * columns, MOST_ON_GRID)
    return nothing_learned(situation.records, situation.epsilon, predicates, trees.labels)


def _notes(situation: Situation, best: Advised) -> list[str]:
    notes = []
    if best.method.name == PUBLISHED and best.source is None:
        notes.append(_public_would_help(situation))
        if situation.recipe is not None and situation.n_epsilon < SAFE_FROM:
            notes.append(
                f"n·ε is below {SAFE_FROM:,}. With nothing public, numbers that are far from 0 compared with their "
                "spread, such as years, are cut badly."
            )
    if best.source == "schema":
        notes.append(_instead_of_a_schema(situation))
    if situation.public is None and situation.has_enough_queries:
        found, beside = _losses(situation, FROM["queries"], FROM[situation.public_source]), ""
        if found is not None:
            beside = f" Points lost on average at n·ε = {found[1]}: {found[0][0]}, not {found[0][1]}."
        notes.append(f"If everybody may know the queries, they can serve as public rows: --public queries.csv.{beside}")
    if best.measured is not None and best.measured.gain[0] <= 0.0:
        notes.append(
            "On some of these tables this was no better than always giving the more common label. "
            "More records, or a larger ε, would help."
        )
    if situation.columns is not None and situation.columns > WIDE:
        notes.append(
            f"The measured tables have 9 to 54 columns. With {situation.columns:,} trees become shallow and fits slow."
        )
    if situation.records > 1 and situation.delta >= 1.0 / situation.records:
        notes.append(f"δ = {situation.delta:.3g} is not below 1/n; by convention it should be far below.")
    measured = queries_measured()
    if situation.queries is not None and not measured / 2 <= situation.queries <= 2 * measured:
        notes.append(
            f"Votes were measured with {measured:,} queries; with more of them more stay unanswered. What is published "
            "does not depend on their number."
        )
    return notes


# ---------------------------------------------------------------------------------------------------------------------
# What was measured on real tables: how far each method falls behind boosting without privacy.
#
# The figures come from `benchmarks/results` (`python -m benchmarks.advice` measures and makes measured.json). A cell is
# one table at one (n, ε). Cells are looked up by n·ε, which decides most of what a private learner can do: those within
# a factor of `NEAR` of what is asked, on whatever tables there are, else the nearest. They are no bounds: another table
# may do better or worse.


NEAR = 2.0
"""Cells whose n·ε is within this factor of the one that is asked for count as near it."""

FAR = 10.0
"""Cells whose n·ε is at least this many times the one that is asked for say nothing about it."""


@dataclass(frozen=True)
class Cell:
    """One method, on one table at one (n, ε): means over runs. All figures but n and ε are shares.

    `loss`: accuracy of boosting without privacy minus that of the answers, where a query without an answer counts as a
    coin. `gain`: accuracy minus that of the more common label. `unanswered`: the share of such queries.
    """

    method: str
    table: str
    records: int
    epsilon: float
    loss: float
    gain: float
    unanswered: float

    @property
    def n_epsilon(self) -> float:
        """n·ε."""
        return self.records * self.epsilon

    @property
    def place(self) -> tuple[str, int, float]:
        """Where it was measured: the table, n and ε."""
        return self.table, self.records, self.epsilon


@dataclass(frozen=True)
class Measured:
    """The least and the most of each figure over the cells near n·ε; `tables` are their names.

    `extrapolated`: nothing was measured near, and these are the nearest cells.
    """

    cells: tuple[Cell, ...]
    extrapolated: bool

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(sorted({cell.table for cell in self.cells}))

    @property
    def loss(self) -> tuple[float, float]:
        return _ends([cell.loss for cell in self.cells])

    @property
    def gain(self) -> tuple[float, float]:
        return _ends([cell.gain for cell in self.cells])

    @property
    def unanswered(self) -> tuple[float, float]:
        return _ends([cell.unanswered for cell in self.cells])

    @property
    def n_epsilon(self) -> tuple[float, float]:
        return _ends([cell.n_epsilon for cell in self.cells])

    @property
    def mean_loss(self) -> float:
        return math.fsum(cell.loss for cell in self.cells) / len(self.cells)

    def where(self, other: Measured) -> Measured | None:
        """The cells on tables and at sizes where `other` was measured, too; None where there are none."""
        theirs = {cell.place for cell in other.cells}
        both = tuple(cell for cell in self.cells if cell.place in theirs)
        return replace(self, cells=both) if both else None

    def beside(self, other: Measured) -> tuple[float, float] | None:
        """(mean loss, that of `other`) over the cells where both were measured; None where there are none."""
        ours, theirs = self.where(other), other.where(self)
        return None if ours is None or theirs is None else (ours.mean_loss, theirs.mean_loss)


def measured_near(method: str, n_epsilon: float) -> Measured | None:
    """What was measured of `method` near n·ε = `n_epsilon`, or next to it where nothing was.

    None where it never was, or at `FAR` times as much alone.
    """
    known = [cell for cell in cells() if cell.method == method and cell.n_epsilon < FAR * n_epsilon]
    if not known:
        return None
    near = [cell for cell in known if n_epsilon / NEAR <= cell.n_epsilon <= n_epsilon * NEAR]
    if near:
        return Measured(tuple(near), extrapolated=False)
    nearest = min((cell.n_epsilon for cell in known), key=lambda other: abs(math.log(other / n_epsilon)))
    beside = tuple(cell for cell in known if nearest / NEAR <= cell.n_epsilon <= nearest * NEAR)
    return Measured(beside, extrapolated=True)


@cache
def cells() -> tuple[Cell, ...]:
    """All that was measured."""
    written = _written()
    return tuple(
        Cell(method, cell["table"], cell["records"], cell["epsilon"], loss, gain, unanswered)
        for cell in written["cells"]
        for method, (loss, gain, unanswered) in cell["ways"].items()
    )


def queries_measured() -> int:
    """m, for the methods that answer by votes."""
    return int(_written()["queries"])


@cache
def _written() -> Any:
    return json.loads(files("pcqr.advice").joinpath("measured.json").read_text(encoding="utf-8"))


def _ends(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)
