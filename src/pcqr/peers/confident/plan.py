"""The parameters of a run of confident answers, and the whole plan."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.accounting import Composed, Repeated
from pcqr.checks import check_integer, keep_plain
from pcqr.errors import ParameterError
from pcqr.peers.confident.mechanism import ConfidentMax
from pcqr.plan import Context, QueryPlan, Stage, Usage


@dataclass(frozen=True)
class ConfidentMaxStage(Stage):
    """Vote, and answer where teachers agree: n records in k parts, so many queries asked, so many labels given.

    It halts after `asked` queries or `answered` labels, whichever comes first: both are paid for beforehand.

    Parameters
    ----------
    records : int
        n.
    teachers : int
        k ≤ n.
    asked : int
        The checks that are paid for, one for each query.
    answered : int
        The labels that are paid for, at most `asked`.
    noise : ConfidentMax
        How one query is answered.
    labels : int, default 2
        C ≥ 2, the labels that are voted on.

    Attributes
    ----------
    squared_shift : float
        μ² = asked/σ₁² + 2·answered/σ₂²: what all of it costs as one Gaussian release of shift μ.
    teacher_records : int
        ⌊n/k⌋, the records that every teacher has at least.

    Raises
    ------
    ParameterError
        When a number is outside its range.

    Examples
    --------
    >>> from pcqr.peers.confident.mechanism import ConfidentMax
    >>> from pcqr.peers.confident.plan import ConfidentMaxStage
    >>> stage = ConfidentMaxStage(60_000, 250, asked=640, answered=286, noise=ConfidentMax(200, 150.0, 40.0), labels=10)
    >>> stage.teacher_records, round(stage.squared_shift, 4)
    (240, 0.3859)
    """

    records: int
    teachers: int
    asked: int
    answered: int
    noise: ConfidentMax
    labels: int = 2

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1)
        check_integer("teachers", self.teachers, least=1, most=self.records)
        check_integer("asked", self.asked, least=1)
        check_integer("answered", self.answered, least=1, most=self.asked)
        check_integer("labels", self.labels, least=2)
        if not isinstance(self.noise, ConfidentMax):
            raise ParameterError("noise", "a ConfidentMax", self.noise)
        keep_plain(self, integers=("records", "teachers", "asked", "answered", "labels"))

    @property
    def squared_shift(self) -> float:
        """μ² of all checks and labels together."""
        check, answer = self.noise.check.noise_multiplier, self.noise.answer.noise_multiplier
        return self.asked / check / check + self.answered / answer / answer

    @property
    def draws(self) -> int:
        """The most noise that can be looked at: one draw for each check, C for each label."""
        return self.asked + self.labels * self.answered

    @property
    def teacher_records(self) -> int:
        """Records that every teacher has at least."""
        return self.records // self.teachers

    def event(self, context: Context) -> Composed:  # noqa: ARG002
        return Composed((Repeated(self.noise.check, self.asked), Repeated(self.noise.answer, self.answered)))

    def work(self, records: int) -> tuple[tuple[int, int], ...]:  # noqa: ARG002
        return ((-(-self.records // self.teachers), self.teachers),)


@dataclass(frozen=True, kw_only=True)
class ConfidentMaxPlan(QueryPlan):
    """The plan of confident answers: a check for every query, a label where it is passed.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.
    vote : ConfidentMaxStage
        The teachers, the noise, and how much is asked and answered.

    Examples
    --------
    >>> from pcqr import ConfidentMaxAggregate
    >>> plan = ConfidentMaxAggregate(queries=20).plan(records=5_000, features=1)
    >>> type(plan).__name__, str(plan.left)
    ('ConfidentMaxPlan', '20 queries and 10 labels')
    """

    vote: ConfidentMaxStage

    @property
    def left(self) -> Usage:
        """What is left before the first query."""
        return Usage(self.vote.asked, None, self.vote.answered)

    @property
    def stages(self) -> Stage:
        return self.vote
