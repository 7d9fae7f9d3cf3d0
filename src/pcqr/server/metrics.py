"""What the holder watches, for Prometheus: requests, and what the releases have spent. Public counters alone.

Spent queries and unstable answers are read from the releases when somebody looks: what is counted is on disk.
Several workers share one folder (`PROMETHEUS_MULTIPROC_DIR`), so that any of them tells the numbers of all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from pcqr.releases.protocol.answers import Usage

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
