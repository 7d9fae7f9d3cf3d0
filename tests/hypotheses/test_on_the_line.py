"""Classes on the line: the law, each dichotomy once, the learner, and the error bound against 60-digit arithmetic."""

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

from pcqr.errors import ParameterError
from pcqr.hypotheses import Hypothesis, HypothesisClass, Intervals, Thresholds, UnionsOfIntervals
from pcqr.hypotheses.intervals import Interval
from pcqr.hypotheses.thresholds import Threshold
from pcqr.hypotheses.unions import IntervalUnion
from pcqr.privacy.entropy import SystemEntropy

THRESHOLDS = (Thresholds(), Thresholds("both"))
CLASSES = (*THRESHOLDS, Intervals(), *(UnionsOfIntervals(r) for r in (1, 2, 3)))


def members(hypotheses: HypothesisClass, distinct: int) -> int:
    """How many dichotomies of so many different points the class has."""
    match hypotheses:
        case Thresholds():
            return distinct + 1 if hypotheses.direction == "up" else 2 * distinct
        case UnionsOfIntervals():
            return sum(math.comb(distinct + 1, 2 * j) for j in range(hypotheses.r + 1))
    return distinct * (distinct + 1) // 2 + 1


@pytest.mark.parametrize("hypotheses", CLASSES, ids=str)
def test_the_law_is_that_of_brute_force_with_each_dichotomy_once(hypotheses: HypothesisClass) -> None:
    for values in SMALL_SETS:
        check_private_law(hypotheses, np.array(values), members(hypotheses, len(set(values))))
    for public, private in PUBLIC_CASES:
        check_public_law(hypotheses, np.array(public), np.array(private))


VALUES = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-3, 3).map(float)


@given(
    st.sampled_from((*CLASSES, UnionsOfIntervals(4))),
    st.lists(st.tuples(VALUES, st.integers(0, 1)), min_size=1, max_size=12),
    st.floats(0, 50),
)
@settings(max_examples=200, deadline=None)
def test_law_and_learner_on_any_records(
    hypotheses: HypothesisClass, rows: list[tuple[float, int]], inverse_temperature: float
) -> None:
    x, y = np.array([v for v, _ in rows]), np.array([label for _, label in rows], dtype=np.int8)
    expected = brute_force_law(hypotheses, x, y, inverse_temperature)
    assert_same_law(sampler_law(hypotheses, x, y, inverse_temperature), expected)
    check_learner(hypotheses, x, y)


@given(st.lists(st.tuples(st.integers(0, 30), st.integers(0, 1)), min_size=1, max_size=60))
@settings(max_examples=30, deadline=None)
def test_one_interval_makes_as_few_mistakes_as_the_intervals_learner(rows: list[tuple[int, int]]) -> None:
    x, y = np.array([float(v) for v, _ in rows]), np.array([label for _, label in rows], dtype=np.int8)
    union, interval = UnionsOfIntervals(1).learn(x, y), Intervals().learn(x, y)
    assert error_counts(union, x, y) == error_counts(interval, x, y)


@pytest.mark.parametrize("hypotheses", THRESHOLDS, ids=str)
@pytest.mark.parametrize("eta", [0.01, 0.7, 5.0])
def test_the_error_bound_of_thresholds_holds_against_60_digits(hypotheses: Thresholds, eta: float) -> None:
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


@pytest.mark.parametrize("eta", [0.0, 0.01, 0.7, 5.0])
def test_the_error_bound_of_intervals_holds_against_60_digits(eta: float) -> None:
    x, y = noisy_records(3000, seed=2)
    with decimal.localcontext(PRECISE):
        total, ending_here = Decimal(1), Decimal(0)
        for balance in precise_balances(x, y):
            ending_here = (Decimal(eta) * balance).exp() * (ending_here + 1)
            total += ending_here
        bound = Intervals().log_probability_error(x.size, eta)
        assert 0.0 < bound < 1e-10
        for seed in range(5):
            drawn, log_probability = precise_draw(Intervals(), x, y, eta, seed)
            saved = int(y.sum()) - error_counts(drawn, x, y)
            exact = Decimal(eta) * saved - total.ln()
            assert abs(log_probability - exact) <= Decimal(bound)


@pytest.mark.parametrize(("r", "eta"), [(1, 0.7), (2, 0.0), (3, 0.01), (3, 5.0)])
def test_the_error_bound_of_unions_holds_against_60_digits(r: int, eta: float) -> None:
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


X = np.arange(2000.0)
COLD: dict[HypothesisClass, tuple[object, Hypothesis, float]] = {
    Thresholds(): (X > 700, Threshold(700.5), -2 * math.exp(-50.0)),
    Thresholds("both"): (X > 700, Threshold(700.5), -2 * math.exp(-50.0)),
    Intervals(): ((X > 700) & (X <= 900), Interval(700.5, 900.5), 0.0),
    UnionsOfIntervals(2): (((X > 200) & (X <= 400)) | (X > 1500), IntervalUnion((200.5, 400.5, 1500.5)), 0.0),
}


@pytest.mark.parametrize("hypotheses", COLD, ids=str)
def test_cold_draws_neither_overflow_nor_miss_the_best(hypotheses: HypothesisClass) -> None:
    labels, best, log_probability = COLD[hypotheses]
    drawn = hypotheses.draw(X, np.asarray(labels, dtype=np.int8), 50.0, entropy=SystemEntropy())
    assert drawn.hypothesis == best
    assert drawn.log_probability == pytest.approx(log_probability, abs=1e-12)


def test_more_labellings_than_a_float_can_count() -> None:
    """C(3000, 400) exceeds 10³⁰⁸: the sums have exponents of their own. At η = 0 the law is uniform."""
    hypotheses = UnionsOfIntervals(200)
    x = np.arange(3000.0)
    assert hypotheses.log_growth(3000) > 1000.0
    drawn = hypotheses.draw(x, x < 100, 0.0, entropy=4)
    assert drawn.log_probability == pytest.approx(-hypotheses.log_growth(3000), abs=1e-6)


def test_thresholds_refuse() -> None:
    with pytest.raises(ParameterError, match="direction must be 'up' or 'both'; received 'down'"):
        Thresholds("down")
    with pytest.raises(ParameterError, match="X must be at most 1000 rows for enumerate; received 1001"):
        Thresholds().enumerate(np.arange(1001.0))
