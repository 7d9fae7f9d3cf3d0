"""A class of which only the VC dimension is known."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.errors import ParameterError
from pcqr.planner.certificate import VcClass


@given(dimension=st.integers(1, 40), count=st.integers(0, 2_000))
def test_growth_is_a_bound_of_sauer_and_never_decreases(dimension: int, count: int) -> None:
    bound = VcClass(dimension).log_growth(count)
    sauer = sum(math.comb(count, i) for i in range(min(dimension, count) + 1))
    assert bound >= math.log(sauer) - 1e-9
    assert bound <= VcClass(dimension).log_growth(count + 1)
    assert bound <= count * math.log(2.0) + dimension  # not far above what d points can be labelled


def test_it_is_neither_fixed_nor_on_the_line() -> None:
    known = VcClass(3)
    assert known.vc_dimension == known.vc_bound(7) == known.boundaries == 3
    assert known.switches is None
    assert not known.is_fixed
    assert known.log_probability_error(10**6, 0.1) == 0.0
    assert known.log_rarity(100) == known.log_growth(100)


@pytest.mark.parametrize("dimension", [0, -1, 2.5, True])
def test_the_dimension_is_a_positive_integer(dimension: object) -> None:
    with pytest.raises(ParameterError, match="vc"):
        VcClass(dimension)  # type: ignore[arg-type]
