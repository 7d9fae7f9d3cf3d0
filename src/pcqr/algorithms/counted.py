"""A tree where one label is rare, else a linear classifier: a noisy count of the labels decides.

What a linear classifier learns from are the records of both labels. Where one of them is rare, noise hides it, while a
tree starts from the common label and loses nothing. How rare it is costs a fiftieth of ε to know. Proof:
proofs/counted.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pcqr.accounting import PureEvent, compose
from pcqr.algorithms.linear import check_records, linear_descent, linear_guarantee
from pcqr.algorithms.sspp import sspp, sspp_guarantee
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Hypothesis, Labels, Points
from pcqr.hypotheses.linear import LinearFeatures
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.stability import scale_for
from pcqr.noise import discrete_laplace
from pcqr.plan import CountedPlan, PublishPlan


def by_rarer_label(
    trees: DecisionTrees, features: LinearFeatures, X: Points, y: Labels, plan: CountedPlan, entropy: Entropy
) -> Hypothesis:
    """Count the records of the rarer label, with noise; return a linear classifier from `plan.fewest` on, else a tree.

    `counted_guarantee` holds for what is returned, and would hold for the noisy count as well.
    """
    points, labels = check_records(features, X, y, plan.linear)
    if trees.labels != 2 or plan.linear.classes != 2:
        raise ParameterError("plan", "a plan for 2 classes", "one for more")
    ones = int(np.count_nonzero(labels)) + discrete_laplace(scale_for(plan.count), entropy)
    if min(ones, plan.linear.records - ones) < plan.fewest:
        return sspp(trees, points, labels, None, PublishPlan(plan.tree), entropy)
    return linear_descent(features, points, labels, plan.linear, entropy)


def counted_guarantee(plan: CountedPlan, trees: DecisionTrees, features: int, delta: float) -> Guarantee:
    """The count and then the worse of the two, with a δ of at most `delta` (proofs/counted.md)."""
    count = PureEvent(plan.count)
    tree = sspp_guarantee(PublishPlan(plan.tree), trees, plan.linear.records, features, None)
    pure = compose([count, PureEvent(tree.epsilon)], 0.0, accountant="basic")
    stated = linear_guarantee(plan.linear, delta, beside=(count,))
    return replace(stated, epsilon=max(stated.epsilon, pure.epsilon), proof="counted").explained(
        "a noisy count of the labels, and then a linear classifier's noisy sums or a tree, whichever costs more"
    )
