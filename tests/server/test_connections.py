"""The server on real sockets, as an attacker meets it: slow, endless, malformed, too many."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
from support.asgi import guarded
from support.serving import Running, running

from pcqr.server.requests import SECURITY_HEADERS, Application, Request, Response
from pcqr.server.state import ServerState

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
LIMIT = 20_000


@dataclass
class Seen:
    """What reached the application: the bodies, in order. Requests for /slow are answered once `goes_on` is set."""

    bodies: list[bytes]
    goes_on: threading.Event = field(default_factory=threading.Event)


def make(seen: Seen, **settings: Any) -> tuple[Application, ServerState]:
    async def endpoint(request: Request) -> Response:
        seen.bodies.append(request.body)
        while request.path == "/slow" and not seen.goes_on.is_set():
            await asyncio.sleep(0.005)
        return Response(b"xx" if b"late" not in request.headers else b"a trailer was believed")

    return guarded(endpoint, **settings)


@contextlib.contextmanager
def started(**settings: Any) -> Iterator[tuple[Running, Seen]]:
    seen = Seen([])
    app, state = make(seen, most_bytes=LIMIT, **({"header_seconds": 0.2, "read_seconds": 0.3} | settings))
    with running(app, state) as server:
        yield server, seen


@pytest.fixture(scope="module")
def shared() -> Iterator[tuple[Running, Seen]]:
    with started() as found:
        yield found


@pytest.fixture
def server(shared: tuple[Running, Seen]) -> tuple[Running, Seen]:
    shared[1].bodies.clear()
    return shared


def connected(server: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=5)


def until_closed(connection: socket.socket) -> bytes:
    """All that the server says before it closes."""
    found = b""
    with contextlib.suppress(ConnectionResetError):
        while part := connection.recv(1 << 16):
            found += part
    return found


def exchanged(server: Running, sent: bytes, *, is_half_closed: bool = False) -> bytes:
    with connected(server) as connection:
        connection.sendall(sent)
        if is_half_closed:
            connection.shutdown(socket.SHUT_WR)
        return until_closed(connection)


def refused(told: bytes) -> tuple[int, str]:
    """Status and code of the last reply, whose shape and headers are checked."""
    head, _, body = told[told.rindex(b"HTTP/1.1 ") :].partition(b"\r\n\r\n")
    lines = [line.lower() for line in head.split(b"\r\n")]
    assert all(name + b": " + value.lower() in lines for name, value in SECURITY_HEADERS)
    assert b"connection: close" in lines
    found = json.loads(body)
    assert set(found) == {"error", "code", "status", "details"}
    assert int(head.split()[1]) == found["status"]
    return found["status"], found["code"]


def metric(server: Running, line: str) -> float:
    found = [each for each in server.state.metrics.text().decode().splitlines() if each.startswith(line)]
    return float(found[0].split()[-1]) if found else 0.0


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: localhost\r\nX: y", b"\r\n\r\n"])
def test_headers_that_never_end_get_408(server: tuple[Running, Seen], sent: bytes) -> None:
    assert refused(exchanged(server[0], sent)) == (408, "too_slow")
    assert server[1].bodies == []


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 10\r\n\r\n12345",
        b"Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
        b"Content-Length: 1\r\n\r\n",
    ],
)
def test_a_body_that_does_not_come_gets_408_and_is_never_begun(server: tuple[Running, Seen], headers: bytes) -> None:
    told = exchanged(server[0], b"POST / HTTP/1.1\r\nHost: localhost\r\n" + headers)
    assert refused(told) == (408, "too_slow")
    assert server[1].bodies == []


SMUGGLED = b"GET /?smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"


@pytest.mark.parametrize(
    "headers",
    [
        b"Content-Length: 4\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: chunked\r\nContent-Length: 4",
        b"Content-Length: 4\r\nContent-Length: 5",
        b"Content-Length: 4, 4",
        b"Content-Length: +4",
        b"Content-Length: -4",
        b"Content-Length: 0x4",
        b"Content-Length: 4 5",
        b"Content-Length : 4",
        b"Transfer-Encoding: xchunked",
        b"Transfer-Encoding: chunked, identity",
        b"Transfer-Encoding: identity",
        b"Transfer-Encoding : chunked",
        b"X: y\r\n z: folded",
        b"X: a\x00b",
        b"X: a\rb",
        b": no name",
        b"no colon",
        b"Host: localhost\r\nHost: evil.example",
    ],
)
def test_what_two_parsers_could_read_in_two_ways_is_refused(server: tuple[Running, Seen], headers: bytes) -> None:
    request = b"POST / HTTP/1.1\r\nHost: localhost\r\n" + headers + b"\r\n\r\n" + b"0\r\n\r\n" + SMUGGLED
    told = exchanged(server[0], request, is_half_closed=True)
    assert refused(told)[0] in (400, 421)
    assert server[1].bodies == []


@pytest.mark.parametrize(
    "sent",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"G\xc3\x89T / HTTP/1.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"CONNECT evil.example:443 HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"FROBNICATE / HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n-1\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
    ],
)
def test_what_is_no_http_gets_400(server: tuple[Running, Seen], sent: bytes) -> None:
    assert refused(exchanged(server[0], sent)) == (400, "bad_http")
    assert server[1].bodies == []


POST = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n"


AFTER = (b"garbage\r\n\r\n", POST, POST[:-9], b"GET / HTTP/1.1\r\nHos")


@pytest.mark.parametrize("count", [1, 2, 5])
@pytest.mark.parametrize(("after", "is_half_closed"), [(b"", True), *product(AFTER, (True, False))])
def test_requests_that_came_whole_are_answered_whatever_comes_after_them(
    server: tuple[Running, Seen], caplog: pytest.LogCaptureFixture, count: int, after: bytes, is_half_closed: bool
) -> None:
    """What was answered is spent: its asker must get it, also one that has closed its own direction by then."""
    told = exchanged(
        server[0], b"".join(POST + b"%d" % number for number in range(count)) + after, is_half_closed=is_half_closed
    )
    assert told.count(b"HTTP/1.1 200") == count
    assert server[1].bodies == [b"%d" % number for number in range(count)]
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


def test_a_refused_request_ends_what_was_sent_after_it(server: tuple[Running, Seen]) -> None:
    """A request to another host, whose body holds one to this."""
    evil = b"POST / HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 100000\r\n\r\n"
    told = exchanged(server[0], evil + SMUGGLED)
    assert told.startswith(b"HTTP/1.1 421 ")
    assert told.count(b"HTTP/1.1 ") == 1
    assert server[1].bodies == []


def test_trailers_are_no_headers(server: tuple[Running, Seen]) -> None:
    request = b"POST / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n"
    told = exchanged(server[0], request + b"1\r\nx\r\n0\r\nLate: 1\r\nHost: evil.example\r\n\r\n")
    assert told.endswith(b"xx")
    assert server[1].bodies == [b"x"]


@pytest.mark.parametrize("parts", [1, 200])
def test_headers_that_are_too_long_get_413(server: tuple[Running, Seen], parts: int) -> None:
    with connected(server[0]) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(parts):
                connection.sendall(b"X: " + b"y" * (40_000 // parts) + b"\r\n")
            connection.sendall(b"\r\n")
        assert refused(until_closed(connection)) == (413, "too_large")
    assert server[1].bodies == []


@pytest.mark.parametrize("to", [b"websocket", b"h2c"])
def test_nothing_is_upgraded(server: tuple[Running, Seen], to: bytes) -> None:
    request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: " + to + b"\r\n\r\n"
    told = exchanged(server[0], request + SMUGGLED)
    assert told.startswith(b"HTTP/1.1 200 OK")
    assert told.count(b"HTTP/1.1 ") == 1


def test_two_thousand_idle_connections_keep_nobody_out() -> None:
    with started(most_connections=100, header_seconds=30.0) as (server, _), contextlib.ExitStack() as stack:
        idle = [stack.enter_context(connected(server)) for _ in range(2_000)]
        with connected(server) as connection:
            connection.sendall(GET)
            assert b"200 OK" in connection.recv(65536)
        assert metric(server, 'pcqr_connections_refused_total{why="gave way"}') >= 1_900
        assert idle[0].recv(10) == b""  # the first has given way
        idle[-1].sendall(GET)
        assert b"200 OK" in idle[-1].recv(65536)  # the last has not


def test_connections_at_work_do_not_give_way() -> None:
    with started(most_connections=5) as (server, seen), contextlib.ExitStack() as stack:
        busy = [stack.enter_context(connected(server)) for _ in range(5)]
        for each in busy:
            each.sendall(b"POST /slow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\nok")
        while len(seen.bodies) < 5:
            time.sleep(0.005)
        told = exchanged(server, b"")
        assert refused(told) == (503, "overloaded")
        seen.goes_on.set()
        for each in busy:
            assert b"200 OK" in each.recv(65536)


def test_an_end_sends_slow_senders_away_and_takes_no_new_ones() -> None:
    with started(read_seconds=30.0) as (server, seen), connected(server) as slow, connected(server) as idle:
        slow.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n")
        while metric(server, "pcqr_requests_in_flight") < 1:
            time.sleep(0.005)
        server.server.stop()
        assert refused(until_closed(slow)) == (503, "closing")
        assert until_closed(idle) == b""
        assert seen.bodies == []
