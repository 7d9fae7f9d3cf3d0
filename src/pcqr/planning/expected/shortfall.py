"""Where little can be expected of a release: said before anything is spent, from public numbers alone."""

from __future__ import annotations

import math
import warnings

from pcqr.errors import NothingLearned, UnansweredWarning
from pcqr.guarantee import rounded_text
from pcqr.plan import Plan, UniversalPlan, VotingPlan, counted
from pcqr.planning.classifiers.rule import least_strength

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


def nothing_learned(records: int, epsilon: float, predicates: int, classes: int) -> str | None:
    """Return in words that no more than the most common label can be expected, with the n and ε that change it.

    None where more can be. A function of n = `records`, ε and the numbers of predicates and classes.
    """
    least = least_strength(predicates, classes)
    if records * epsilon >= least:
        return None
    return (
        f"n·ε = {records * epsilon:.3g} is too small to learn from {counted(predicates, 'predicate')} and {classes} "
        f"classes: expect no more than the most common label. {enough(records, epsilon, least)}"
    )


def enough(records: int, epsilon: float, strength: float) -> str:
    """Return a sentence with the n at this ε, and the ε at this n, from which on n·ε is at least `strength`."""
    return (
        f"Take n ≥ {math.ceil(strength / epsilon):,} at this ε, or ε ≥ {rounded_text(strength / records, 2)} at this n."
    )


def warn_if_nothing_learned(told: str | None) -> None:
    """Give a `NothingLearned` warning with what `nothing_learned` says, if it says anything."""
    if told is not None:
        warnings.warn(told, NothingLearned, stacklevel=4)  # to the caller of `fit` or `plan`, as above


def rounded(number: float) -> int:
    """A whole number with two significant digits."""
    return int(float(f"{number:.2g}"))
