"""One asker does not keep the others out: not by long bodies, by slow ones, by many, nor by what takes long."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from support import asgi
from support.asgi import HOST, Reply, asked, scope
from support.kept import kept
from support.serving import Running, release_place, served

from pcqr.durable.quotas import QuotaTable
from pcqr.releases.protocol.answers import Usage
from pcqr.server.bodies import LONG
from pcqr.server.keys import KeyFile
from pcqr.server.requests import BODIES, MANY, Application, Request, Response
from pcqr.server.service import ServedRelease
from pcqr.server.state import PART, ServerState

MOST_BYTES = 4 * LONG
ASK, PREVIEW = "/v1/releases/ages/ask", "/v1/releases/ages/preview"
ONE = json.dumps({"x": [[0.1]]})
LONGEST = ONE.ljust(MOST_BYTES)
MANY_ROWS = json.dumps({"x": [[0.1]] * (MANY + 1)})


@dataclass(frozen=True)
class Scene:
    """A server with three keys."""

    server: Running
    keys: dict[str, str]

    def headers(self, name: str) -> dict[str, str]:
        return {"authorization": f"Bearer {self.keys[name]}", "content-type": "application/json"}

    def post(self, name: str, path: str, body: str) -> httpx.Response:
        return httpx.post(self.server.address + path, content=body, headers=self.headers(name), timeout=20)

    def hanging(self, name: str) -> socket.socket:
        """A connection that has sent all of a body of full size but its last byte."""
        connection = socket.create_connection(("127.0.0.1", self.server.port), timeout=20)
        lines = [f"POST {PREVIEW} HTTP/1.1", "host: localhost", f"content-length: {MOST_BYTES}"]
        lines += [f"{each}: {value}" for each, value in self.headers(name).items()]
        connection.sendall("\r\n".join([*lines, "", LONGEST[:-1]]).encode())
        return connection


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    folder = tmp_path_factory.mktemp("shared")
    kept(folder)
    file = KeyFile(folder / "keys.json")
    roles: dict[str, Any] = {"ann": "asker", "bob": "asker", "me": "holder"}
    keys = {name: file.create(name, role, Usage(None, None)) for name, role in roles.items()}
    with served(release_place(folder), keys=file.path, most_bytes=MOST_BYTES) as server:
        yield Scene(server, keys)


def test_sixteen_bodies_that_never_end_keep_nobody_out(scene: Scene) -> None:
    state = scene.server.state
    with contextlib.ExitStack() as stack:
        hanging = [stack.enter_context(scene.hanging("ann")) for _ in range(BODIES)]
        taken = BODIES // PART * MOST_BYTES // (MOST_BYTES - LONG)
        until = time.monotonic() + 20
        while len(hanging) > taken and time.monotonic() < until:
            hanging = [each for each in hanging if b'"overloaded"' not in _said(each)]
        assert len(hanging) == taken
        for name in ("bob", "me", "ann"):
            assert scene.post(name, ASK, ONE).status_code == 200, "the first bytes of a body are not counted"
        for name in ("bob", "me"):
            assert scene.post(name, PREVIEW, LONGEST).status_code == 200
        assert scene.post("ann", PREVIEW, LONGEST).json()["code"] == "overloaded"
        for each in hanging:
            each.sendall(LONGEST[-1:].encode())
            assert each.recv(12) == b"HTTP/1.1 200"
    assert scene.post("ann", PREVIEW, LONGEST).status_code == 200
    assert (state.held_bytes, state.in_flight) == (0, 0)


def _said(connection: socket.socket) -> bytes:
    """What has come so far."""
    connection.settimeout(0.02)
    try:
        return connection.recv(65536)
    except TimeoutError:
        return b""
    finally:
        connection.settimeout(20)


def test_long_previews_of_one_key_do_not_take_all_threads(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one key are looked at one after the other."""
    goes_on, begun = threading.Event(), []
    real = ServedRelease.cost

    def held(served: ServedRelease, points: Any, *more: Any) -> Any:
        if len(points) > MANY:
            begun.append(len(points))
            assert goes_on.wait(20)
        return real(served, points, *more)

    monkeypatch.setattr(ServedRelease, "cost", held)

    async def play() -> tuple[list[int], list[int]]:
        async with httpx.AsyncClient(base_url=scene.server.address, timeout=20) as client:
            many = [_posted(client, scene, "ann", PREVIEW, MANY_ROWS) for _ in range(40)]
            long = [asyncio.create_task(each) for each in many]
            while scene.server.state.in_flight < len(long):
                await asyncio.sleep(0.005)
            short = [await _posted(client, scene, name, PREVIEW, ONE) for name in ("bob", "me", "ann")]
            assert begun == [MANY + 1]
            goes_on.set()
            return short, list(await asyncio.gather(*long))

    assert asyncio.run(play()) == ([200] * 3, [200] * 40)
    assert len(begun) == 40


