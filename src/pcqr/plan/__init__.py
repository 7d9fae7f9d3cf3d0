"""Plans and answers: the frozen parameters that an algorithm runs with, and what it says.

A plan is made from public numbers alone (see `pcqr.planning`) and never changes while a release lives. The
algorithms trust it: they compute their own guarantee from it, and the estimators check that guarantee against
what the user asked for before any noise is drawn.

Examples
--------
Three names are types, not classes. `Kind` says how an answer came about, `Mode` whose constants a plan has, `Vote` what
makes votes private.

>>> from typing import get_args
>>> from pcqr.plan import Kind, Mode, Vote
>>> get_args(Kind)
('stable', 'unstable', 'published', 'repeated')
>>> get_args(Mode)
('paper', 'calibrated')
>>> get_args(Vote)
('auto', 'stability', 'noisy max')

The largest sums of gradient descent stay within 64 bits.

>>> from pcqr.plan import LARGEST_TERM, MOST_RECORDS
>>> MOST_RECORDS * LARGEST_TERM < 2**63
True
"""

from pcqr.plan.answers import Answer, BatchCost, Kind, Usage, counted
from pcqr.plan.asked import Aim, Budget, Pins
from pcqr.plan.composition import Branch, Context, Sequence, Stage, account
from pcqr.plan.linear import LARGEST_TERM, MOST_RECORDS, ComparisonStage, LinearStage
from pcqr.plan.plans import (
    ClassifierPlan,
    Mode,
    NoisyMaxPlan,
    Plan,
    PublishedPlan,
    QueryPlan,
    UniversalPlan,
    Vote,
    VotingPlan,
)
from pcqr.plan.predicates import PredicatesStage
from pcqr.plan.prediction import Prediction
from pcqr.plan.stages import ClassCountsStage, DrawStage, LeafCountsStage, NoisyMaxStage, VoteStage

__all__ = [
    "LARGEST_TERM",
    "MOST_RECORDS",
    "Aim",
    "Answer",
    "BatchCost",
    "Branch",
    "Budget",
    "ClassCountsStage",
    "ClassifierPlan",
    "ComparisonStage",
    "Context",
    "DrawStage",
    "Kind",
    "LeafCountsStage",
    "LinearStage",
    "Mode",
    "NoisyMaxPlan",
    "NoisyMaxStage",
    "Pins",
    "Plan",
    "PredicatesStage",
    "Prediction",
    "PublishedPlan",
    "QueryPlan",
    "Sequence",
    "Stage",
    "UniversalPlan",
    "Usage",
    "Vote",
    "VoteStage",
    "VotingPlan",
    "account",
    "counted",
]
