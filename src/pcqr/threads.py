"""Work shared out to threads: compiled loops and the operating system's generator run beside each other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import pairwise
from typing import TypeVar

from pcqr.forks import this_process

T = TypeVar("T")

_LEAST_STEPS = 1_000_000
"""Steps that are worth a thread of their own."""

_GLANCE = 0.1
"""Seconds after which it is asked again whether this is still the process that the threads are in."""

_most: ContextVar[int | None] = ContextVar("threads at most", default=None)


class ForkedError(RuntimeError):
    """This process was forked off while threads were at work. They stayed behind, and so did what they made."""


@contextmanager
def at_most(threads: int) -> Iterator[None]:
    """Work that is begun here is shared out to so many threads at most: others are at work on this machine as well."""
    before = _most.set(threads)
    try:
        yield
    finally:
        _most.reset(before)


def available() -> int:
    """How many threads there are for work that is begun here."""
    return _most.get() or os.cpu_count() or 1


def in_threads(work: Callable[[int, int], T], total: int, steps: int, most: int | None = None) -> list[T]:
    """What `work`(low, high) gives for consecutive shares of range(`total`), at most `most` each; kernels hold no lock.

    `steps` is about what one of `total` takes. How many shares there are follows from these numbers alone. They are
    public, but for a `total` that is a number of rows where records are persons: it then shows in running times alone
    (docs/known-vulnerabilities.md, V38). The threads end with the call, whatever its end; nothing is left behind that a
    fork or a pickle could trip over.
    """
    threads = available() if total * steps >= _LEAST_STEPS else 1
    shares = max(1, min(threads, total), -(-total // (most or total or 1)))
    edges = [total * share // shares for share in range(shares + 1)]
    if shares == 1 or threads == 1:
        return [work(low, high) for low, high in pairwise(edges)]
    process = this_process()
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, low, high) for low, high in pairwise(edges)]
        while wait(futures, _GLANCE).not_done:
            if this_process() != process:  # a signal handler forked: nobody is at work here
                raise ForkedError("This process was forked off while threads were at work.")
    return [future.result() for future in futures]
