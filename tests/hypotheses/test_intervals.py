"""Intervals: the law, each dichotomy once, the learner, and the error bound against 60-digit arithmetic."""

from __future__ import annotations

import decimal
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.laws import brute_force_law, sampler_law
from support.line import (
    PRECISE,
    PUBLIC_CASES,
    SMALL_SETS,
    assert_same_law,
    check_learner,
    check_private_law,
    check_public_law,
    error_counts,
    noisy_records,
    precise_balances,
    precise_draw,
)

from pcqr.hypotheses.intervals import Interval, Intervals
from pcqr.privacy.entropy import SystemEntropy

LINE = Intervals()


@pytest.mark.parametrize("values", SMALL_SETS, ids=str)
def test_law_is_the_brute_force_law_with_each_dichotomy_once(values: tuple[float, ...]) -> None:
    distinct = len(set(values))
    check_private_law(LINE, np.array(values), distinct * (distinct + 1) // 2 + 1)


@pytest.mark.parametrize(("public", "private"), PUBLIC_CASES)
def test_public_law(public: tuple[float, ...], private: tuple[float, ...]) -> None:
    check_public_law(LINE, np.array(public), np.array(private))


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 1)), min_size=1, max_size=14),
    st.floats(0, 40),
)
@settings(max_examples=60, deadline=None)
def test_law_and_learner_on_any_records(rows: list[tuple[int, int]], inverse_temperature: float) -> None:
    x, y = np.array([float(v) for v, _ in rows]), np.array([label for _, label in rows], dtype=np.int8)
    assert_same_law(sampler_law(LINE, x, y, inverse_temperature), brute_force_law(LINE, x, y, inverse_temperature))
    check_learner(LINE, x, y)


@pytest.mark.parametrize("eta", [0.0, 0.01, 0.7, 5.0])
def test_error_bound_holds_against_60_digits(eta: float) -> None:
    x, y = noisy_records(3000, seed=2)
    with decimal.localcontext(PRECISE):
        total, ending_here = Decimal(1), Decimal(0)
        for balance in precise_balances(x, y):
            ending_here = (Decimal(eta) * balance).exp() * (ending_here + 1)
            total += ending_here
        bound = LINE.log_probability_error(x.size, eta)
        assert 0.0 < bound < 1e-10
        for seed in range(5):
            drawn, log_probability = precise_draw(LINE, x, y, eta, seed)
            saved = int(y.sum()) - error_counts(drawn, x, y)
            exact = Decimal(eta) * saved - total.ln()
            assert abs(log_probability - exact) <= Decimal(bound)


def test_cold_draws_neither_overflow_nor_miss_the_best() -> None:
    x = np.arange(2000.0)
    y = ((x > 700) & (x <= 900)).astype(np.int8)
    drawn = LINE.draw(x, y, 50.0, entropy=SystemEntropy())
    assert drawn.hypothesis == Interval(700.5, 900.5)
    assert drawn.log_probability == pytest.approx(0.0, abs=1e-12)
