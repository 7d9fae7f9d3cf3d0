"""One conversation with a server that need not be well: tries, waits, limits, and nothing that hangs."""

from __future__ import annotations

import json
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import httpx
import pytest
from support.kept import in_a_fork
from support.replying import FACTS, ROW, SERVER, answered, refused, remote, said, streamed

import pcqr
from pcqr.client import wire
from pcqr.client.errors import BadReply, ServiceAway
from pcqr.client.wire import TRIES, Address, Wire, client_of

pytestmark = pytest.mark.usefixtures("pauses")
SECRET = "pcqr_0123456789abcdef"  # noqa: S105


def test_a_lost_reply_is_asked_for_again_under_the_same_token(pauses: list[float]) -> None:
    tokens = []

    def handler(request: httpx.Request) -> httpx.Response:
        tokens.append(request.headers["idempotency-key"])
        if len(tokens) < 3:
            raise httpx.ReadError("lost")
        return answered(request)

    found = remote(handler)
    assert found.answer(ROW).label == "ill"
    assert len(tokens) == 3
    assert len(set(tokens)) == 1
    assert pauses == [0.2, 0.4]
    found.answer(ROW)
    assert len(set(tokens)) == 2, "another question has another token"


def test_a_server_says_when_to_come_back_and_is_not_waited_for_for_ever(pauses: list[float]) -> None:
    replies = iter(["7", "86400", "soon", None])

    def handler(request: httpx.Request) -> httpx.Response:
        after = next(replies)
        return answered(request) if after is None else refused("overloaded", 503, **{"retry-after": after})

    assert remote(handler).answer(ROW).label == "ill"
    assert pauses == [7.0, wire.LONGEST_PAUSE, 0.8]


@pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ReadTimeout, httpx.RemoteProtocolError])
def test_tries_end_and_the_message_says_what_to_do(pauses: list[float], error: type[httpx.TransportError]) -> None:
    def handler(_: httpx.Request) -> httpx.Response:
        raise error("evil \x1b[31m words")

    with pytest.raises(ServiceAway, match="pcqr serve") as away:
        remote(handler).answer(ROW)
    assert isinstance(away.value, ConnectionError)
    assert "evil" not in str(away.value)
    assert len(pauses) == TRIES - 1


@pytest.mark.parametrize(
    "reply",
    [
        httpx.Response(200, text="<h1>It works!</h1>"),
        httpx.Response(302, headers={"location": "http://elsewhere.example"}),
        httpx.Response(200, content=b"x", headers={"content-encoding": "gzip", "content-type": "application/json"}),
        httpx.Response(200, content=b"\xff", headers={"content-type": "application/json"}),
        httpx.Response(200, content=b'{"a": 1, "a": 2}', headers={"content-type": "application/json"}),
        httpx.Response(200, content=b"[" * 100_000, headers={"content-type": "application/json"}),
        said(["a", "list"]),
        said({"error": "x"}, 418),
    ],
    ids=lambda reply: str(reply.status_code),
)
def test_what_no_pcqr_server_says_is_refused(reply: httpx.Response) -> None:
    with pytest.raises(BadReply, match="pcqr server"):
        remote(lambda _: reply).answer(ROW)


def test_a_flood_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "MOST_BYTES", 1 << 20)
    sent = 0

    def flood() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 65_536
            yield bytes(65_536)

    def handler(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=flood(), headers={"content-type": "application/json"})

    with pytest.raises(BadReply, match="more than 1 MiB"):
        remote(handler).answer(ROW)
    assert sent <= (1 << 20) + 2 * 65_536


