"""Connections by TLS: what is no connection yet is limited, too."""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from support.certificates import certificate
from support.serving import Running, running

from pcqr.server.metrics import Metrics
from pcqr.server.process import tls
from pcqr.server.state import ServerState, Settings

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def endpoint(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "lifespan":
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await send({"type": "lifespan.shutdown.complete"})
        return
    await Request(scope, receive).body()
    if scope["path"] == "/slow":
        await receive()  # until the client leaves
    await Response(scope["scheme"])(scope, receive, send)


@contextlib.contextmanager
def started(folder: Path, **more: Any) -> Iterator[Running]:
    chain, key = certificate(folder)
    settings = Settings(certificate=chain, certificate_key=key, **more)
    with running(endpoint, ServerState(settings, Metrics()), tls(settings)) as server:
        yield server


def connected(server: Running) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.port), timeout=10)


def encrypted(plain: socket.socket) -> ssl.SSLSocket:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(plain)


def asked(connection: ssl.SSLSocket) -> bytes:
    connection.sendall(GET)
    found = b""
    while not found.partition(b"\r\n\r\n")[2]:
        part = connection.recv(65536)
        assert part, "the server has closed the connection"
        found += part
    return found


def refused(server: Running, why: str) -> float:
    told = server.gate.metrics.text().decode().splitlines()
    return sum(
        float(line.split()[-1]) for line in told if line.startswith(f'pcqr_connections_refused_total{{why="{why}"')
    )


def test_handshakes_that_are_left_keep_nobody_out(tmp_path: Path) -> None:
    with started(tmp_path, most_connections=10, header_seconds=60.0) as server, contextlib.ExitStack() as stack:
        early = stack.enter_context(encrypted(connected(server)))
        assert asked(early).endswith(b"https")
        remaining = [stack.enter_context(connected(server)) for _ in range(200)]
        with encrypted(connected(server)) as connection:
            assert asked(connection).endswith(b"https")
            assert asked(connection).endswith(b"https"), "another one on the same connection"
        assert refused(server, "gave way") >= 190
        assert remaining[0].recv(10) == b"", "the first has given way"
        assert asked(early).endswith(b"https"), "handshakes give way before connections do"


def test_where_all_are_at_work_nobody_else_comes_in(tmp_path: Path) -> None:
    with started(tmp_path, most_connections=2) as server, contextlib.ExitStack() as stack:
        connections = server.server._connections
        busy = [stack.enter_context(encrypted(connected(server))) for _ in range(2)]
        for each in busy:
            each.sendall(GET.replace(b"/ ", b"/slow ", 1))
        while server.server.requests_in_flight < 2 or connections.receiving:
            time.sleep(0.005)
        with connected(server) as late:
            assert late.recv(10) == b""
        assert refused(server, "too many") == 1


def test_handshakes_that_fail_or_take_too_long_end_in_silence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with started(tmp_path, header_seconds=0.2) as server:
        for sent in (b"", GET, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(600)):
            with connected(server) as connection, contextlib.suppress(ConnectionResetError):
                connection.sendall(sent)
                while connection.recv(65536):
                    pass
        while refused(server, "handshake") < 3:
            time.sleep(0.005)
        with encrypted(connected(server)) as connection:
            assert asked(connection).endswith(b"https")
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


def test_an_end_waits_for_no_handshake(tmp_path: Path) -> None:
    with started(tmp_path, header_seconds=60.0) as server, connected(server) as remaining:
        server.server.stop()
        assert remaining.recv(10) == b""
