"""A release that is kept holds as much in memory after many answers as after few."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from support.asking import rows, started, votes
from support.ledgers import Shelf

import pcqr
from pcqr.durable.ledger import reading as keys
from pcqr.durable.quotas import History, QuotaTable
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Asked
from pcqr.releases.protocol.online import PrivClass

BATCH, BATCHES = 400, 2
OURS = str(Path(pcqr.__file__).parent / "*")


def held(protocol: PrivClass, quota_table: QuotaTable, history: History, turns: int, start: int) -> int:
    """Bytes that pcqr's code holds after so many requests: two askers, tokens, repeated rows, looks at the book."""
    for number in range(start, start + turns):
        points = rows(*np.arange(number * BATCH, (number + 1) * BATCH))
        asked = [
            Asked(points, "ann", Usage(None, 99), b"a %d" % number),
            Asked(points[:1], "bob", Usage(None, 99), b"b %d" % number),
        ]
        outcome = protocol.ask_together(asked, quota_table)
        assert [len(each.replies) for each in outcome] == [BATCH, 1]
        quota_table.answers("ann", limit=5)
        history.look(quota_table)
    gc.collect()
    if not tracemalloc.is_tracing():
        return 0
    found = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(inclusive=True, filename_pattern=OURS)])
    return sum(each.size for each in found.statistics("filename"))


def test_what_is_held_does_not_grow_with_the_answers(files: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """Measured where the keys that were not in the index have just been put there."""
    monkeypatch.setattr(keys, "MOST_RECENT", BATCH * BATCHES - 1)
    remaining = Usage(None, 9)
    with files.create() as ledger:
        protocol, quota_table, history = (
            votes(remaining, started(remaining, ledger)),
            QuotaTable(ledger, lambda: 5),
            History(),
        )
        held(protocol, quota_table, history, BATCHES, 0)
        tracemalloc.start()
        try:
            first = held(protocol, quota_table, history, BATCHES, BATCHES)
            later = held(protocol, quota_table, history, 3 * BATCHES, 2 * BATCHES)
        finally:
            tracemalloc.stop()
        assert protocol.asked == 5 * BATCH * BATCHES
    assert later - first < 8 * 3 * BATCH * BATCHES, "more than a reference to each answer"
