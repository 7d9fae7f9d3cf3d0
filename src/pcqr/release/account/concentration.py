"""The ρ of what is published at once, where it is better than ε²/2 (proofs/account.md)."""

from __future__ import annotations

from pcqr.guarantee import rounded_up
from pcqr.hypotheses.trees.weighted import log_probability_error
from pcqr.plan import BoostedPlan, CountedPlan, DescentStage, DrawPlan, HeadPlan, HeadStage, LinearPlan, Plan


def concentration(plan: Plan) -> float | None:
    """ρ such that all that the plan shows, in one piece, is ρ-zCDP, rounded up. None: no more than ε²/2 is proved.

    For exactly these plans: one that is made of them may show other things, too.
    """
    if type(plan) is DrawPlan:
        return _of_range(2.0 * (plan.guarantee.epsilon - plan.publish.inverse_temperature))
    if type(plan) is LinearPlan:
        return _of_sums(plan.descent)
    if type(plan) is HeadPlan:
        return _of_sums(plan.head)
    if type(plan) is BoostedPlan:
        stage, eta = plan.boosting, plan.boosting.inverse_temperature
        slack = log_probability_error(stage.records, stage.offered, stage.depth, eta)
        return rounded_up(stage.rounds * _of_range(2.0 * eta + 4.0 * slack))
    if type(plan) is CountedPlan:
        count = plan.counted.count
        tree = _of_range(2.0 * (plan.guarantee.epsilon - count - plan.counted.tree))
        return rounded_up(count * count / 2.0 + max(tree, _of_sums(plan.counted.linear)))
    return None


def _of_range(length: float) -> float:
    """Of a release whose loss lies in an interval of this length."""
    return rounded_up(length * length / 8.0)


def _of_sums(descent: DescentStage | HeadStage) -> float:
    """Of T sums with discrete Gaussian noise."""
    multiplier = descent.event.noise_multiplier
    return rounded_up(descent.steps / (2.0 * multiplier * multiplier))
