"""Threads that ask at the same time share a turn: one of them asks for all who wait."""

from __future__ import annotations

from _thread import allocate_lock, get_ident
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress

from pcqr.algorithms.asking import Asked, Book, Told
from pcqr.algorithms.lock import Lock

PATIENCE = 1.0
"""Seconds after which a thread that nobody has woken looks for itself."""
MOST_ROWS = 4_096
"""Of one turn, but for one call that has more."""
Serve = Callable[[Sequence[Asked], Book | None], list[Told[int]]]


class SharedTurns:
    """Whoever has the `lock` asks for all who wait. Each of the others is woken when its answers are there.

    The first of those who wait takes the lock; it is woken when the one before it has done. Being woken only saves
    time: who waits in vain, since the thread that should have woken it was interrupted, takes the lock all the same.

    A call that fails in company is tried again by its own thread alone, so that nobody gets the exception of another.
    A thread that is interrupted leaves the others to themselves.
    """

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._waiting: deque[_Call] = deque()

    def ask(self, asked: Sequence[Asked], book: Book | None, serve: Serve) -> list[Told[int]]:
        """What `serve`, called by this thread or another, says to these requests. It is called under the lock."""
        own = _Call(asked, book)
        try:
            self._waiting.append(own)
            first = self._first()
            if (
                first is not None and first.thread != own.thread
            ):  # a signal handler must not wait for what it interrupts
                own.wait()
            if own.told is None:
                with self._lock:
                    while own.told is None:
                        self._serve(self._company(own), own, serve)
        finally:
            with suppress(ValueError):  # whoever served it has removed it
                self._waiting.remove(own)
            following = self._first()
            if following is not None:
                following.wake()
        return own.told

    def __reduce__(self) -> tuple[type[SharedTurns], tuple[Lock]]:
        """Nobody waits for a copy."""
        return SharedTurns, (self._lock,)

    def _first(self) -> _Call | None:
        try:
            return self._waiting[0]
        except IndexError:
            return None

    def _company(self, own: _Call) -> list[_Call]:
        """Calls that can share a turn, in the order in which they came."""
        if own.has_failed:
            return [own]
        waiting = [each for each in tuple(self._waiting) if each.told is None and not each.has_failed]
        found, rows = [waiting[0]], waiting[0].rows
        for each in waiting[1:]:
            rows += each.rows
            if each.book != found[0].book or rows > MOST_ROWS:
                break
            found.append(each)
        return found

    def _serve(self, calls: list[_Call], own: _Call, serve: Serve) -> None:
        try:
            told = serve([each for call in calls for each in call.asked], calls[0].book)
        except Exception:
            if calls == [own]:
                raise
            for call in calls:
                call.has_failed = True
            return
        done = 0
        for call in calls:
            call.told = told[done : done + len(call.asked)]
            done += len(call.asked)
            with suppress(ValueError):  # its thread was interrupted
                self._waiting.remove(call)
            call.wake()


class _Call:
    """What one thread asks for, and then what it was told."""

    def __init__(self, asked: Sequence[Asked], book: Book | None) -> None:
        self.asked = asked
        self.book = book
        self.rows = sum(each.points.shape[0] for each in asked)
        self.told: list[Told[int]] | None = None
        self.has_failed = False
        self.thread = get_ident()
        self._gate = allocate_lock()
        self._gate.acquire()

    def wait(self) -> None:
        self._gate.acquire(timeout=PATIENCE)

    def wake(self) -> None:
        with suppress(RuntimeError):  # it is awake already
            self._gate.release()
