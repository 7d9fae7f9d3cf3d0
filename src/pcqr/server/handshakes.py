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

from pcqr.server.connections import Connections

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
