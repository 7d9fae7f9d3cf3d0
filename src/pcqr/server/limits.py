"""Limits on one request and on all together: bytes, time, how many at once. Connections are in `connections`.

A body is read whole before anything else happens. So a slow or endless body costs its sender's connection and no place
among the requests in flight, and nothing is spent on a request that never arrives.
"""

from __future__ import annotations

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pcqr.server.errors import Refusal
from pcqr.server.gate import Gate

IS_READ = "pcqr.is_read"
"""Where the scope says that the body was read to its end."""
_ALWAYS = "/v2/health/live"
_BODIES = 16
"""Bodies of full size that may be held at once, by all requests together."""
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
        length = _length(scope)
        if length == 0:
            scope[IS_READ] = True
            await self._let_in(scope, receive, send)
            return
        if length is not None and length > self.most_bytes:
            raise self._too_large()
        body = bytearray()
        try:
            try:
                async with asyncio.timeout(gate.settings.read_seconds):
                    await self._read(scope, body, receive)
            except TimeoutError:
                raise Refusal("too_slow", "The request did not arrive in time.") from None
            except Gone:
                return
            await self._let_in(scope, _replaying(bytes(body), receive), send)
        finally:
            gate.held_bytes -= len(body)

    async def _read(self, scope: Scope, body: bytearray, receive: Receive) -> None:
        """Append what comes to `body`. Whoever calls gives its bytes back, however this ends."""
        gate = self.gate
        while not scope.get(IS_READ):
            message = await receive()
            if message["type"] == "http.disconnect":
                raise Gone
            part = message.get("body", b"")
            body += part
            gate.held_bytes += len(part)
            scope[IS_READ] = not message.get("more_body", False)
            if len(body) > self.most_bytes:
                raise self._too_large()
            if gate.held_bytes > _BODIES * self.most_bytes:
                raise Refusal("overloaded", "Too many long requests at once.")

    async def _let_in(self, scope: Scope, receive: Receive, send: Send) -> None:
        gate = self.gate
        if gate.in_flight >= gate.settings.most_requests:
            raise Refusal("overloaded", "Too many requests at once.")
        gate.in_flight += 1
        try:
            await self.app(scope, receive, send)
        finally:
            gate.in_flight -= 1

    def _too_large(self) -> Refusal:
        return Refusal("too_large", f"A body may have {self.most_bytes:,} bytes.", {"most": self.most_bytes})


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
