"""Numba behind one door: kernels compile on their first call, so that importing pcqr stays cheap."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import update_wrapper
from itertools import pairwise
from types import FunctionType
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


class _Lazy:
    def __init__(self, function: FunctionType) -> None:
        self._function = function
        self._compiled: Callable[..., object] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: object) -> object:
        if self._compiled is None:
            with _uncollected():
                from numba import typeof  # noqa: PLC0415

                # No wrapper for calls from C: nobody makes them, and it takes time to compile.
                self._compiled = kernel = self._jitted(cache=True, nogil=True, no_cfunc_wrapper=True)
                kernel.compile(tuple(map(typeof, args)))
        return self._compiled(*args)

    def _jitted(self, **options: Any) -> Any:
        """The function as numba has it, with the kernels that it calls written out at their place.

        Without that a call that hands on arrays costs more than the few steps of an innermost loop.
        """
        from numba import njit  # noqa: PLC0415

        own = self._function
        named = {name: own.__globals__.get(name) for name in own.__code__.co_names}
        called = {name: kernel for name, kernel in named.items() if isinstance(kernel, _Lazy)}
        if strangers := [name for name, kernel in called.items() if kernel._function.__module__ != own.__module__]:
            raise TypeError(f"{own.__name__} calls {', '.join(strangers)} of another module: its cache would go stale")
        names = own.__globals__ | {name: kernel._jitted(inline="always") for name, kernel in called.items()}
        bound = FunctionType(own.__code__, names, own.__name__, own.__defaults__, own.__closure__)
        return njit(**options)(update_wrapper(bound, own))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the search for reference cycles: a compiler makes so many objects that it takes a tenth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with numba on first use, cached on disk.

    It may call numpy, math and other kernels of its own module, and nothing else of ours: numba renews the cache of a
    kernel when its own file changes, not when a file does that it calls into.
    """
    return cast(Callable[P, R], _Lazy(cast(FunctionType, function)))


# ---------------------------------------------------------------------------------------------------------------------
# Work shared out to threads: compiled loops and the operating system's generator run beside each other.


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


# ---------------------------------------------------------------------------------------------------------------------
# Which process this is. A process id alone does not say it: the system gives ids of ended processes to new ones.


Process = tuple[int, int]

_forks = 0


def this_process() -> Process:
    """Return an identity of this process that no forked process shares: how many forks led to it, and its id."""
    return _forks, os.getpid()


def _count() -> None:
    global _forks  # noqa: PLW0603 - it belongs to the process
    _forks += 1


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count)
