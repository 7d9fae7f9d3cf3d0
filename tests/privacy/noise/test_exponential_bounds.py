"""Bounds of e^{−x}: right, narrow, and exact where they can be."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.noise import exponential

from pcqr.privacy.noise.kernels import exponential_bounds


@given(st.fractions(0, 300), st.integers(16, 250))
def test_the_bounds_hold_and_are_at_most_two_apart(x: Fraction, places: int) -> None:
    low, high = exponential_bounds(x, places)
    exact = exponential(x) * 2**places
    slack = exact * Fraction(1, 10**95)
    assert low <= exact + slack
    assert exact - slack <= high
    assert 0 <= low <= high <= low + 2


@pytest.mark.parametrize("x", [Fraction(1, 10**30), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(64)])
def test_the_bounds_hold_at_the_edges_of_the_halving(x: Fraction) -> None:
    for near in (x, x * (1 - Fraction(1, 10**40)), x * (1 + Fraction(1, 10**40))):
        low, high = exponential_bounds(near, 200)
        assert low <= exponential(near) * 2**200 <= high <= low + 2


def test_nothing_is_rounded_at_zero_and_nothing_computed_far_out() -> None:
    assert exponential_bounds(Fraction(0), 70) == (2**70, 2**70)
    assert exponential_bounds(Fraction(10**400), 70) == (0, 1)
    assert exponential_bounds(Fraction(71), 70) == (0, 1)
    low, high = exponential_bounds(Fraction(70), 70)
    assert low == 0
    assert 1 <= high <= 2
