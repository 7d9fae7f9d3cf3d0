"""The checks of parameters that several mechanisms share."""

from __future__ import annotations

import math
from numbers import Integral

from pcqr.errors import ParameterError


def check_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ParameterError(name, "a positive finite number", value)


def check_inverse_temperature(value: float) -> None:
    if not (math.isfinite(value) and value >= 0):
        raise ParameterError("inverse_temperature", "a finite number ≥ 0", value)


def check_probability(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ParameterError(name, "a number in (0, 1)", value)


def check_integer(name: str, value: object, *, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ParameterError(name, f"an integer ≥ {least}", value)
