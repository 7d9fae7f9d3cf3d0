"""Where most queries will stay unanswered: said before anything is spent, from the plan alone."""

from __future__ import annotations

import warnings

from pcqr.errors import UnansweredWarning
from pcqr.plan import Plan, UniversalPlan, VotingPlan

MOST_UNANSWERED = 0.5
INSTEAD = (
    "publish a classifier instead, which answers any number of queries: UniversalRelease, PrivateClassifier "
    "(--algorithm universal, pcqr publish)"
)
BEFOREHAND = "plan() and pcqr fit --dry-run say so before anything is spent"


def is_short(plan: VotingPlan) -> bool:
    """Are most of the planned queries expected to get no label?"""
    return plan.expected_answers is not None and plan.expected_answers < (1.0 - MOST_UNANSWERED) * plan.queries


def warn_if_unanswered(plan: Plan) -> None:
    """Give an `UnansweredWarning` if most of the planned queries are expected to get no label.

    A function of public numbers. Not for a release that publishes a classifier: that one answers what votes do not.
    """
    if not isinstance(plan, VotingPlan) or isinstance(plan, UniversalPlan) or not is_short(plan):
        return
    warnings.warn(
        f"Of m = {plan.queries:,} planned queries about {rounded(plan.expected_answers or 0.0):,} are expected to be "
        f"answered before the unstable answers are used up; {INSTEAD}. {BEFOREHAND}.",
        UnansweredWarning,
        stacklevel=4,  # to the caller of `fit`: numpy's error state puts a frame around it
    )


def rounded(number: float) -> int:
    """A whole number with two significant digits."""
    return int(float(f"{number:.2g}"))
