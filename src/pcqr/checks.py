"""Checks of parameters, with one wording for every mistake: the name, what is allowed, what came."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import wraps
from numbers import Integral, Real
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from pcqr.errors import ParameterError

SMALLEST_DELTA = 1e-300


def check_positive(name: str, value: object) -> None:
    if not (_is_finite(value) and value > 0):  # type: ignore[operator]
        raise ParameterError(name, "a finite number > 0", value)


def check_finite(name: str, value: object) -> None:
    if not _is_finite(value):
        raise ParameterError(name, "a finite number", value)


def check_inverse_temperature(value: object) -> None:
    if not (_is_finite(value) and value >= 0):  # type: ignore[operator]
        raise ParameterError("inverse_temperature", "a finite number ≥ 0", value)


def check_probability(name: str, value: object, *, one_allowed: bool = False) -> None:
    inside = _is_finite(value) and (0 < value < 1 or (one_allowed and value == 1))  # type: ignore[operator]
    if not inside:
        raise ParameterError(name, f"a number in (0, 1{']' if one_allowed else ')'}", value)


def check_delta(value: object) -> None:
    """δ in [10⁻³⁰⁰, 1): below that, probabilities would lose their digits in float64."""
    if not (_is_finite(value) and SMALLEST_DELTA <= value < 1):  # type: ignore[operator]
        raise ParameterError("delta", f"a number in [{SMALLEST_DELTA:g}, 1)", value)


def check_integer(name: str, value: object, *, least: int, most: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ParameterError(name, f"an integer ≥ {least}", value)
    if most is not None and int(value) > most:
        raise ParameterError(name, f"at most {most:,}", value)


def check_teachers(value: object, *, most: int | None = None) -> None:
    """k, the number of teachers whose votes must not tie."""
    check_integer("teachers", value, least=1, most=most)
    if int(value) % 2 == 0:  # type: ignore[call-overload]
        raise ParameterError("teachers", "odd, so that votes cannot tie", value)


def keep_plain(instance: object, *, floats: Iterable[str] = (), integers: Iterable[str] = ()) -> None:
    """Turn fields of a frozen dataclass into Python's own float and int; None stays None.

    NumPy's short floats keep their type in arithmetic, and would carry a guarantee's last digits away.
    """
    for names, plain in ((floats, float), (integers, int)):
        for name in names:
            value = getattr(instance, name)
            if value is not None:
                object.__setattr__(instance, name, plain(value))


def _is_finite(value: object) -> bool:
    return not isinstance(value, bool) and isinstance(value, Real) and math.isfinite(float(value))


# ---------------------------------------------------------------------------------------------------------------------
# Steps that must not begin in the middle of themselves.


class Guarded(Protocol):
    """Whoever has a step that is `non_reentrant`."""

    is_under_way: bool


S = TypeVar("S", bound=Guarded)
P = ParamSpec("P")
R = TypeVar("R")


def check_idle(*owners: Guarded) -> None:
    """Raise if a step of one of them has begun and not ended: in the thread that holds their lock, who else asks?"""
    if any(owner.is_under_way for owner in owners):
        raise RuntimeError("This was asked for in the middle of a query: ask for it when that has been answered.")


def non_reentrant(step: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
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
