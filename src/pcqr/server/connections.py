"""Connections: how many there may be, and how long each may take over what is no request yet.

A layer below ASGI, which begins only when the headers of a request are there. Refused here, in the one JSON shape:
headers that come too slowly (408) or are too long (413), what is no HTTP (400), more connections than may be (503).
Where all connections are taken, the one that has waited longest without a request gives way: idle ones keep nobody out.
Whatever more an open network needs (floods, slow readers, handshakes that are left) is a proxy's affair.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from pcqr.server.errors import Refusal
from pcqr.server.logs import EPISODES
from pcqr.server.requests import SECURITY_HEADERS, WHOLE, Response, header_lines
from pcqr.server.state import ServerState

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST_HEADER_BYTES = 32 * 1024


class Connections:
    """All connections of one process; those without a request under way in the order in which they began to wait."""

    def __init__(self, state: ServerState) -> None:
        self.state = state
        self.opened: set[Connection] = set()
        self.waiting: dict[Connection, None] = {}

    @property
    def protocol(self) -> Callable[..., Connection]:
        """What uvicorn makes of every new connection."""
        return partial(Connection, all_connections=self)

    def has_room(self) -> bool:
        """May all stay? If not, the one that has been idle longest gives way, if any is."""
        if len(self.opened) > self.state.most_connections:
            for oldest in self.waiting:
                oldest.end("gave way")
                return True
            return False
        return True


class Connection(HttpToolsProtocol):
    """One connection of uvicorn's, with limits on headers."""

    def __init__(self, *args: Any, all_connections: Connections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._all = all_connections
        self._header_timer: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        """Of headers that are not complete."""
        self._most_header_bytes = 0
        """No headers that are complete now can have more."""
        self._is_within_headers = True
        """From the end of a request to the end of the next one's headers."""
        self._is_over = False
        self._answering: RequestResponseCycle | None = None
        """The request that was begun last; `cycle` is the one that came last, and may wait for it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._all.opened.add(self)
        if self._all.has_room():
            self._wait()
        else:
            self._refuse(Refusal("overloaded", "Too many connections."), "too many")

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.opened.discard(self)
        self._stop_waiting()
        self.pipeline.clear()
        if self._answering is not None:
            self._answering.disconnected = not self._answering.response_complete
            self._answering.message_event.set()
        super().connection_lost(exc)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Nothing more comes. Whoever has sent its requests whole gets its replies; TLS ends in both directions."""
        if self.scheme == "https":
            return False
        if self._is_over:
            return True  # the last words, or the last reply, are on their way, and end it
        self._forget_unfinished()
        if self.cycle is None or self.cycle.more_body or self.cycle.response_complete:
            return False
        self.cycle.keep_alive = False
        return True

    def data_received(self, data: bytes) -> None:
        if self._is_over:
            return
        self._most_header_bytes += len(data)
        self._header_bytes += len(data) if self._is_within_headers else 0
        super().data_received(data)
        if not self._is_within_headers:
            self._most_header_bytes = 0
        elif not self._is_over:
            self._wait()
            if self._header_bytes > _MOST_HEADER_BYTES:
                self._refuse(_too_long(), "long headers")

    def on_message_begin(self) -> None:
        self._is_within_headers = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        if self._most_header_bytes > _MOST_HEADER_BYTES and self._are_too_long():
            self._refuse(_too_long(), "long headers")
            return
        self._is_within_headers = False
        self._header_bytes = 0
        self._stop_waiting()
        super().on_headers_complete()
        self.headers = []  # a trailer comes when the headers have been judged, and is none of them

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        cycle.scope["extensions"] = {WHOLE: partial(self._reply, cycle)}  # type: ignore[dict-item]
        super()._start_asgi_task(cycle, app)

    async def _reply(self, cycle: RequestResponseCycle, response: Response) -> None:
        """Write a whole response: what `cycle.send` does with two messages, checking and joining each header."""
        if self.flow.write_paused and not cycle.disconnected:
            await self.flow.drain()
        if cycle.disconnected:
            return
        cycle.waiting_for_100_continue = False
        if response.is_last:
            cycle.keep_alive = False
        head = STATUS_LINE[response.status] + header_lines(self.server_state.default_headers) + response.header_lines
        end = b"\r\n" if cycle.keep_alive else b"connection: close\r\n\r\n"
        self.transport.write(head + end + (b"" if cycle.scope["method"] == "HEAD" else response.body))
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if not cycle.keep_alive:
            self.transport.close()
        cycle.on_response()

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing is upgraded here. The request is answered as it stands, and nothing is read after it."""
        self._refuse(Refusal("bad_http", "Nothing is upgraded here."), "upgrade")

    def on_body(self, body: bytes) -> None:
        if not self._is_over:
            super().on_body(body)

    def on_message_complete(self) -> None:
        if not self._is_over:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if not self.pipeline and not self.transport.is_closing():
            self._is_within_headers = True
            self._all.waiting[self] = None  # uvicorn's own timer ends those that stay idle

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 - uvicorn's words
        self._refuse(Refusal("bad_http", "This is not a request of HTTP/1.1."), "bad HTTP")

    def shutdown(self) -> None:
        """The server ends: as uvicorn's, and who is still sending a request is sent away."""
        if self.is_receiving:
            self._refuse(Refusal("closing", "The server is ending."), "closing")
        else:
            super().shutdown()

    def end(self, why: str) -> None:
        """Close without a word."""
        self._all.state.metrics.refused(why)
        self._is_over = True
        self._stop_waiting()
        self.transport.close()

    def _are_too_long(self) -> bool:
        return sum(len(name) + len(value) + 4 for name, value in self.headers) + len(self.url) > _MOST_HEADER_BYTES

    def _wait(self) -> None:
        """The headers of a request must be there in time, from the first byte on or, at first, from the connection."""
        self._all.waiting.setdefault(self, None)
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self._all.state.settings.header_seconds, self._too_slow)

    def _stop_waiting(self) -> None:
        self._all.waiting.pop(self, None)
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _too_slow(self) -> None:
        self._refuse(Refusal("too_slow", "The headers of the request did not arrive in time."), "slow headers")

    @property
    def is_receiving(self) -> bool:
        """Is a request under way whose body is not there yet, and none other?"""
        cycle = self.cycle
        is_open = cycle is not None and cycle.more_body and not cycle.response_started and not cycle.disconnected
        return is_open and not self.pipeline

    def _forget_unfinished(self) -> None:
        """Of requests that wait for others, the last may not have come whole."""
        if self.pipeline and self.cycle.more_body:
            self.pipeline.popleft()
            self.cycle = self.pipeline[0][0] if self.pipeline else self._answering  # type: ignore[assignment]

    def _refuse(self, refusal: Refusal, why: str) -> None:
        """Reply and close. Where other requests came before and are not answered yet, their replies are the last."""
        if self._is_over:
            return
        self._is_over = True
        self._all.state.metrics.refused(why)
        EPISODES.note(refusal)
        self._stop_waiting()
        if self.is_receiving:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._forget_unfinished()
        if self.cycle is not None and not self.cycle.response_complete and not self.cycle.disconnected:
            self.cycle.keep_alive = False
            return
        schedule = self._all.state.schedule
        if schedule is None:
            self._last_words(refusal)
        else:
            schedule.at_reply(lambda: self._last_words(refusal))

    def _last_words(self, refusal: Refusal) -> None:
        if self.transport.is_closing():
            return
        body = refusal.body
        headers = [*self.server_state.default_headers, *SECURITY_HEADERS]
        headers += [(name.encode(), value.encode()) for name, value in refusal.headers.items()]
        headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        lines = header_lines((*headers, (b"connection", b"close")))
        self.transport.write(STATUS_LINE[refusal.status] + lines + b"\r\n" + body)
        self.transport.close()


def _too_long() -> Refusal:
    return Refusal("too_large", f"Headers may have {_MOST_HEADER_BYTES:,} bytes.", {"most": _MOST_HEADER_BYTES})
