"""Numba behind one door: kernels compile on their first call, so that importing pcqr stays cheap."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")


class _Lazy:
    def __init__(self, function: Callable[..., object]) -> None:
        self._function = function
        self._compiled: Callable[..., object] | None = None
        update_wrapper(self, function)

    def __call__(self, *args: object) -> object:
        if self._compiled is None:
            from numba import njit  # noqa: PLC0415

            self._compiled = njit(cache=True, nogil=True)(self._function)
        return self._compiled(*args)


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile `function` with numba on first use, cached on disk. It may call numpy, math and nothing of ours."""
    return cast(Callable[P, R], _Lazy(function))
