"""Replies on a grid: when each leaves, in which order, and that nothing leaves in between."""

from __future__ import annotations

import asyncio
import math
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import asgi
from support.asgi import HOST, asked, scope
from support.kept import QUERIES, kept
from support.serving import release_place, serving

from pcqr.server.requests import Application, Request, Response
from pcqr.server.schedule import SECOND, Arrival, Schedule, next_tick, tick_of_reply
from pcqr.server.state import ServerState

PERIOD = 0.02
moments = st.integers(0, 10**18)
periods = st.integers(1, 10**11)


ticks = st.integers(0, 10**9)


@given(moments, periods)
def test_a_request_begins_at_the_first_tick_after_it_came(arrival: int, period: int) -> None:
    assert arrival < next_tick(arrival, period) * period <= arrival + period


@given(ticks, st.integers(1, 10**6), periods, st.data())
def test_work_that_is_done_in_time_does_not_show(begun: int, wait: int, period: int, data: st.DataObject) -> None:
    for _ in range(2):
        ready = begun * period + data.draw(st.integers(0, wait * period))
        assert tick_of_reply(begun, begun + wait, ready, period) == begun + wait


@given(ticks, st.integers(1, 10**6), periods, st.integers(0, 10**12))
def test_a_late_reply_tells_a_power_of_two(begun: int, wait: int, period: int, work: int) -> None:
    """An asker who chooses long batches gets no finer clock by that."""
    ready = begun * period + work
    waited = tick_of_reply(begun, begun + wait, ready, period) - begun
    assert (begun + waited) * period >= ready
    times, rest = divmod(waited, wait)
    assert (rest, times & (times - 1)) == (0, 0)
    assert times == 1 or (begun + waited // 2) * period < ready, "no longer than it must"


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 40)), min_size=1, max_size=20), st.integers(1, 16))
def test_when_replies_are_due_follows_from_the_rows_alone(requests: list[tuple[int, int]], rows: int) -> None:
    """One long request, or many short ones at once, wait for as many periods as all their rows need, one by one."""
    schedule = Schedule(PERIOD, rows=rows)
    begun, free = 1_000, 0.0
    for later, count in requests:
        begun += later
        arrived = replace(schedule.arrived(), begun=begun, due=begun + 1)
        arrived.takes(count, ("key", "ann"))
        free = max(free, begun) + count / rows
        assert arrived.due == max(begun + 1, math.ceil(free - 1e-9))


def test_one_asker_does_not_keep_the_others_waiting_by_many_rows() -> None:
    """Previews cost nothing, and eight of 10,000 rows had everybody else wait for a minute."""

    async def counting(request: Request) -> Response:
        request.takes_rows(int(request.path.strip("/")))
        return Response(b"")

    async def scene() -> tuple[list[int], int]:
        app, _ = scheduled(counting, most_rows=100, reply_rows=50)

        async def sent(rows: int, host: str) -> int:
            told = await asked(app, scope(path=f"/{rows}") | {"client": (host, 5)})
            assert told is not None
            return told.status

        at_once = [(60, "10.0.0.1"), (60, "10.0.0.1"), (40, "10.0.0.1"), (1, "10.0.0.1"), (100, "10.0.0.2")]
        return list(await asyncio.gather(*(sent(*each) for each in at_once))), await sent(100, "10.0.0.1")

    statuses, later = asyncio.run(scene())
    assert statuses == [200, 503, 200, 503, 200]
    assert later == 200, "once replies have left"


class Left:
    """When what left, by the clock of the grid."""

    def __init__(self) -> None:
        self.times: dict[str, int] = {}

    @property
    def order(self) -> list[str]:
        return list(self.times)


def scheduled(endpoint: asgi.Endpoint, **settings: Any) -> tuple[Application, ServerState]:
    return asgi.guarded(endpoint, reply_every=PERIOD, **settings)


async def sleeping(request: Request) -> Response:
    """Takes as many milliseconds as its path says."""
    await asyncio.sleep(int(request.path.strip("/")) / 1000)
    return Response(b"xy")


async def send_to(app: Any, remaining: Left, name: str, of: dict[str, Any], parts: Any = (b"",)) -> int:
    async def noting(inner: Any, *given: Any) -> None:
        async def send(message: Any) -> None:
            remaining.times.setdefault(name, time.monotonic_ns())
            await given[2](message)

        await inner(given[0], given[1], send)

    async def outermost(*given: Any) -> None:
        await noting(app, *given)

    told = await asked(outermost, of, parts)
    assert told is not None
    return told.status


