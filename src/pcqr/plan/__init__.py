"""Plans and answers: the frozen parameters that an algorithm runs with, and what it says.

A plan is made from public numbers alone (see `pcqr.planning`) and never changes while a release lives. The
algorithms trust it: they compute their own guarantee from it, and the estimators check that guarantee against
what the user asked for before any noise is drawn.
"""

from pcqr.plan.answers import Answer, BatchCost, Kind, Usage, counted
from pcqr.plan.asked import Aim, Budget, Pins
from pcqr.plan.plans import (
    BoostedPlan,
    ClassifierPlan,
    ComparedPlan,
    CountedPlan,
    DrawPlan,
    LinearPlan,
    Mode,
    Plan,
    Prediction,
    QueryPlan,
    UniversalPlan,
    VotingPlan,
)
from pcqr.plan.stages import (
    LARGEST_LINEAR_TERM,
    MOST_LINEAR_RECORDS,
    BoostingStage,
    ComparedStage,
    CountedStage,
    DescentStage,
    DrawStage,
    VoteStage,
)

__all__ = [
    "LARGEST_LINEAR_TERM",
    "MOST_LINEAR_RECORDS",
    "Aim",
    "Answer",
    "BatchCost",
    "BoostedPlan",
    "BoostingStage",
    "Budget",
    "ClassifierPlan",
    "ComparedPlan",
    "ComparedStage",
    "CountedPlan",
    "CountedStage",
    "DescentStage",
    "DrawPlan",
    "DrawStage",
    "Kind",
    "LinearPlan",
    "Mode",
    "Pins",
    "Plan",
    "Prediction",
    "QueryPlan",
    "UniversalPlan",
    "Usage",
    "VoteStage",
    "VotingPlan",
    "counted",
]
