"""Budget, aim and pins: what is refused, and that numbers are Python's own."""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest

from pcqr.errors import ParameterError
from pcqr.releases.protocol.plan import Aim, Budget, Pins

BUDGET, AIM = Budget(1.0, 1e-6), Aim(300, 0.1, 0.05)
PINS = Pins(teachers=101, unstable=3, sampling_rate=0.5, inverse_temperature=0.3, publish_share=0.2)

REFUSED: list[tuple[Any, str, object]] = [
    *((BUDGET, "epsilon", value) for value in (0, -1.0, math.inf, math.nan, None, True, "1")),
    *((BUDGET, "delta", value) for value in (-1e-9, 1.0, 1e-301, math.nan, None)),
    *((AIM, "queries", value) for value in (0, 1.5, True)),
    *((AIM, name, value) for name in ("alpha", "beta") for value in (0.0, 1.0, None, math.nan)),
    *((PINS, "teachers", value) for value in (0, 2, 3.0)),
    *((PINS, "unstable", value) for value in (0, 1.5)),
    *((PINS, "sampling_rate", value) for value in (0.0, 1.1)),
    *((PINS, "inverse_temperature", value) for value in (0.0, math.inf)),
    *((PINS, "publish_share", value) for value in (0.0, 1.0)),
]


@pytest.mark.parametrize(("asked", "name", "value"), REFUSED)
def test_nonsense_is_refused_by_name(asked: Any, name: str, value: object) -> None:
    with pytest.raises(ParameterError) as refusal:
        replace(asked, **{name: value})
    assert refusal.value.name == name


def test_privacy_may_be_pure_queries_without_number_and_everything_left_to_the_planner() -> None:
    assert Budget(1.0) == Budget(1.0, 0.0)
    assert Aim(None, 0.1, 0.05).queries is None
    assert all(getattr(Pins(), field.name) is None for field in fields(Pins))
    assert Pins(sampling_rate=1).sampling_rate == 1.0


@pytest.mark.parametrize("asked", [BUDGET, AIM, PINS])
def test_numbers_become_pythons_own(asked: Any) -> None:
    values = {field.name: getattr(asked, field.name) for field in fields(asked)}
    taken = type(asked)(**{name: np.array(value)[()] for name, value in values.items()})
    assert taken == asked
    assert {name: type(getattr(taken, name)) for name in values} == {
        name: type(value) for name, value in values.items()
    }
