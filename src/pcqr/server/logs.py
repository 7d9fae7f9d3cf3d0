"""Log why requests get 503: one line when an episode begins and one when it is over, not one for each request.

A line holds sentences of pcqr's own: what is wrong with a ledger, where it is, and the remedy. No password is in them.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pcqr.errors import LedgerError
from pcqr.server.errors import Refusal
from pcqr.server.keys import ASKER
from pcqr.server.schedule import SECOND
from pcqr.server.state import ServerState

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


# ---------------------------------------------------------------------------------------------------------------------
# The log: one JSON object a line, on standard error, without a private value.
#
# A request's line has its time, method, route (the template, never the path), status, milliseconds and the name of its
# key. One that was refused for want of a good key (401) has the address that it came from, so that somebody who guesses
# keys can be found. No line has a query, a label, a kind of answer or a key. Messages of other libraries are written
# without what they were filled in with, and exceptions as their type and place: either may quote what a request held.


_OURS = "pcqr"
_PACKAGE = Path(__file__).parents[1]
_REQUEST = "request"
_UNAUTHORIZED, _UNAVAILABLE = 401, 503
REFUSED = "pcqr.refused"
"""Where the scope has the `Refusal` that a request was told."""


class JsonLines(logging.Formatter):
    """A record as one line of JSON in ASCII: nothing in it can begin another line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {"time": _moment(record.created), "level": record.levelname.lower()}
        fields = getattr(record, _REQUEST, None)
        if fields is not None:
            return json.dumps(line | {"event": "request"} | fields)
        is_ours = record.name.split(".")[0] == _OURS
        line |= {"event": record.name, "message": record.getMessage() if is_ours else str(record.msg)}
        if record.exc_info and record.exc_info[1] is not None:
            line |= {"failure": failure(record.exc_info[1])}
        return json.dumps(line)


def configure() -> None:
    """Have everything that this process logs written as JSON lines: requests and warnings of anybody."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers, root.level = [handler], logging.WARNING
    logging.getLogger(_OURS).setLevel(logging.INFO)
    logging.captureWarnings(capture=True)
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # no line has them


def failure(error: BaseException) -> str:
    """What went wrong and where, without a word of its message."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(frame.filename).is_relative_to(_PACKAGE)]
    if not ours:
        return type(error).__name__
    return f"{type(error).__name__} in {Path(ours[-1].filename).relative_to(_PACKAGE)}, line {ours[-1].lineno}"


def log_failure(error: Exception) -> None:
    """A fault of pcqr, for whoever looks for it."""
    logger.error("a request failed: %s", failure(error))


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Observed:
    """A line in the log, and its part in the metrics, for every request: outside of all that can refuse it."""

    def __init__(self, app: ASGIApp, gate: ServerState) -> None:
        self.app = app
        self.metrics = gate.metrics
        self.step = 1_000_000 if gate.schedule is None else gate.schedule.period
        """Nanoseconds that times are rounded up to, a multiple of: a millisecond, or the period of replies."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        begun = time.monotonic_ns()
        status: int | None = None

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        self.metrics.begin()
        try:
            await self.app(scope, receive, noted)
        finally:
            taken = -(-(time.monotonic_ns() - begun) // self.step) * self.step
            self._note(scope, status, taken)

    def _note(self, scope: Scope, status: int | None, taken: int) -> None:
        route = route_of(scope)
        self.metrics.end(scope["method"], route, status, taken / SECOND)
        asker = scope.get(ASKER)
        fields = {
            "method": scope["method"],
            "route": route,
            "status": status,
            "ms": taken // 1_000_000,
            "key": None if asker is None else asker.name,
        }
        if status == _UNAUTHORIZED and scope.get("client"):
            fields["client"] = scope["client"][0]
        if status == _UNAVAILABLE and (told := scope.get(REFUSED)) is not None:
            EPISODES.note(told)
        if logger.isEnabledFor(logging.INFO):  # by hand: `info` looks up who calls it, which takes longer than the rest
            record = logging.LogRecord(__name__, logging.INFO, __file__, 0, _REQUEST, None, None)
            setattr(record, _REQUEST, fields)
            logger.handle(record)


def route_of(scope: Scope) -> str:
    """The template of the route that took the request, "-" where none did: a path may hold anything."""
    return str(getattr(scope.get("route"), "path", "-"))
