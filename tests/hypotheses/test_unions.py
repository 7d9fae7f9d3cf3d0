"""Unions of intervals: the law, each dichotomy once, the learner, and the error bound against 60 digits."""

from __future__ import annotations

import decimal
import math
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

from pcqr.hypotheses.intervals import Intervals
from pcqr.hypotheses.unions import IntervalUnion, UnionsOfIntervals
from pcqr.privacy.entropy import SystemEntropy


@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("values", SMALL_SETS, ids=str)
def test_law_is_the_brute_force_law_with_each_dichotomy_once(r: int, values: tuple[float, ...]) -> None:
    distinct = len(set(values))
    members = sum(math.comb(distinct + 1, 2 * j) for j in range(r + 1))
    check_private_law(UnionsOfIntervals(r), np.array(values), members)


@pytest.mark.parametrize("r", [1, 2])
@pytest.mark.parametrize(("public", "private"), PUBLIC_CASES)
def test_public_law(r: int, public: tuple[float, ...], private: tuple[float, ...]) -> None:
    check_public_law(UnionsOfIntervals(r), np.array(public), np.array(private))


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 1)), min_size=1, max_size=12),
    st.floats(0, 40),
)
@settings(max_examples=50, deadline=None)
def test_law_and_learner_on_any_records(r: int, rows: list[tuple[int, int]], inverse_temperature: float) -> None:
    x, y = np.array([float(v) for v, _ in rows]), np.array([label for _, label in rows], dtype=np.int8)
    hypotheses = UnionsOfIntervals(r)
    expected = brute_force_law(hypotheses, x, y, inverse_temperature)
    assert_same_law(sampler_law(hypotheses, x, y, inverse_temperature), expected)
    check_learner(hypotheses, x, y)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 1)), min_size=1, max_size=60))
@settings(max_examples=30, deadline=None)
def test_one_interval_makes_as_few_mistakes_as_the_intervals_learner(rows: list[tuple[int, int]]) -> None:
    x, y = np.array([float(v) for v, _ in rows]), np.array([label for _, label in rows], dtype=np.int8)
    union, interval = UnionsOfIntervals(1).learn(x, y), Intervals().learn(x, y)
    assert error_counts(union, x, y) == error_counts(interval, x, y)


@pytest.mark.parametrize(("r", "eta"), [(1, 0.7), (2, 0.0), (3, 0.01), (3, 5.0)])
def test_error_bound_holds_against_60_digits(r: int, eta: float) -> None:
    x, y = noisy_records(1500, seed=3)
    hypotheses = UnionsOfIntervals(r)
    with decimal.localcontext(PRECISE):
        sums = [Decimal(1), *[Decimal(0)] * (2 * r)]
        for balance in precise_balances(x, y):
            weight = (Decimal(eta) * balance).exp()
            stays_or_switches = [sums[0], *(sums[j] + sums[j - 1] for j in range(1, 2 * r + 1))]
            sums = [total * (weight if j % 2 else 1) for j, total in enumerate(stays_or_switches)]
        log_total = sum(sums, Decimal(0)).ln()
        bound = hypotheses.log_probability_error(x.size, eta)
        assert 0.0 < bound < 1e-9
        for seed in range(3):
            drawn, log_probability = precise_draw(hypotheses, x, y, eta, seed)
            saved = int(y.sum()) - error_counts(drawn, x, y)
            assert abs(log_probability - (Decimal(eta) * saved - log_total)) <= Decimal(bound)


def test_cold_draws_neither_overflow_nor_miss_the_best() -> None:
    x = np.arange(2000.0)
    y = (((x > 200) & (x <= 400)) | (x > 1500)).astype(np.int8)
    drawn = UnionsOfIntervals(2).draw(x, y, 50.0, entropy=SystemEntropy())
    assert drawn.hypothesis == IntervalUnion((200.5, 400.5, 1500.5))
    assert drawn.log_probability == pytest.approx(0.0, abs=1e-12)


def test_more_labellings_than_a_float_can_count() -> None:
    """C(3000, 400) exceeds 10³⁰⁸: the sums have exponents of their own. At η = 0 the law is uniform."""
    hypotheses = UnionsOfIntervals(200)
    x = np.arange(3000.0)
    assert hypotheses.log_growth(3000) > 1000.0
    drawn = hypotheses.draw(x, x < 100, 0.0, entropy=4)
    assert drawn.log_probability == pytest.approx(-hypotheses.log_growth(3000), abs=1e-6)
