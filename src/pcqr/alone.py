"""Steps that must not begin in the middle of themselves."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class Guarded(Protocol):
    """Whoever has a step that is `alone`."""

    is_under_way: bool


S = TypeVar("S", bound=Guarded)
P = ParamSpec("P")
R = TypeVar("R")


def check_idle(*owners: Guarded) -> None:
    """Raise if a step of one of them has begun and not ended: in the thread that holds their lock, who else asks?"""
    if any(owner.is_under_way for owner in owners):
        raise RuntimeError("This was asked for in the middle of a query: ask for it when that has been answered.")


def alone(step: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """A method that refuses to begin, on the same object, before it has ended.

    A lock keeps other threads out. A signal handler or a finaliser runs in the thread that holds the lock and may take
    it again: what it asks for would be decided before what it interrupts has been counted.
    """

    @wraps(step)
    def guarded(self: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        check_idle(self)
        try:
            self.is_under_way = True  # within `try`: an interruption must not leave it so
            return step(self, *args, **kwargs)
        finally:
            self.is_under_way = False

    return guarded
