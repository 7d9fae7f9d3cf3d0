"""The pattern search: it descends, stays within its bounds, keeps pins, and judges by the objective alone."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.planner.search import COARSE, FINE, Knobs, smallest

BOUNDS = {"rate": (1e-3, 1.0), "unstable": (1.0, 1e4), "teachers": (1.0, 9_999.0)}


def bowl(best: Knobs) -> object:
    return lambda knobs: math.fsum(math.log(knobs[name] / best[name]) ** 2 for name in best)


@given(
    rate=st.floats(0.002, 0.9),
    unstable=st.integers(1, 5_000),
    teachers=st.integers(0, 2_000).map(lambda half: 2.0 * half + 1.0),
)
def test_it_finds_the_bottom_of_a_bowl(rate: float, unstable: int, teachers: float) -> None:
    best = {"rate": rate, "unstable": float(unstable), "teachers": teachers}
    found = smallest(bowl(best), [{"rate": 0.2, "unstable": 50.0, "teachers": 101.0}], BOUNDS)  # type: ignore[arg-type]
    for name, value in best.items():
        assert abs(math.log(found[name] / value)) <= math.log(FINE[-1]) or abs(found[name] - value) <= 1.0
    assert found["unstable"] == round(found["unstable"])
    assert found["teachers"] % 2 == 1


def test_odd_numbers_climb_from_one() -> None:
    found = smallest(lambda knobs: -knobs["teachers"], [{"teachers": 1.0}], {"teachers": (1.0, 8.0)}, FINE)
    assert found == {"teachers": 7.0}


def test_bounds_hold_and_pins_stay() -> None:
    asked: list[Knobs] = []

    def objective(knobs: Knobs) -> float:
        asked.append(knobs)
        return -math.fsum(knobs.values())

    bounds = BOUNDS | {"unstable": (7.0, 7.0)}
    found = smallest(objective, [{"rate": 5.0, "unstable": 100.0, "teachers": 50.0}], bounds)
    assert found == {"rate": 1.0, "unstable": 7.0, "teachers": 9_999.0}
    assert all(bounds[name][0] <= value <= bounds[name][1] for knobs in asked for name, value in knobs.items())
    assert len({tuple(knobs.values()) for knobs in asked}) == len(asked)  # nothing is asked for twice


@pytest.mark.parametrize("steps", [COARSE, FINE])
def test_the_best_start_wins_and_infeasible_ones_do_no_harm(steps: tuple[float, ...]) -> None:
    def objective(knobs: Knobs) -> float:
        return math.inf if knobs["rate"] < 0.1 else abs(knobs["rate"] - 0.5)

    found = smallest(objective, [{"rate": 0.01}, {"rate": 0.7}, {"rate": 0.9}], BOUNDS, steps)
    assert abs(found["rate"] - 0.5) <= 0.05
    assert smallest(lambda _: math.inf, [{"rate": 0.01}], BOUNDS) == {"rate": 0.01}
