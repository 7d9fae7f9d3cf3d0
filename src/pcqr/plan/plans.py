"""Whole plans: what was asked for, the stages that will run, the guarantee that they have and what is expected."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from pcqr.guarantee import Guarantee
from pcqr.plan.stages import (
    BoostingStage,
    ComparedStage,
    CountedStage,
    DescentStage,
    DrawStage,
    NoisyMaxStage,
    VoteStage,
)

Mode = Literal["paper", "calibrated"]


@dataclass(frozen=True)
class Prediction:
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
class Plan:
    """What was decided before the private data was touched. `prediction` is None in paper mode and for SSPP.

    `proved` bounds the excess error but for β (None: nothing is proved at this n), and `certified` says that the bound
    is at most α. Privacy is proved always.
    """

    mode: Mode
    epsilon: float
    delta: float
    queries: int
    alpha: float
    beta: float
    guarantee: Guarantee
    prediction: Prediction | None = None
    proved: float | None = None
    certified: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "certified", self.proved is not None and self.proved <= self.alpha)

    def work(self, records: int) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        """(records, how many) of the draws and teachers that the plan needs on a table of n = `records`."""
        return ()


@dataclass(frozen=True, kw_only=True)
class VotingPlan(Plan):
    """SubSamp and AgPrivCl: prepare and vote."""

    vote: VoteStage

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
class NoisyMaxPlan(Plan):
    """The per-query noisy majority: vote, each answer paid for."""

    vote: NoisyMaxStage

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        return (*super().work(records), (-(-self.vote.records // self.vote.teachers), self.vote.teachers))


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
    def votes(self) -> int:
        return self.publish.after_queries
