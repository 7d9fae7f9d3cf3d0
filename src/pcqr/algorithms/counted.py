"""A tree where one label is rare, else a head: a noisy count of the labels decides.

What a head learns from are the records of both labels. Where one of them is rare, noise hides it, while a tree starts
from the common label and loses nothing. How rare it is costs a fiftieth of ε to know. Proof: proofs/counted.md.
"""

from __future__ import annotations

from dataclasses import replace

from pcqr.accounting import PureEvent, compose
from pcqr.algorithms.head import check_records, descend, head_guarantee
from pcqr.algorithms.sspp import sspp, sspp_guarantee
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.stability import scale_for
from pcqr.noise import discrete_laplace
from pcqr.plan import CountedStage, DrawStage
from pcqr.records import Records
from pcqr.records.head_features import HeadFeatures


def by_rarer_label(
    trees: DecisionTrees, features: HeadFeatures, records: Records, plan: CountedStage, entropy: Entropy
) -> Hypothesis:
    """Count the records of the rarer label, with noise; return a head from `plan.fewest` on, else a tree.

    `counted_guarantee` holds for what is returned, and would hold for the noisy count as well.
    """
    check_both(trees, features, records, plan)
    ones = int(records.label_counts()[1]) + discrete_laplace(scale_for(plan.count), entropy)
    if min(ones, plan.head.records - ones) < plan.fewest:
        return sspp(replace(trees, depth=plan.depth), records, None, DrawStage(plan.tree), entropy)
    return descend(features, records, plan.head, entropy)


def check_both(trees: DecisionTrees, features: HeadFeatures, records: Records, plan: CountedStage) -> None:
    """Raises where something does not fit what the two learners take, before anything is drawn."""
    if trees.labels != 2:
        raise ParameterError("plan", "a plan for 2 classes", "one for more")
    replace(trees, depth=plan.depth).depth_for(plan.head.records)
    check_records(features, records, plan.head)


def counted_guarantee(plan: CountedStage, trees: DecisionTrees, features: int, delta: float) -> Guarantee:
    """The count and then the worse of the two, with a δ of at most `delta` (proofs/counted.md)."""
    count = PureEvent(plan.count)
    drawn = replace(trees, depth=plan.depth)
    tree = sspp_guarantee(DrawStage(plan.tree), drawn, plan.head.records, features, None)
    with_tree = compose([count, PureEvent(tree.epsilon)], 0.0, accountant="basic")
    with_sums = head_guarantee(plan.head, delta, beside=(count,))
    halves = (("head", with_sums), ("tree", with_tree))
    steps = tuple(f"where a {name} comes out: {step}" for name, half in halves for step in half.steps)
    worse = max(with_sums.epsilon, with_tree.epsilon)
    return replace(with_sums, epsilon=worse, steps=steps, proof="counted").explained(
        f"a noisy count of the labels and then a head (ε = {with_sums.epsilon:.6g}, δ = {with_sums.delta:.3g}, with "
        f"the count) or a tree (ε = {with_tree.epsilon:.6g}, with the count)"
    )