async def _posted(client: httpx.AsyncClient, scene: Scene, name: str, path: str, body: str) -> int:
    return (await client.post(path, content=body, headers=scene.headers(name))).status_code


def test_what_one_key_reads_does_not_take_all_threads(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    real = QuotaTable.usages

    def held(quota_table: QuotaTable) -> Any:
        assert goes_on.wait(20)
        return real(quota_table)

    monkeypatch.setattr(QuotaTable, "usages", held)

    async def play() -> tuple[int, list[int]]:
        async with httpx.AsyncClient(base_url=scene.server.address, timeout=20) as client:

            async def get(name: str, path: str) -> int:
                return (await client.get(path, headers=scene.headers(name))).status_code

            many = [asyncio.create_task(get("ann", "/v1/budget?release=ages")) for _ in range(60)]
            while scene.server.state.in_flight < len(many):
                await asyncio.sleep(0.005)
            other = await get("bob", "/v1/releases")
            goes_on.set()
            return other, list(await asyncio.gather(*many))

    assert asyncio.run(play()) == (200, [200] * 60)


class Waiting:
    """An application that answers when it is let."""

    def __init__(self) -> None:
        self.goes_on = asyncio.Event()

    async def __call__(self, _: Request) -> Response:
        await self.goes_on.wait()
        return Response(b"{}")


def guarded(
    endpoint: asgi.Endpoint, folder: Path, **settings: Any
) -> tuple[Application, ServerState, dict[str, list[tuple[bytes, bytes]]]]:
    file = KeyFile(folder / "keys.json")
    keys = {name: file.create(name, "asker", Usage(None, None)) for name in ("ann", "bob")}
    app, state = asgi.guarded(endpoint, keys=file.path, **settings)
    return app, state, {name: [HOST, (b"authorization", f"Bearer {key}".encode())] for name, key in keys.items()}


def test_a_key_has_a_part_of_all_requests_in_flight(tmp_path: Path) -> None:
    async def play() -> tuple[list[Reply | None], int]:
        inner = Waiting()
        app, state, keys = guarded(inner, tmp_path, most_requests=8)
        running_ones = [asyncio.create_task(asked(app, scope(headers=keys["ann"]))) for _ in range(3)]
        while not any(each.done() for each in running_ones):
            await asyncio.sleep(0)
        running_ones.append(asyncio.create_task(asked(app, scope(headers=keys["bob"]))))
        while state.in_flight < 3:
            await asyncio.sleep(0)
        inner.goes_on.set()
        return list(await asyncio.gather(*running_ones)), len(state.shares)

    replies, shares = asyncio.run(play())
    assert [told.status for told in replies if told] == [200, 200, 503, 200]
    assert shares == 0, "nothing is kept of those who have gone"


def test_a_key_has_a_part_of_all_connections_that_send(tmp_path: Path) -> None:
    async def play() -> list[int]:
        inner = Waiting()
        inner.goes_on.set()
        app, state, keys = guarded(inner, tmp_path, read_seconds=0.1)
        state.most_connections = 8  # as many as there can be, and not as many as were wanted
        of = scope("POST", "/", [*keys["ann"], (b"content-length", b"2")])
        slow = [asyncio.create_task(asked(app, of.copy(), [b"{", None])) for _ in range(3)]
        other = await asked(app, scope("POST", "/", [*keys["bob"], (b"content-length", b"2")]), [b"{}"])
        told = [other, *await asyncio.gather(*slow)]
        assert len(state.shares) == 0
        return [each.status for each in told if each]

    assert asyncio.run(play()) == [200, 408, 408, 503]


def test_each_address_has_a_share_where_there_are_no_keys() -> None:
    async def play() -> list[str]:
        app, state = asgi.guarded(Waiting(), most_bytes=2 * LONG, read_seconds=0.2)
        chunked = [HOST, (b"transfer-encoding", b"chunked")]
        of = [scope("POST", "/", chunked) | {"client": (host, 5)} for host in ["10.0.0.1"] * 20 + ["10.0.0.2"] * 2]
        told = await asyncio.gather(*(asked(app, each, [b"x" * 2 * LONG, None]) for each in of))
        assert (state.held_bytes, len(state.shares)) == (0, 0)
        return [each.code for each in told if each]

    codes = asyncio.run(play())
    assert codes[20:] == ["too_slow"] * 2
    assert codes[:20].count("too_slow") == 2 * BODIES // PART, "only what is beyond the first bytes is counted"
    assert codes[:20].count("overloaded") == 20 - 2 * BODIES // PART
