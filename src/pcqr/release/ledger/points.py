"""The named points of the order in which a ledger writes, for tests that stop the process there.

creation:  "draft made" · "anchor made" · "ledger placed"
adoption:  "adoption recorded"
a turn:    "turn begun" · "entries written" · "committed" · "anchor written" · "anchor synced"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

CREATION = ("draft made", "anchor made", "ledger placed")
TURN = ("turn begun", "entries written", "committed", "anchor written", "anchor synced")

_watchers: list[Callable[[str], None]] = []


def reached(point: str) -> None:
    """Called by the code at each point. Does nothing unless a test watches."""
    for watcher in _watchers:
        watcher(point)


@contextmanager
def watched(watcher: Callable[[str], None]) -> Iterator[None]:
    """Call `watcher` with the name of every point that is reached inside the block."""
    _watchers.append(watcher)
    try:
        yield
    finally:
        _watchers.remove(watcher)
