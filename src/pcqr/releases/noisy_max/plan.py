from __future__ import annotations

from dataclasses import dataclass

from pcqr.checks import check_integer, keep_plain
from pcqr.errors import ParameterError
from pcqr.mechanisms.noisy_max import NoisyMax
from pcqr.privacy.accounting import BoundedRangeEvent, DiscreteGaussianEvent, PureEvent, Repeated
from pcqr.privacy.composition import Context, Stage
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.plan import QueryPlan
from pcqr.serialization.codec import later


@dataclass(frozen=True)
class NoisyMaxStage(Stage):
    """Vote: n records in k parts, m queries answered by noisy majorities, each paid for.

    Parameters
    ----------
    records : int
        n.
    teachers : int
        k ≤ n. It may be even: `ExponentialMax` breaks ties by a fair coin, the others by the order of the labels.
    queries : int
        m, the answers that are paid for.
    noise : GaussianMax, LaplaceMax or ExponentialMax
        How one answer is drawn.
    labels : int, default 2
        C ≥ 2, the labels that are voted on.

    Attributes
    ----------
    answer : Event
        What one answer is to an accountant.
    teacher_records : int
        ⌊n/k⌋, the records that every teacher has at least.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.mechanisms.noisy_max import GaussianMax
    >>> from pcqr.releases.noisy_max.plan import NoisyMaxStage
    >>> NoisyMaxStage(records=5_000, teachers=247, queries=50, noise=GaussianMax(40.0)).teacher_records
    20
    """

    records: int
    teachers: int
    queries: int
    noise: NoisyMax
    labels: int = later(2)

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1)
        check_integer("teachers", self.teachers, least=1, most=self.records)
        check_integer("queries", self.queries, least=1)
        check_integer("labels", self.labels, least=2)
        if not isinstance(self.noise, NoisyMax):
            raise ParameterError("noise", "a noisy majority of pcqr.mechanisms.noisy_max", self.noise)
        keep_plain(self, integers=("records", "teachers", "queries", "labels"))

    @property
    def remaining(self) -> Usage:
        """What a new release may answer before it halts. No answer is ⊥."""
        return Usage(self.queries, None)

    @property
    def answer(self) -> DiscreteGaussianEvent | PureEvent | BoundedRangeEvent:
        """What one answer is to an accountant."""
        return self.noise.event(self.teachers, self.labels)

    def event(self, context: Context) -> Repeated:  # noqa: ARG002
        return Repeated(self.answer, self.queries)

    def work(self, records: int) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        return ((-(-self.records // self.teachers), self.teachers),)

    @property
    def teacher_records(self) -> int:
        """Records that every teacher has at least."""
        return self.records // self.teachers


@dataclass(frozen=True, kw_only=True)
class NoisyMaxPlan(QueryPlan):
    """The plan of the per-query noisy majority: vote, each answer paid for.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.
    vote : NoisyMaxStage
        The teachers and the noise.

    Examples
    --------
    >>> from pcqr import NoisyMaxAggregate
    >>> from pcqr.releases.noisy_max.plan import NoisyMaxPlan
    >>> plan = NoisyMaxAggregate(queries=20).plan(records=5_000, features=1)
    >>> isinstance(plan, NoisyMaxPlan), plan.queries, plan.remaining.queries
    (True, 20, 20)
    """

    vote: NoisyMaxStage

    @property
    def remaining(self) -> Usage:
        return self.vote.remaining

    @property
    def stages(self) -> Stage:
        return self.vote
