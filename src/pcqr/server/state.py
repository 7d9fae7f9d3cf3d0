"""Every option of the server that is not about one release: public values, fixed when it starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pcqr.server.metrics import Metrics
from pcqr.server.schedule import Schedule, Shares


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How the server listens, whom it lets in, and what it refuses."""

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
    """In which the headers of a request must have arrived."""
    read_seconds: float = 30.0
    """In which its body must have arrived after them, and in which a client must begin to take its reply."""
    keep_alive_seconds: int = 60
    """That a connection may be idle between two requests."""
    close_seconds: float = 30.0
    """In which requests in flight are answered when the server is told to end."""


# ---------------------------------------------------------------------------------------------------------------------
# What all layers of one server share: its settings, what is in flight, whether it is ending.


class ServerState:
    """The state of the door of one process."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self.settings = settings
        self.metrics = metrics
        self.schedule = None
        if settings.reply_every is not None:
            self.schedule = Schedule(settings.reply_every, metrics.late, settings.reply_rows, settings.most_rows)
        self.most_connections = settings.most_connections
        """That may be open at a time: fewer than was asked for where the system allows fewer files."""
        self.is_closing = False
        """Was the server told to end? Nothing new is begun then."""
        self.in_flight = 0
        """Requests that were read and not yet answered."""
        self.held_bytes = 0
        """Of all bodies that are being read, or were read for requests in flight, beyond the first bytes of each."""
        self.shares = Shares()
        """What each asker has of all that."""
