"""What all parts of one server share: its options, what is in flight, and what each asker has of it.

One asker (a key, or an address where there are no keys) cannot take all there is, so none keeps the others out, by
sending slowly or by sending much. Everything here but `Settings` belongs to the event loop of one process.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pcqr.server.logs import Metrics
from pcqr.server.schedule import Schedule
from pcqr.server.service import Service

PART = 4
"""One asker may have this part of all bytes, of all requests and of all connections."""
SHORT_AT_ONCE = 2
"""Threads that may do short work for one asker. Long work is done by one."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the server listens, whom it lets in, and what it refuses: public values, fixed when it starts."""

    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    host_names: tuple[str, ...] = ()
    """Names under which the server may be asked for, besides loopback's."""
    keys: Path | None = None
    """The file of `pcqr keys`; None: no keys, and loopback alone."""
    certificate: Path | None = None
    certificate_key: Path | None = None
    reply_every: float | None = None
    """Seconds between two moments at which replies leave; None: as soon as they are ready."""
    reply_rows: int = 64
    """Rows for which there is time between two such moments."""
    most_bytes: int = 16 * 1024 * 1024
    """Of the body of a request."""
    most_rows: int = 10_000
    """Of one request."""
    most_requests: int = 1_024
    """In flight at a time."""
    most_connections: int = 4_096
    header_seconds: float = 10.0
    """In which the headers of a request, or a TLS handshake, must be complete."""
    read_seconds: float = 30.0
    """In which the body of a request must have arrived after its headers."""
    keep_alive_seconds: int = 60
    """That a connection may be idle between two requests."""
    close_seconds: float = 30.0
    """In which requests in flight are answered when the server is told to end."""


class Share:
    """What one asker has of the server now."""

    def __init__(self) -> None:
        self.requests = 0
        """Those whose headers have come and whose reply has not left."""
        self.in_flight = 0
        """Those of them whose body has come."""
        self.held_bytes = 0
        """Of their bodies, beyond the first bytes of each."""

    @cached_property
    def long(self) -> asyncio.Semaphore:
        """What long work of this asker holds in a thread: one at a time."""
        return asyncio.Semaphore(1)

    @cached_property
    def short(self) -> asyncio.Semaphore:
        """What short work of this asker holds in a thread."""
        return asyncio.Semaphore(SHORT_AT_ONCE)


class ServerState:
    """The state of one process that serves `service`; without one it serves nothing."""

    def __init__(self, settings: Settings, service: Service | None = None) -> None:
        self.settings = settings
        self.service = Service(()) if service is None else service
        self.metrics = Metrics(self.service.usages)
        self.schedule: Schedule | None = None
        if settings.reply_every is not None:
            self.schedule = Schedule(settings.reply_every, self.metrics.late, settings.reply_rows, settings.most_rows)
        self.most_connections = settings.most_connections
        """That may be open at a time: fewer than was asked for where the system allows fewer files."""
        self.is_closing = False
        """Was the server told to end? Nothing new is begun then."""
        self.in_flight = 0
        """Requests that were read and not yet answered."""
        self.held_bytes = 0
        """Of all bodies that are being read, or were read for requests in flight, beyond the first bytes of each."""
        self.shares: dict[tuple[str, str], Share] = {}
        """Of all askers with a request under way: by the name of a key, or by an address."""
