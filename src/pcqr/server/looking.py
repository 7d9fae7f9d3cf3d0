"""Check whether the ledger of a release answers, for readiness, which needs no key.

So it must not cost more the more often it is asked: one look at a time, whose result counts for a second, and nobody
waits for it for long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from pcqr.errors import LedgerError
from pcqr.server.logs import unreadable

FRESH_SECONDS = 1.0
"""How long the result of a look counts."""
WAIT_SECONDS = 2.0
"""After which a ledger that has not answered counts as away."""


class Look:
    """A look at one ledger by `read`, in a thread. All who ask share it."""

    def __init__(self, read: Callable[[], object]) -> None:
        self._read = read
        self._begun = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reading: asyncio.Future[object] | None = None

    async def failure(self, place: str) -> LedgerError | None:
        """Return why the ledger at `place` cannot be read; None where it can."""
        loop = asyncio.get_running_loop()
        reading = self._reading
        if reading is None or self._loop is not loop or (reading.done() and loop.time() - self._begun >= FRESH_SECONDS):
            self._loop, self._begun = loop, loop.time()
            reading = self._reading = loop.run_in_executor(None, self._read)
            reading.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody may be left to ask
        await asyncio.wait([reading], timeout=max(0.0, self._begun + WAIT_SECONDS - loop.time()))
        if not reading.done():
            return unreadable(place, f"does not answer: {WAIT_SECONDS:g} seconds have passed")
        error = reading.exception()
        if error is not None and not isinstance(error, LedgerError):
            raise error
        return error
