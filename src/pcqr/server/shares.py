"""What one asker may take of the server at a time: bytes of bodies, requests and threads.

An asker is a key, or an address where there are no keys. None of them can take all there is, so none keeps the others
out, by sending slowly or by sending much. Everything here belongs to the event loop of one process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from pcqr.server.askers import NOBODY, asker_of

SHARE = "pcqr.share"
"""Where the scope of a request has the share of its asker."""
PART = 4
"""One asker may have this part of all bytes, of all requests and of all connections."""
SHORT_AT_ONCE = 2
"""Threads that may do short work for one asker. Long work is done by one."""


class Share:
    """What one asker has of the server now. `is_limited`: are its requests counted, too?"""

    def __init__(self, *, is_limited: bool) -> None:
        self.is_limited = is_limited
        self.requests = 0
        """Those whose headers have come and whose reply has not left."""
        self.in_flight = 0
        """Those of them whose body has come."""
        self.held_bytes = 0
        """Of their bodies, beyond the first bytes of each."""
        self._long = asyncio.Semaphore(1)
        self._short = asyncio.Semaphore(SHORT_AT_ONCE)

    def thread(self, *, is_long: bool) -> asyncio.Semaphore:
        """Return the semaphore to hold while a thread works for this asker."""
        return self._long if is_long else self._short


class Shares:
    """The shares of all who have a request under way."""

    def __init__(self) -> None:
        self._shares: dict[tuple[str, str], Share] = {}

    @contextmanager
    def of(self, scope: MutableMapping[str, Any]) -> Iterator[Share]:
        """Count one more request of the asker with this scope, and leave the asker's share in the scope."""
        asker = asker_of(scope)
        who = who_asks(scope)
        share = self._shares.get(who)
        if share is None:
            share = self._shares[who] = Share(is_limited=asker is not NOBODY)
        share.requests += 1
        scope[SHARE] = share
        try:
            yield share
        finally:
            share.requests -= 1
            if not share.requests:
                self._shares.pop(who, None)

    def __len__(self) -> int:
        return len(self._shares)


def who_asks(scope: Mapping[str, Any]) -> tuple[str, str]:
    """Return what tells askers apart: the name of a key, or an address where there are no keys."""
    asker = asker_of(scope)
    if asker.name is not None:
        return "key", asker.name
    client = scope.get("client")
    return "address", str(client[0]) if client else ""
