"""What the holder watches: the log of the process, why requests get 503, and the counters for Prometheus.

Nothing private is in any of them: no query, label or kind of answer, no key. A sentence about a ledger is pcqr's own:
what is wrong with it, where it is, and the remedy. No password is in it.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from pcqr.errors import LedgerError
from pcqr.releases.protocol.answers import Usage
from pcqr.server.errors import Refusal

# ---------------------------------------------------------------------------------------------------------------------
# Episodes: why requests get 503, in one line when it begins and one when it is over, not one for each request.


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

    def note(self, refusal: Refusal) -> None:
        """Log why, if this refusal is the first of its episode."""
        if refusal.code not in ("ledger_closed", "overloaded"):
            return
        cause = refusal.cause
        this = refusal.code, refusal.message if cause is None else cause.place
        with self._lock:
            now = self._clock()
            self._last = {each: at for each, at in self._last.items() if now - at < QUIET_SECONDS}
            is_known = this in self._last
            self._last[this] = now
        if not is_known:
            logger.error(
                "requests are refused (503, %s): %s", refusal.code, refusal.message if cause is None else cause
            )

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
_LINES = "lines"
"""Where the record of many requests has their lines."""
FLUSH_SECONDS = 0.2

requests = logging.getLogger(f"{__name__}.requests")


class Line(NamedTuple):
    """A request that was replied to, or whose client has left (status None)."""

    seconds: float
    method: str
    route: str
    status: int | None
    ms: int
    key: str | None
    client: str | None
    """The address that it came from, of a request without a good key."""


class RequestLog:
    """Collects the lines of requests and logs many of them at once: each by itself would cost as much as its answer.

    Lines wait for `FLUSH_SECONDS`, or for another message of the process, and are in order.
    """

    def __init__(self) -> None:
        self._lines: deque[Line] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        """Which will log what waits; None where nothing does."""

    def add(self, line: Line) -> None:
        """Log a line soon. For the event loop."""
        self._lines.append(line)
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            self._loop = loop
            loop.call_later(FLUSH_SECONDS, self._flush_in_time)

    def flush(self) -> None:
        """Log all lines that wait. Any thread may."""
        found = []
        while self._lines:
            try:
                found.append(self._lines.popleft())
            except IndexError:  # another thread has it
                break
        if found and requests.isEnabledFor(logging.INFO):
            requests.info("%d requests", len(found), extra={_LINES: found})

    def _flush_in_time(self) -> None:
        self._loop = None
        self.flush()


REQUESTS = RequestLog()
"""Of this process."""


class JsonLines(logging.Formatter):
    """A record as lines of JSON in ASCII: nothing in it can begin another line."""

    def format(self, record: logging.LogRecord) -> str:
        lines: list[Line] | None = getattr(record, _LINES, None)
        if lines is not None:
            return "\n".join(map(_request_line, lines))
        is_ours = record.name.split(".")[0] == _OURS
        message = record.getMessage() if is_ours else str(record.msg)
        line = {"time": _moment(record.created), "level": record.levelname.lower()}
        line |= {"event": record.name, "message": message}
        if record.exc_info and record.exc_info[1] is not None:
            line |= {"failure": failure(record.exc_info[1])}
        return json.dumps(line)


def _request_line(line: Line) -> str:
    shared = _fields(line.method, line.route, line.status, line.key, line.client)
    return f'{{"time": "{_moment(line.seconds)}", {shared}, "ms": {line.ms}}}'


@lru_cache(maxsize=1024)
def _fields(method: str, route: str, status: int | None, key: str | None, client: str | None) -> str:
    """The fields of a line that many lines share, as the inside of an object."""
    told = {"level": "info", "event": "request", "method": method, "route": route, "status": status, "key": key}
    return json.dumps(told | ({} if client is None else {"client": client}))[1:-1]


def _requests_first(record: logging.LogRecord) -> bool:
    """A filter that lets all pass: whatever is logged comes after the requests before it."""
    if record.name != requests.name:
        REQUESTS.flush()
    return True


def configure() -> None:
    """Have everything that this process logs written as JSON lines: requests and warnings of anybody."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    handler.addFilter(_requests_first)
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
    return f"{_second(int(seconds))}.{int(seconds % 1 * 1000):03d}Z"


