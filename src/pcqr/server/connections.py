"""Connections by TLS, which count from the moment that they are accepted.

Left to itself, a server hears of such a connection when its handshake is done: however many were begun and left there,
no limit would apply to them. So connections are accepted here, and the handshake that has taken longest gives way where
all places are taken.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from functools import partial
from itertools import islice
from math import inf
from typing import Any

from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol, RequestResponseCycle

from pcqr.server.errors import Refusal
from pcqr.server.logs import EPISODES
from pcqr.server.schedule import SHARE
from pcqr.server.state import ServerState

_PAUSE = 0.1
"""Seconds after which accepting is tried again, where the system has no more files."""


class Handshakes:
    """Accepts what comes at `bound` until it is closed. `seconds` are those of one handshake."""

    def __init__(
        self,
        bound: socket.socket,
        context: ssl.SSLContext,
        seconds: float,
        connections: Connections,
        protocol: Callable[[], asyncio.Protocol],
    ) -> None:
        self._bound, self._context, self._seconds = bound, context, seconds
        self._all, self._protocol = connections, protocol
        self._ending: list[asyncio.Task[None]] = []

    def start(self, backlog: int) -> None:
        """For the running loop."""
        self._bound.setblocking(False)
        self._bound.listen(backlog)
        self._ending = [asyncio.get_running_loop().create_task(self._accept())]

    def close(self) -> None:
        """Accept nothing more, and end what is not a connection yet."""
        self._ending += self._all.handshakes
        for task in self._ending:
            task.cancel()

    async def wait_closed(self) -> None:
        """Until all of that has ended."""
        await asyncio.gather(*self._ending, return_exceptions=True)

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                accepted, _ = await loop.sock_accept(self._bound)
            except OSError:
                await asyncio.sleep(_PAUSE)
                continue
            if self._all.has_room(more=1):
                task = loop.create_task(self._shake(accepted))
                self._all.handshakes[task] = None
                task.add_done_callback(self._over)
            else:
                self._all.gate.metrics.refused("too many")
                accepted.close()

    async def _shake(self, accepted: socket.socket) -> None:
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._protocol, accepted, ssl=self._context, ssl_handshake_timeout=self._seconds
            )
        except OSError:  # that of OpenSSL is one, and so is a handshake that takes too long
            self._all.gate.metrics.refused("handshake")
        except asyncio.CancelledError:
            accepted.close()
            raise

    def _over(self, task: asyncio.Task[None]) -> None:
        self._all.handshakes.pop(task, None)


# ---------------------------------------------------------------------------------------------------------------------
# Connections: how many there may be, and how long each may take over what is no request yet.
#
# A layer below ASGI, which begins only when the headers of a request are there. Refused here, in the one JSON shape:
# headers that come too slowly (408) or are too long (413), what is no HTTP (400), more connections than may be (503).
# Where all connections are taken, the one that has waited longest without a request gives way: thousands of idle ones
# keep nobody out. If none is idle, one whose body has not come whole gives way (503). So requests that come whole are
# let in, whoever holds connections open by unfinished ones, with however many keys. A client that does not read its
# reply loses its connection.


_MOST_HEADER_BYTES = 32 * 1024
_SLOWEST = 1024
"""Bytes a second that a client must take of its reply."""
_COMPARED = 16
"""Connections with unfinished bodies, of which the one gives way whose asker has most requests."""


class Connections:
    """All connections of one process; those without a request under way in the order in which they began to wait."""

    def __init__(self, gate: ServerState, headers: tuple[tuple[bytes, bytes], ...]) -> None:
        self.gate = gate
        self.headers = headers
        """What every reply has."""
        self.opened: set[Connection] = set()
        self.waiting: dict[Connection, None] = {}
        self.receiving: dict[Connection, None] = {}
        """Those with a request whose body has not come whole, in the order in which these requests began."""
        self.handshakes: dict[asyncio.Task[None], None] = {}
        """Of TLS, in the order in which they began."""

    @property
    def protocol(self) -> Callable[..., Connection]:
        """What uvicorn makes of every new connection."""
        return partial(Connection, all_connections=self)

    def has_room(self, more: int = 0) -> bool:
        """May all stay, and so many more come? If not, one gives way: a handshake, an idle one, an unfinished body."""
        if len(self.opened) + len(self.handshakes) + more <= self.gate.most_connections:
            return True
        for begun in self.handshakes:
            del self.handshakes[begun]
            begun.cancel()
            self.gate.metrics.refused("gave way")
            return True
        for oldest in self.waiting:
            oldest.end("gave way")
            return True
        unfinished = list(islice((each for each in self.receiving if each.is_receiving), _COMPARED))
        if unfinished:
            max(unfinished, key=Connection.requests_of_asker).make_room()  # of equals, the first
            return True
        return False


class Connection(HttpToolsProtocol):
    """One connection of uvicorn's, with limits on headers and on replies that nobody reads."""

    def __init__(self, *args: Any, all_connections: Connections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._all = all_connections
        self._settings = all_connections.gate.settings
        self._header_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self._header_bytes = 0
        self._is_within_headers = True
        """From the end of a request to the end of the next one's headers. What then looks like one is a trailer."""
        self._is_over = False
        self._answering: RequestResponseCycle | None = None
        """The request that was begun last; `cycle` is the one that came last, and may wait for it."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._all.opened.add(self)
        if self.scheme == "https" or self._all.has_room():  # for TLS there was room when the handshake began
            self._wait()
        else:
            self._refuse(Refusal("overloaded", "Too many connections."), "too many")

    def connection_lost(self, exc: Exception | None) -> None:
        self._all.opened.discard(self)
        self._all.receiving.pop(self, None)
        self._stop_waiting()
        if self._write_timer is not None:
            self._write_timer.cancel()
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
        self._header_bytes += len(data) if self._is_within_headers else 0
        super().data_received(data)
        if self._is_within_headers and not self._is_over:
            self._wait()
            if self._header_bytes > _MOST_HEADER_BYTES:
                self._refuse(_too_long(), "long headers")

    def on_message_begin(self) -> None:
        self._is_within_headers = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_within_headers:  # a trailer comes when the headers have been judged, and would not be
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if sum(len(name) + len(value) + 4 for name, value in self.headers) + len(self.url) > _MOST_HEADER_BYTES:
            self._refuse(_too_long(), "long headers")
            return
        self._is_within_headers = False
        self._header_bytes = 0
        self._stop_waiting()
        self._all.receiving[self] = None
        super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGIApp) -> None:  # type: ignore[override]
        self._answering = cycle
        super()._start_asgi_task(cycle, app)  # type: ignore[arg-type]

    def _unsupported_upgrade_warning(self) -> None:
        """Nothing is upgraded here. The request is answered as it stands, and nothing is read after it."""
        self._refuse(Refusal("bad_http", "Nothing is upgraded here."), "upgrade")

    def on_body(self, body: bytes) -> None:
        if not self._is_over:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._all.receiving.pop(self, None)
        if not self._is_over:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._watch_writing()
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

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_writing()

    def end(self, why: str) -> None:
        """Close without a word."""
        self._all.gate.metrics.refused(why)
        self._is_over = True
        self._stop_waiting()
        self.transport.close()

    def make_room(self) -> None:
        """Refuse the request whose body has not come whole, for others."""
        self._refuse(Refusal("overloaded", "Too many connections."), "gave way")

    def requests_of_asker(self) -> float:
        """How many requests the asker of the unfinished request has under way. Whoever was not let in goes first."""
        share: Any = self.cycle.scope.get(SHARE)
        return inf if share is None else share.requests

    def _wait(self) -> None:
        """The headers of a request must be there in time, from the first byte on or, at first, from the connection."""
        self._all.waiting.setdefault(self, None)
        if self._header_timer is None:
            self._header_timer = self.loop.call_later(self._settings.header_seconds, self._too_slow)

    def _stop_waiting(self) -> None:
        self._all.waiting.pop(self, None)
        if self._header_timer is not None:
            self._header_timer.cancel()
            self._header_timer = None

    def _watch_writing(self) -> None:
        """A reply that was handed over must be taken: every so often, enough of it must have gone."""
        size = self.transport.get_write_buffer_size()
        if size and self._write_timer is None:
            seconds = self._settings.read_seconds
            most = size - round(seconds * _SLOWEST)
            self._write_timer = self.loop.call_later(seconds, self._check_writing, most)

    def _check_writing(self, most: int) -> None:
        self._write_timer = None
        if self.transport.get_write_buffer_size() > max(0, most):
            self._all.gate.metrics.refused("not read")
            self.transport.abort()
        else:
            self._watch_writing()

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

    def _refuse(self, told: Refusal, why: str) -> None:
        """Reply and close. Where other requests came before and are not answered yet, their replies are the last."""
        if self._is_over:
            return
        self._is_over = True
        self._all.receiving.pop(self, None)
        self._all.gate.metrics.refused(why)
        EPISODES.note(told)
        self._stop_waiting()
        if self.is_receiving:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._forget_unfinished()
        if self.cycle is not None and not self.cycle.response_complete and not self.cycle.disconnected:
            self.cycle.keep_alive = False
            return
        schedule = self._all.gate.schedule
        if schedule is None:
            self._last_words(told)
        else:
            schedule.at_reply(lambda: self._last_words(told))

    def _last_words(self, told: Refusal) -> None:
        if self.transport.is_closing():
            return
        body = told.body
        headers = [*self.server_state.default_headers, *self._all.headers]
        headers += [(name.encode(), value.encode()) for name, value in told.headers.items()]
        headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        lines = b"".join(name + b": " + value + b"\r\n" for name, value in (*headers, (b"connection", b"close")))
        self.transport.write(STATUS_LINE[told.status] + lines + b"\r\n" + body)
        self.transport.close()
        self._watch_writing()


def _too_long() -> Refusal:
    return Refusal("too_large", f"Headers may have {_MOST_HEADER_BYTES:,} bytes.", {"most": _MOST_HEADER_BYTES})
