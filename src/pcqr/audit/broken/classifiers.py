"""LinearClassifiers with too little noise, or not everywhere; questions without noise; vectors that depend on all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcqr.algorithms.asked import asked_guarantee
from pcqr.algorithms.contest import contest_guarantee
from pcqr.algorithms.linear import linear_guarantee, shape_of
from pcqr.algorithms.stacked import stacked_guarantee
from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.cases.classifiers import (
    IN_QUESTION,
    ONE_CUT,
    Contest,
    Question,
    Stacked,
    asked_plan,
    contest_plan,
    one_more,
    stacked_plan,
)
from pcqr.audit.exact.sums import HalfSpace
from pcqr.audit.statistical.transcripts import Table
from pcqr.entropy import Entropy
from pcqr.noise import discrete_gaussians
from pcqr.plan import LinearStage
from pcqr.records.feature_map import FeatureMap
from pcqr.records.ferns import Ferns
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import ColumnVectors

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
CLAIM = linear_guarantee(STEP, 1e-6)
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


ASKED = asked_plan(records=2, question=0.5, multiplier=2.0, tree=0.5)
UNPAID = replace(ASKED, question=10_000.0)
"""Noise of which not one draw in e^10,000 is other than 0."""

CONTEST = contest_plan(records=2, multiplier=1.0, tree=0.5)
UNHIDDEN = replace(CONTEST, scale=0.005)
"""Noise of which not one draw in e^20,000 is other than 0."""

STACKED = stacked_plan(records=4, multiplier=2.0, tree=0.5)
ALL_FOR_THE_HEAD = replace(STACKED, linear=replace(STACKED.linear, scale=0.75 * STACKED.linear.scale))
"""Its sums alone are within the claim."""


BUGS: Sequence[Bug] = (
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
    bug(
        "vectors relative to the longest",
        "Each record's vector is divided by the longest one of the table: a long one makes all others short.",
        claim=linear_guarantee(LONE_STEP, 1e-6),
        broken=NoisyTotal(LONE_STEP, is_relative=True),
        correct=NoisyTotal(LONE_STEP),
        neighbours=(_short_but(0.0), _short_but(1_000.0)),
    ),
    bug(
        "question not paid for",
        "Whether a tree or a linear classifier comes out is decided by the mistakes of the best tree without noise.",
        claim=asked_guarantee(ASKED, ONE_CUT, 1, 0.01),
        broken=Question(UNPAID),
        correct=Question(ASKED),
        neighbours=IN_QUESTION[2],
    ),
    bug(
        "contest without noise",
        "Whether a tree or a linear classifier comes out is decided by their mistakes: those of a noisy pilot less those of the "
        "best tree, without noise.",
        claim=contest_guarantee(CONTEST, ONE_CUT, 1, 0.05),
        broken=Contest(UNHIDDEN),
        correct=Contest(CONTEST),
        neighbours=IN_QUESTION[2],
    ),
    bug(
        "tree that is not paid for",
        "A linear classifier has all of ε for its sums, as though the tree that it asks about had not been drawn from the same "
        "records.",
        claim=stacked_guarantee(STACKED, ONE_CUT, 1, 0.001),
        broken=Stacked(ALL_FOR_THE_HEAD),
        correct=Stacked(STACKED),
        neighbours=one_more(4)[0],
    ),
)
