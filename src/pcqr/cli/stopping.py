"""Signals that ask a run to end: they end it where nothing is lost, and the run says what was kept."""

from __future__ import annotations

import atexit
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from types import FrameType

from pcqr.errors import PcqrError

STOPPED = 4
"""Exit code: a signal, a full disk or a closed pipe ended the run before its time."""

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")  # the last is unknown to Windows


class Stopped(BaseException):
    """A signal asked for the end. Like KeyboardInterrupt no `Exception`: no library swallows it."""

    def __init__(self, number: int) -> None:
        self.number = number
        super().__init__("Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name)


FROM_OUTSIDE = (Stopped, KeyboardInterrupt, OSError, MemoryError)
"""What can end a run without a fault of pcqr."""


def reason(cause: BaseException) -> str:
    """Why a run ended, without a value of any table."""
    if isinstance(cause, Stopped | KeyboardInterrupt):
        return f"Stopped by {cause if isinstance(cause, Stopped) else 'Ctrl-C'}"
    if isinstance(cause, PcqrError):
        return str(cause).rstrip(".")
    if isinstance(cause, BrokenPipeError):
        return "Nobody reads the output any more"
    if isinstance(cause, MemoryError):
        return "Not enough memory"
    return getattr(cause, "strerror", None) or type(cause).__name__


class Signals:
    """While it is entered, a signal raises `Stopped`; within `held()` it waits for the end of that block.

    One is enough: those that come while the run is ending (an impatient Ctrl-C) do not keep it from ending well.
    Signals that are ignored stay so (`nohup`). Only the main thread can listen; elsewhere this does nothing.
    """

    def __init__(self) -> None:
        self._is_held = False
        self._is_ending = False
        self._waiting: int | None = None
        self._before: dict[int, object] = {}

    def __enter__(self) -> Signals:
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, name) for name in _NAMES if hasattr(signal, name)):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._received)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    @contextmanager
    def held(self) -> Iterator[None]:
        """What must not be cut in two: an answer on its way to disk and to the user. May be nested."""
        outer, self._is_held = self._is_held, True
        try:
            yield
        finally:
            self._is_held = outer
        if self._waiting is not None and not outer:
            self._end(self._waiting)

    def _received(self, number: int, _: FrameType | None) -> None:
        if self._is_held:
            self._waiting = number
        else:
            self._end(number)

    def _end(self, number: int) -> None:
        if not self._is_ending:
            self._is_ending = True
            raise Stopped(number)


# ---------------------------------------------------------------------------------------------------------------------
# What a command has opened for all of its run is closed at its end, however it ends.


_open: ContextVar[ExitStack | None] = ContextVar("pcqr_open", default=None)


@contextmanager
def to_the_end() -> Iterator[None]:
    """A run: what is handed to `at_the_end` within it is called when it is over."""
    with ExitStack() as stack:
        before = _open.set(stack)
        try:
            yield
        finally:
            _open.reset(before)


def at_the_end(close: Callable[[], None]) -> None:
    """Call `close` when the run is over; outside of any, when the process ends."""
    stack = _open.get()
    if stack is None:
        atexit.register(close)
    else:
        stack.callback(close)
