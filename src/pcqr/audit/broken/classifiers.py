"""Linear classifiers with too little noise, or not everywhere; vectors that depend on all; parts not paid for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.classifiers import (
    OPTIONS,
    Counted,
    Published,
    agreeing,
    context_of,
    counted,
    one_more,
    piloted,
    stacked,
)
from pcqr.audit.exact.cases.predicates import (
    AT_RARE,
    RARE,
    SINGLE_RECORDS,
    Categories,
    Halved,
    PlaneOfCounts,
    TreeOnCuts,
    cuts_stage,
)
from pcqr.audit.exact.cases.tables import Table as SmallTable
from pcqr.audit.exact.events import in_full
from pcqr.audit.exact.sums import HalfSpace
from pcqr.audit.statistical import Table
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.predicates import Predicate, leaves_of
from pcqr.data.records.vectors import ColumnVectors
from pcqr.hypotheses.trees import DecisionTree
from pcqr.mechanisms.halving import halved
from pcqr.privacy.composition import Branch, account, parts_of
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.noise import IntegerArray, discrete_gaussians, weighted_choice
from pcqr.releases.classifier.descent import leaf_counts, leaf_shares, shape_of
from pcqr.releases.classifier.plan import LeafCountsStage, LinearStage, PredicatesStage
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp

MIDDLE = (Predicate(0, 0.0),)
LEFT, RIGHT = -1.0, 1.0


@dataclass(frozen=True)
class NoisyGradient:
    """One noisy sum of the shipped vectors at θ = 0, with the noise of `plan`: on which side of `plane` does it lie?

    Unless `is_everywhere`, sums of 0 have no noise.
    """

    plan: LinearStage
    plane: HalfSpace
    is_everywhere: bool = True

    def __call__(self, table: Table, entropy: Entropy) -> str:
        dense, cells = np.zeros((1, FEATURES.size), dtype=np.int32), np.zeros((1, 1, 2), dtype=np.int32)
        parts = table.source.gradient_sums(FEATURES, self.plan.bound).total(dense, cells)
        total = np.concatenate([part.reshape(-1) for part in parts])
        noisy = total + discrete_gaussians(self.plan.scale, total.size, entropy)
        shown = [value if self.is_everywhere or there else 0 for value, there in zip(noisy, total, strict=True)]
        return "beyond" if self.plane.holds(shown) else "not beyond"


FEATURES = FeatureMap(
    ColumnVectors(centres=(0.0,), scales=(0.0,), constant=1, features=1), Ferns(MIDDLE, depth=1, features=1), share=128
)
BOUND = 512
LENGTH = 362
"""‖φ‖² goes in halves to v = (0, 1) and to the cell: both have so much of M, ⌊M/√2⌋."""
STEP = LinearStage(2, *shape_of(FEATURES), 1, bound=BOUND, scale=4.0 * 2 * BOUND, momentum=0.0, step_size=1.0)
HALF_THE_NOISE = replace(STEP, scale=STEP.scale / 2.0)
CLAIM = account(STEP, context_of(STEP), 1e-6)
RIGHT_CELL = HalfSpace((0, 0, 0, 1), 0)


def _at_its_worst(plan: LinearStage) -> NoisyGradient:
    """With the plane beyond which a noisy sum speaks against the second neighbour by ε, twice that with half the noise.

    The sums of two records on the right are 2·362 times (0, 1, 0, 1), and 0.
    """
    loss = CLAIM.epsilon * STEP.scale / plan.scale
    shift = 2 * LENGTH
    return NoisyGradient(plan, HalfSpace((0, 1, 0, 1), math.floor((plan.scale**2 * loss + shift**2) / shift)))


def _on_the_right(label: int) -> Table:
    """Two records on the right: a 1, whose vector is φ, and one with `label`."""
    return Table.of([RIGHT, RIGHT], [1, label])


RECORDS = 60
VECTORS = FeatureMap(ColumnVectors(centres=(0.0,), scales=(1.0,), constant=1, features=1), None, share=256)
"""v = (x, 1)."""
LONE_STEP = LinearStage(RECORDS, *shape_of(VECTORS), 1, bound=BOUND, scale=STEP.scale, momentum=0.0, step_size=1.0)
HALF_OF_ALL = HalfSpace((0, 1), RECORDS * BOUND // 2)


@dataclass(frozen=True)
class NoisyTotal:
    """One noisy sum of the shipped vectors at θ = 0; if `is_relative`, of v·M over the longest v of the table.

    Shown is whether the constant's part is more than half of what it can be.
    """

    plan: LinearStage
    is_relative: bool = False

    def __call__(self, table: Table, entropy: Entropy) -> str:
        if self.is_relative:
            vectors = np.column_stack([table.X[:, 0], np.ones(table.y.size)])
            longest = np.sqrt((vectors**2).sum(axis=1)).max()
            total = ((2 * table.y - 1)[:, None] * vectors * self.plan.bound / longest).sum(axis=0).astype(np.int64)
        else:
            dense, cells = np.zeros((1, VECTORS.size), dtype=np.int32), np.zeros((1, 0, 1), dtype=np.int32)
            total = table.source.gradient_sums(VECTORS, self.plan.bound).total(dense, cells)[0][0]
        noisy = total + discrete_gaussians(self.plan.scale, total.size, entropy)
        return "beyond" if HALF_OF_ALL.holds(list(noisy)) else "not beyond"


def _short_but(last: float) -> Table:
    """All at 0 with label 1, but for the place of the last."""
    return Table.of([0.0] * (RECORDS - 1) + [last], [1] * RECORDS)


STACKED = stacked(records=4, multiplier=2.0, tree=0.5)
ALL_FOR_THE_SUMS = stacked(records=4, multiplier=1.5, tree=0.5)
"""Its sums alone are within the claim."""

PILOTED = piloted(2, (0.5, 1.0, 1.0, 1.0))
UNHIDDEN = piloted(2, (0.5, 0.0025, 1.0, 1.0))
"""Noise of which not one draw in e^20,000 is other than 0."""
WITHOUT_PILOTS = 1.0 / 3.0
"""Where pilots cost nothing, this multiplier is within the claim: 1/1² + 3² = 2·2² + 1/1² + 1/1²."""
FINER_SECOND = piloted(2, (0.5, 1.0, 1.0, 0.25))
COMPARED = piloted(2, (0.5, 0.25, 1.0, 1.0))
"""Here the comparison costs most."""
ONE_ERROR = piloted(2, (0.5, 0.125, 1.0, 1.0))
"""Noise for a comparison that a record moves by 1: by M in M-ths of a record."""
WITHOUT_COMPARISON = 1.0 / math.sqrt(17.0)
"""Where the comparison costs nothing, this multiplier is within the claim: 2·2² + 17 = 2·2² + 4² + 1/1²."""


@dataclass(frozen=True)
class ByMostRecords(Published):
    """Runs the option of a branch that the most frequent label of the records speaks for."""

    def __call__(self, table: SmallTable, entropy: Entropy) -> str:
        options = [replace(self, stage=option) for option in self.stage.within()]
        most = int(2 * table.labels.sum() > table.labels.size)
        return Published.__call__(options[most], table, entropy)


COUNTED = counted(0.05, 2.0)
"""Here the counts at the leaves cost most."""
ONE_COUNT = counted(0.05, 1.0)
"""Noise for counts of which a record moves one."""


@dataclass(frozen=True)
class OfBestTree(Counted):
    """Counts at the leaves of the tree with the fewest errors, which was not drawn."""

    def __call__(self, table: SmallTable, entropy: Entropy) -> str:
        best = self.trees.learn(table.points, table.labels)
        (stage,) = parts_of(self.stage, LeafCountsStage)
        return in_full(leaf_counts(best, table.source(), stage, entropy))


@dataclass(frozen=True)
class OfExactCounts:
    """Shares at the leaves of a drawn tree from its exact counts, drawn towards those of all records as if noisy."""

    counted: Counted

    def __call__(self, table: SmallTable, entropy: Entropy) -> str:
        (draw,), (stage,) = parts_of(self.counted.stage, DrawStage), parts_of(self.counted.stage, LeafCountsStage)
        drawn = sspp(self.counted.trees, table.source(), None, draw, entropy)
        if not isinstance(drawn, DecisionTree):
            raise AssertionError("Trees were drawn from.")
        labels = [leaf.label for leaf in leaves_of(drawn.root)]
        shares = leaf_shares(table.source().leaf_counts(drawn.root).astype(np.float64), stage.scale, labels)
        return in_full(drawn.with_shares(shares.tolist()))


BRANCH = Branch(parts_of(PILOTED.stage, LinearStage)[2:])


CLASSIFIER_BUGS: Sequence[Bug] = (
    bug(
        "noise for adding a record",
        "A sum has noise for the norm M of one record's vector; replacing a record moves it by 2M.",
        claim=CLAIM,
        broken=_at_its_worst(HALF_THE_NOISE),
        correct=_at_its_worst(STEP),
        neighbours=(_on_the_right(1), _on_the_right(0)),
    ),
    bug(
        "empty cells without noise",
        "Only sums that are not 0 get noise: a cell that shows exactly 0 has no record.",
        claim=CLAIM,
        broken=NoisyGradient(STEP, RIGHT_CELL, is_everywhere=False),
        correct=NoisyGradient(STEP, RIGHT_CELL),
        neighbours=(Table.of([LEFT, RIGHT], [1, 1]), Table.of([LEFT, LEFT], [1, 1])),
    ),
    bug(
        "vectors relative to the longest",
        "Each record's vector is divided by the longest one of the table: a long one makes all others short.",
        claim=account(LONE_STEP, context_of(LONE_STEP), 1e-6),
        broken=NoisyTotal(LONE_STEP, is_relative=True),
        correct=NoisyTotal(LONE_STEP),
        neighbours=(_short_but(0.0), _short_but(1_000.0)),
    ),
    bug(
        "tree that is not paid for",
        "A linear classifier spends all of ε on its sums, as though the tree beside it had not been drawn from the "
        "same records.",
        claim=STACKED.claimed(0.001),
        broken=ALL_FOR_THE_SUMS,
        correct=STACKED,
        neighbours=one_more(4)[0],
    ),
    bug(
        "pilots that are not paid for",
        "Pilots are not published, so only the comparison and what follows it are charged. Their errors decide what "
        "follows.",
        claim=PILOTED.claimed(0.01),
        broken=piloted(2, (0.5, 1.0, WITHOUT_PILOTS, WITHOUT_PILOTS)),
        correct=PILOTED,
        neighbours=agreeing(2)[0],
    ),
    bug(
        "comparison without noise",
        "Two pilots are private, and which of them has fewer errors among the records is decided without noise.",
        claim=PILOTED.claimed(0.01),
        broken=UNHIDDEN,
        correct=PILOTED,
        neighbours=agreeing(2)[0],
    ),
    bug(
        "comparison that is not paid for",
        "The comparison of two pilots has noise, but only the pilots and what follows are charged.",
        claim=COMPARED.claimed(0.01),
        broken=piloted(2, (0.5, 0.25, WITHOUT_COMPARISON, WITHOUT_COMPARISON)),
        correct=COMPARED,
        neighbours=agreeing(2)[0],
    ),
    bug(
        "comparison of one error",
        "The lead of one pilot over another has noise for a number that moves by 1. Replacing a record can take an "
        "error from the one and give it to the other, and move it by 2.",
        claim=COMPARED.claimed(0.01),
        broken=ONE_ERROR,
        correct=COMPARED,
        neighbours=agreeing(2)[0],
    ),
    bug(
        "branch charged as its cheaper option",
        "Of two options, one runs, and the one with more noise is charged, whichever it was.",
        claim=PILOTED.claimed(0.01),
        broken=FINER_SECOND,
        correct=PILOTED,
        neighbours=agreeing(2)[0],
    ),
    bug(
        "option chosen by the records",
        "Which of two options runs is decided by the label that most records have. Only the options are charged.",
        claim=account(BRANCH, context_of(BRANCH), 0.01),
        broken=ByMostRecords(BRANCH, OPTIONS, PILOTED.public),
        correct=Published(BRANCH, OPTIONS, PILOTED.public),
        neighbours=agreeing(2)[0],
    ),
    bug(
        "counts at leaves with noise for one",
        "The counts at the leaves of a tree have noise for one count that moves by 1. A replaced record leaves one "
        "count and enters another.",
        claim=COUNTED.claimed(2),
        broken=ONE_COUNT,
        correct=COUNTED,
        neighbours=one_more(2)[0],
    ),
    bug(
        "counts at the leaves of the best tree",
        "The counts have enough noise, but belong to the leaves of the tree with the fewest errors, not of the drawn "
        "one. Which leaves there are depends on the records.",
        claim=COUNTED.claimed(2),
        broken=OfBestTree(COUNTED.stage),
        correct=COUNTED,
        neighbours=(SmallTable(((1.0, 0), (0.0, 0))), SmallTable(((1.0, 0), (0.0, 1)))),
    ),
    bug(
        "shares of exact counts",
        "Shares at the leaves of a drawn tree are made of exact counts. They are drawn towards those of all "
        "records, which hides nothing.",
        claim=COUNTED.claimed(2),
        broken=OfExactCounts(COUNTED),
        correct=COUNTED,
        neighbours=one_more(2)[0],
    ),
)


# ---------------------------------------------------------------------------------------------------------------------
# Private predicates that tell too much: no cut of empty nodes, fixed ranks, a threshold or noise for one column.


@dataclass(frozen=True)
class WithoutEmptyNodes(Halved):
    """Cuts nodes that hold a value, and no others."""

    def cuts(self, at: IntegerArray, entropy: Entropy) -> list[int]:
        borders = [0, self.high]
        for _ in range(self.stage.levels):
            held = [(low, high) for low, high in pairwise(borders) if ((low <= at) & (at < high)).any()]
            nodes = (halved(_within(at, *node), 1, self.stage.selection, entropy, *node) for node in held)
            borders = sorted([*borders, *(cut for cuts in nodes for cut in cuts)])
        return borders[1:-1]


@dataclass(frozen=True)
class AtFixedRanks(Halved):
    """Cuts each node at a rank that was fixed beforehand, n/2 and then n/4, as though a record moved one node by 1."""

    def cuts(self, at: IntegerArray, entropy: Entropy) -> list[int]:
        borders, rank = [0, self.high], self.stage.records / 2
        for _ in range(self.stage.levels):
            drawn = [self._cut(_within(at, *node), *node, rank, entropy) for node in pairwise(borders)]
            borders, rank = sorted([*borders, *(cut for cut in drawn if cut is not None)]), rank / 2
        return borders[1:-1]

    def _cut(self, at: IntegerArray, low: int, high: int, rank: float, entropy: Entropy) -> int | None:
        places = np.arange(low + 1, high)
        if not places.size:
            return None
        below = (at[:, None] < places).sum(axis=0)
        return int(places[weighted_choice(-0.5 * self.stage.selection * np.abs(below - rank), entropy)])


def _within(at: IntegerArray, low: int, high: int) -> IntegerArray:
    return at[(low <= at) & (at < high)]


SMALL = Halved(cuts_stage(3, 2, 1.0))
LARGE = Halved(cuts_stage(8, 2, 4.0), 7)
OTHERS = (0, 2, 2, 3, 3, 5, 5)

ON_CUTS = TreeOnCuts(cuts_stage(4, 1, 2.0))
ALL_FOR_THE_TREE = replace(ON_CUTS, draw=DrawStage(0.499 * ON_CUTS.claimed.epsilon))
"""Its draw alone is within the claim."""

FOR_ONE_COLUMN = replace(RARE, threshold=7.62)
"""Here a rare category has a chance of the other's f in each column."""

