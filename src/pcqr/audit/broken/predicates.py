"""Private predicates that tell too much: no cut of empty nodes, fixed ranks, a threshold or noise for one column."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.predicates import (
    ALONE,
    AT_RARE,
    RARE,
    Categories,
    Halved,
    PlaneOfCounts,
    TreeOnCuts,
    cuts_stage,
)
from pcqr.audit.exact.cases.tables import Table
from pcqr.audit.exact.sums import HalfSpace
from pcqr.mechanisms.halving import halved
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.noise import IntegerArray, weighted_choice
from pcqr.releases.classifier.plan import PredicatesStage
from pcqr.releases.protocol.stages import DrawStage


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


def _at_its_worst(stage: PredicatesStage) -> PlaneOfCounts:
    """With the plane beyond which counts speak for the first of `MOVED` by the claimed ε.

    In both columns a record moves from the right to the left: a·z for a = (1, −1, 1, −1) has the means 0 and −4M.
    """
    claimed, scale = Halved(COUNTS, 2).claimed, (stage.counts or 0.0) * stage.bound
    offset = math.floor(scale**2 * claimed.epsilon / stage.bound + 2 * stage.bound) - 4 * stage.bound
    return PlaneOfCounts(stage, 2, plane=HalfSpace((1, -1, 1, -1), offset))


MOVED = (((1, 1), (0, 0)), ((1, 1), (1, 1)))

BUGS: Sequence[Bug] = (
    bug(
        "nodes without values are not cut",
        "Cuts are drawn in the nodes that hold a value alone. That there is no cut tells of the last record in a node.",
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
        "A tree has all of ε for its draw, as though the cuts that it asks at did not come from the same records.",
        claim=ON_CUTS.claimed,
        broken=ALL_FOR_THE_TREE,
        correct=ON_CUTS,
        neighbours=(
            Table(((1.0, 0), (1.0, 0), (2.0, 1), (0.0, 0))),
            Table(((1.0, 0), (1.0, 0), (2.0, 1), (3.0, 0))),
        ),
    ),
    bug(
        "a threshold for one column",
        "The threshold leaves a chance of f for a rare category to be shown in one column. A record may be the only "
        "one of its kind in every column.",
        claim=Categories(RARE).claimed(AT_RARE),
        broken=Categories(FOR_ONE_COLUMN, without_counts=True),
        correct=Categories(RARE, without_counts=True),
        neighbours=ALONE[0],
    ),
    bug(
        "counts with noise for one column",
        "The counts between cuts have noise for what a record moves in one column. It moves counts in each of them.",
        claim=Halved(COUNTS, 2).claimed,
        broken=_at_its_worst(COUNTS_OF_ONE),
        correct=_at_its_worst(COUNTS),
        neighbours=MOVED,
    ),
)
