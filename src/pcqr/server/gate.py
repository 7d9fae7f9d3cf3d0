"""What all layers of one server share: its settings, what is in flight, whether it is ending."""

from __future__ import annotations

from pcqr.server.metrics import Metrics
from pcqr.server.schedule import Schedule
from pcqr.server.settings import Settings
from pcqr.server.shares import Shares


class Gate:
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
