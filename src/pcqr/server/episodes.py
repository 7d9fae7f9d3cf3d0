"""Log why requests get 503: one line when an episode begins and one when it is over, not one for each request.

A line holds sentences of pcqr's own: what is wrong with a ledger, where it is, and the remedy. No password is in them.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from pcqr.errors import LedgerError
from pcqr.server.errors import Refusal

QUIET_SECONDS = 60.0
"""After so many seconds without a refusal an episode is over, unless something says so earlier."""

logger = logging.getLogger(__name__)


class Episodes:
    """The episodes of refusals under way in this process. Threads may share it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._last: dict[tuple[str, str], float] = {}
        """When each of them was last seen, by its code and by the place or the words that it is about."""

    def note(self, told: Refusal) -> None:
        """Log why, if this refusal is the first of its episode."""
        if told.code not in ("ledger_closed", "overloaded"):
            return
        cause = told.cause
        this = told.code, told.message if cause is None else cause.place
        with self._lock:
            now = self._clock()
            self._last = {each: at for each, at in self._last.items() if now - at < QUIET_SECONDS}
            is_known = this in self._last
            self._last[this] = now
        if not is_known:
            logger.error("requests are refused (503, %s): %s", told.code, told.message if cause is None else cause)

    def over(self, place: str) -> None:
        """Log that the ledger at `place` was written again, if requests were refused since it could not be.

        That it can be opened and read is not enough: a full disk lets both be done.
        """
        with self._lock:
            was_known = self._last.pop(("ledger_closed", place), None) is not None
        if was_known:
            logger.info("requests are answered again: the ledger %s can be written", place)


EPISODES = Episodes()
"""Of this process, as its log is."""


def unreadable(place: str, reason: str) -> LedgerError:
    """Return an error for a ledger that failed without one of its own."""
    return LedgerError(place, reason, "Repair it. The server tries again by itself.")
