"""Numba behind one door: kernels compile on their first call, so that importing pcqr stays cheap."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import update_wrapper
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
