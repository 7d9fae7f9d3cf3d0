"""What `auto` does with two classes: a noisy count of the labels decides between a tree and heads.

What a head learns from are the records of both labels. Where one of them is rare, noise hides it, while a tree starts
from the common label and loses nothing; where one is uncommon, a head that stops early makes fewer mistakes on other
records. Else there is a head with a tree beside it (`pcqr.algorithms.stacked`), or pilots choose a head
(`pcqr.algorithms.piloted`). How rare the rarer label is costs 3 % of ε to know. Proof: proofs/counted.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pcqr.accounting import PureEvent, compose
from pcqr.algorithms.head import check_records, descend, head_guarantee
from pcqr.algorithms.leaves import shares, worst_leaf
from pcqr.algorithms.piloted import piloted_guarantee, piloted_head
from pcqr.algorithms.sspp import sspp, sspp_guarantee
from pcqr.algorithms.stacked import check_stacked, stacked, stacked_guarantee
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.stability import scale_for
from pcqr.noise import discrete_laplace
from pcqr.plan import CountedStage, DrawStage, PilotedStage, StackedStage
from pcqr.records import Records
from pcqr.records.arrays import Points
from pcqr.records.head_features import HeadFeatures

CAREFUL_SHARE = 0.1
"""Of δ, for the careful head; the rest is for what comes out where both labels are common."""


def by_rarer_label(
    trees: DecisionTrees,
    maps: Sequence[HeadFeatures],
    records: Records,
    plan: CountedStage,
    entropy: Entropy,
    *,
    public: Points | None = None,
) -> Hypothesis:
    """Count the records of the rarer label, with noise, and publish what suits: `counted_guarantee` holds for it.

    It would hold for the noisy count, and for all that is released on the way, as well. The first of `maps` is that of
    the careful head. The `public` rows are needed where heads are posteriors.
    """
    careful, *others = maps
    _check(trees, careful, others, records, plan, public)
    ones = int(records.label_counts()[1]) // records.whole + discrete_laplace(scale_for(plan.count), entropy)
    rarer = min(ones, plan.records - ones)
    if rarer < plan.rare:
        return sspp(replace(trees, depth=plan.depth), records, None, DrawStage(plan.tree), entropy)
    if rarer < plan.uneven:
        return descend(careful, records, plan.careful, entropy)
    match plan.otherwise:
        case StackedStage() as stage:
            return stacked(trees, others[0], records, stage, entropy, public=public)
        case PilotedStage() as stage:
            return piloted_head(others, records, stage, entropy)


def _check(
    trees: DecisionTrees,
    careful: HeadFeatures,
    others: Sequence[HeadFeatures],
    records: Records,
    plan: CountedStage,
    public: Points | None,
) -> None:
    """Raises where something does not fit what may come out, before anything is drawn."""
    if trees.labels != 2:
        raise ParameterError("plan", "a plan for 2 classes", "one for more")
    last = plan.otherwise
    heads = last.heads if isinstance(last, PilotedStage) else (last.head,)
    if len(others) != len(heads):
        raise ParameterError("maps", f"{1 + len(heads)} feature maps", f"{1 + len(others)} of them")
    replace(trees, depth=plan.depth).check_countable(records)
    check_records(careful, records, plan.careful)
    if isinstance(last, StackedStage):
        check_stacked(trees, others[0], records, last, public)
        return
    for features, head in zip(others, heads, strict=True):
        check_records(features, records, head)


def counted_guarantee(plan: CountedStage, trees: DecisionTrees, features: int, delta: float) -> Guarantee:
    """The count and then the worst of what may come out: the largest ε, and the sum of all δ (proofs/counted.md)."""
    count = PureEvent(plan.count)
    drawn = replace(trees, depth=plan.depth)
    tree = sspp_guarantee(DrawStage(plan.tree), drawn, plan.records, features, None)
    for_careful, rest = shares(delta, CAREFUL_SHARE)
    leaves = {
        "a tree, where one label is rare": compose([count, PureEvent(tree.epsilon)], 0.0, accountant="basic"),
        "a careful head, where one is uncommon": head_guarantee(plan.careful, for_careful, beside=(count,)),
        "what suits, where both are common": _otherwise(plan.otherwise, trees, features, rest, count),
    }
    return worst_leaf(leaves, proof="counted").explained(
        "a noisy count of the labels and then one of these; each figure is with the count"
    )


def _otherwise(
    stage: StackedStage | PilotedStage,
    trees: DecisionTrees,
    features: int,
    delta: float,
    count: PureEvent,
) -> Guarantee:
    match stage:
        case StackedStage():
            return stacked_guarantee(stage, trees, features, delta, beside=(count,))
        case PilotedStage():
            return piloted_guarantee(stage, delta, beside=(count,))