@contextmanager
def listening(behave: Callable[[socket.socket], None]) -> Iterator[int]:
    """A port whose every caller is treated as `behave` says."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        done = threading.Event()

        def accept() -> None:
            while not done.is_set():
                try:
                    caller, _ = server.accept()
                except OSError:
                    return
                threading.Thread(target=treat, args=(caller,), daemon=True).start()

        def treat(caller: socket.socket) -> None:
            with caller, suppress(OSError):
                behave(caller)

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        done.set()
        server.shutdown(socket.SHUT_RDWR)  # wakes the thread that accepts


def drip(start: bytes) -> Callable[[socket.socket], None]:
    def behave(caller: socket.socket) -> None:
        caller.recv(65_536)
        caller.sendall(start)
        while True:
            caller.sendall(b"a")
            time.sleep(0.02)

    return behave


@pytest.mark.parametrize(
    "behave",
    [
        drip(b"HTTP/1.1 200 OK\r\nX: "),
        drip(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"),
        lambda _: time.sleep(20),
    ],
    ids=["headers", "body", "silence"],
)
def test_a_server_that_drips_holds_nobody_up(
    monkeypatch: pytest.MonkeyPatch, behave: Callable[[socket.socket], None]
) -> None:
    monkeypatch.setattr(wire, "TRIES", 2)
    with listening(behave) as port:
        address = Address("http://127.0.0.1:" + str(port), "x")
        found = Wire(address, client_of(address, None, 0.2, None), 0.2)
        with pytest.raises(ServiceAway, match="took too long"):
            found.call("GET", "/v1/releases/x")
        found.close()


def test_a_closed_port_is_said_at_once_in_a_sentence(pauses: list[float]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ServiceAway, match=rf"^The server http://127.0.0.1:{port} cannot be reached: .*pcqr serve"):
        pcqr.connect(f"http://127.0.0.1:{port}/hospital")
    assert pauses == []


def test_a_server_that_does_not_speak_tls_is_said_at_once(pauses: list[float]) -> None:
    def behave(caller: socket.socket) -> None:
        caller.recv(65_536)
        caller.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with listening(behave) as port, pytest.raises(BadReply, match="http://"):
        pcqr.connect(f"https://127.0.0.1:{port}/hospital")
    assert pauses == []


def test_the_key_is_in_the_header_and_nowhere_else(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("PCQR_KEY", SECRET)
    seen = []

    def behave(caller: socket.socket) -> None:
        seen.append(caller.recv(65_536))
        body = json.dumps(FACTS).encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        caller.sendall(head.encode() + b"Connection: close\r\nSet-Cookie: a=b\r\n\r\n" + body)

    with listening(behave) as port:
        found = pcqr.connect(f"http://127.0.0.1:{port}/hospital")
        assert f"Bearer {SECRET}".encode() in seen[0]
        assert SECRET not in repr(found) + repr(vars(found))
        found.queries_answered_  # noqa: B018
        assert b"cookie" not in seen[1].lower()
        found.close()
    assert SECRET not in caplog.text
    with pytest.raises(ServiceAway) as away:
        pcqr.connect(f"http://127.0.0.1:{port}/hospital")
    assert SECRET not in str(away.value)


def test_a_forked_process_does_not_share_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = []

    def client() -> httpx.Client:
        opened.append(1)
        return httpx.Client(transport=httpx.MockTransport(lambda _: streamed(said({}))))

    found = Wire(Address(SERVER, "x"), client, 5.0)
    found.call("GET", "/v1")
    found.call("GET", "/v1")
    assert len(opened) == 1
    with found._turn:  # another thread was asking when it forked
        monkeypatch.setattr("os.getpid", lambda: -1)
        found.call("GET", "/v1")
    assert len(opened) == 2


def test_a_forked_process_with_the_id_of_an_earlier_one_does_not_share_it_either(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened = []

    def client() -> httpx.Client:
        opened.append(1)
        return httpx.Client(transport=httpx.MockTransport(lambda _: streamed(said({}))))

    found, owner = Wire(Address(SERVER, "x"), client, 5.0), os.getpid()
    found.call("GET", "/v1")
    monkeypatch.setattr("os.getpid", lambda: owner)

    def ask() -> None:
        found.call("GET", "/v1")
        assert len(opened) == 2

    assert in_a_fork(ask) == 0
