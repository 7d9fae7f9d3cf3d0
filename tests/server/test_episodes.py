"""Why requests get 503: the log says it once, the server is not ready, and both end by themselves."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from support import postgres
from support.kept import fitted, kept
from support.ledgers import Shelf
from support.serving import Running, release_place, running

from pcqr.durable.ledger.store import Store
from pcqr.errors import LedgerClosed, LedgerUnwritable
from pcqr.server import batcher
from pcqr.server.app import make_app
from pcqr.server.batcher import Look
from pcqr.server.errors import Refusal, refusal
from pcqr.server.logs import QUIET_SECONDS, Episodes
from pcqr.server.service import Place, Service
from pcqr.server.state import ServerState, Settings

ASK = "/v1/releases/ages/ask"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing waits for a second, and other tests' episodes do not count."""
    monkeypatch.setattr(batcher, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(batcher, "FRESH_SECONDS", 0.0)
    fresh = Episodes()
    for module in ("batcher", "requests", "connections"):
        monkeypatch.setattr(f"pcqr.server.{module}.EPISODES", fresh)
    caplog.set_level(logging.INFO, "pcqr")


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "pcqr.server.logs"]


def served(place: Place) -> Any:
    state = ServerState(Settings(), Service.open([place]))
    return running(make_app(state), state)


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert holds()


def ask(server: Running, value: float) -> int:
    return httpx.post(server.address + ASK, json={"x": [[value]]}, timeout=20).status_code


def ready(server: Running) -> int:
    return httpx.get(server.address + "/v2/health/ready", timeout=20).status_code


def test_a_full_disk_is_told_once_however_many_ask_and_again_when_it_comes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    kept(tmp_path)
    place = str(tmp_path / "release" / "ledger.sqlite")

    def full(*_: object) -> None:
        raise LedgerUnwritable(place, "cannot be written: the disk is full", "Make room.")

    with served(release_place(tmp_path)) as server:
        for again in (1, 2):
            with monkeypatch.context() as patch:
                patch.setattr(Store, "write", full)
                assert [ask(server, again + number / 10) for number in range(3)] == [503] * 3
                httpx.get(server.address + "/v1/budget?release=ages", timeout=20)
            until(lambda value=0.1 + again / 100: ask(server, value) == 200)  # type: ignore[misc]
            told = lines(caplog)
            assert [("the disk is full" in line, "answered again" in line) for line in told] == (
                [(True, False), (False, True)] * again
            )
        assert ready(server) == 200
    assert "ledger_closed" in told[0]
    assert [line for line in caplog.messages if "failed" in line] == [], "and nothing else is told of it"


def test_a_database_that_is_away_is_told_once_by_whoever_looks_and_the_server_is_not_ready(
    tables: Shelf, postgres_server: postgres.Server, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody asks for an answer: the look at the database alone notices."""
    fitted().save(tmp_path / "release", ledger=tables.place(), anchor=tables.anchor).close()
    with served(Place("ages", tmp_path / "release", ledger=tables.place(), anchor=tables.anchor)) as server:
        assert ready(server) == 200
        postgres_server.stop("immediate")
        try:
            assert [ready(server) for _ in range(3)] == [503] * 3
            assert ask(server, 0.1) == 503
            (line,) = lines(caplog)
            assert "cannot be reached" in line
        finally:
            postgres_server.start()
        until(lambda: ready(server) == 200)
        until(lambda: ask(server, 0.1) == 200)
    assert ["refused" in line for line in lines(caplog)] == [True, False]


def test_an_episode_ends_when_it_is_over_or_when_nobody_was_refused_for_long(caplog: pytest.LogCaptureFixture) -> None:
    now = 0.0
    episodes = Episodes(lambda: now)
    gone = refusal(LedgerUnwritable("here", "cannot be reached", "Mend that."))
    follows = refusal(LedgerClosed("here", "is closed", "Open it."))
    elsewhere = refusal(LedgerUnwritable("there", "cannot be reached", "Mend that."))
    for told, expected in ((gone, 1), (follows, 1), (elsewhere, 2), (gone, 2)):
        episodes.note(told)
        assert len(lines(caplog)) == expected
    now += QUIET_SECONDS - 1
    episodes.note(gone)
    assert len(lines(caplog)) == 2
    now += QUIET_SECONDS
    episodes.note(gone)
    assert len(lines(caplog)) == 3
    episodes.over("here")
    episodes.over("here")
    episodes.note(gone)
    assert len(lines(caplog)) == 5
    for code in ("closing", "too_slow", "internal"):
        episodes.note(Refusal(code, "No."))
    assert len(lines(caplog)) == 5


def test_many_who_look_cause_one_look_and_nobody_waits_for_a_database_that_hangs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(batcher, "WAIT_SECONDS", 0.02)
    monkeypatch.setattr(batcher, "FRESH_SECONDS", 3600.0)
    reads, answers = [], threading.Event()

    def read() -> None:
        reads.append(1)
        assert answers.wait(20)

    async def play() -> tuple[list[Any], list[Any]]:
        look = Look(read)
        hung = await asyncio.gather(*(look.failure("here") for _ in range(50)))
        hung.append(await look.failure("here"))
        answers.set()
        monkeypatch.setattr(batcher, "WAIT_SECONDS", 20.0)
        return hung, [await look.failure("here") for _ in range(50)]

    hung, later = asyncio.run(play())
    assert {str(each) for each in hung} == {
        "The ledger here does not answer: 0.02 seconds have passed. Repair it. The server tries again by itself."
    }
    assert later == [None] * 50
    assert len(reads) == 1
