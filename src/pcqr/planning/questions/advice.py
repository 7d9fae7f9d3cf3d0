"""What to do with a table of n records at ε: one way of answering, the others beside it, what each gave on real tables.

Nothing here is a bound. What is proved is in `pcqr.planning.questions.outlook`; this is what was measured (`measured`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pcqr import registry
from pcqr.checks import check_delta, check_integer, check_positive
from pcqr.planning.classifiers.rule import FEWEST, trees_for
from pcqr.planning.expected.shortfall import enough, nothing_learned
from pcqr.planning.questions.measured import Measured, measured_near, queries_measured

Source = Literal["public rows", "schema", "queries"]

PUBLISHED = "PrivateClassifier"
"""The way that was measured with a schema and with queries in place of public rows, too."""
ENOUGH_QUERIES = 200
"""So many queries can serve as public rows, from which a classifier's questions are made."""
TIE = 0.01
"""Mean losses that differ by less are taken to be equal, since the draw of 500 queries alone makes about as much of it;
then the earlier of `WAYS` is preferred."""
WIDE = 100
"""Columns from which a table is wider than any that was measured."""
CUTS, COLUMNS = 10, 10
"""Predicates a column where n·ε is small, and columns where nobody says how many there are."""


@dataclass(frozen=True)
class Situation:
    """What is known before anything private is touched: n, columns, (ε, δ), m, the number of public rows.

    None: m is not known (or has no end), there are no public rows. `schema`: one can be written.
    """

    records: int
    epsilon: float
    delta: float = 1e-6
    columns: int | None = None
    queries: int | None = None
    public: int | None = None
    schema: bool = True

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1)
        check_positive("epsilon", self.epsilon)
        check_delta(self.delta)

    @property
    def strength(self) -> float:
        """n·ε."""
        return self.records * self.epsilon

    @property
    def source(self) -> Source | None:
        """Where a published classifier may take its questions from; None: from nowhere."""
        if self.public is not None:
            return "public rows"
        if self.schema:
            return "schema"
        return "queries" if (self.queries or 0) >= ENOUGH_QUERIES else None


@dataclass(frozen=True)
class Way:
    """A way of answering: what it is called in `measured`, its algorithm's name in `pcqr.registry`, what it is in words
    and what it asks about a record.

    `trees`: its questions come from public rows or a schema, so it needs one of them. `ends`: it may leave queries
    unanswered; otherwise it ends with a classifier that answers any number.
    """

    key: str
    name: str
    words: str
    hypotheses: str | None
    trees: bool
    ends: bool
    strength: str

    @property
    def algorithm(self) -> registry.Algorithm:
        return registry.algorithm(self.name)

    @property
    def at_once(self) -> bool:
        """Is a classifier published before anything is asked?"""
        return self.algorithm.publishes and self.algorithm.option is None

    @property
    def commanded(self) -> bool:
        """Does a command run it? Otherwise it is for Python alone and never recommended."""
        return self.algorithm.command_line is not None


WAYS = (
    Way(
        *("published", "PrivateClassifier", "published classifier", None, True, False),
        "It answers every query, however many, and nothing can be left unanswered",
    ),
    Way(
        *("tree", "SSPP", "published tree", "DecisionTrees()", True, False),
        "It answers every query, can be read as rules, and spends no δ",
    ),
    Way(
        *("universal trees", "UnvPrivCl", "universal release, trees of depth 2", "DecisionTrees(depth=2)", True, False),
        "It answers by votes and then publishes a tree that answers for ever",
    ),
    Way(
        *("votes trees", "AgPrivCl", "votes, trees of depth 2", "DecisionTrees(depth=2)", True, True),
        "Relabelling makes the teachers agree, so that few queries are left unanswered",
    ),
    Way(
        *("universal stumps", "UnvPrivCl", "universal release, stumps", "Stumps()", False, False),
        "It needs no public rows and no schema, and publishes a stump when its votes are used up",
    ),
    Way(
        *("votes stumps", "AgPrivCl", "votes, stumps", "Stumps()", False, True),
        "It needs no public rows and no schema",
    ),
    Way(
        *("SubSamp stumps", "SubSamp", "votes without relabelling, stumps", "Stumps()", False, True),
        "It is the simplest of all",
    ),
    Way(
        *("noisy max stumps", "noisy max", "noisy majorities, stumps", "Stumps()", False, True),
        "It labels each of the queries that it is planned for",
    ),
)
"""In the order in which near ties are decided: what is published at once, what is published later, what halts."""


@dataclass(frozen=True)
class Advised:
    """One way for one situation. `source`: what its questions are made of; None: of nothing, it cuts anywhere.

    `measured`: None where it was not, at n·ε that says anything. `alike`: it was, with that source. Otherwise it was
    with public rows, which are the best source, and cannot be preferred to others on the strength of that.
    """

    way: Way
    source: Source | None
    measured: Measured | None
    alike: bool