@lru_cache(maxsize=8)
def _second(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")


# ---------------------------------------------------------------------------------------------------------------------
# Metrics: requests, and what releases have spent. Public counters alone.
#
# Spent queries and unstable answers are read from the releases when somebody looks: what is counted is on disk. Several
# workers share one folder (`PROMETHEUS_MULTIPROC_DIR`), so that any of them tells the numbers of all.


SHARED = "PROMETHEUS_MULTIPROC_DIR"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_NO_REPLY = "none"


@dataclass(frozen=True)
class Counts:
    """Of one release: what was asked so far, and what is left."""

    name: str
    spent: Usage
    remaining: Usage


class Metrics:
    """The counters of one process."""

    def __init__(self, releases: Callable[[], Iterable[Counts]] = tuple) -> None:
        self._own = CollectorRegistry()
        self._releases = _Releases(releases)
        self._requests = Counter(
            "pcqr_requests", "Requests that were replied to.", ("method", "route", "status"), registry=self._own
        )
        self._seconds = Histogram(
            "pcqr_request_seconds",
            "From the headers of a request to the end of its reply.",
            ("route",),
            buckets=_SECONDS,
            registry=self._own,
        )
        self._in_flight = Gauge(
            "pcqr_requests_in_flight",
            "Requests that are not replied to yet.",
            multiprocess_mode="livesum",
            registry=self._own,
        )
        self._refused = Counter(
            "pcqr_connections_refused", "Connections that were closed without a request.", ("why",), registry=self._own
        )
        self._late = Counter(
            "pcqr_late_replies", "Replies that were not ready at their tick (--reply-every).", registry=self._own
        )
        self._replied: dict[tuple[str, str, int | None], tuple[Counter, Histogram]] = {}
        """Where a reply is counted: found once, since finding it takes longer than counting."""

    def begin(self) -> None:
        """A request has come."""
        self._in_flight.inc()

    def end(self, method: str, route: str, status: int | None, seconds: float) -> None:
        """A request was replied to, or its client has left."""
        self._in_flight.dec()
        counters = self._replied.get((method, route, status))
        if counters is None:
            requests = self._requests.labels(method, route, _NO_REPLY if status is None else str(status))
            counters = self._replied[method, route, status] = requests, self._seconds.labels(route)
        counters[0].inc()
        counters[1].observe(seconds)

    def refused(self, why: str) -> None:
        """A connection was closed before there was a request."""
        self._refused.labels(why).inc()

    def late(self) -> None:
        """A reply missed its tick."""
        self._late.inc()

    def text(self) -> bytes:
        """All of it, in the text format of Prometheus."""
        if SHARED not in os.environ:
            return generate_latest(self._own) + generate_latest(self._releases.registry)
        shared = CollectorRegistry()
        MultiProcessCollector(shared)  # type: ignore[no-untyped-call]
        return generate_latest(shared) + generate_latest(self._releases.registry)


class _Releases(Collector):
    """What releases have spent, read when it is asked for."""

    def __init__(self, releases: Callable[[], Iterable[Counts]]) -> None:
        self._read = releases
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(self)

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        families = {
            (kind, field): family(f"pcqr_{field}_{kind}", f"{words} of a release, {kind}.", labels=("release",))
            for kind, family in (("spent", CounterMetricFamily), ("remaining", GaugeMetricFamily))
            for field, words in (("queries", "New queries"), ("unstable", "Unstable answers"))
        }
        for counts in self._read():
            for kind, usage in (("spent", counts.spent), ("remaining", counts.remaining)):
                for field, number in (("queries", usage.queries), ("unstable", usage.unstable)):
                    if number is not None:
                        families[kind, field].add_metric((counts.name,), number)
        yield from families.values()
