"""Plans and answers: the frozen parameters that an algorithm runs with, and what it says.

A plan is made from public numbers alone (see `pcqr.planning`) and never changes while a release lives. The
algorithms trust it: they compute their own guarantee from it, and the estimators check that guarantee against
what the user asked for before any noise is drawn.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from pcqr.guarantee import Guarantee
from pcqr.mechanisms.sparse_vector import SparseVector

Mode = Literal["paper", "calibrated"]
Kind = Literal["stable", "unstable", "published", "repeated"]
L = TypeVar("L")


@dataclass(frozen=True)
class Usage:
    """A number of queries and, among them, of unstable answers. `queries` is None where it has no limit."""

    queries: int | None
    unstable: int

    def __str__(self) -> str:
        asked = "any number of queries" if self.queries is None else f"{self.queries} queries"
        return f"{asked} and {self.unstable} unstable answers"


@dataclass(frozen=True)
class Answer(Generic[L]):
    """One answer: `label` (None stands for ⊥), how it came about, and what has been spent and is left.

    `beyond_plan` is True past the planned number of queries: privacy holds, the accuracy bound was for fewer.
    """

    label: L | None
    kind: Kind
    spent: Usage
    remaining: Usage
    beyond_plan: bool = False


@dataclass(frozen=True)
class VotePlan:
    """prepare + vote: sub-sample n' of n, relabel at η (None: no relabelling), partition, k teachers, sparse vector.

    `copies`: the paper re-samples S'' with replacement before the partition, and its guarantee allows for that many
    copies of one record. None: S'' itself is partitioned. `public`: how many public points the relabelling's class is
    made of; None: of the private points, or declared.
    """

    records: int
    subsample: int
    teachers: int
    inverse_temperature: float | None
    sparse_vector: SparseVector
    copies: int | None = None
    public: int | None = None

    @property
    def sampling_rate(self) -> float:
        return self.subsample / self.records

    @property
    def teacher_records(self) -> int:
        """Records that every teacher has at least."""
        return self.subsample // self.teachers


@dataclass(frozen=True)
class PublishPlan:
    """publish: the exponential mechanism at η = `inverse_temperature` over a class fixed by public points.

    `after_queries` = m_o votes come first; their queries are the public points. 0: public points are at hand.
    """

    inverse_temperature: float
    after_queries: int = 0


@dataclass(frozen=True)
class Prediction:
    """What the planner expects, from public numbers: a model's estimate, not a bound and not a measurement."""

    unanswered_share: float
    excess_error: float


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What was decided before the private data was touched. `prediction` is None in paper mode and for SSPP.

    `certified` is True when the accuracy bound (α, β) is proved at this n. Privacy is proved always.
    """

    mode: Mode
    epsilon: float
    delta: float
    queries: int
    alpha: float
    beta: float
    guarantee: Guarantee
    prediction: Prediction | None = None
    certified: bool = False

    def work(self, records: int) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        """(records, how many) of the draws and teachers that the plan needs on a table of n = `records`."""
        return ()


@dataclass(frozen=True, kw_only=True)
class VotingPlan(Plan):
    """SubSamp and AgPrivCl: prepare and vote."""

    vote: VotePlan

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        teachers = (-(-self.vote.subsample // self.vote.teachers), self.vote.teachers)
        relabelling = () if self.vote.inverse_temperature is None else ((self.vote.subsample, 1),)
        return (*super().work(records), teachers, *relabelling)


@dataclass(frozen=True, kw_only=True)
class PublishingPlan(Plan):
    """SSPP: publish at once."""

    publish: PublishPlan

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        return (*super().work(records), (records, 1))


@dataclass(frozen=True, kw_only=True)
class UniversalPlan(VotingPlan, PublishingPlan):
    """UnvPrivCl: prepare, vote, publish."""
