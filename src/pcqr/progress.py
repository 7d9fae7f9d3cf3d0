"""How far a long fit has come, for whoever wants to show it. Silent unless someone listens.

    with pcqr.progress.reporting(lambda p: print(p.stage, p.done, "of", p.total)):
        release.fit(X, y)

Only public counters are told: numbers of the plan, and how many of them are done. **When** they are told depends on how
long each part took, and that may depend on the records (docs/known-vulnerabilities.md, V1): progress is for the data
holder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Progress:
    """`done` of the `total` parts of a `stage`, such as 7 of 301 "teachers"."""

    stage: str
    done: int
    total: int


Callback = Callable[[Progress], None]


@dataclass
class _Listener:
    callback: Callback
    is_inside: bool = False
    """Is a stage under way? The stages within it are not told: one bar, not a hundred."""


_listener: ContextVar[_Listener | None] = ContextVar("pcqr_progress", default=None)


@contextmanager
def reporting(callback: Callback) -> Iterator[None]:
    """Call `callback` with the progress of every long computation in this block, in this thread.

    A stage begins with `done` = 0. What the callback raises breaks off the computation.
    """
    token = _listener.set(_Listener(callback))
    try:
        yield
    finally:
        _listener.reset(token)


def tracked(stage: str, parts: Sequence[T]) -> Iterator[T]:
    """`parts`, one by one; whoever listens is told how many of them the caller is done with."""
    listener = _listener.get()
    if listener is None or listener.is_inside:
        yield from parts
        return
    listener.is_inside = True
    try:
        listener.callback(Progress(stage, 0, len(parts)))
        for done, part in enumerate(parts, start=1):
            yield part
            listener.callback(Progress(stage, done, len(parts)))
    finally:
        listener.is_inside = False
