"""Limits on a request: its bytes, its time, how many at once. What never arrives whole is never begun."""

from __future__ import annotations

import asyncio
import json

from hypothesis import given
from hypothesis import strategies as st
from support.asgi import HOST, Reply, ask, asked, guarded, scope

from pcqr.server.bodies import LONG
from pcqr.server.requests import Application, Request, Response

CHUNKED = [HOST, (b"transfer-encoding", b"chunked")]


class Endpoint:
    """Says how long the body is; waits where it is told to."""

    def __init__(self) -> None:
        self.calls = 0
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()

    async def __call__(self, request: Request) -> Response:
        self.calls += 1
        await self.may_go_on.wait()
        return Response(json.dumps(len(request.body)).encode())


def post(app: Application, parts: list[bytes | None], headers: list[tuple[bytes, bytes]]) -> Reply:
    return ask(app, "POST", "/v2/models/a/infer", headers, parts=parts)


@given(st.lists(st.binary(max_size=6), min_size=1, max_size=8), st.booleans())
def test_a_body_is_as_long_as_it_may_be_and_no_longer(parts: list[bytes | None], is_chunked: bool) -> None:
    """However it comes in parts, and whether it says how long it is or not."""
    inner = Endpoint()
    app, state = guarded(inner, most_bytes=16)
    length = sum(len(part or b"") for part in parts)
    headers = CHUNKED if is_chunked else [HOST, (b"content-length", str(length).encode())]
    told = post(app, parts, headers)
    if length <= 16:
        assert (told.status, told.body, inner.calls) == (200, str(length).encode(), 1)
    else:
        assert (told.status, told.code, inner.calls) == (413, "too_large", 0)
    assert (state.held_bytes, state.in_flight) == (0, 0)


def test_a_length_that_is_too_large_is_refused_before_anything_is_sent() -> None:
    inner = Endpoint()
    app, _ = guarded(inner, most_bytes=16)
    told = post(app, [None], [HOST, (b"content-length", b"17"), (b"expect", b"100-continue")])
    assert (told.code, told.header("connection"), inner.calls) == ("too_large", "close", 0)
    assert post(app, [b"x"], [HOST, (b"content-length", b"9" * 30)]).status == 200  # no parser lets that through


def test_a_client_that_leaves_gets_no_reply_and_nothing_is_begun() -> None:
    inner = Endpoint()
    app, state = guarded(inner)
    of = scope("POST", "/v2/models/a/infer", [HOST, (b"content-length", b"2")])
    assert asyncio.run(asked(app, of, ())) is None
    assert (inner.calls, state.held_bytes, state.in_flight) == (0, 0, 0)


def test_a_refused_body_is_read_to_its_end_and_the_connection_is_kept() -> None:
    app, _ = guarded(Endpoint(), most_bytes=4)
    told = post(app, [b"xxxxx", b"xx"], CHUNKED)
    assert (told.code, told.header("connection")) == ("too_large", None)
    told = ask(app, "GET", headers=[(b"host", b"evil.example")])
    assert told.header("connection") is None


def test_so_many_at_once_and_no_more() -> None:
    async def scene() -> tuple[list[Reply | None], Reply | None, Reply | None]:
        inner = Endpoint()
        inner.may_go_on.clear()
        app, state = guarded(inner, most_requests=3)
        running = [asyncio.create_task(asked(app, scope())) for _ in range(3)]
        while state.in_flight < 3:
            await asyncio.sleep(0)
        refused = await asked(app, scope())
        inner.may_go_on.set()
        replies = list(await asyncio.gather(*running))
        assert state.in_flight == 0
        return replies, refused, await asked(app, scope())

    replies, refused, later = asyncio.run(scene())
    assert [told.status for told in (*replies, later) if told] == [200] * 4
    assert refused is not None
    assert (refused.status, refused.code, refused.header("retry-after")) == (503, "overloaded", "1")


def test_all_bodies_together_have_a_limit() -> None:
    """However many send them. Short ones are let in all the same."""

    async def scene() -> list[Reply | None]:
        inner = Endpoint()
        app, state = guarded(inner, most_bytes=2 * LONG, read_seconds=0.2)
        of = [scope("POST", "/", CHUNKED) | {"client": (f"10.0.0.{number}", 5)} for number in range(40)]
        long = [asyncio.create_task(asked(app, each, [b"x" * 2 * LONG, None])) for each in of]
        while state.held_bytes < 32 * LONG:
            await asyncio.sleep(0)
        short = await asked(app, scope("POST", "/", CHUNKED), [b"x" * LONG])
        told = await asyncio.gather(*long)
        assert state.held_bytes == 0
        return [short, *told]

    short, *long = asyncio.run(scene())
    assert short is not None
    assert short.status == 200
    codes = [told.code for told in long if told]
    assert codes.count("too_slow") == 32
    assert codes.count("overloaded") == 8


def test_a_failure_gives_its_place_back() -> None:
    async def broken(_: object) -> Response:
        raise ZeroDivisionError

    app, state = guarded(broken)
    for _ in range(3):
        assert post(app, [b"{}"], [HOST, (b"content-length", b"2")]).code == "internal"
    assert (state.held_bytes, state.in_flight) == (0, 0)