@dataclass(frozen=True)
class Advice:
    """The way to take, why, the others in order of preference, and what has to be kept in mind.

    `shortfall` says why nothing can be learned, if nothing can, and what would change that.
    """

    situation: Situation
    best: Advised
    reason: str
    others: tuple[Advised, ...]
    notes: tuple[str, ...]
    shortfall: str | None


def advise(situation: Situation) -> Advice:
    """Of what a command can run the first of `WAYS` that no other beats near n·ε.

    One beats another by more than `TIE` in mean loss over the tables and sizes where both were measured. Where nothing
    was measured, the first.
    """
    possible = [_advised(way, situation) for way in WAYS if situation.source is not None or not way.trees]
    runnable = [found for found in possible if found.way.commanded]
    rivals = [found for found in runnable if found.alike] or runnable[:1]
    best = next((found for found in rivals if not any(_beats(rival, found) for rival in rivals)), rivals[0])
    others = tuple(found for found in possible if found is not best)
    return Advice(situation, best, _reason(best, rivals), others, tuple(_notes(situation, best)), _shortfall(situation))


def _beats(rival: Advised, found: Advised) -> bool:
    losses = _beside(rival, found)
    return losses is not None and losses[0] < losses[1] - TIE


def _beside(one: Advised, other: Advised) -> tuple[float, float] | None:
    return None if one.measured is None or other.measured is None else one.measured.beside(other.measured)


def _advised(way: Way, situation: Situation) -> Advised:
    source = situation.source if way.trees else None
    is_derived = source in ("schema", "queries")
    key = f"published from {source}" if way.name == PUBLISHED and is_derived else way.key
    found = measured_near(key, situation.strength)
    if found is None and key != way.key:
        return Advised(way, source, measured_near(way.key, situation.strength), alike=False)
    return Advised(way, source, found, alike=found is not None and (way.name == PUBLISHED or not is_derived))


def _reason(best: Advised, rivals: Sequence[Advised]) -> str:
    """Its strength, and its mean loss beside that of the best rival of another kind, with the n·ε of these."""
    found = [
        (theirs.mean_loss, ours.mean_loss, rival.way.words, ours)
        for rival in rivals
        if rival.way.name != best.way.name and rival.measured is not None and best.measured is not None
        if (ours := best.measured.where(rival.measured)) and (theirs := rival.measured.where(best.measured))
    ]
    if not found:
        return f"{best.way.strength}."
    theirs_lost, ours_lost, words, cells = min(found, key=lambda each: each[:3])
    return (
        f"{best.way.strength}. Where both were measured, at n·ε = {strengths(cells)}, it lost "
        f"{100.0 * ours_lost:.1f} points on average, {words} {100.0 * theirs_lost:.1f}."
    )


def strengths(found: Measured) -> str:
    """Return n·ε of what was measured, in words."""
    low, high = (f"{end:,.0f}" for end in found.strength)
    return low if low == high else f"{low} to {high}"


def _lost(key: str, situation: Situation) -> str | None:
    """Return in words what was lost near n·ε, and at which n·ε that was measured."""
    found = measured_near(key, situation.strength)
    return None if found is None else f"{100.0 * found.mean_loss:.1f} points on average (n·ε = {strengths(found)})"


def _shortfall(situation: Situation) -> str | None:
    if situation.strength < FEWEST:
        told = (
            f"n·ε = {situation.strength:.3g} is below {FEWEST}: a published classifier would be noise, and is refused."
        )
        return f"{told} {enough(situation.records, situation.epsilon, FEWEST)}"
    trees = trees_for(situation.records, situation.epsilon)
    predicates = min(CUTS * (situation.columns or COLUMNS), trees.most)
    return nothing_learned(situation.records, situation.epsilon, predicates, trees.labels)


def _notes(situation: Situation, best: Advised) -> list[str]:
    notes = []
    if situation.public is None and situation.schema:
        notes.append(
            "Assumed: a schema can be written down (column names, categories, bounds of the numbers) without a look at "
            "the private records. Public rows without labels are better still, 30 nearly as good as 2,000: --public N. "
            "Neither: --no-schema."
        )
    if situation.public is None:
        notes.append(
            "A published classifier needs nothing public but the columns and their kinds: without --public and "
            "--schema, pcqr publish --delta … --types age=number,job=text buys its predicates for a share of ε."
        )
    if best.source == "schema" and (situation.queries or 0) >= ENOUGH_QUERIES:
        queries, schema = (_lost(f"published from {source}", situation) for source in ("queries", "schema"))
        losses = "" if None in (queries, schema) else f" On the measured tables that lost {queries}, a schema {schema}."
        notes.append(
            f"If everybody may know the queries, they can serve as public rows: add --public queries.csv.{losses}"
        )
    if best.source == "queries":
        notes.append(
            "There are no public rows and no schema, so the queries take their place. The cuts of the published "
            "classifier lie between their values: do this only if everybody may know about where these are."
        )
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
