"""What a command has opened for all of its run is closed at its end, however it ends."""

from __future__ import annotations

import atexit
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar

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
