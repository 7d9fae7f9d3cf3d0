"""A head beside a tree: the label that the tree gives a record is one more column, which the head asks about.

A tree finds what columns do together, a head what each of them does by itself. Which of the two is more is what public
numbers cannot tell, and asking the records costs more than to have both: the draw of a tree is of bounded range, and
beside it a head keeps most of its strength. Stacking is Wolpert's (1992); here the tree is private first, and the same
records then tell what it is worth. Proof: proofs/stacked.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from pcqr.accounting import PureEvent
from pcqr.algorithms.evidence import MOST_COORDINATES, has_evidence
from pcqr.algorithms.head import check_records, descend, evidence_for, sums_guarantee, sums_of
from pcqr.algorithms.sspp import check_slack_of, sspp
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.head import Head
from pcqr.hypotheses.trees import DecisionTree, DecisionTrees
from pcqr.plan import DrawStage, StackedStage
from pcqr.records import Records
from pcqr.records.arrays import Points, as_points
from pcqr.records.head_features import HeadFeatures
from pcqr.records.vectors import ROWS_A_PREDICATE, PredicateVectors


def stacked(
    trees: DecisionTrees,
    features: HeadFeatures,
    records: Records,
    plan: StackedStage,
    entropy: Entropy,
    *,
    public: Points | None = None,
) -> Head:
    """Draw the tree and make the head beside it: `stacked_guarantee` holds for both.

    `features` is the map of predicates without the tree. The `public` rows say what the tree says how often.
    """
    check_stacked(trees, features, records, plan, public)
    tree = sspp(replace(trees, depth=plan.depth), records, None, DrawStage(plan.tree), entropy)
    if not isinstance(tree, DecisionTree):
        raise AssertionError("Trees draw a tree.")
    beside = features.beside(tree.simplified().root, public, plan.whitening, labels=trees.labels)
    head = replace(plan.head, dense=beside.size)
    return descend(beside, records, head, entropy, evidence=evidence_for(beside, head, public))


def check_stacked(
    trees: DecisionTrees,
    features: HeadFeatures,
    records: Records,
    plan: StackedStage,
    public: Points | None = None,
) -> None:
    """Raises where something does not fit, whatever tree is drawn, and before one is."""
    if trees.labels != plan.head.classes:
        raise ParameterError("plan", f"a plan for {trees.labels} classes", f"one for {plan.head.classes}")
    most = most_coordinates(features, trees.labels)
    replace(trees, depth=plan.depth).check_countable(records)
    check_records(features, records, replace(plan.head, dense=features.size))
    if public is not None:
        as_points(public, features.features, name="public", owner="the feature map")
    if most > plan.head.dense:
        raise ParameterError("plan", f"a head with room for {most} coordinates", plan.head.dense)
    if plan.head.is_posterior and not may_have_evidence(features, public):
        raise ParameterError("public", "public rows for a posterior, four for each predicate", "fewer")


def most_coordinates(features: HeadFeatures, labels: int = 2) -> int:
    """Return p at most, with any tree beside `features`, or with none that says anything.

    There is one coordinate for each predicate, for each of the tree's `labels` but the first and for the constant, or
    fewer directions that they are seen through.
    """
    if features.tree is not None or not isinstance(features.dense, PredicateVectors):
        raise ParameterError("features", "a feature map of predicates, without a tree", "another one")
    return max(features.dense.width + labels - 1, features.size)


def may_have_evidence(features: HeadFeatures, public: Points | None) -> bool:
    """Can the sums of a head for two classes be understood as a posterior, whatever tree is beside `features`?"""
    most, rows = most_coordinates(features), 0 if public is None else public.shape[0]
    return has_evidence(features) and most <= MOST_COORDINATES and rows >= ROWS_A_PREDICATE * most


def stacked_guarantee(
    plan: StackedStage,
    trees: DecisionTrees,
    features: int,
    delta: float,
    *,
    beside: Sequence[PureEvent] = (),
) -> Guarantee:
    """The tree, of bounded range, and all sums together, with a δ of at most `delta` (proofs/stacked.md).

    `beside` are pure releases on the same records, before or after them.
    """
    check_slack_of(plan.slack, plan.tree, replace(trees, depth=plan.depth), plan.records, features)
    stated = sums_guarantee([sums_of(plan.head)], delta, beside=(*beside, plan.draw))
    return replace(stated, proof="stacked").explained("a tree, and noisy sums for the head beside it")
