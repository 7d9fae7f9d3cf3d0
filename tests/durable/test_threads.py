"""Threads of one process on a kept release: each gets its own answers, and a kill loses nothing that was told."""

from __future__ import annotations

import os
import signal
import struct
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support.kept import QUERIES, in_a_fork, kept, reopened

from pcqr.durable.ledger.store import TURN
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Asked

THREADS = 6
TOLD = struct.Struct("<db")


def in_threads(act: Callable[[int], None]) -> None:
    failed: list[BaseException] = []

    def acted(number: int) -> None:
        try:
            act(number)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=acted, args=(number,), daemon=True) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60.0)
        assert not thread.is_alive()
    assert not failed


def test_each_thread_gets_its_own_answers(tmp_path: Path) -> None:
    kept(tmp_path, "agnostic", unstable=30)
    release = reopened(tmp_path)
    quota_table, far = release.quota_table(), np.linspace(0.01, 0.2, 60)
    begin = threading.Barrier(THREADS)

    def ask(number: int) -> None:
        for x in far[number::THREADS]:
            begin.wait(20.0)  # together, each time
            asked = Asked(release.points([[x]]), f"asker {number}", Usage(8, None))
            (outcome,) = release.ask_together([asked], quota_table)
            assert outcome.stopped == "quota" or outcome.replies[0].label in (0, None)

    in_threads(ask)
    assert release.queries_answered_ == 48
    assert {used.queries for used in quota_table.usages().values()} == {8}
    assert [line.point.item() for line in quota_table.answers("asker 3")] == far[3::THREADS][:8].tolist()
    release.close()


@pytest.mark.parametrize("point", TURN[2:])
def test_a_kill_loses_nothing_that_a_thread_was_told(point: str, tmp_path: Path) -> None:
    kept(tmp_path, "noisy max")
    receive, send = os.pipe()

    def ask() -> None:
        release = reopened(tmp_path)

        def answer(number: int) -> None:
            for x in QUERIES[number::THREADS, 0].tolist():
                os.write(send, TOLD.pack(x, release.answer([x]).label))

        in_threads(answer)

    assert in_a_fork(ask, killed_at=point, time=3) == -signal.SIGKILL
    os.close(send)
    with os.fdopen(receive, "rb") as pipe:
        outcome = list(TOLD.iter_unpack(pipe.read()))
    assert outcome, "two turns were replied"
    release = reopened(tmp_path)
    for x, label in outcome:
        answer = release.answer([x])
        assert (answer.kind, answer.label) == ("repeated", label)
    release.close()
