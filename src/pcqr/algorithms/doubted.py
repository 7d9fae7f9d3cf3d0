"""A head that is doubted midway: would a tree make fewer mistakes?

Where columns act together and n·ε is small, one tree can be points ahead of a head without ferns. How well a tree could
do can be asked without drawing one: the least number of mistakes of all trees moves by at most 1 with a record. How
well the head will do shows midway, at no cost but that of the comparison, since the descent goes on from there. Proof:
proofs/doubted.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pcqr.accounting import PureEvent
from pcqr.algorithms.head import NoisySums, descents, sums_guarantee, sums_of
from pcqr.algorithms.leaves import shares, worst_leaf
from pcqr.algorithms.sspp import sspp, sspp_guarantee
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.hypotheses.trees.partition import least_mistakes
from pcqr.noise import discrete_gaussian
from pcqr.plan import DoubtedStage, DrawStage, HeadStage
from pcqr.records import Records
from pcqr.records.head_features import HeadFeatures

TREE_SHARE = 0.1
"""Of δ, for the case that a tree is drawn; the rest is for the case that the descent goes on."""


def doubted(
    trees: DecisionTrees, features: HeadFeatures, records: Records, plan: DoubtedStage, entropy: Entropy
) -> Hypothesis:
    """The head, or a tree where the best one is far ahead of it midway: `doubted_guarantee` holds for what comes out.

    It holds for the head midway and the noisy lead as well.
    """
    trees = replace(trees, depth=plan.depth)
    trees.check_countable(records)
    descent = descents(features, records, plan.head, entropy, (plan.midway, plan.head.steps))
    (midway,) = records.mistakes([next(descent)])
    best = least_mistakes(trees.count_on(records).counts)
    lead = plan.bound * (int(midway) - best) // records.whole + discrete_gaussian(plan.scale, entropy)
    if lead >= plan.bound * plan.tree_from:
        descent.close()  # no more sums, and their memory and progress are free
        return sspp(trees, records, None, DrawStage(plan.tree), entropy)
    (head,) = descent
    return head


def doubted_guarantee(
    plan: DoubtedStage, trees: DecisionTrees, features: int, delta: float, *, beside: Sequence[PureEvent] = ()
) -> Guarantee:
    """The worse of the two that may come out, and the sum of their δ, at most `delta` (proofs/doubted.md)."""
    drawn = replace(trees, depth=plan.depth)
    tree = sspp_guarantee(DrawStage(plan.tree), drawn, plan.records, features, None)
    whole, for_head = [sums_of(plan.head), lead_of(plan)], shares(delta, TREE_SHARE)[1]
    leaves = {
        "a tree": tree_leaf(plan.head, plan.midway, lead_of(plan), delta, (*beside, PureEvent(tree.epsilon))),
        "a head": sums_guarantee(whole, for_head, beside=beside),
    }
    return worst_leaf(leaves, proof="doubted").explained("a head that is compared with the best tree midway")


def tree_leaf(head: HeadStage, midway: int, lead: NoisySums, delta: float, beside: Sequence[PureEvent]) -> Guarantee:
    """What a tree, which is among those `beside`, costs together with the sums and the lead that led to it."""
    half = replace(sums_of(head), steps=midway, draws=midway * (head.draws // head.steps))
    return sums_guarantee([half, lead], shares(delta, TREE_SHARE)[0], beside=beside)


def lead_of(plan: DoubtedStage) -> NoisySums:
    return NoisySums(plan.comparison, steps=1, scale=plan.scale, draws=1)
