"""Replies on a fixed grid of moments, so that the time of a reply does not say how long its answer took (V3).

With a period p, time is cut at 0, p, 2p, … of the machine's monotonic clock, the same for every worker. A request that
was read is begun at the next tick, and its reply leaves at the tick after that, or, if it is not ready by then, at the
first tick when it is. At a tick all due replies leave first, in the order in which their requests arrived, and only
then the next requests begin: what is computed between two ticks delays no reply, unless it takes longer than a period.

Every reply is held, refusals and pages too: a reply that left at once would show how busy the server is.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from heapq import heappop, heappush

from starlette.types import ASGIApp, Message, Receive, Scope, Send

SECOND = 1_000_000_000
"""In nanoseconds, which all times here are: whole numbers know no rounding."""
ARRIVED = "pcqr.arrived"
"""Where the scope of a request has the tick at which it was begun, and its place in the order of arrival."""
_REPLY, _BEGIN = 0, 1


def tick_of_reply(begun: int, ready: int, period: int) -> int:
    """The number of the tick at which a reply leaves: a period after `begun` or, if later, when it is `ready`."""
    return -(-max(begun + period, ready) // period)


def next_tick(now: int, period: int) -> int:
    """The number of the first tick after `now`."""
    return now // period + 1


class Schedule:
    """The grid, and what waits for its ticks."""

    def __init__(self, seconds: float, count_late: Callable[[], None] = lambda: None) -> None:
        self.period = round(seconds * SECOND)
        self._count_late = count_late
        """Called for every reply that was not ready in time, and leaves at a later tick."""
        self._order = itertools.count()
        self._waiting: list[tuple[int, int, int, Callable[[], None]]] = []
        self._armed: tuple[int, asyncio.TimerHandle] | None = None

    def arrived(self) -> tuple[int, int]:
        """Now, as the next tick after it, in nanoseconds; and a number that later requests have larger ones of."""
        return next_tick(time.monotonic_ns(), self.period) * self.period, next(self._order)

    async def begin(self, arrived: tuple[int, int]) -> None:
        """Wait for the tick at which a request that arrived then is begun."""
        begun, order = arrived
        await self._until(begun // self.period, _BEGIN, order)

    async def reply(self, arrived: tuple[int, int]) -> None:
        """Wait for the tick at which the reply, ready now, may leave."""
        begun, order = arrived
        tick = tick_of_reply(begun, time.monotonic_ns(), self.period)
        if tick * self.period > begun + self.period:
            self._count_late()
        await self._until(tick, _REPLY, order)

    def at_reply(self, act: Callable[[], None]) -> None:
        """Call `act` when a reply may leave that is made now without having been begun."""
        begun, order = self.arrived()
        self._wait(begun // self.period + 1, _REPLY, order, act)

    async def _until(self, tick: int, what: int, order: int) -> None:
        come: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def wake() -> None:
            if not come.done():
                come.set_result(None)

        self._wait(tick, what, order, wake)
        await come

    def _wait(self, tick: int, what: int, order: int, act: Callable[[], None]) -> None:
        heappush(self._waiting, (tick, what, order, act))
        self._arm()

    def _arm(self) -> None:
        """Have `_come` called at the first tick that is waited for."""
        if not self._waiting or (self._armed is not None and self._armed[0] <= self._waiting[0][0]):
            return
        if self._armed is not None:
            self._armed[1].cancel()
        tick = self._waiting[0][0]
        delay = max(0, tick * self.period - time.monotonic_ns()) / SECOND
        self._armed = tick, asyncio.get_running_loop().call_later(delay, self._come)

    def _come(self) -> None:
        self._armed = None
        now = time.monotonic_ns()  # timers may be early: what is not due yet waits on
        while self._waiting and self._waiting[0][0] * self.period <= now:
            heappop(self._waiting)[3]()
        self._arm()


class RepliesOnTicks:
    """Hold every reply until it is complete and its tick has come. Outside of everything that can refuse."""

    def __init__(self, app: ASGIApp, schedule: Schedule) -> None:
        self.app = app
        self.schedule = schedule

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        scope[ARRIVED] = self.schedule.arrived()
        held: list[Message] = []

        async def hold(message: Message) -> None:
            held.append(message)

        await self.app(scope, receive, hold)
        await self.schedule.reply(scope[ARRIVED])
        for message in held:
            await send(message)


class BegunOnTicks:
    """Begin a request at the tick after it was read. Inside of what reads it."""

    def __init__(self, app: ASGIApp, schedule: Schedule) -> None:
        self.app = app
        self.schedule = schedule

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            scope[ARRIVED] = self.schedule.arrived()
            await self.schedule.begin(scope[ARRIVED])
        await self.app(scope, receive, send)
