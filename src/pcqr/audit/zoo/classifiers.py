"""Boosting whose weights depend on all records, and a head with noise for another adjacency, or not everywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcqr.algorithms.boosting import boost, boosting_guarantee, offered_predicates, weight_of_lead
from pcqr.algorithms.head import head_guarantee, shape_of
from pcqr.audit.exact.sums import HalfSpace
from pcqr.audit.statistical.transcripts import Table
from pcqr.audit.zoo.base import Bug, bug
from pcqr.entropy import Entropy
from pcqr.hypotheses.trees import DecisionTree, Predicate
from pcqr.hypotheses.trees.boosted import VOTES, BoostedTrees, votes_of
from pcqr.hypotheses.trees.weighted import draw_tree
from pcqr.noise import Chooser, discrete_gaussians
from pcqr.plan import BoostingStage, HeadStage
from pcqr.records.ferns import Ferns
from pcqr.records.head_features import HeadFeatures
from pcqr.records.vectors import ColumnVectors
from pcqr.records.weighing import GRID

MIDDLE = (Predicate(0, 0.0),)
LEFT, RIGHT = -1.0, 1.0

# --------------------------------------------------------------------------------------------------------------
# Boosting


@dataclass(frozen=True)
class Boosting:
    """The shipped rounds: everything that is published."""

    plan: BoostingStage

    def __call__(self, table: Table, entropy: Entropy) -> str:
        return repr(boost(table.source, MIDDLE, self.plan, entropy))


@dataclass(frozen=True)
class RelativeBoosting:
    """The same rounds with weights divided by the largest of them: no record is alone with its weight any more."""

    plan: BoostingStage

    def __call__(self, table: Table, entropy: Entropy) -> str:
        records, weight = table.source.weighing(MIDDLE), weight_of_lead(self.plan)
        lead, trees = np.zeros(table.y.size, dtype=np.int32), []
        for offered in offered_predicates(self.plan):
            heaviest = weight[self.plan.rounds + lead].max()
            relative = np.rint(GRID * np.minimum(1.0, weight / heaviest)).astype(np.uint8)
            weights = records.weigh(relative, offered, self.plan.depth)
            root = draw_tree(weights, MIDDLE, self.plan.inverse_temperature, Chooser(entropy))
            trees.append(DecisionTree(root, 1).simplified())
            lead += (2 * table.y - 1) * votes_of(trees[-1], table.X)
            records.follow((way, int(VOTES[leaf.label])) for way, leaf in trees[-1].paths())
        return repr(BoostedTrees(tuple(trees), self.plan.step, 1))


RECORDS = 20
BOOSTING = BoostingStage(
    RECORDS, predicates=1, offered=1, depth=1, rounds=2, step=3.0, inverse_temperature=0.25, delta=0.0
)


def _agreeing_but(label: int) -> Table:
    """All on the left with label 0, but for the `label` of the last."""
    return Table.of([LEFT] * RECORDS, [0] * (RECORDS - 1) + [label])


# --------------------------------------------------------------------------------------------------------------
# The head


@dataclass(frozen=True)
class NoisyGradient:
    """One noisy sum of the shipped vectors at θ = 0, with the noise of `plan`: on which side of `plane` does it lie?

    Unless `is_everywhere`, sums of 0 have no noise.
    """

    plan: HeadStage
    plane: HalfSpace
    is_everywhere: bool = True

    def __call__(self, table: Table, entropy: Entropy) -> str:
        dense, cells = np.zeros((1, FEATURES.size), dtype=np.int32), np.zeros((1, 1, 2), dtype=np.int32)
        parts = table.source.head_sums(FEATURES, self.plan.bound).total(dense, cells)
        total = np.concatenate([part.reshape(-1) for part in parts])
        noisy = total + discrete_gaussians(self.plan.scale, total.size, entropy)
        shown = [value if self.is_everywhere or there else 0 for value, there in zip(noisy, total, strict=True)]
        return "beyond" if self.plane.holds(shown) else "not beyond"


FEATURES = HeadFeatures(
    ColumnVectors(centres=(0.0,), scales=(0.0,), constant=1, features=1), Ferns(MIDDLE, depth=1, features=1), share=128
)
BOUND = 512
LENGTH = 362
"""‖φ‖² goes in halves to v = (0, 1) and to the cell: both have so much of M, ⌊M/√2⌋."""
STEP = HeadStage(2, *shape_of(FEATURES), 1, bound=BOUND, scale=4.0 * 2 * BOUND, momentum=0.0, step_size=1.0)
HALF_THE_NOISE = replace(STEP, scale=STEP.scale / 2.0)
CLAIM = head_guarantee(STEP, 1e-6)
RIGHT_CELL = HalfSpace((0, 0, 0, 1), 0)


def _at_its_worst(plan: HeadStage) -> NoisyGradient:
    """With the plane beyond which a noisy sum speaks against the second neighbour by ε, twice that with half the noise.

    The sums of two records on the right are 2·362 times (0, 1, 0, 1), and 0.
    """
    loss = CLAIM.epsilon * STEP.scale / plan.scale
    shift = 2 * LENGTH
    return NoisyGradient(plan, HalfSpace((0, 1, 0, 1), math.floor((plan.scale**2 * loss + shift**2) / shift)))


def _on_the_right(label: int) -> Table:
    """Two records on the right: a 1, whose vector is φ, and one with `label`."""
    return Table.of([RIGHT, RIGHT], [1, label])


BUGS: Sequence[Bug] = (
    bug(
        "weights relative to the heaviest",
        "Boosting divides the weights by the largest one: a record that trees get wrong makes all others light.",
        claim=boosting_guarantee(BOOSTING),
        broken=RelativeBoosting(BOOSTING),
        correct=Boosting(BOOSTING),
        neighbours=(_agreeing_but(0), _agreeing_but(1)),
    ),
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
        "Noise is added where a sum is not 0 alone: a cell that shows exactly 0 has no record.",
        claim=CLAIM,
        broken=NoisyGradient(STEP, RIGHT_CELL, is_everywhere=False),
        correct=NoisyGradient(STEP, RIGHT_CELL),
        neighbours=(Table.of([LEFT, RIGHT], [1, 1]), Table.of([LEFT, LEFT], [1, 1])),
    ),
)
