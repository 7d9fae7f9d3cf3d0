"""The search for the hardest demand: enough for it, close to the crossing, in few evaluations."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.advice.solving import hardest_demand

LIMIT = 1e9


def counted(function: Callable[[float], float]) -> tuple[Callable[[float], float], list[float]]:
    asked: list[float] = []

    def needed(demand: float) -> float:
        asked.append(demand)
        return function(demand)

    return needed, asked


@given(power=st.floats(0.5, 3.0), crossing=st.floats(2.0, 1e4), available=st.integers(1_000, 10**9))
def test_the_crossing_of_a_power_is_found_in_a_few_rounds(power: float, crossing: float, available: int) -> None:
    needed, asked = counted(lambda u: available * (u / crossing) ** power)
    found = hardest_demand(needed, available, (1.0,), LIMIT, rounds=4)
    assert found is not None
    assert needed(found) <= available
    assert found in asked
    assert 0.94 * crossing <= found <= crossing * (1 + 1e-12)
    assert len(asked) <= 6


@given(wall=st.floats(1.5, 100.0), available=st.integers(1_000, 10**9))
def test_nothing_is_enough_beyond_a_wall_and_what_is_found_lies_before_it(wall: float, available: int) -> None:
    needed, asked = counted(lambda u: 0.01 * available * u**0.5 if u <= wall else math.inf)
    found = hardest_demand(needed, available, (1.0,), LIMIT, rounds=4)
    assert found is not None
    assert 1.0 <= found <= wall
    assert found in asked


def test_more_rounds_come_closer() -> None:
    def needed(u: float) -> float:
        return 100.0 * u * (1.0 + math.log(u)) ** 2

    few, many = (hardest_demand(needed, 10**6, (1.0,), LIMIT, rounds) for rounds in (1, 8))
    assert few is not None
    assert many is not None
    assert few < many
    assert 0.95e6 < needed(many) <= 1e6


def test_a_start_that_nearly_does_is_eased_before_the_next_is_tried() -> None:
    needed, asked = counted(lambda u: 100.0 * u)
    assert hardest_demand(needed, 1_000, (20.0, 1.0), LIMIT, rounds=0) == pytest.approx(9.5)
    assert asked == [20.0, pytest.approx(9.5)]
    far, asked = counted(lambda u: 100.0 * u)
    assert hardest_demand(far, 1_000, (40.0, 1.0), LIMIT, rounds=0) == 1.0
    assert asked == [40.0, 1.0]


def test_no_start_no_answer_and_never_beyond_the_limit() -> None:
    assert hardest_demand(lambda u: 1e9 * u, 1_000, (2.0, 1.0), LIMIT, rounds=4) is None
    assert hardest_demand(lambda _: math.inf, 1_000, (2.0, 1.0), LIMIT, rounds=4) is None
    assert hardest_demand(lambda _: 1.0, 1_000, (1.0,), 5.0, rounds=4) == 5.0
