"""How far a long fit has come, for whoever wants to show it. Silent unless someone listens.

    release.fit(X, y, verbose=True)                                                 # lines on standard error
    with pcqr.progress.reporting(lambda p: print(p.stage, p.done, "of", p.total)):  # or whatever a caller does with it
        release.fit(X, y)

Only public counters are told: numbers of the plan, and how many of them are done. **When** they are told depends on how
long each part took, and that may depend on the records (docs/known-vulnerabilities.md, V1): progress is for the data
holder.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

__all__ = ["reporting"]

T = TypeVar("T")


@dataclass(frozen=True)
class Progress:
    """`done` of the `total` parts of a `stage`, such as 7 of 301 "teachers"."""

    stage: str
    done: int
    total: int


Callback = Callable[[Progress], None]

_PAUSE = 0.2
"""Seconds between two updates of one line."""


@dataclass
class _Listener:
    callback: Callback
    is_inside: bool = False
    """Is a stage under way? The stages within it are not told: one bar, not a hundred."""


_listener: ContextVar[_Listener | None] = ContextVar("pcqr_progress", default=None)


@contextmanager
def reporting(callback: Callback) -> Iterator[None]:
    """Tell a callback how far every long computation in this block has come, in this thread.

    Parameters
    ----------
    callback : callable
        Called with a `Progress`: `stage`, `done` and `total`. A stage begins with `done` = 0. What the callback raises
        breaks off the computation.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import NoisyMaxAggregate
    >>> from pcqr.progress import reporting
    >>> X = np.random.default_rng(0).normal(size=(2_000, 1))
    >>> release = NoisyMaxAggregate(delta=1e-7, queries=3, entropy=0)  # seeded: NOT PRIVATE
    >>> stages = {}
    >>> with reporting(lambda progress: stages.update({progress.stage: progress.total})):
    ...     _ = release.fit(X, X[:, 0] > 0)
    >>> list(stages)
    ['teachers']
    """
    token = _listener.set(_Listener(callback))
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def showing() -> Iterator[None]:
    """Write on standard error how far every long computation in this block has come."""
    with reporting(_Line()):
        yield


class _Line:
    """A line for each stage: updated on a terminal and in a notebook, elsewhere written when the stage is over."""

    def __init__(self) -> None:
        self._is_live = sys.stderr.isatty() or "ipykernel" in sys.modules
        self._began = self._written = 0.0

    def __call__(self, reached: Progress) -> None:
        now, is_over = time.monotonic(), reached.done >= reached.total
        if reached.done == 0:
            self._began = now
        elif not is_over and now - self._written < _PAUSE:
            return
        if is_over or self._is_live:
            self._written = now
            line = f"{reached.stage}: {reached.done:,} of {reached.total:,}, {now - self._began:.0f} s"
            sys.stderr.write(f"{chr(13) if self._is_live else ''}{line}{chr(10) if is_over else ''}")
            sys.stderr.flush()


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


@contextmanager
def stage_progress(stage: str) -> Iterator[None]:
    """A stage of one part: whoever listens is told that it began, and that it is over."""
    for _ in tracked(stage, (stage,)):
        yield
