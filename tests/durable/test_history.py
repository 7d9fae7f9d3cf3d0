"""The history of a release: read bit by bit it says what it says when it is read at once, and costs no more later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.durable import quotas as histories
from pcqr.durable.facts import State
from pcqr.durable.ledger.chain import Link
from pcqr.durable.quotas import History, Moment
from pcqr.releases.protocol.answers import Usage

SECOND = 10**9


@dataclass
class Fake:
    """A book in memory: the time of each entry, and whether it was unstable. Notes what is read."""

    entries: list[tuple[int, bool]]
    untimed: int
    read: int = 0

    @property
    def ledger(self) -> Any:
        return self

    @property
    def last(self) -> Link:
        return Link(len(self.entries), b"")

    @property
    def state(self) -> bytes:
        spent = Usage(self.untimed + len(self.entries), sum(unstable for _, unstable in self.entries))
        return State(spent, Usage(None, None), is_published=False, is_cautious=False).written()

    def timed(self, after: int, until: int) -> list[Moment]:
        assert 0 <= after < until <= len(self.entries)
        self.read += until - after
        return [Moment(told_at, 1, int(unstable)) for told_at, unstable in self.entries[after:until]]


times = st.lists(st.tuples(st.integers(SECOND, SECOND + 4_000), st.booleans()), min_size=1, max_size=60)


@given(times, st.integers(1, 12), st.integers(1, 12), st.integers(0, 5), st.integers(1, 20))
def test_it_says_the_same_however_often_somebody_looks(
    entries: list[tuple[int, bool]], step: int, buckets: int, untimed: int, most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(histories, "_MOST_SPANS", max(most, buckets))
        patch.setattr(histories, "_AT_ONCE", 7)
        quota_table, history = Fake([], untimed), History()
        for start in range(0, len(entries), step):
            quota_table.entries += entries[start : start + step]
            _, found = history.look(quota_table, buckets)  # type: ignore[arg-type]
        assert quota_table.read == len(entries), "each entry is read once"
        assert len(found) <= buckets
        assert found == sorted(found)
        for moment in found:
            before = [unstable for told_at, unstable in entries if told_at <= moment.time]
            assert (moment.queries, moment.unstable) == (untimed + len(before), sum(before))
        assert found[-1].time == max(told_at for told_at, _ in entries)


def test_few_moments_are_told_to_the_second() -> None:
    quota_table = Fake([(SECOND, False), (SECOND + 1, True), (SECOND + 1, False), (SECOND + 86_400, False)], 2)
    _, outcome = History().look(quota_table)  # type: ignore[arg-type]
    assert outcome == [(SECOND, 3, 0), (SECOND + 1, 5, 1), (SECOND + 86_400, 6, 1)]
