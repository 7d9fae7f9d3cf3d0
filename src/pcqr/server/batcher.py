"""The batcher of a release: one thread that answers all requests that wait, in one transaction of the log.

Endpoints run on the event loop and wait for the batcher without holding it up. While a transaction is on its way to
disk, requests gather; the next one takes all of them. So the cost of making answers durable is shared by all who wait.
Where more wait than one transaction takes, askers take turns, one request each: nobody waits for all requests of
somebody else.

A ledger that cannot be written closes itself, and nothing of that transaction is answered. The batcher opens it anew
for the next request, or the next look at it, at most once a second: when the disk has room again, the release goes on,
and no one has to start the server anew. Until then requests are refused (503, ledger_closed), and the server is not
ready. What the failed transaction may have recorded after all is found again then, as for a process that was killed.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcqr.errors import LedgerError, PcqrError
from pcqr.releases.protocol.log import Answered, Asked
from pcqr.server.errors import Refusal
from pcqr.server.logs import EPISODES, unreadable

MOST_ROWS = 4_096
"""Of one transaction, but for a single request that has more."""
RETRY_SECONDS = 1.0
GATHER_SECONDS = 0.001
"""How long the next requests are gathered after a transaction of several: whoever was answered then asks again."""


@dataclass(frozen=True, eq=False)
class _Waiting:
    asked: Asked
    rows: int
    future: asyncio.Future[Answered[Any]]


class _Waiters:
    """A queue of requests: first in, first out for each asker, and askers take turns."""

    def __init__(self) -> None:
        self._by_asker: dict[str | None, deque[_Waiting]] = {}

    def append(self, one: _Waiting) -> None:
        self._by_asker.setdefault(one.asked.asker, deque()).append(one)

    @property
    def first(self) -> _Waiting:
        return next(iter(self._by_asker.values()))[0]

    def pop(self) -> _Waiting:
        """Remove and return the first request. Its asker goes to the end of the queue."""
        asker = next(iter(self._by_asker))
        own = self._by_asker.pop(asker)
        one = own.popleft()
        if own:
            self._by_asker[asker] = own
        return one

    def __bool__(self) -> bool:
        return bool(self._by_asker)


class Batcher:
    """Answers for one release, which `open_release` opens, and opens again after a failure."""

    def __init__(self, open_release: Callable[[], Any]) -> None:
        self._open = open_release
        self._release: Any = open_release()
        self._quota_table = self._release.quota_table()
        self._arrived: list[_Waiting] = []
        """Of this iteration of the event loop, to which it belongs."""
        self._waiting = _Waiters()
        self._changed = threading.Condition()
        self._is_closing = False
        self._failed_at: float | None = None
        self._failure: LedgerError | None = None
        """Why the ledger was last closed."""
        self._thread = threading.Thread(target=self._work, name="pcqr batcher", daemon=True)
        self._thread.start()

    @property
    def release(self) -> Any:
        """The release as it was opened last. A look at a batcher that failed makes it try again."""
        self._remind()
        return self._release

    @property
    def is_open(self) -> bool:
        """May something new be asked? A look at a batcher that failed makes it try again."""
        self._remind()
        return self._failed_at is None and not self._is_closing

    @property
    def failure(self) -> LedgerError | None:
        """Why the ledger is closed, None if it is open."""
        return None if self._failed_at is None else self._failure

    async def ask(self, asked: Asked) -> Answered[Any]:
        """What the release says to one request, once it is on disk."""
        loop = asyncio.get_running_loop()
        if self._is_closing:
            raise _closing()
        future: asyncio.Future[Answered[Any]] = loop.create_future()
        if not self._arrived:
            loop.call_soon(self._hand_over)
        self._arrived.append(_Waiting(asked, asked.points.shape[0], future))
        return await future

    def _hand_over(self) -> None:
        """Have the thread answer all that have arrived since the last time: it is woken once for all of them."""
        with self._changed:
            for each in self._arrived:
                if self._is_closing:  # since it has arrived: nothing was asked
                    each.future.set_exception(_closing())
                else:
                    self._waiting.append(each)
            self._arrived.clear()
            self._changed.notify()

    def close(self) -> None:
        """Answer all that wait, then let another process have the release."""
        with self._changed:
            self._is_closing = True
            self._changed.notify()
        self._thread.join()
        self._release.close()

    def _remind(self) -> None:
        if self._failed_at is not None and not self._is_closing:
            with self._changed:
                self._changed.notify()

    def _work(self) -> None:
        with np.errstate(all="ignore"):
            while (taken := self._take()) is not None:
                if self._failed_at is not None:
                    self._try_again()
                if taken:
                    _deliver(taken, *self._answered(taken))
                    if len(taken) > 1 and not self._is_closing:
                        time.sleep(GATHER_SECONDS)

    def _take(self) -> list[_Waiting] | None:
        """Those that wait, in order, up to the most rows of a transaction; None when the batcher has closed."""
        with self._changed:
            if not self._waiting and not self._is_closing:
                self._changed.wait()
            if not self._waiting:
                return None if self._is_closing else []
            taken = [self._waiting.pop()]
            rows = taken[0].rows
            while self._waiting and (rows := rows + self._waiting.first.rows) <= MOST_ROWS:
                taken.append(self._waiting.pop())
            return taken

    def _answered(self, taken: Sequence[_Waiting]) -> tuple[Sequence[Answered[Any]] | None, Exception | None]:
        if self._failed_at is not None:
            return None, _closed(self._failure)
        try:
            answered = self._release.ask_together([each.asked for each in taken], self._quota_table)
            if self._failure is not None and any(
                reply.kind != "repeated" for each in answered for reply in each.replies
            ):
                EPISODES.over(self._failure.place)
                self._failure = None
            return answered, None
        except LedgerError as error:
            self._failed_at, self._failure = time.monotonic(), error
            return None, _closed(error)
        except Exception as error:
            return None, error

    def _try_again(self) -> None:
        if self._failed_at is None or time.monotonic() - self._failed_at < RETRY_SECONDS:
            return
        with suppress(PcqrError, OSError):  # it has closed itself
            self._release.close()
        place = "" if self._failure is None else self._failure.place
        try:
            self._release = self._open()
            self._quota_table = self._release.quota_table()
        except (PcqrError, OSError) as error:
            self._failed_at = time.monotonic()
            if isinstance(error, LedgerError):
                self._failure = error
            else:
                reason = f"cannot be opened: {error.strerror if isinstance(error, OSError) else error}"
                self._failure = unreadable(place, reason)
        else:
            self._failed_at = None


def _closing() -> Refusal:
    return Refusal("closing", "The server is about to end.")


def _closed(cause: LedgerError | None) -> Refusal:
    return Refusal(
        "ledger_closed",
        "The log of this release cannot be written now, so nothing was answered. The holder must see to it: is the "
        "disk full? Please ask again later: the log is tried again, and what it has recorded is not counted twice.",
        cause=cause,
    )


def _deliver(taken: Sequence[_Waiting], answered: Sequence[Answered[Any]] | None, error: Exception | None) -> None:
    """Wake all handlers by one call."""

    def wake() -> None:
        for place, each in enumerate(taken):
            if each.future.done():
                continue
            if answered is None:
                each.future.set_exception(error or RuntimeError())
            else:
                each.future.set_result(answered[place])

    try:
        taken[0].future.get_loop().call_soon_threadsafe(wake)
    except RuntimeError:
        return  # the loop has ended: nobody waits, and the answers are on disk


# ---------------------------------------------------------------------------------------------------------------------
# A look at the ledger of a release, for readiness, which needs no key.
#
# So it must not cost more the more often it is asked: one look at a time, whose result counts for a second, and nobody
# waits for it for long.


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
