"""An exact draw of a tree whose leaves may abstain, from records that carry weights.

A record has a label y ∈ {0, 1} and an integer weight w ∈ {0, …, G}, G = `GRID`; a leaf says 0, 1 or ½. With B
predicates and depth D the draw is over all B^(2^D − 1)·3^(2^D) syntactic trees, η = `inverse_temperature`:

    P(t) ∝ e^{−η·cost(t)},    cost(t) = Σᵢ (wᵢ/G)·|t(xᵢ) − yᵢ|.

The recursion is that of a published tree (partition.py) with another leaf. With W_c the weight of class c at a node,

    L(node) = (e^{−η·W₁/G} + e^{−η·W₀/G} + e^{−η·(W₀+W₁)/(2G)}) / 3        it says 0, says 1, abstains
            = e^{−2θ·min W} · (1 + q + q²) / 3,     θ = η/(2G),  q = e^{−θ·|W₀−W₁|}.

Costs are whole numbers of units 1/(2G), a wrong label 2w of them and ½ w, so that nothing is rounded on the way: a
record adds 0 to 2G units, whatever the tree (proofs/boosting.md).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcqr.hypotheses.trees.growing import drawn_tree
from pcqr.hypotheses.trees.partition import PartitionFunction, TreeLaw, Values
from pcqr.hypotheses.trees.splits import FloatArray
from pcqr.hypotheses.trees.tree import Leaf, Split
from pcqr.noise import UNIT_ROUNDOFF, Chooser
from pcqr.records.counting import ConjunctionCounts, IntArray
from pcqr.records.predicates import Predicate
from pcqr.records.weighing import GRID

ABSTAIN = 2
"""The label of a leaf that says ½."""

MOST_LOG_TREES = 600.0
"""ln of the most trees to draw from: every mass is at least the prior of one tree, far above what underflows."""


def draw_tree(
    weights: ConjunctionCounts, predicates: Sequence[Predicate], inverse_temperature: float, choose: Chooser
) -> Leaf | Split:
    """A tree of depth D with the law above, without the sides that its own path rules out.

    `weights` are those of `WeightedRecords.weigh`, in the order of `predicates`; D is their depth.
    """
    law = AbstainingLaw(inverse_temperature, weights.predicates)
    return drawn_tree(PartitionFunction(weights, law), predicates, choose)


class AbstainingLaw(TreeLaw):
    """The law above: three labels a leaf, no stop, costs in units of 1/(2G)."""

    decay = None
    stop_odds = 0.0

    def __init__(self, inverse_temperature: float, predicates: int) -> None:
        self.rate, self._predicates = inverse_temperature / (2 * GRID), predicates

    def leaves(self, sums: IntArray) -> Values:
        q = np.exp(-self.rate * np.abs(sums[..., 0] - sums[..., 1]))
        return 2 * sums.min(axis=-1), (1.0 + q + q * q) / 3.0

    def label_costs(self, sums: IntArray) -> IntArray:
        zeros, ones = sums
        return np.array([2 * ones, 2 * zeros, zeros + ones])

    def mean(self, total: FloatArray) -> FloatArray:
        return total / self._predicates


def log_probability_error(records: int, predicates: int, depth: int, inverse_temperature: float) -> float:
    """λ = 2^(D+1)·u·(D·(4·min(ηn, 746) + 7B + 32) + 6ηn + 4000) for n = `records` and B = `predicates` offered.

    A bound on |ln p̃(t) − ln p(t)|, p̃ the law that float64 arithmetic makes `draw_tree` draw from.
    """
    exponent = inverse_temperature * records
    level = 4.0 * min(exponent, 746.0) + 7.0 * predicates + 32.0
    return 2.0 ** (depth + 1) * UNIT_ROUNDOFF * (depth * level + 6.0 * exponent + 4000.0)
