"""A tree or a linear classifier, whichever makes fewer mistakes: both are drawn privately, and so is the choice.

Which of the two suits a table cannot be told from public numbers, and between the sizes at which one of them is surely
better it matters. A small tree and the choice cost little beside the linear classifier, so all three are paid for out
of one (ε, δ) and the winner is published. Proof: proofs/compare.md.
"""

from __future__ import annotations

from dataclasses import replace

from pcqr.accounting import PureEvent
from pcqr.algorithms.linear import check_records, linear_descent, linear_guarantee
from pcqr.algorithms.sspp import sspp, sspp_guarantee
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.finite import Finite, Member
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees, Leaf
from pcqr.plan import ComparedStage, DrawStage
from pcqr.records import Records
from pcqr.records.features import LinearFeatures

ODDS = 8
"""How many times as likely the linear classifier is where both make as many mistakes.

The tree was drawn for its few mistakes on these very records, so it has to be ahead by more than chance.
"""


def better_of_two(
    trees: DecisionTrees, features: LinearFeatures, records: Records, plan: ComparedStage, entropy: Entropy
) -> Hypothesis:
    """Draw one of `trees`, descend to a linear classifier over `features`, and return the better one.

    P(tree) : P(linear) = e^{−η·mistakes(tree)} : 8·e^{−η·mistakes(linear)}, η = `plan.comparison`.
    `compared_guarantee` holds for what is returned.
    """
    check_both(trees, features, records, plan)
    tree = sspp(replace(trees, depth=plan.depth), records, None, DrawStage(plan.tree), entropy)
    linear = linear_descent(features, records, plan.linear, entropy)
    chosen = sspp(Finite((tree, *[linear] * ODDS)), records, None, DrawStage(plan.comparison), entropy)
    if not isinstance(chosen, Member):
        raise TypeError(type(chosen).__name__)
    return tree if chosen.index == 0 else linear


def check_both(trees: DecisionTrees, features: LinearFeatures, records: Records, plan: ComparedStage) -> None:
    """Raises where something does not fit what the two learners take, before anything is drawn."""
    if trees.labels != 2 or plan.linear.classes != 2:
        raise ParameterError("plan", "a plan for 2 classes", "one for more")
    if trees.predicates != features.predicates:
        raise ParameterError("features", "made of the predicates of the trees", "others")
    replace(trees, depth=plan.depth).depth_for(plan.linear.records)
    check_records(features, records, plan.linear)


def compared_guarantee(plan: ComparedStage, trees: DecisionTrees, features: int, delta: float) -> Guarantee:
    """The tree, the T noisy sums and the choice together, with a δ of at most `delta` (proofs/compare.md)."""
    stated = linear_guarantee(plan.linear, delta, beside=tuple(map(PureEvent, _pure_parts(plan, trees, features))))
    return replace(stated, proof="compare").explained(
        "a linear classifier's noisy sums, a tree, and the choice between the two by their mistakes"
    )


def any_two(features: int) -> Finite:
    """Two public hypotheses: a choice between any two costs the same."""
    return Finite((DecisionTree(Leaf(0), features), DecisionTree(Leaf(1), features)))


def _pure_parts(plan: ComparedStage, trees: DecisionTrees, features: int) -> tuple[float, float]:
    """ε of the tree and of the choice, each by itself."""
    records = plan.linear.records
    tree = sspp_guarantee(DrawStage(plan.tree), replace(trees, depth=plan.depth), records, features, None)
    choice = sspp_guarantee(DrawStage(plan.comparison), any_two(features), records, features, None)
    return tree.epsilon, choice.epsilon
