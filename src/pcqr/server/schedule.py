"""Replies on a fixed grid of moments, so that the time of a reply does not say how long its answer took (V3).

With a period p, time is cut at 0, p, 2p, … of the machine's monotonic clock, the same for every worker. A request that
was read is begun at the next tick. Its reply is due when a period has passed for every so many rows (`--reply-rows`) of
its own and of the requests that were begun before it and are not due yet: a function of public numbers. So a longer
batch, or many at once, has a later reply, and no reply that tells more of how long it took. A reply that is not ready
when it is due waits twice as long, or four times, eight times, …: it tells a power of two, and is counted as late.

Whoever asks for many rows has others wait, so one asker may have as many rows under way as one request may have, and
is refused more (503) until replies have left.

At a tick all due replies leave first, in the order in which their requests arrived, and only then the next requests
begin: what is computed between two ticks delays no reply that is ready in time.

Every reply is held, refusals and pages too: a reply that left at once would show how busy the server is.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from heapq import heappop, heappush

from pcqr.server.errors import Refusal

SECOND = 1_000_000_000
"""In nanoseconds, which all times here are: whole numbers know no rounding."""
_REPLY, _BEGIN = 0, 1


def tick_of_reply(begun: int, due: int, ready: int, period: int) -> int:
    """Return the tick at which a reply leaves whose request was `begun` at one tick and which is `due` at another.

    That is when it is due or, if it is not `ready` by then, in nanoseconds, after 2, 4, 8, … times that wait.
    """
    wait = due - begun
    while (begun + wait) * period < ready:
        wait *= 2
    return begun + wait


def next_tick(now: int, period: int) -> int:
    """The number of the first tick after `now`."""
    return now // period + 1


@dataclass(eq=False)
class Arrival:
    """A request: the ticks at which it is begun and its reply is due, and its place in the order of arrival."""

    begun: int
    order: int
    due: int
    schedule: Schedule
    who: tuple[str, str] | None = None
    """Whose rows are under way with it."""
    rows: int = 0

    def takes(self, rows: int, who: tuple[str, str]) -> None:
        """Have so many rows of an asker answered before the reply is due. Refuse them where the asker has too many."""
        self.due = max(self.due, self.schedule.queue(self.begun, rows, who))
        self.who, self.rows = who, rows


class Schedule:
    """The grid, and what waits for its ticks. A period has time for so many `rows`.

    One asker may have `most_rows` under way.
    """

    def __init__(
        self,
        seconds: float,
        count_late: Callable[[], None] = lambda: None,
        rows: int = 64,
        most_rows: int = 10_000,
    ) -> None:
        self.period = round(seconds * SECOND)
        self._rows = rows
        self._most_rows = most_rows
        self._under_way: Counter[tuple[str, str]] = Counter()
        """Rows of each asker whose replies have not left."""
        self._queued = 0
        """Rows since tick 0 for which there was time, or is reserved."""
        self._count_late = count_late
        """Called for every reply that was not ready in time, and leaves at a later tick."""
        self._order = itertools.count()
        self._waiting: list[tuple[int, int, int, Callable[[], None]]] = []
        self._armed: tuple[int, asyncio.TimerHandle] | None = None

    def arrived(self) -> Arrival:
        """Return the `Arrival` of a request that arrives now: it begins at the next tick."""
        begun = next_tick(time.monotonic_ns(), self.period)
        return Arrival(begun, next(self._order), begun + 1, self)

    async def begin(self, arrived: Arrival) -> None:
        """Wait for the tick at which a request that arrived then is begun."""
        await self._until(arrived.begun, _BEGIN, arrived.order)

    async def reply(self, arrived: Arrival) -> None:
        """Wait for the tick at which the reply, ready now, may leave."""
        tick = tick_of_reply(arrived.begun, arrived.due, time.monotonic_ns(), self.period)
        if tick > arrived.due:
            self._count_late()
        await self._until(tick, _REPLY, arrived.order)

    def at_reply(self, act: Callable[[], None]) -> None:
        """Call `act` when a reply may leave that is made now without having been begun."""
        arrived = self.arrived()
        self._wait(arrived.due, _REPLY, arrived.order, act)

    def queue(self, begun: int, rows: int, who: tuple[str, str]) -> int:
        """Reserve time for rows that are begun at a tick, and return when they are due."""
        if self._under_way[who] + rows > max(rows, self._most_rows):
            words = f"With --reply-every one asker may have {self._most_rows:,} rows under way."
            raise Refusal("overloaded", words)
        self._under_way[who] += rows
        self._queued = max(self._queued, begun * self._rows) + rows
        return -(-self._queued // self._rows)

    def replied(self, arrived: Arrival) -> None:
        """Note that the reply has left: its rows are not under way any more."""
        if arrived.who is not None:
            self._under_way[arrived.who] -= arrived.rows
            self._under_way += Counter()  # forget those who have none

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
