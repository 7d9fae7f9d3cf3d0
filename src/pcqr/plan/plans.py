"""Whole plans: what was asked for, the stages that will run, the guarantee that they have and what is expected."""

from __future__ import annotations

from dataclasses import dataclass, field, is_dataclass, replace
from typing import Literal, get_args, get_type_hints

from pcqr.checks import keep_plain
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee
from pcqr.plan.answers import Usage
from pcqr.plan.asked import Aim, Budget
from pcqr.plan.stages import (
    BoostingStage,
    ComparedStage,
    CountedStage,
    DescentStage,
    DrawStage,
    VoteStage,
)

Mode = Literal["paper", "calibrated"]


@dataclass(frozen=True)
class Prediction(Document):
    """What the planner expects, from public numbers: a model's estimate, not a bound and not a measurement.

    `unanswered_share` of the planned queries get no label, those after a halt included; `unstable_share` is the chance
    that one query is unstable while the release goes on. The ranges say how far off the model was on real tables
    (docs/planning.md); None: nobody measured.
    """

    unanswered_share: float
    excess_error: float
    unstable_share: float
    unanswered_range: tuple[float, float] | None = None
    unstable_range: tuple[float, float] | None = None


@dataclass(frozen=True, kw_only=True)
class Plan(Document):
    """What was decided before the private data was touched. `prediction` is None in paper mode and for SSPP.

    `budget` and `aim` are what was asked for; `aim` is None where nobody aimed at an accuracy. The `guarantee` is
    within the budget: no other plan can be made. `proved` bounds the excess error but for β (None: nothing is proved at
    this n), and `certified` says that the bound is at most α. Privacy is proved always.
    """

    mode: Mode
    budget: Budget
    guarantee: Guarantee
    aim: Aim | None = None
    prediction: Prediction | None = None
    proved: float | None = None
    certified: bool = field(init=False)

    def __post_init__(self) -> None:
        for name, kind in get_type_hints(type(self)).items():
            is_part = isinstance(kind, type) and is_dataclass(kind)  # the budget, the guarantee, a stage
            if is_part and not isinstance(getattr(self, name), kind):
                raise ParameterError(name, f"a {kind.__name__}", getattr(self, name))
        if self.mode not in get_args(Mode):
            raise ParameterError("mode", f"one of {', '.join(map(repr, get_args(Mode)))}", self.mode)
        if not self.guarantee.within(self.epsilon, self.delta):
            raise ParameterError("guarantee", f"within {self.budget}", str(self.guarantee))
        if self.proved is not None and (self.aim is None or not self.proved >= 0):
            raise ParameterError("proved", "a number ≥ 0 with an aim, else None", self.proved)
        keep_plain(self, floats=("proved",))
        is_certified = self.aim is not None and self.proved is not None and self.proved <= self.aim.alpha
        object.__setattr__(self, "certified", is_certified)

    @property
    def epsilon(self) -> float:
        return self.budget.epsilon

    @property
    def delta(self) -> float:
        return self.budget.delta

    def work(self, records: int) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        """(records, how many) of the draws and teachers that the plan needs on a table of n = `records`."""
        return ()


@dataclass(frozen=True, kw_only=True)
class QueryPlan(Plan):
    """A plan for answers to queries, one by one. It cannot be made without a number of them."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _planned(self.aim)

    @property
    def queries(self) -> int:
        """m, the planned number of queries."""
        return _planned(self.aim)

    @property
    def left(self) -> Usage:
        """What a release with this plan may answer before it halts, at first. None: without end, without ⊥."""
        return Usage(None, None)


@dataclass(frozen=True, kw_only=True)
class VotingPlan(QueryPlan):
    """SubSamp and AgPrivCl: prepare and vote."""

    vote: VoteStage

    @property
    def left(self) -> Usage:
        return Usage(self.vote.sparse_vector.queries, self.vote.sparse_vector.unstable)

    @property
    def votes(self) -> int:
        """How many of the planned queries are put to the vote: all of them, unless a classifier is published."""
        return self.queries

    @property
    def expected_answers(self) -> float | None:
        """How many of these `votes` are expected to end in a label. With the same records, ε and δ it never falls as
        more queries are planned.
        """
        return None if self.prediction is None else self.votes * (1.0 - self.prediction.unanswered_share)

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        teachers = (-(-self.vote.subsample // self.vote.teachers), self.vote.teachers)
        relabelling = () if self.vote.inverse_temperature is None else ((self.vote.subsample, 1),)
        return (*super().work(records), teachers, *relabelling)


@dataclass(frozen=True, kw_only=True)
class DrawPlan(Plan):
    """SSPP: publish at once."""

    publish: DrawStage

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        return (*super().work(records), (records, 1))


@dataclass(frozen=True, kw_only=True)
class LinearPlan(Plan):
    """Publish a linear classifier at once."""

    descent: DescentStage


@dataclass(frozen=True, kw_only=True)
class BoostedPlan(Plan):
    """Publish boosted trees at once."""

    boosting: BoostingStage


@dataclass(frozen=True, kw_only=True)
class CountedPlan(Plan):
    """Publish a tree or a linear classifier at once, by a private count of the rarer label."""

    counted: CountedStage


@dataclass(frozen=True, kw_only=True)
class ComparedPlan(Plan):
    """Publish a tree or a linear classifier at once, by a private comparison."""

    compared: ComparedStage


ClassifierPlan = DrawPlan | LinearPlan | CountedPlan | ComparedPlan | BoostedPlan


@dataclass(frozen=True, kw_only=True)
class UniversalPlan(VotingPlan, DrawPlan):
    """UnvPrivCl: prepare, vote, publish."""

    @property
    def left(self) -> Usage:
        """After the last vote it publishes: queries have no end."""
        return replace(super().left, queries=None)

    @property
    def votes(self) -> int:
        return self.publish.after_queries


def _planned(aim: Aim | None) -> int:
    if aim is None or aim.queries is None:
        raise ParameterError("aim", "one with a number of queries", aim)
    return aim.queries
