"""Boosting whose weights depend on all records, and a linear classifier with noise for another adjacency."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcqr.algorithms.boosting import boost, boosting_guarantee, offered_predicates, weight_of_lead
from pcqr.algorithms.linear import linear_guarantee
from pcqr.audit.exact.sums import HalfSpace
from pcqr.audit.statistical.transcripts import Table
from pcqr.audit.zoo.base import Bug, bug
from pcqr.entropy import Entropy
from pcqr.hypotheses.trees import DecisionTree, Predicate
from pcqr.hypotheses.trees.boosted import VOTES, BoostedTrees, votes_of
from pcqr.hypotheses.trees.weighted import draw_tree
from pcqr.noise import Chooser, discrete_gaussians
from pcqr.plan import BoostingStage, DescentStage
from pcqr.records.features import LinearFeatures
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
# The linear classifier


@dataclass(frozen=True)
class NoisyGradient:
    """One noisy sum of the shipped vectors at θ = 0, with the noise of `plan`: on which side of `plane` does it lie?"""

    plan: DescentStage
    plane: HalfSpace

    def __call__(self, table: Table, entropy: Entropy) -> str:
        (total,) = table.source.sums(FEATURES, self.plan.bound).total(np.zeros((1, FEATURES.size)))
        noisy = total + discrete_gaussians(self.plan.scale, total.size, entropy)
        return "beyond" if self.plane.holds(noisy) else "not beyond"


FEATURES = LinearFeatures(MIDDLE, holding=(192,), failing=(0,), features=1)
BOUND = 320
"""M, and ‖φ‖ on the right."""
STEP = DescentStage(2, 1, 1, bound=BOUND, scale=4.0 * 2 * BOUND, momentum=0.0, step_size=1.0)
HALF_THE_NOISE = replace(STEP, scale=STEP.scale / 2.0)
CLAIM = linear_guarantee(STEP, 1e-6)


def _at_its_worst(plan: DescentStage) -> NoisyGradient:
    """With the plane beyond which a noisy sum speaks against the second neighbour by ε, twice that with half the noise.

    The sums are 2φ = 128·(3, 4), of norm 2M, and 0.
    """
    loss = CLAIM.epsilon * STEP.scale / plan.scale
    return NoisyGradient(plan, HalfSpace((3, 4), math.floor((plan.scale**2 * loss + plan.sensitivity**2 / 2) / 128)))


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
)
