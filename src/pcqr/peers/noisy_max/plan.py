"""The parameters of a run of noisy majorities, and the whole plan."""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.checks import check_integer, keep_plain
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.peers.noisy_max.mechanism import NoisyMax
from pcqr.plan import QueryPlan, Usage


@dataclass(frozen=True)
class NoisyMaxStage(Document):
    """vote, the peers' way: partition the n records into k parts, answer m = `queries` queries by noisy majorities.

    k may be even: a tie is then a 0 (`GaussianMax`) or a fair coin (`ExponentialMax`).
    """

    records: int
    teachers: int
    queries: int
    noise: NoisyMax

    def __post_init__(self) -> None:
        check_integer("records", self.records, least=1)
        check_integer("teachers", self.teachers, least=1, most=self.records)
        check_integer("queries", self.queries, least=1)
        if not isinstance(self.noise, NoisyMax):
            raise ParameterError("noise", "a noisy majority of pcqr.peers.noisy_max", self.noise)
        keep_plain(self, integers=("records", "teachers", "queries"))

    @property
    def teacher_records(self) -> int:
        """Records that every teacher has at least."""
        return self.records // self.teachers


@dataclass(frozen=True, kw_only=True)
class NoisyMaxPlan(QueryPlan):
    """The per-query noisy majority: vote, each answer paid for."""

    vote: NoisyMaxStage

    @property
    def left(self) -> Usage:
        return Usage(self.vote.queries, None)

    def work(self, records: int) -> tuple[tuple[int, int], ...]:
        return (*super().work(records), (-(-self.vote.records // self.vote.teachers), self.vote.teachers))