COUNTS = PredicatesStage(2, 2, 0, 1, 1e-6, 4.0, None, None, bound=16)
"""Of two columns with two places each: their cut is known, and its selection costs nothing."""
COUNTS_OF_ONE = replace(COUNTS, counts=4.0 / math.sqrt(2.0))


def _counts_at_their_worst(stage: PredicatesStage) -> PlaneOfCounts:
    """With the plane beyond which counts speak for the first of `MOVED` by the claimed ε.

    In both columns a record moves from the right to the left: a·z for a = (1, −1, 1, −1) has the means 0 and −4M.
    """
    claimed, scale = Halved(COUNTS, 2).claimed, (stage.counts or 0.0) * stage.bound
    offset = math.floor(scale**2 * claimed.epsilon / stage.bound + 2 * stage.bound) - 4 * stage.bound
    return PlaneOfCounts(stage, 2, plane=HalfSpace((1, -1, 1, -1), offset))


MOVED = (((1, 1), (0, 0)), ((1, 1), (1, 1)))

PREDICATE_BUGS: Sequence[Bug] = (
    bug(
        "nodes without values are not cut",
        "Cuts are drawn only in nodes that hold a value. A missing cut shows that a node has no record.",
        claim=SMALL.claimed,
        broken=WithoutEmptyNodes(SMALL.stage),
        correct=SMALL,
        neighbours=((0, 0, 0), (0, 0, 3)),
    ),
    bug(
        "cuts at fixed ranks",
        "Each node is cut at a rank that was fixed beforehand, in place of its own median. A record that goes from one "
        "node to another moves both of them by 1, and only one is charged.",
        claim=LARGE.claimed,
        broken=AtFixedRanks(LARGE.stage, LARGE.high),
        correct=LARGE,
        neighbours=((*OTHERS, 0), (*OTHERS, 4)),
    ),
    bug(
        "cuts that are not paid for",
        "A tree spends all of ε on its draw, as though its cuts had not been drawn from the same records.",
        claim=ON_CUTS.claimed,
        broken=ALL_FOR_THE_TREE,
        correct=ON_CUTS,
        neighbours=(
            SmallTable(((1.0, 0), (1.0, 0), (2.0, 1), (0.0, 0))),
            SmallTable(((1.0, 0), (1.0, 0), (2.0, 1), (3.0, 0))),
        ),
    ),
    bug(
        "a threshold for one column",
        "The threshold leaves a chance of f for a rare category to be shown in one column. A record may be the only "
        "one of its kind in every column.",
        claim=Categories(RARE).claimed(AT_RARE),
        broken=Categories(FOR_ONE_COLUMN, without_counts=True),
        correct=Categories(RARE, without_counts=True),
        neighbours=SINGLE_RECORDS[0],
    ),
    bug(
        "counts with noise for one column",
        "The counts between cuts have noise for what a record moves in one column. It moves counts in each of them.",
        claim=Halved(COUNTS, 2).claimed,
        broken=_counts_at_their_worst(COUNTS_OF_ONE),
        correct=_counts_at_their_worst(COUNTS),
        neighbours=MOVED,
    ),
)
