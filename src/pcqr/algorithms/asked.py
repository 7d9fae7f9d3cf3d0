"""One private question, whether trees find what there is to find, and then a tree or a head.

How well a tree could do can be asked without drawing one: the least number of mistakes of all trees moves by at most 1
with a record. Where n·ε is small, a tree is ahead where it is small beside all records, or hardly smaller than with no
tree at all. Proof: proofs/asked.md.
"""

from __future__ import annotations

from dataclasses import replace

from pcqr.accounting import PureEvent, compose
from pcqr.algorithms.head import check_records, descend, evidence_for, head_guarantee
from pcqr.algorithms.leaves import shares, worst_leaf
from pcqr.algorithms.sspp import sspp, sspp_guarantee
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.hypotheses.trees.fewest import fewest_mistakes
from pcqr.mechanisms.stability import scale_for
from pcqr.noise import discrete_laplace
from pcqr.plan import AskedStage, DrawStage
from pcqr.records import Records
from pcqr.records.arrays import Points
from pcqr.records.head_features import HeadFeatures


def asked(
    trees: DecisionTrees,
    features: HeadFeatures,
    records: Records,
    plan: AskedStage,
    entropy: Entropy,
    *,
    public: Points | None = None,
) -> Hypothesis:
    """A tree or a head, by the noisy number of mistakes of the best shallow tree: `asked_guarantee` holds for it.

    It holds for that number as well. The `public` rows are needed where the head is a posterior.
    """
    check_asked(trees, features, records, plan)
    evidence = evidence_for(features, plan.head, public)
    shallow = replace(trees, depth=plan.shallow)
    best = fewest_mistakes(shallow.count_on(records).counts) // records.whole
    noisy = best + discrete_laplace(scale_for(plan.question), entropy)
    if noisy <= plan.few or noisy >= plan.many:
        return sspp(replace(trees, depth=plan.depth), records, None, DrawStage(plan.tree), entropy)
    return descend(features, records, plan.head, entropy, evidence=evidence)


def check_asked(trees: DecisionTrees, features: HeadFeatures, records: Records, plan: AskedStage) -> None:
    """Raises where something does not fit what may come out, before anything is drawn."""
    if trees.labels != 2:
        raise ParameterError("plan", "a plan for 2 classes", "one for more")
    for depth in (plan.shallow, plan.depth):
        replace(trees, depth=depth).check_countable(records)
    check_records(features, records, plan.head)


def for_head(delta: float) -> float:
    """All of δ but its last digits: the tree needs none."""
    return shares(delta, 0.0)[1]


def asked_guarantee(plan: AskedStage, trees: DecisionTrees, features: int, delta: float) -> Guarantee:
    """The worse of the two that may come out, and the δ of the head, at most `delta` (proofs/asked.md)."""
    question = PureEvent(plan.question)
    tree = sspp_guarantee(DrawStage(plan.tree), replace(trees, depth=plan.depth), plan.records, features, None)
    leaves = {
        "a tree": compose([question, PureEvent(tree.epsilon)], 0.0, accountant="basic"),
        "a head": head_guarantee(plan.head, for_head(delta), beside=(question,)),
    }
    return worst_leaf(leaves, proof="asked").explained("one private question, and then a tree or a head")
