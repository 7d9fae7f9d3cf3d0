"""Boosting by exact draws: a tree a round, from records weighted by what the trees before got wrong.

The weak learner is the exponential mechanism itself, over all trees of a small depth whose leaves may abstain
(`pcqr.hypotheses.trees.weighted`). After every round a record's weight is computed anew from the record and from the
trees released so far, and from nothing else, so the rounds compose adaptively. Proof: proofs/boosting.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pcqr.accounting import BoundedRangeEvent, Repeated, compose
from pcqr.entropy import Entropy, SeededEntropy
from pcqr.errors import DataError, ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.trees import DecisionTree, Predicate
from pcqr.hypotheses.trees.boosted import VOTES, BoostedTrees
from pcqr.hypotheses.trees.weighted import draw_tree, log_probability_error
from pcqr.noise import Chooser
from pcqr.plan import BoostingStage
from pcqr.progress import tracked
from pcqr.records import Records
from pcqr.records.weighing import GRID, Weights


@np.errstate(all="ignore")  # whether a float underflows depends on the records
def boost(records: Records, predicates: Sequence[Predicate], plan: BoostingStage, entropy: Entropy) -> BoostedTrees:
    """Draw the J trees of `plan` and return them for publication: `boosting_guarantee` holds for all of them together.

    A record's lead is the number of trees for its own label minus those against it.
    """
    _check_records(records, predicates, plan)
    weighted, weight = records.weighing(predicates), weight_of_lead(plan)
    trees = []
    for offered in tracked("trees", offered_predicates(plan)):
        weights = weighted.weigh(weight, offered, plan.depth)
        asked = [predicates[b] for b in offered]
        root = draw_tree(weights, asked, plan.inverse_temperature, Chooser(entropy))
        trees.append(DecisionTree(root, records.width).simplified())
        weighted.follow((way, int(VOTES[leaf.label])) for way, leaf in trees[-1].paths())
    return BoostedTrees(tuple(trees), plan.step, records.width)


def weight_of_lead(plan: BoostingStage) -> Weights:
    """The weight in units of 1/G at leads −J, …, J: min(1, 2/(1 + e^{a·lead})), to the nearest unit. Public.

    That is the slope of the logistic loss at the margin a·lead, cut at margin 0 and doubled: the linear classifier's.
    """
    lead = np.arange(-plan.rounds, plan.rounds + 1)
    weights: Weights = np.rint(2 * GRID * expit(-plan.step * np.maximum(lead, 0))).astype(np.uint8)
    return weights


def offered_predicates(plan: BoostingStage) -> tuple[NDArray[np.int64], ...]:
    """For each round the positions of the predicates that it may ask, increasing: a function of the plan alone.

    The coins are public and are made by the plan's seed. The source that draws trees must not be used here: how much of
    it a round consumes depends on the records.
    """
    public = SeededEntropy(plan.seed)
    return tuple(np.sort(public.permutation(plan.predicates)[: plan.offered]) for _ in range(plan.rounds))


def boosting_guarantee(plan: BoostingStage) -> Guarantee:
    """All J trees together: pure, the sum of the rounds' own ε, unless `plan.delta` buys a smaller one.

    A round has range 2η + 4λ, λ the sampler's numerical bound; Rényi divergences add up (proofs/boosting.md).
    """
    slack = log_probability_error(plan.records, plan.offered, plan.depth, plan.inverse_temperature)
    rounds = [Repeated(BoundedRangeEvent(2.0 * plan.inverse_temperature + 4.0 * slack), plan.rounds)]
    stated = compose(rounds, 0.0, accountant="basic")
    if plan.delta > 0:
        stated = min(stated, compose(rounds, plan.delta, accountant="Rényi"), key=lambda figure: figure.epsilon)
    return replace(stated, proof="boosting").explained(
        f"{plan.rounds} trees, each drawn from records weighted by the trees before it"
    )


def _check_records(records: Records, predicates: Sequence[Predicate], plan: BoostingStage) -> None:
    if records.size != plan.records or len(predicates) != plan.predicates:
        raise ParameterError(
            "plan",
            f"a plan for {records.size:,} records and {len(predicates)} predicates",
            f"one for {plan.records:,} and {plan.predicates}",
        )
    if records.labels != 2:
        raise DataError("y", "records with 2 labels", f"{records.labels} labels")
    widest = 1 + max(predicate.feature for predicate in predicates)
    if records.width < widest:
        raise DataError("X", f"the {widest} columns that the predicates ask about", f"{records.width} columns")
