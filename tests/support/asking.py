"""What the tests of requests that are asked together share: protocols without secrets, in memory or in a ledger."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from pcqr.data.records import InMemory
from pcqr.durable.ledger import Ledger
from pcqr.durable.log import LedgerLog, move
from pcqr.durable.quotas import QuotaTable
from pcqr.hypotheses import Thresholds
from pcqr.hypotheses.base import Points
from pcqr.privacy.entropy import Entropy
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Answered, Asked, Log, MemoryLog
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.universal.run import UnvPrivCl


class Zeros(Entropy):
    """Every coin is 0, however many are drawn at a time."""

    is_private = False

    def bytes(self, count: int) -> bytes:
        return bytes(count)


class Scripted:
    """⊥ at negative points, else their parity. All that it remembers is `remaining`."""

    def __init__(self, remaining: Usage) -> None:
        self.remaining = remaining

    def counts(self, X: Points) -> np.ndarray[Any, np.dtype[np.int64]]:
        return np.round(X[:, :1]).astype(np.int64).repeat(2, axis=1)

    def decide(self, counts: np.ndarray[Any, np.dtype[np.int64]]) -> int | None:
        assert not self.remaining.is_nothing, "a halted labeller was asked"
        vote, remaining = int(counts[0]), self.remaining
        self.remaining = Usage(
            None if remaining.queries is None else remaining.queries - 1, (remaining.unstable or 0) - (vote < 0)
        )
        return None if vote < 0 else vote % 2


def started(remaining: Usage, ledger: Ledger) -> LedgerLog:
    """The log of a release that has answered nothing yet."""
    with ledger.transaction() as transaction:
        move(MemoryLog(), remaining, transaction)
    return LedgerLog(ledger)


def votes(remaining: Usage, log: Log | None = None, planned: int = 5) -> PrivClass:
    return PrivClass(Scripted(remaining), planned, Zeros(), log)


def universal(remaining: Usage, after: int, log: Log | None = None) -> UnvPrivCl:
    """A release that publishes after so many queries. `sspp` must be replaced."""
    records = InMemory(np.zeros((2, 1)), np.zeros(2, dtype=np.int8))
    return UnvPrivCl(Thresholds(), votes(remaining, log, after), records, None, DrawStage(1.0, after), Zeros())


def rows(*values: float) -> Points:
    return np.array(values, dtype=np.float64)[:, None]


LEFT = st.builds(Usage, st.one_of(st.none(), st.integers(1, 10)), st.integers(1, 4))
POINTS = st.lists(st.integers(-3, 6), min_size=1, max_size=6).map(lambda values: rows(*values))
PLAIN = st.builds(Asked, POINTS)
"""Requests without a quota table."""


@st.composite
def named(draw: st.DrawFn) -> Asked:
    """Requests of two askers, each with one allowance for ever; tokens come again, with the same rows or others."""
    asker = draw(st.sampled_from([None, "ann", "bob"]))
    allowance = {None: Usage(None, None), "ann": Usage(4, None), "bob": Usage(None, 1)}[asker]
    return Asked(
        draw(POINTS), asker, allowance, draw(st.sampled_from([None, None, b"one", b"two"])), draw(st.booleans())
    )


GROUPS = st.lists(st.lists(named(), min_size=1, max_size=5), min_size=1, max_size=4)


def one_by_one(
    protocol: PrivClass | UnvPrivCl, asked: list[Asked], quota_table: QuotaTable | None = None
) -> list[Answered[int]]:
    return [protocol.ask_together([each], quota_table)[0] for each in asked]
