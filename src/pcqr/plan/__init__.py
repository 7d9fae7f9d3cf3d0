"""Plans and answers: the frozen parameters that an algorithm runs with, and what it says.

A plan is made from public numbers alone (see `pcqr.planning`) and never changes while a release lives. The
algorithms trust it: they compute their own guarantee from it, and the estimators check that guarantee against
what the user asked for before any noise is drawn.

Examples
--------
Four names are no classes. `Kind` says how an answer came about, `Mode` whose constants a plan has, and `ClassifierPlan`
is any plan for a classifier that is published at once.

>>> from typing import get_args
>>> from pcqr.plan import ClassifierPlan, DrawPlan, Kind, Mode, VotingPlan
>>> get_args(Kind)
('stable', 'unstable', 'published', 'repeated')
>>> get_args(Mode)
('paper', 'calibrated')
>>> issubclass(DrawPlan, ClassifierPlan), issubclass(VotingPlan, ClassifierPlan)
(True, False)

The largest sums of a descent stay within 64 bits.

>>> from pcqr.plan import LARGEST_HEAD_TERM, MOST_HEAD_RECORDS
>>> MOST_HEAD_RECORDS * LARGEST_HEAD_TERM < 2**63
True
"""

from pcqr.plan.answers import Answer, BatchCost, Kind, Usage, counted
from pcqr.plan.asked import Aim, Budget, Pins
from pcqr.plan.contest import ContestStage
from pcqr.plan.counting import AskedStage, CountedStage
from pcqr.plan.head import LARGEST_HEAD_TERM, MOST_HEAD_RECORDS, HeadStage
from pcqr.plan.piloted import PilotedStage
from pcqr.plan.plans import DrawPlan, Mode, Plan, QueryPlan, UniversalPlan, VotingPlan
from pcqr.plan.prediction import Prediction
from pcqr.plan.published import AskedPlan, ClassifierPlan, CountedPlan, HeadPlan, PilotedPlan
from pcqr.plan.stacked import StackedStage
from pcqr.plan.stages import DrawStage, VoteStage

__all__ = [
    "LARGEST_HEAD_TERM",
    "MOST_HEAD_RECORDS",
    "Aim",
    "Answer",
    "AskedPlan",
    "AskedStage",
    "BatchCost",
    "Budget",
    "ClassifierPlan",
    "ContestStage",
    "CountedPlan",
    "CountedStage",
    "DrawPlan",
    "DrawStage",
    "HeadPlan",
    "HeadStage",
    "Kind",
    "Mode",
    "PilotedPlan",
    "PilotedStage",
    "Pins",
    "Plan",
    "Prediction",
    "QueryPlan",
    "StackedStage",
    "UniversalPlan",
    "Usage",
    "VoteStage",
    "VotingPlan",
    "counted",
]
