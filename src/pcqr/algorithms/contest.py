"""A pilot of the head against the best tree, by their mistakes, with noise; then a tree or a head.

Whether columns act together, or one of them says it all, is what public numbers cannot tell, and it decides between a
tree and a head without ferns. A short head tells how well heads do on these records; how well trees could do is known
without drawing one. Proof: proofs/contest.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pcqr.algorithms.head import NoisySums, check_records, descend, evidence_for, sums_guarantee, sums_of
from pcqr.algorithms.leaves import shares, worst_leaf
from pcqr.algorithms.sspp import check_slack_of, sspp
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.hypotheses.trees.fewest import fewest_mistakes
from pcqr.noise import discrete_gaussian
from pcqr.plan import ContestStage, DrawStage
from pcqr.progress import under_way
from pcqr.records import Records
from pcqr.records.arrays import Points
from pcqr.records.head_features import HeadFeatures

TREE_SHARE = 0.2
"""Of δ, for the tree, which comes after noisy sums; the rest is for the head."""


def contest(
    trees: DecisionTrees,
    maps: Sequence[HeadFeatures],
    records: Records,
    plan: ContestStage,
    entropy: Entropy,
    *,
    public: Points | None = None,
) -> Hypothesis:
    """A tree where the best one is far enough ahead of the pilot, else a head: `contest_guarantee` holds.

    It holds for the pilot and the noisy lead as well. `maps` are those of the pilot and of the head, which begins where
    the pilot ended if they are one. The `public` rows are needed where pilot or head is a posterior.
    """
    check_contest(trees, maps, records, plan, public)
    for_pilot, for_head = maps
    before, after = (evidence_for(*each, public) for each in zip(maps, (plan.pilot, plan.head), strict=True))
    pilot = descend(for_pilot, records, plan.pilot, entropy, evidence=before, called="pilot")
    with under_way("comparing the pilot with trees"):
        wrong = int(records.mistakes([pilot])[0])
        best = fewest_mistakes(replace(trees, depth=plan.shallow).count_on(records).counts)
    lead = plan.bound * (wrong - best) // records.whole + discrete_gaussian(plan.scale, entropy)
    if lead >= plan.bound * plan.tree_from:
        return sspp(replace(trees, depth=plan.depth), records, None, DrawStage(plan.tree), entropy)
    if for_pilot != for_head:
        return descend(for_head, records, plan.head, entropy, evidence=after)
    known = after if before is None or after is None else before  # what the pilot's sums say is not forgotten
    return descend(for_head, records, plan.head, entropy, start=pilot, evidence=known)


def check_contest(
    trees: DecisionTrees,
    maps: Sequence[HeadFeatures],
    records: Records,
    plan: ContestStage,
    public: Points | None = None,
) -> None:
    """Raises where something does not fit what may come out, before anything is drawn."""
    if trees.labels != 2:
        raise ParameterError("plan", "a plan for 2 classes", "one for more")
    if len(maps) != 2:
        raise ParameterError("maps", "those of the pilot and of the head", f"{len(maps)} of them")
    for depth in (plan.shallow, plan.depth):
        replace(trees, depth=depth).check_countable(records)
    for features, stage in zip(maps, (plan.pilot, plan.head), strict=True):
        check_records(features, records, stage)
        evidence_for(features, stage, public)


def contest_guarantee(plan: ContestStage, trees: DecisionTrees, features: int, delta: float) -> Guarantee:
    """The worse of the two that may come out, each with pilot and lead, and the δ of both (proofs/contest.md)."""
    before = [sums_of(plan.pilot), NoisySums(plan.comparison, steps=1, scale=plan.scale, draws=1)]
    check_slack_of(plan.slack, plan.tree, replace(trees, depth=plan.depth), plan.records, features)
    for_tree, for_head = shares(delta, TREE_SHARE)
    leaves = {
        "a tree": sums_guarantee(before, for_tree, beside=(plan.draw,)),
        "a head": sums_guarantee([*before, sums_of(plan.head)], for_head),
    }
    return worst_leaf(leaves, proof="contest").explained(
        "a pilot, its noisy comparison with trees, and what it speaks for"
    )
