"""A load on a server, from a process of its own: so many connections, each with one request in flight.

    python -m benchmarks.service_load --port 8080 --ask v1 --seconds 5

Every row is new: a number far from the border of the release that `benchmarks.service_servers` makes. With `--ask
v1-again` or `v2-again` it is the same one every time. Prints one line of JSON. HTTP is read by hand, so that the load
costs less than what it measures; `--ask echo` against a server that does nothing shows how much it could send.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from typing import cast

import uvloop

SCALE = 4.0
"""Queries are between 0 and this; the border of the release is at 6."""
CLOSE_SECONDS = 20.0


@dataclass(frozen=True)
class Load:
    """What was sent and how long it took: milliseconds of the median request and of the slowest hundredth."""

    requests: int
    sent: int
    """All of them, those of the warm-up included."""
    failed: int
    seconds: float
    p50: float
    p99: float
    processor: float
    """Share of one processor that the load itself took."""

    @property
    def speed(self) -> float:
        return self.requests / self.seconds


def _infer(rows: int) -> tuple[str, Callable[[], str]]:
    before = f'{{"inputs":[{{"name":"x","datatype":"FP64","shape":[{rows},1],"data":['
    return "/v2/models/release/infer", lambda: f"{before}{','.join(_numbers(rows))}]}}]}}"


def _ask(rows: int) -> tuple[str, Callable[[], str]]:
    return "/v1/releases/release/ask", lambda: f'{{"x":[[{"],[".join(_numbers(rows))}]]}}'


def _numbers(count: int) -> list[str]:
    return [f"{SCALE * random.random():.16f}" for _ in range(count)]  # noqa: S311


def _again(make: Callable[[int], tuple[str, Callable[[], str]]], rows: int) -> tuple[str, Callable[[], str]]:
    path, body = make(rows)
    same = body()
    return path, lambda: same


ASK: dict[str, Callable[[int], tuple[str, Callable[[], str]]]] = {
    "v1": _ask,
    "v2": _infer,
    "v1-again": partial(_again, _ask),
    "v2-again": partial(_again, _infer),
    "bare": lambda rows: ("/ask", _ask(rows)[1]),
    "echo": _ask,
}


class Connection(asyncio.Protocol):
    """Sends a request, waits for its reply, and so on until the time is over."""

    def __init__(self, sending: Sending) -> None:
        self._sending = sending
        self._received = b""
        self._sent = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's are no subclass
        self._send()

    def data_received(self, data: bytes) -> None:
        self._received = self._received + data if self._received else data
        head, found, body = self._received.partition(b"\r\n\r\n")
        if not found:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) < length:
            return
        self._received = b""
        self._sending.replied(self._sent, is_good=head.startswith(b"HTTP/1.1 200"))
        self._send()

    def connection_lost(self, exc: Exception | None) -> None:
        self._sending.closed(exc)

    def _send(self) -> None:
        request = self._sending.request()
        if request is None:
            self._transport.close()
            return
        self._sent = time.perf_counter()
        self._transport.write(request)


class Sending:
    """All connections together."""

    def __init__(self, port: int, ask: str, rows: int, warm_up: float, seconds: float, most: int | None) -> None:
        path, self._body = ASK[ask](rows)
        self._head = (
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: "
        )
        self._warm_up, self._wanted, self._most = warm_up, seconds, most
        self._times: list[float] = []
        self._sent = self._failed = self._closed = 0
        self._error: Exception | None = None

    async def run(self, port: int, connections: int) -> Load:
        loop = asyncio.get_running_loop()
        self._all, self._over = connections, loop.create_future()
        self._start = time.perf_counter() + self._warm_up
        self._end = self._start + self._wanted
        for _ in range(connections):
            await loop.create_connection(lambda: Connection(self), "127.0.0.1", port)
        await asyncio.sleep(self._start - time.perf_counter())
        computed = time.process_time()
        await asyncio.wait_for(self._over, self._wanted + CLOSE_SECONDS)
        if self._error is not None:
            raise self._error
        computed = time.process_time() - computed
        seconds = (time.perf_counter() if self._most else self._end) - self._start
        times = sorted(self._times)
        p50, p99 = (1000 * times[int(share * len(times))] for share in (0.5, 0.99))
        return Load(len(times), self._sent, self._failed, seconds, p50, p99, computed / seconds)

    def request(self) -> bytes | None:
        """The next one, or None when it is time to end."""
        if self._sent == self._most or time.perf_counter() >= self._end:
            return None
        self._sent += 1
        body = self._body()
        return f"{self._head}{len(body)}\r\n\r\n{body}".encode()

    def replied(self, sent: float, *, is_good: bool) -> None:
        now = time.perf_counter()
        if self._start <= now <= self._end:
            self._times.append(now - sent)
            self._failed += not is_good

    def closed(self, error: Exception | None) -> None:
        """A connection has ended."""
        self._closed += 1
        self._error = self._error or error
        if self._closed == self._all and not self._over.done():
            self._over.set_result(None)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--ask", choices=list(ASK), default="v1")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rows", type=int, default=1, help="of one request")
    parser.add_argument("--warm-up", type=float, default=0.0, help="seconds that do not count")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--most", type=int, default=None, help="requests after which it ends")
    given = parser.parse_args()
    sending = Sending(given.port, given.ask, given.rows, given.warm_up, given.seconds, given.most)
    print(json.dumps(asdict(uvloop.run(sending.run(given.port, given.connections)))))


if __name__ == "__main__":
    main()
