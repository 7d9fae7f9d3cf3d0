"""The batcher: all that wait share a transaction, nobody waits for ever, and a ledger that fails is opened again."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from support.kept import kept
from support.serving import clinic_place, model_place, release_place, serving

from pcqr.durable.ledger.store import Store
from pcqr.errors import LedgerUnwritable
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Answered, Asked, Reply
from pcqr.server import batcher as batchers
from pcqr.server.batcher import Batcher
from pcqr.server.errors import Refusal
from pcqr.server.keys import KeyFile


class Fake:
    """A release that answers when it is let, and notes what it was asked together."""

    def __init__(self, fails: Callable[[], Exception | None] = lambda: None) -> None:
        self.turns: list[list[float]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.fails = fails
        self.is_closed = False

    def quota_table(self) -> None:
        return None

    def ask_together(self, asked: Sequence[Asked], _: None) -> list[Answered[int]]:
        assert self.may_answer.wait(10)
        if (failure := self.fails()) is not None:
            raise failure
        self.turns.append([float(each.points[0, 0]) for each in asked])
        return [Answered([Reply(int(each.points[0, 0]), None, "stable", 1, 0, None, 1, False)]) for each in asked]

    def close(self) -> None:
        self.is_closed = True


def point(value: float, rows: int = 1) -> Asked:
    return Asked(np.full((rows, 1), value))


def test_all_that_wait_share_a_turn_and_each_gets_its_own_answer() -> None:
    release = Fake()
    batcher = Batcher(lambda: release)

    async def ask() -> list[Any]:
        release.may_answer.clear()
        first = asyncio.create_task(batcher.ask(point(0)))
        await asyncio.sleep(0.05)
        others = [asyncio.create_task(batcher.ask(point(number))) for number in range(1, 50)]
        await asyncio.sleep(0)
        release.may_answer.set()
        return [(await each).replies[0].label for each in (first, *others)]

    assert asyncio.run(ask()) == list(range(50))
    assert release.turns == [[0.0], [float(number) for number in range(1, 50)]]
    batcher.close()
    assert release.is_closed


def test_a_turn_has_a_bounded_number_of_rows() -> None:
    release = Fake()
    batcher = Batcher(lambda: release)

    async def ask() -> None:
        release.may_answer.clear()
        waiting = [asyncio.create_task(batcher.ask(point(number, rows=batchers.MOST_ROWS - 1))) for number in range(3)]
        waiting += [asyncio.create_task(batcher.ask(point(3))), asyncio.create_task(batcher.ask(point(4, rows=10_000)))]
        await asyncio.sleep(0.05)
        release.may_answer.set()
        await asyncio.gather(*waiting)

    asyncio.run(ask())
    assert release.turns == [[0.0], [1.0], [2.0, 3.0], [4.0]]
    batcher.close()


def test_whoever_asks_much_does_not_keep_the_others_waiting() -> None:
    """Askers take turns, one request each: a long queue of one is not before the first request of another."""
    release = Fake()
    batcher = Batcher(lambda: release)

    def request(value: float, asker: str | None) -> Asked:
        return Asked(np.full((batchers.MOST_ROWS // 2, 1), value), asker)

    async def ask() -> None:
        release.may_answer.clear()
        waiting = [asyncio.create_task(batcher.ask(request(0, "ann")))]
        await asyncio.sleep(0.05)
        waiting += [asyncio.create_task(batcher.ask(request(number, "ann"))) for number in range(1, 7)]
        waiting += [asyncio.create_task(batcher.ask(request(10 + number, "bob"))) for number in range(2)]
        waiting += [asyncio.create_task(batcher.ask(request(20, None)))]
        await asyncio.sleep(0.05)
        release.may_answer.set()
        await asyncio.gather(*waiting)

    asyncio.run(ask())
    assert release.turns == [[0.0], [1.0, 10.0], [20.0, 2.0], [11.0, 3.0], [4.0, 5.0], [6.0]]
    batcher.close()


def test_whoever_stops_waiting_does_not_disturb_the_others() -> None:
    release = Fake()
    batcher = Batcher(lambda: release)

    async def ask() -> Any:
        release.may_answer.clear()
        gone, stays = asyncio.create_task(batcher.ask(point(1))), asyncio.create_task(batcher.ask(point(2)))
        await asyncio.sleep(0.05)
        gone.cancel()
        release.may_answer.set()
        return await stays

    assert asyncio.run(ask()).replies[0].label == 2
    batcher.close()


def test_what_waits_when_the_batcher_closes_is_answered_and_nothing_after_that() -> None:
    release = Fake()
    batcher = Batcher(lambda: release)

    async def ask() -> Any:
        release.may_answer.clear()
        waiting = asyncio.create_task(batcher.ask(point(7)))
        await asyncio.sleep(0.05)
        closing = asyncio.create_task(asyncio.to_thread(batcher.close))
        await asyncio.sleep(0.05)
        with pytest.raises(Refusal, match="about to end"):
            await batcher.ask(point(8))
        release.may_answer.set()
        await closing
        return await waiting

    assert asyncio.run(ask()).replies[0].label == 7
    assert not batcher.is_open


def test_a_ledger_that_fails_is_opened_again_when_it_can_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batchers, "RETRY_SECONDS", 0.0)
    opened: list[Fake] = []
    full = True

    def fails() -> Exception | None:
        return LedgerUnwritable("here", "cannot be written", "Make room.") if full else None

    def open_release() -> Fake:
        if opened and len(opened) == 1 and not opened[0].is_closed:
            raise AssertionError
        if len(opened) == 2 and full:
            opened.append(Fake())
            raise LedgerUnwritable("here", "cannot be opened", "Make room.")
        opened.append(Fake(fails))
        return opened[-1]

    batcher = Batcher(open_release)

    async def ask() -> Any:
        nonlocal full
        for _ in range(3):
            with pytest.raises(Refusal) as refused:
                await batcher.ask(point(1))
            assert refused.value.code == "ledger_closed"
            assert refused.value.headers["Retry-After"]
        full = False
        return await batcher.ask(point(2))

    assert asyncio.run(ask()).replies[0].label == 2
    assert batcher.is_open
    assert len(opened) > 2
    batcher.close()


def test_a_fault_is_told_to_those_of_its_turn_alone() -> None:
    failures = iter([ValueError("a secret"), None])
    batcher = Batcher(lambda: Fake(lambda: next(failures)))

    async def ask() -> Any:
        with pytest.raises(ValueError, match="a secret"):
            await batcher.ask(point(1))
        return await batcher.ask(point(2))

    assert asyncio.run(ask()).replies[0].label == 2
    batcher.close()


def test_a_log_that_failed_leaves_the_other_releases_alone_and_reading_makes_it_try_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batchers, "RETRY_SECONDS", 3600.0)
    kept(tmp_path)
    places = [release_place(tmp_path), clinic_place(tmp_path / "clinic"), model_place(tmp_path)]
    with serving(*places) as address, httpx.Client(base_url=address) as client:

        def states() -> dict[str, str]:
            return {each["name"]: each["state"] for each in client.get("/v1/releases").json()["releases"]}

        assert states() == {"ages": "open", "clinic": "open", "tree": "published"}
        with monkeypatch.context() as full:
            full.setattr(Store, "write", _fails)
            refused = client.post("/v1/releases/ages/ask", json={"x": [[0.2]]})
            assert refused.json()["code"] == "ledger_closed"
        assert states() == {"ages": "failed", "clinic": "open", "tree": "published"}
        for path in ("/v1/releases/ages", "/v1/budget?release=ages", "/v1/answers?release=ages"):
            assert client.get(path).json()["code"] == "ledger_closed"
        told = client.get("/v1/releases").json()["releases"][0]
        assert (told["spent"], told["remaining"], told["guarantee"]["is_private"]) == (None, None, True)
        monkeypatch.setattr(batchers, "RETRY_SECONDS", 0.0)
        until = time.monotonic() + 10
        while states()["ages"] == "failed" and time.monotonic() < until:
            time.sleep(0.01)
        assert client.get("/v1/budget?release=ages").json()["spent"] == {"queries": 0, "unstable": 0, "labels": None}


def _fails(*_: object) -> None:
    raise LedgerUnwritable("here", "cannot be written", "Make room.")


def test_a_key_has_its_quota_its_own_answers_and_no_more(tmp_path: Path) -> None:
    kept(tmp_path)
    file = KeyFile(tmp_path / "keys.json")
    asker = {"Authorization": f"Bearer {file.create('ward-7', 'asker', Usage(3, 1))}"}
    other = {"Authorization": f"Bearer {file.create('ward-8', 'asker', Usage(None, 0))}"}
    holder = {"Authorization": f"Bearer {file.create('me', 'holder', Usage(None, None))}"}
    with serving(release_place(tmp_path), keys=file.path) as address, httpx.Client(base_url=address) as client:

        def ask(key: dict[str, str], *values: float, **more: str) -> httpx.Response:
            return client.post("/v1/releases/ages/ask", json={"x": [[x] for x in values]}, headers=key | more)

        assert ask(asker, 0.1, 0.2).status_code == 200
        refused = ask(asker, 0.1, 0.3, 0.4)
        told = refused.json()
        assert (refused.status_code, told["code"]) == (403, "quota_spent")
        assert [each["kind"] for each in told["details"]["answered"]] == ["repeated", "stable"]
        assert told["details"]["used"] == {"queries": 3, "unstable": 0}
        assert told["details"]["allowance"] == {"queries": 3, "unstable": 1}
        assert ask(asker, 0.1, 0.2, 0.3).status_code == 200, "what was asked before is free"
        assert ask(holder, 0.4).status_code == 200
        assert ask(asker, 0.4).json()["code"] == "quota_spent", "what others have asked is not"
        assert ask(other, 0.5).json()["code"] == "quota_spent", "no unstable answer is left to it, so nothing new"
        own = client.get("/v1/answers?release=ages", headers=asker).json()["answers"]
        assert [each["x"] for each in own] == [[0.1], [0.2], [0.3]]
        everything = client.get("/v1/answers?release=ages", headers=holder).json()["answers"]
        assert {each["asker"] for each in everything} == {"ward-7", "me"}
        budget = client.get("/v1/budget?release=ages", headers=asker).json()
        assert budget["mine"]["used"]["queries"] == 3
        assert budget["askers"] is None
        names = [each["name"] for each in client.get("/v1/budget?release=ages", headers=holder).json()["askers"]]
        assert sorted(names) == ["me", "ward-7"]
        assert client.get("/v1/account?release=ages", headers=asker).json()["code"] == "not_allowed"
        same = {"Idempotency-Key": "one"}
        assert ask(holder, 0.6, **same).status_code == 200
        assert ask(asker, 0.7, **same).json()["code"] == "quota_spent", "a token is one's own"
