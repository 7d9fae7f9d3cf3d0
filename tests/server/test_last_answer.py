"""Fifty at once for the last unstable answer: one gets it, whoever it is, and the others are told that it is gone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from support.kept import fitted
from support.killed_server import KilledServer
from support.ledgers import Shelf
from support.serving import Running, running

from pcqr import release as releases
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.subsample.run import StableVotes
from pcqr.server.app import make_app
from pcqr.server.service import Place, Service
from pcqr.server.state import ServerState, Settings

UNSTABLE, AT_ONCE = 3, 50


def torn(release: Any, count: int) -> list[float]:
    """Queries on which the teachers are split in halves: unstable, but for the δ of the release.

    The votes are private. A test may look at them.
    """
    labeller: StableVotes = release._protocol.labeller

    def lead(x: float) -> int:
        ((zeros, ones),) = labeller.counts(np.array([[x]])).tolist()
        return int(ones - zeros)

    low, high = 0.0, 1.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if lead(middle) < 0 else (low, middle)
    found = [low - 1e-10 * number for number in range(count)]
    assert {lead(x) for x in found} == {-1}
    return found


def kept_with_one_left(folder: Path, ledger: str | None = None) -> tuple[Place, list[float]]:
    """A release with one unstable answer left, and queries that take it."""
    release = fitted("subsamp", unstable=UNSTABLE)
    queries = torn(release, AT_ONCE + UNSTABLE - 1)
    assert {answer.kind for answer in release.answers(np.array(queries[AT_ONCE:])[:, None])} == {"unstable"}
    release.save(folder / "release", ledger=ledger, anchor=folder / "anchor").close()
    return Place("ages", folder / "release", ledger=ledger, anchor=folder / "anchor"), queries[:AT_ONCE]


async def all_at_once(addresses: Sequence[str], queries: Sequence[float], held: Any) -> list[httpx.Response]:
    limits = httpx.Limits(max_connections=AT_ONCE)
    async with httpx.AsyncClient(timeout=60, limits=limits) as client:
        asked = [
            asyncio.create_task(client.post(f"{addresses[i % len(addresses)]}/v1/releases/ages/ask", json={"x": [[x]]}))
            for i, x in enumerate(queries)
        ]
        await held()
        return list(await asyncio.gather(*asked))


def check(replies: Sequence[httpx.Response], place: Place) -> None:
    """One got it, and the ledger says the same."""
    good = [reply.json() for reply in replies if reply.status_code == 200]
    refused = [reply.json() for reply in replies if reply.status_code != 200]
    assert [(told["answers"][0]["kind"], told["answers"][0]["label"]) for told in good] == [("unstable", None)]
    assert (good[0]["spent"]["unstable"], good[0]["remaining"]["unstable"]) == (UNSTABLE, 0)
    assert {(told["status"], told["code"]) for told in refused} == {(410, "budget_exhausted")}
    assert {(told["details"]["requested"], len(told["details"]["answered"])) for told in refused} == {(1, 0)}
    release: Any = releases.open(place.path, ledger=place.ledger, anchor=place.anchor, read_only=True)
    with release.quota_table().ledger as ledger:
        ledger.verify()
        assert (release.queries_answered_, release.unstable_answers_, release.unstable_remaining_) == (
            UNSTABLE,
            UNSTABLE,
            0,
        )
        assert release.quota_table().usages() == {None: Usage(1, 1)}


def raced(places: Sequence[Place], queries: Sequence[float], monkeypatch: pytest.MonkeyPatch) -> list[httpx.Response]:
    """All queries at once, spread over a server for each place; none is decided before all have come."""
    goes_on, real = threading.Event(), StableVotes.counts
    with ExitStack() as stack:
        servers: list[Running] = []
        for place in places:
            state = ServerState(Settings(), Service.open([place]))
            servers.append(stack.enter_context(running(make_app(state), state)))

        def held(labeller: StableVotes, X: Any) -> Any:
            assert goes_on.wait(60)
            return real(labeller, X)

        async def until_all_wait() -> None:
            while sum(server.state.in_flight for server in servers) < len(queries):
                await asyncio.sleep(0.005)
            goes_on.set()

        monkeypatch.setattr(StableVotes, "counts", held)
        return asyncio.run(all_at_once([server.address for server in servers], queries, until_all_wait))


def test_the_last_unstable_answer_is_given_once_in_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, queries = kept_with_one_left(tmp_path)
    check(raced([place], queries, monkeypatch), place)


def test_the_last_unstable_answer_is_given_once_by_two_servers_of_one_database(
    tables: Shelf, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, queries = kept_with_one_left(tmp_path, tables.place())
    check(raced([place, place], queries, monkeypatch), place)


@pytest.mark.slow
def test_the_last_unstable_answer_is_given_once_by_two_processes(tables: Shelf, tmp_path: Path) -> None:
    """The same by `pcqr serve --workers 2`; nothing holds the decisions there."""
    place, queries = kept_with_one_left(tmp_path, tables.place())
    words = [f"ages={place.path}", "--ledger", f"ages={place.ledger}", "--anchor", f"ages={place.anchor}"]
    server = KilledServer(tmp_path, [*words, "--workers", "2", "--port", "0"])
    try:
        assert len(server.workers) == 2

        async def at_once() -> None:
            """They are not held."""

        address = f"http://127.0.0.1:{server.port}"
        check(asyncio.run(all_at_once([address], queries, at_once)), place)
    finally:
        server.kill()