@pytest.mark.parametrize("work", [0, 5])
def test_replies_leave_in_the_order_of_arrival_and_not_before_a_period(work: int) -> None:
    async def scene() -> tuple[Left, int]:
        app, _ = scheduled(sleeping)
        remaining = Left()
        arrived = time.monotonic_ns()
        sent = [send_to(app, remaining, f"{place}", scope(path=f"/{work * (5 - place)}")) for place in range(5)]
        assert await asyncio.gather(*sent) == [200] * 5
        return remaining, arrived

    remaining, arrived = asyncio.run(scene())
    if work == 0:
        assert remaining.order == sorted(remaining.order)
    for moment in remaining.times.values():
        assert moment // (PERIOD * SECOND) * (PERIOD * SECOND) >= arrived + PERIOD * SECOND - 1


def test_refusals_of_every_kind_wait_as_answers_do() -> None:
    """Wrong host, no such length, a failure: each leaves a period or more after it came."""

    async def failing(_: Request) -> Response:
        raise ZeroDivisionError

    async def scene() -> tuple[Left, dict[str, int]]:
        app, _ = scheduled(failing, most_bytes=4)
        remaining = Left()
        requests = {
            "host": scope(headers=[(b"host", b"evil.example")]),
            "long": scope("POST", "/", [HOST, (b"content-length", b"9"), (b"expect", b"100-continue")]),
            "failure": scope(),
        }
        began = time.monotonic_ns()
        statuses = await asyncio.gather(*(send_to(app, remaining, name, of) for name, of in requests.items()))
        for moment in remaining.times.values():
            assert moment - began >= PERIOD * SECOND
        return remaining, dict(zip(requests, statuses, strict=True))

    _, statuses = asyncio.run(scene())
    assert statuses == {"host": 421, "long": 413, "failure": 500}


def test_a_long_batch_waits_as_long_as_its_rows_say_however_quick_it_was(tmp_path: Path) -> None:
    """At a period of 50 ms a batch of 10,000 rows was always late: its time told how long its votes took."""
    kept(tmp_path)
    with (
        serving(release_place(tmp_path), reply_every=PERIOD, reply_rows=3) as address,
        httpx.Client(timeout=60) as client,
    ):
        for path, body in (
            ("/v1/releases/ages/ask", {"x": QUERIES[:30].tolist()}),
            ("/v1/releases/ages/preview", {"x": QUERIES[:30].tolist()}),
            (
                "/v2/models/ages/infer",
                {"inputs": [{"name": "x", "datatype": "FP64", "shape": [30, 1], "data": QUERIES[:30, 0].tolist()}]},
            ),
        ):
            began = time.monotonic()
            assert client.post(f"{address}{path}", json=body).status_code == 200
            assert time.monotonic() - began >= 10 * PERIOD


def test_replies_leave_before_the_next_requests_begin() -> None:
    """At one tick: what is begun there must not delay what leaves there."""

    async def scene() -> list[str]:
        schedule = Schedule(PERIOD)
        done: list[str] = []
        arrived = schedule.arrived()

        async def reply(name: str, at: Arrival) -> None:
            await schedule.reply(at)
            done.append(name)

        async def begin(name: str, at: Arrival) -> None:
            await schedule.begin(at)
            done.append(name)

        next_one = replace(arrived, begun=arrived.begun + 1)  # begins when the replies leave
        await asyncio.gather(
            begin("begin", next_one),
            reply("second", replace(arrived, order=8)),
            reply("first", replace(arrived, order=7)),
        )
        return done

    assert asyncio.run(scene()) == ["first", "second", "begin"]


def test_a_client_that_has_left_holds_up_nobody() -> None:
    async def scene() -> int:
        app, _ = scheduled(sleeping)
        gone = asyncio.create_task(asked(app, scope(path="/0")))
        await asyncio.sleep(0.001)
        gone.cancel()
        return await send_to(app, Left(), "other", scope(path="/0"))

    assert asyncio.run(scene()) == 200


def test_the_time_to_send_a_body_is_not_the_servers() -> None:
    """A request counts from when it was read: a slow sender is not answered at once."""

    async def scene() -> tuple[int, int]:
        app, _ = scheduled(sleeping)
        remaining, read = Left(), 0

        async def slow_receive() -> dict[str, Any]:
            nonlocal read
            await asyncio.sleep(0.03)
            read = time.monotonic_ns()
            return {"type": "http.request", "body": b"x", "more_body": False}

        async def send(_: Any) -> None:
            remaining.times.setdefault("it", time.monotonic_ns())

        await app(scope("POST", "/0", [HOST, (b"content-length", b"1")]), slow_receive, send)
        return read, remaining.times["it"]

    read, leaves = asyncio.run(scene())
    assert leaves - read >= PERIOD * SECOND
