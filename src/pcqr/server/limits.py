"""Limits on one request and on all together: bytes, time, how many at once. Connections are in `connections`.

A body is read whole before anything else happens. So a slow or endless body costs its sender's connection and no place
among the requests in flight, and nothing is spent on a request that never arrives. Nobody can take all of the memory:
an asker has a share of it (`shares`), and the first bytes of a body are not counted, so that short requests are let in
however many long ones there are. The number of connections limits them.
"""

from __future__ import annotations

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pcqr.server.bodies import LONG
from pcqr.server.errors import Refusal
from pcqr.server.gate import Gate
from pcqr.server.shares import PART, Share

IS_READ = "pcqr.is_read"
"""Where the scope says that the body was read to its end."""
_ALWAYS = "/v2/health/live"
BODIES = 16
"""Bodies of full size that may be held at once, by all requests together; of each, what is beyond the first `LONG`."""
_LINGER_SECONDS, _LINGER_BYTES = 1.0, 1 << 26
"""How long and how much of a refused body is still read: senders look for a reply only when they have sent."""


class Gone(Exception):
    """The client left before its request had arrived."""


class Limits:
    """Read the body, within its limits; then let in as many at once as may be."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self.app = app
        self.gate = gate
        self.most_bytes = gate.settings.most_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        gate = self.gate
        if gate.is_closing and scope["path"] != _ALWAYS:
            raise Refusal("closing", "The server is ending.")
        with gate.shares.of(scope) as share:
            if share.is_limited and share.requests > max(1, gate.most_connections // PART):
                raise _too_many_of_one()
            await self._within(share, scope, receive, send)

    async def _within(self, share: Share, scope: Scope, receive: Receive, send: Send) -> None:
        gate, length = self.gate, _length(scope)
        if length == 0:
            scope[IS_READ] = True
            await self._let_in(share, scope, receive, send)
            return
        if length is not None and length > self.most_bytes:
            raise self._too_large()
        held = _Held(gate, share, self.most_bytes)
        try:
            try:
                async with asyncio.timeout(gate.settings.read_seconds):
                    body = await self._read(scope, held, receive)
            except TimeoutError:
                raise Refusal("too_slow", "The request did not arrive in time.") from None
            except Gone:
                return
            await self._let_in(share, scope, _replaying(body, receive), send)
        finally:
            held.give_back()

    async def _read(self, scope: Scope, held: _Held, receive: Receive) -> bytes:
        """Return the whole body. Whoever calls gives its bytes back, however this ends."""
        body = bytearray()
        while not scope.get(IS_READ):
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            body += message.get("body", b"")
            scope[IS_READ] = not message.get("more_body", False)
            if len(body) > self.most_bytes:
                raise self._too_large()
            held.hold(len(body))
        return bytes(body)

    async def _let_in(self, share: Share, scope: Scope, receive: Receive, send: Send) -> None:
        gate, most = self.gate, self.gate.settings.most_requests
        if gate.in_flight >= most:
            raise Refusal("overloaded", "Too many requests at once.")
        if share.is_limited and share.in_flight >= max(1, most // PART):
            raise _too_many_of_one()
        gate.in_flight += 1
        share.in_flight += 1
        try:
            await self.app(scope, receive, send)
        finally:
            gate.in_flight -= 1
            share.in_flight -= 1

    def _too_large(self) -> Refusal:
        return Refusal("too_large", f"A body may have {self.most_bytes:,} bytes.", {"most": self.most_bytes})


class _Held:
    """The bytes of one body that count: those beyond the first `LONG`."""

    def __init__(self, gate: Gate, share: Share, most_bytes: int) -> None:
        self._gate, self._share, self._most_bytes = gate, share, most_bytes
        self._bytes = 0

    def hold(self, length: int) -> None:
        """Count the bytes of a body. Refuse it if all bodies, or those of its asker, are too long together."""
        self._add(max(0, length - LONG) - self._bytes)
        if self._bytes and self._gate.held_bytes > BODIES * self._most_bytes:
            raise Refusal("overloaded", "Too many long requests at once.")
        if self._bytes and self._share.held_bytes > BODIES // PART * self._most_bytes:
            words = f"One asker may have {BODIES // PART} bodies of full size under way, or more that are shorter."
            raise Refusal("overloaded", words)

    def give_back(self) -> None:
        self._add(-self._bytes)

    def _add(self, more: int) -> None:
        self._bytes += more
        self._gate.held_bytes += more
        self._share.held_bytes += more


def _too_many_of_one() -> Refusal:
    return Refusal("overloaded", "Too many requests of one asker at once.")


def _length(scope: Scope) -> int | None:
    """The bytes of the body, as its headers have it; None: they do not say. The parser has checked these headers."""
    length: int | None = 0
    for name, value in scope["headers"]:
        if name == b"transfer-encoding":
            return None
        if name == b"content-length":
            length = int(value) if value.isdigit() and len(value) < 20 else None
    return length


def _replaying(body: bytes, receive: Receive) -> Receive:
    is_given = False

    async def replayed() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


async def is_read_to_its_end(scope: Scope, receive: Receive) -> bool:
    """Read the rest of a refused body and forget it, for a moment: its sender looks for a reply only when it has sent.

    Whoever asks first whether to send the body (Expect) has not sent it.
    """
    if scope.get(IS_READ) or _length(scope) == 0:
        return True
    left, until = _LINGER_BYTES, time.monotonic() + _LINGER_SECONDS
    if any(name == b"expect" for name, _ in scope["headers"]):
        left = 0
    try:
        async with asyncio.timeout(_LINGER_SECONDS):
            while left > 0 and time.monotonic() < until:
                message = await receive()
                left -= len(message.get("body", b""))
                if not message.get("more_body", False):
                    return True
    except TimeoutError:
        pass
    return False
