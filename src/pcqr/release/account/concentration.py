"""The ρ of a release, where a better one than ε²/2 is proved (proofs/account.md)."""

from __future__ import annotations

from dataclasses import replace

from pcqr.guarantee import rounded_up
from pcqr.plan import CountedPlan, DoubtedStage, DrawPlan, HeadPlan, HeadStage, PilotedPlan, PilotedStage, Plan


def concentration(plan: Plan) -> float | None:
    """ρ such that all that the plan shows is ρ-zCDP, rounded up: in one piece, or in answers that are so one by one.

    None: no more than ε²/2 is proved. For exactly these plans: one that is made of them may show other things, too.
    """
    match plan:
        case DrawPlan() if type(plan) is DrawPlan:  # a UniversalPlan also has votes
            return _of_range(2.0 * (plan.guarantee.epsilon - plan.publish.inverse_temperature))
        case HeadPlan():
            return _of_sums(plan.head)
        case PilotedPlan():
            return _of_pilots(plan.piloted)
        case CountedPlan():
            return _of_counted(plan)
    return plan.concentration


def _of_counted(plan: CountedPlan) -> float:
    """Of the count and the costliest of what may come after it.

    The slack of a tree, 2λ, grows with depth and η: that of the tree for a rare label is the larger one.
    """
    stage = plan.counted
    slack = plan.guarantee.epsilon - stage.count - 2.0 * stage.tree
    ways = [_of_range(2.0 * (stage.tree + slack)), _of_sums(stage.careful)]
    match stage.otherwise:
        case HeadStage() as head:
            ways.append(_of_sums(head))
        case DoubtedStage() as doubted:
            midway = _of_sums(replace(doubted.head, steps=doubted.midway)) + _of_range(2.0 * (doubted.tree + slack))
            ways.append(_of_lead(doubted) + max(midway, _of_sums(doubted.head)))
        case PilotedStage() as piloted:
            ways.append(_of_pilots(piloted))
    return rounded_up(stage.count * stage.count / 2.0 + max(ways))


def _of_pilots(stage: PilotedStage) -> float:
    """Of pilots, their comparison and the costliest head (proofs/piloted.md)."""
    return rounded_up(sum(map(_of_sums, stage.pilots)) + _of_lead(stage) + max(map(_of_sums, stage.heads)))


def _of_lead(stage: PilotedStage | DoubtedStage) -> float:
    """Of one noisy comparison."""
    return rounded_up(1.0 / (2.0 * stage.comparison.noise_multiplier**2))


def _of_range(length: float) -> float:
    """Of a release whose loss lies in an interval of this length."""
    return rounded_up(length * length / 8.0)


def _of_sums(descent: HeadStage) -> float:
    """Of T sums with discrete Gaussian noise."""
    multiplier = descent.event.noise_multiplier
    return rounded_up(descent.steps / (2.0 * multiplier * multiplier))
