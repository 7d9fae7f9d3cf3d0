"""Private predicates in small: cuts of places in two levels, counts between cuts, a tree on them, rare categories.

Floats stand at some 2⁶² places, too many to walk through. Here the same code cuts a few.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pcqr.audit.exact.cases.tables import Table, replacing_the_last
from pcqr.audit.exact.drawn import DrawnCase
from pcqr.audit.exact.events import in_full
from pcqr.audit.exact.sums import HalfSpace
from pcqr.audit.exact.verify import Case
from pcqr.data.records.predicates import Predicate
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.halving import halved
from pcqr.privacy.accounting import BoundedRangeEvent, Repeated
from pcqr.privacy.composition import Context, account
from pcqr.privacy.composition import Sequence as Stages
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.noise import IntegerArray
from pcqr.releases.classifier.plan import PredicatesStage
from pcqr.releases.classifier.predicates import joined, noisy_counts, shares, shown_categories
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp

Place = int | None
Places = tuple[Place, ...]
"""Where the cells of a column stand; None for a gap."""
Texts = tuple[tuple[str | None, ...], ...]
"""The rows of a table of text columns."""

DELTA = 1e-3


@dataclass(frozen=True)
class Halving:
    """The shipped cuts of places 0, …, `high` − 1."""

    stage: PredicatesStage
    high: int = 4

    @property
    def claimed(self) -> Guarantee:
        """Without counts it is pure."""
        delta = 0.0 if self.stage.counts is None else DELTA
        return account(self.stage, Context(trees_on(range(1, self.high)), self.stage.records, 1), delta)

    def cuts(self, at: IntegerArray, entropy: Entropy) -> list[int]:
        return halved(at, self.stage.levels, self.stage.selection, entropy, 0, self.high)


@dataclass(frozen=True)
class Halved(Halving):
    """All cuts, shown."""

    def __call__(self, places: Places, entropy: Entropy) -> str:
        return str(self.cuts(_present(places), entropy))


@dataclass(frozen=True)
class HalvedWithCounts(Halving):
    """The cuts, and what is made of the noisy counts between them: the cuts that stay, and shares."""

    def __call__(self, places: Places, entropy: Entropy) -> str:
        at, stage = _present(places), self.stage
        cuts = self.cuts(at, entropy)
        if stage.counts is None:
            raise AssertionError("Counts are bought.")
        noisy = noisy_counts(counted_between(cuts, at), stage.counts, stage.bound, entropy)
        kept, found = joined(cuts, noisy, stage.counts * stage.bound)
        return f"{cuts}, of which stay {kept} with shares {shares(found, stage)}"


@dataclass(frozen=True)
class PlaneOfCounts(Halving):
    """Cuts of several columns, and the noisy counts between them: on which side of a plane do all counts lie?"""

    plane: HalfSpace = field(kw_only=True)

    def __call__(self, rows: tuple[Places, ...], entropy: Entropy) -> str:
        if self.stage.counts is None:
            raise AssertionError("Counts are bought.")
        found: list[int] = []
        for column in zip(*rows, strict=True):
            at = _present(column)
            counts = counted_between(self.cuts(at, entropy), at)
            found += noisy_counts(counts, self.stage.counts, self.stage.bound, entropy)
        return "beyond" if self.plane.holds(found) else "not beyond"


@dataclass(frozen=True)
class TreeOnCuts(Halving):
    """The cuts, and then a tree that asks at them, drawn from the same records: its class depends on the cuts."""

    draw: DrawStage = field(default_factory=lambda: DrawStage(0.5))

    @property
    def claimed(self) -> Guarantee:
        stages = Stages((self.stage, self.draw))
        return account(stages, Context(trees_on(range(1, self.high)), self.stage.records, 1), 0.0)

    def __call__(self, table: Table, entropy: Entropy) -> str:
        cuts = self.cuts(table.points[:, 0].astype(np.int64), entropy)
        return f"cuts {cuts}, {in_full(sspp(trees_on(cuts), table.source(), None, self.draw, entropy))}"


@dataclass(frozen=True)
class Categories:
    """The shipped categories of text columns: the texts that are shown and, unless `without_counts`, noisy counts."""

    stage: PredicatesStage
    without_counts: bool = False

    def claimed(self, delta: float) -> Guarantee:
        return account(self.stage, Context(trees_on((1,)), self.stage.records, 1), delta)

    def __call__(self, rows: Texts, entropy: Entropy) -> str:
        shown = []
        for column in zip(*rows, strict=True):
            found = shown_categories(Counter(text for text in column if text is not None), self.stage, entropy)
            shown.append(str(sorted(found) if self.without_counts else sorted(found.items())))
        return " and ".join(shown)


def counted_between(cuts: Sequence[int], at: IntegerArray) -> IntegerArray:
    """Return how many values lie in each cell between cuts: from a cut on they are above it."""
    return np.bincount(np.searchsorted(cuts, at, side="right"), minlength=len(cuts) + 1)


def trees_on(cuts: Sequence[int]) -> DecisionTrees:
    """Trees of depth 1 that ask at these cuts."""
    return DecisionTrees(depth=1, predicates=tuple(Predicate(0, cut - 0.5) for cut in cuts))


def _present(places: Places) -> IntegerArray:
    return np.array([place for place in places if place is not None], dtype=np.int64)


def cuts_stage(records: int, levels: int, selection: float, numeric: int = 1) -> PredicatesStage:
    """Cuts of numeric columns and nothing else."""
    return PredicatesStage(records, numeric, 0, levels, selection, None, None, None)


def cuts_case(mechanism: Halved, neighbours: Sequence[tuple[Places, Places]]) -> Case:
    """The case of all cuts, under a pure claim. That each level is of bounded range is more, and looked at, too."""
    stage = mechanism.stage
    name = f"Private cuts: {mechanism.high} places, n = {stage.records}, L = {stage.levels}, ε₀ = {stage.selection:g}"
    event = Repeated(BoundedRangeEvent(stage.selection), stage.levels)
    return Case.once(name, mechanism.claimed, neighbours, mechanism, event)


def counts_case(mechanism: HalvedWithCounts, neighbours: Sequence[tuple[Places, Places]]) -> DrawnCase:
    stage = mechanism.stage
    name = f"Private cuts and counts between them: n = {stage.records}, ε₀ = {stage.selection:g}, σ = {stage.counts:g}"
    return DrawnCase.once(name, mechanism.claimed, neighbours, mechanism)


def tree_case(mechanism: TreeOnCuts, common: tuple[tuple[float, int], ...]) -> Case:
    stage, eta = mechanism.stage, mechanism.draw.inverse_temperature
    name = (
        f"Private cuts, then a tree on them: n = {stage.records}, L = {stage.levels}, ε₀ = {stage.selection:g}, "
        f"η = {eta:g}"
    )
    lasts = [(float(place), label) for place in range(mechanism.high) for label in (0, 1)]
    return Case.once(name, mechanism.claimed, replacing_the_last(common, lasts), mechanism)


def categories_case(
    mechanism: Categories, claimed: Guarantee, neighbours: Sequence[tuple[Texts, Texts]], suffix: str = ""
) -> Case:
    stage = mechanism.stage
    name = (
        f"{'Names of private' if mechanism.without_counts else 'Private'} categories{suffix}: p = {stage.categorical}, "
        f"n = {stage.records}, σ = {stage.categories:g}, τ = {stage.threshold:g}, δ = {claimed.delta:.3g}"
    )
    return Case.once(name, claimed, neighbours, mechanism)


def rare_case(stage: PredicatesStage) -> Case:
    """The case of categories of one record alone, under what is claimed of these: (2f, f)."""
    claimed = Guarantee(2.0 * stage.failure, stage.failure)
    return categories_case(Categories(stage, without_counts=True), claimed, SINGLE_RECORDS, " that are rare")


def one_place_moved(common: Places, high: int = 4) -> list[tuple[Places, Places]]:
    """All pairs of columns with these cells and one more, which differs: gaps are among them."""
    columns = [(*common, last) for last in (*range(high), None)]
    return list(itertools.combinations(columns, 2))


def all_places(records: int, high: int = 4) -> list[tuple[Places, Places]]:
    """All pairs of neighbouring columns of so many cells, ties and gaps among them."""
    commons = itertools.combinations_with_replacement((*range(high), None), records - 1)
    return [pair for common in commons for pair in one_place_moved(common, high)]


def one_text_changed(*common: str) -> list[tuple[Texts, Texts]]:
    """One column with these texts and one more, which differs: one that is there, one that is not, or a gap."""
    columns = [tuple((text,) for text in (*common, last)) for last in ("a", "b", "c", None)]
    return list(itertools.combinations(columns, 2))


RARE = PredicatesStage(1, 0, 2, 0, 0.0, None, 2.0, 8.0, bound=64)
"""One record with texts that nobody else has, in two columns. f = 2·Φ̄(3.49)."""
AT_RARE = 1.1 * RARE.failure
"""A δ that rare categories use up, nearly."""
SINGLE_RECORDS: list[tuple[Texts, Texts]] = list(
    itertools.combinations([(row,) for row in (("a", "a"), ("b", "b"), (None, "b"), (None, None))], 2)
)


def predicates_cases(*, full: bool) -> Iterator[Case]:
    two_levels = cuts_stage(3, 2, 1.0)
    yield cuts_case(Halved(two_levels), all_places(3))
    far = Halved(cuts_stage(8, 2, 4.0), 7)
    yield cuts_case(far, one_place_moved((0, 2, 2, 3, 3, 5, 5), 7))
    counts = replace(two_levels, selection=0.5, counts=2.0, bound=64)
    commons: tuple[Places, ...] = ((1, 2), (0, 0), (3, None))
    yield counts_case(HalvedWithCounts(counts), [pair for common in commons for pair in one_place_moved(common)])
    yield tree_case(TreeOnCuts(cuts_stage(3, 2, 1.0)), ((1.0, 0), (2.0, 1)))
    yield tree_case(TreeOnCuts(cuts_stage(4, 1, 2.0)), ((1.0, 0), (1.0, 0), (2.0, 1)))
    common = Categories(PredicatesStage(3, 0, 1, 0, 0.0, None, 1.0, 4.0, bound=1))
    yield categories_case(common, common.claimed(0.05), one_text_changed("a", "a"))
    rare = Categories(RARE, without_counts=True)
    yield categories_case(rare, rare.claimed(AT_RARE), SINGLE_RECORDS)
    yield rare_case(RARE)
    yield rare_case(replace(RARE, threshold=3.6))
    if full:
        yield cuts_case(Halved(cuts_stage(4, 2, 2.0), 5), all_places(4, 5))
        yield cuts_case(Halved(cuts_stage(3, 3, 1.0), 6), one_place_moved((1, 4), 6))
        yield counts_case(HalvedWithCounts(replace(counts, selection=1.0)), all_places(3))
        yield tree_case(TreeOnCuts(cuts_stage(4, 1, 2.0), draw=DrawStage(1.0)), ((1.0, 1),) * 3)
        common = Categories(PredicatesStage(4, 0, 1, 0, 0.0, None, 1.0, 3.0, bound=1))
        yield categories_case(common, common.claimed(0.2), one_text_changed("a", "a", "b"))
