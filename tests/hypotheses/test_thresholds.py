"""Thresholds: the law, each dichotomy once, the learner, and the error bound against 60-digit arithmetic."""

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
    precise_draw,
)

from pcqr.hypotheses.thresholds import Threshold, Thresholds
from pcqr.privacy.entropy import SystemEntropy

BOTH_CLASSES = (Thresholds(), Thresholds("both"))


def member_count(hypotheses: Thresholds, distinct: int) -> int:
    return distinct + 1 if hypotheses.direction == "up" else 2 * distinct


@pytest.mark.parametrize("hypotheses", BOTH_CLASSES, ids=str)
@pytest.mark.parametrize("values", SMALL_SETS, ids=str)
def test_law_is_the_brute_force_law_with_each_dichotomy_once(hypotheses: Thresholds, values: tuple[float, ...]) -> None:
    check_private_law(hypotheses, np.array(values), member_count(hypotheses, len(set(values))))


@pytest.mark.parametrize("hypotheses", BOTH_CLASSES, ids=str)
@pytest.mark.parametrize(("public", "private"), PUBLIC_CASES)
def test_public_law(hypotheses: Thresholds, public: tuple[float, ...], private: tuple[float, ...]) -> None:
    check_public_law(hypotheses, np.array(public), np.array(private))


@given(
    st.sampled_from(BOTH_CLASSES),
    st.lists(st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.integers(0, 1)), min_size=1, max_size=12),
    st.floats(0, 50),
)
@settings(max_examples=60, deadline=None)
def test_law_and_learner_on_any_records(
    hypotheses: Thresholds, rows: list[tuple[float, int]], inverse_temperature: float
) -> None:
    x, y = np.array([v for v, _ in rows]), np.array([label for _, label in rows], dtype=np.int8)
    expected = brute_force_law(hypotheses, x, y, inverse_temperature)
    assert_same_law(sampler_law(hypotheses, x, y, inverse_temperature), expected)
    check_learner(hypotheses, x, y)


@pytest.mark.parametrize("hypotheses", BOTH_CLASSES, ids=str)
@pytest.mark.parametrize("eta", [0.01, 0.7, 5.0])
def test_error_bound_holds_against_60_digits(hypotheses: Thresholds, eta: float) -> None:
    x, y = noisy_records(2000, seed=1)
    with decimal.localcontext(PRECISE):
        per_mistake = Decimal(-eta).exp()
        total = Decimal(0)
        for cut in [-math.inf, *sorted(set(x.tolist()))]:
            wrong = int(((x > cut) != y).sum())
            total += per_mistake**wrong
            if hypotheses.direction == "both" and -math.inf < cut < x.max():
                total += per_mistake ** (x.size - wrong)
        bound = hypotheses.log_probability_error(x.size, eta)
        assert 0.0 < bound < 1e-10
        for seed in range(5):
            drawn, log_probability = precise_draw(hypotheses, x, y, eta, seed)
            exact = -Decimal(eta) * error_counts(drawn, x, y) - total.ln()
            assert abs(log_probability - exact) <= Decimal(bound)


@pytest.mark.parametrize("hypotheses", BOTH_CLASSES, ids=str)
def test_cold_draws_neither_overflow_nor_miss_the_best(hypotheses: Thresholds) -> None:
    x = np.arange(2000.0)
    y = (x > 700).astype(np.int8)
    drawn = hypotheses.draw(x, y, 50.0, entropy=SystemEntropy())
    assert drawn.hypothesis == Threshold(700.5)
    assert drawn.log_probability == pytest.approx(-2 * math.exp(-50.0), abs=1e-12)
