"""The ρ of a release, where a better one than ε²/2 is proved (proofs/account.md)."""

from __future__ import annotations

from pcqr.guarantee import rounded_up
from pcqr.plan import (
    AskedPlan,
    AskedStage,
    ContestStage,
    CountedPlan,
    DrawPlan,
    LinearPlan,
    LinearStage,
    PilotedPlan,
    PilotedStage,
    Plan,
    StackedStage,
)


def concentration(plan: Plan) -> float | None:
    """ρ such that all that the plan shows is ρ-zCDP, rounded up: in one piece, or in answers that are so one by one.

    None: no more than ε²/2 is proved. For exactly these plans: one that is made of them may show other things, too.
    """
    match plan:
        case DrawPlan() if type(plan) is DrawPlan:  # a UniversalPlan also has votes
            return _of_range(2.0 * (plan.guarantee.epsilon - plan.publish.inverse_temperature))
        case LinearPlan():
            return _of_sums(plan.linear)
        case PilotedPlan():
            return _of_pilots(plan.piloted)
        case AskedPlan():
            return _of_question(plan)
        case CountedPlan():
            return _of_counted(plan)
    return plan.concentration


def _of_counted(plan: CountedPlan) -> float:
    """Of the count and the costliest of what may come after it."""
    stage = plan.counted
    slack = plan.guarantee.epsilon - stage.count - 2.0 * stage.tree
    ways = [_of_range(2.0 * (stage.tree + max(slack, 0.0))), _of_sums(stage.careful)]
    match stage.otherwise:
        case StackedStage() as stacked:
            ways.append(_of_stacked(stacked))
        case PilotedStage() as piloted:
            ways.append(_of_pilots(piloted))
    return rounded_up(stage.count * stage.count / 2.0 + max(ways))


def _of_question(plan: AskedPlan) -> float:
    match plan.asked:
        case AskedStage() as asked:
            return _of_asked(asked, plan.guarantee.epsilon - asked.question - 2.0 * asked.tree)
        case ContestStage() as contest:
            return _of_contest(contest)


def _of_asked(stage: AskedStage, slack: float) -> float:
    """Of the question and the costlier of the two that may come after it; `slack` is at least the tree's 2λ."""
    of_tree, of_question = _of_range(2.0 * (stage.tree + max(slack, 0.0))), stage.question * stage.question / 2.0
    return rounded_up(of_question + max(of_tree, _of_sums(stage.linear)))


def _of_contest(stage: ContestStage) -> float:
    """Of pilot, lead and the costlier of the two that may come after them (proofs/contest.md)."""
    last = max(_of_range(stage.draw.epsilon), _of_sums(stage.linear))
    return rounded_up(_of_sums(stage.pilot) + _of_lead(stage) + last)


def _of_stacked(stage: StackedStage) -> float:
    """Of a tree and the sums of the linear classifier beside it (proofs/stacked.md)."""
    return rounded_up(_of_range(stage.draw.epsilon) + _of_sums(stage.linear))


def _of_pilots(stage: PilotedStage) -> float:
    """Of pilots, their comparison and the costliest linear classifier (proofs/piloted.md)."""
    return rounded_up(sum(map(_of_sums, stage.pilots)) + _of_lead(stage) + max(map(_of_sums, stage.linears)))


def _of_lead(stage: PilotedStage | ContestStage) -> float:
    """Of one noisy comparison."""
    return rounded_up(1.0 / (2.0 * stage.comparison.noise_multiplier**2))


def _of_range(length: float) -> float:
    """Of a release whose loss lies in an interval of this length."""
    return rounded_up(length * length / 8.0)


def _of_sums(descent: LinearStage) -> float:
    """Of T sums with discrete Gaussian noise."""
    multiplier = descent.event.noise_multiplier
    return rounded_up(descent.steps / (2.0 * multiplier * multiplier))
