"""The ρ of what is published at once, where it is better than ε²/2 (proofs/account.md)."""

from __future__ import annotations

from pcqr.guarantee import rounded_up
from pcqr.plan import CountedPlan, DrawPlan, HeadPlan, HeadStage, PilotedPlan, PilotedStage, Plan


def concentration(plan: Plan) -> float | None:
    """ρ such that all that the plan shows, in one piece, is ρ-zCDP, rounded up. None: no more than ε²/2 is proved.

    For exactly these plans: one that is made of them may show other things, too.
    """
    match plan:
        case DrawPlan() if type(plan) is DrawPlan:  # a UniversalPlan also has votes
            return _of_range(2.0 * (plan.guarantee.epsilon - plan.publish.inverse_temperature))
        case HeadPlan():
            return _of_sums(plan.head)
        case PilotedPlan():
            return _of_pilots(plan.piloted)
        case CountedPlan():
            count = plan.counted.count
            tree = _of_range(2.0 * (plan.guarantee.epsilon - count - plan.counted.tree))
            return rounded_up(count * count / 2.0 + max(tree, _of_sums(plan.counted.head)))
    return None


def _of_pilots(stage: PilotedStage) -> float:
    """Of pilots, their comparison and the costliest head (proofs/piloted.md)."""
    lead = 1.0 / (2.0 * stage.comparison.noise_multiplier**2)
    return rounded_up(sum(map(_of_sums, stage.pilots)) + lead + max(map(_of_sums, stage.heads)))


def _of_range(length: float) -> float:
    """Of a release whose loss lies in an interval of this length."""
    return rounded_up(length * length / 8.0)


def _of_sums(descent: HeadStage) -> float:
    """Of T sums with discrete Gaussian noise."""
    multiplier = descent.event.noise_multiplier
    return rounded_up(descent.steps / (2.0 * multiplier * multiplier))
