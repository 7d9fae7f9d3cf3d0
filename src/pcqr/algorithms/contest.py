"""A pilot of the head against the best shallow tree, by their mistakes, with noise; then a head, with a tree or not.

Whether columns act together, or one of them says it all, is what public numbers cannot tell, and it decides between a
head with a tree beside it and one without. A short head tells how well heads do on these records; how well trees could do is known
without drawing one. Proof: proofs/contest.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pcqr.algorithms.head import NoisySums, check_records, descend, evidence_for, sums_guarantee, sums_of
from pcqr.algorithms.leaves import shares, worst_leaf
from pcqr.algorithms.stacked import check_stacked, stacked, stacked_guarantee
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.head import Head
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.hypotheses.trees.partition import least_mistakes
from pcqr.noise import discrete_gaussian
from pcqr.plan import ContestStage
from pcqr.progress import under_way
from pcqr.records import Records
from pcqr.records.arrays import Points
from pcqr.records.head_features import HeadFeatures

STACKED_SHARE = 0.2
"""Of δ, for a head with a tree beside it; the rest is for a head alone."""


def contest(
    trees: DecisionTrees,
    maps: Sequence[HeadFeatures],
    records: Records,
    plan: ContestStage,
    entropy: Entropy,
    *,
    public: Points | None = None,
) -> Head:
    """A head, with a tree beside it where the best shallow one is far enough ahead: `contest_guarantee` holds.

    It holds for the pilot and the noisy lead as well. `maps` are those of the pilot and of the head, which begins where
    the pilot ended if they are one. The `public` rows are needed where pilot or head is a posterior.
    """
    check_contest(trees, maps, records, plan, public)
    for_pilot, for_head = maps
    before, after = (evidence_for(*each, public) for each in zip(maps, (plan.pilot, plan.head), strict=True))
    pilot = descend(for_pilot, records, plan.pilot, entropy, evidence=before, called="pilot")
    with under_way("comparing the pilot with trees"):
        wrong = int(records.mistakes([pilot])[0])
        best = least_mistakes(replace(trees, depth=plan.shallow).count_on(records).counts)
    lead = plan.bound * (wrong - best) // records.whole + discrete_gaussian(plan.scale, entropy)
    if lead >= plan.bound * plan.tree_from:
        return stacked(trees, for_head, records, plan.stacked, entropy, public=public)
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
    replace(trees, depth=plan.shallow).check_countable(records)
    check_stacked(trees, maps[1], records, plan.stacked, public)
    for features, stage in zip(maps, (plan.pilot, plan.head), strict=True):
        check_records(features, records, stage)
        evidence_for(features, stage, public)


def contest_guarantee(
    plan: ContestStage, trees: DecisionTrees, features: int, delta: float
) -> Guarantee:
    """The worse of the two that may come out, each with pilot and lead, and the δ of both (proofs/contest.md)."""
    before = [sums_of(plan.pilot), NoisySums(plan.comparison, steps=1, scale=plan.scale, draws=1)]
    for_stacked, for_head = shares(delta, STACKED_SHARE)
    leaves = {
        "a head beside a tree": stacked_guarantee(plan.stacked, trees, features, for_stacked, before=before),
        "a head": sums_guarantee([*before, sums_of(plan.head)], for_head),
    }
    return worst_leaf(leaves, proof="contest").explained(
        "a pilot, its noisy comparison with trees, and what it speaks for"
    )
