"""Every inequality of the certificate against exact laws: it holds, and where it is tight it cannot be shrunk."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, gamma

from pcqr.planner.certificate import (
    average_excess,
    bernoulli_divergence,
    binomial_tail,
    consistent_learner_tail,
    log_largest_chance,
    sampling_slack,
)


def exact_tail(count: int, trials: int, chance: Fraction) -> Fraction:
    rest = 1 - chance
    return sum(
        (math.comb(trials, i) * chance**i * rest ** (trials - i) for i in range(max(0, count + 1), trials + 1)),
        Fraction(0),
    )


def worst_chance(queries: int, slack: float) -> float:
    """sup over p of P(Bin(m, p − s) > m·p): the number of successes exceeds m·p iff it exceeds ⌊m·p⌋."""
    counts = np.arange(queries)
    return float(binom.sf(counts, queries, np.clip((counts + 1) / queries - slack, 0.0, 1.0)).max())


@pytest.mark.parametrize("trials", [0, 1, 2, 7, 30])
@pytest.mark.parametrize("chance", [Fraction(0), Fraction(1, 1000), Fraction(3, 10), Fraction(7, 8), Fraction(1)])
def test_the_binomial_tail_is_exact(trials: int, chance: Fraction) -> None:
    counts = np.arange(-2, trials + 3)
    expected = [float(exact_tail(int(count), trials, chance)) for count in counts]
    assert binomial_tail(counts, trials, float(chance)) == pytest.approx(expected, rel=1e-11, abs=0.0)


@settings(max_examples=60)
@given(queries=st.integers(1, 300), failure=st.floats(1e-6, 0.5))
def test_sampling_slack_is_enough_and_nearly_the_least(queries: int, failure: float) -> None:
    slack, hoeffding = sampling_slack(queries, failure), math.sqrt(-math.log(failure) / (2 * queries))
    assert 0.0 < slack <= hoeffding
    assert worst_chance(queries, slack) <= failure * (1 + 1e-9)
    assert worst_chance(queries, slack - 1.01 * hoeffding / 256) > failure
    assert worst_chance(queries, 0.7 * slack) > failure


def test_sampling_slack_holds_between_the_multiples_too() -> None:
    queries, failure = 12, Fraction(1, 10)
    slack = Fraction(sampling_slack(queries, float(failure)))
    worst = Fraction(0)
    for i in range(240):
        bound = Fraction(i, 240) + Fraction(1, 10**9)  # m·p is not an integer
        if bound > slack:
            worst = max(worst, exact_tail(math.floor(queries * bound), queries, bound - slack))
    assert failure * Fraction(7, 10) < worst <= failure


@pytest.mark.parametrize(("queries", "failure"), [(5_000, 0.04), (20_000, 0.001), (3_000, 0.6), (1, 0.999)])
def test_blocks_of_counts_settle_what_a_full_scan_does(queries: int, failure: float) -> None:
    slack, hoeffding = sampling_slack(queries, failure), math.sqrt(-math.log(failure) / (2 * queries))
    assert worst_chance(queries, slack) <= failure * (1 + 1e-9)
    assert slack <= hoeffding / 256 or worst_chance(queries, slack - 1.01 * hoeffding / 256) > failure


def test_very_many_queries_fall_back_on_hoeffding() -> None:
    assert sampling_slack(10**6, 0.05) == pytest.approx(math.sqrt(math.log(20) / 2e6))
    assert sampling_slack(200_000, 0.05) < 0.7 * math.sqrt(math.log(20) / 4e5)


@given(a=st.floats(0.01, 0.49), ratio=st.floats(0.001, 1.0))
def test_the_divergence_is_that_of_coins_and_bounds_the_tail(a: float, ratio: float) -> None:
    p = a * ratio
    expected = a * math.log(a / p) + (1 - a) * math.log((1 - a) / (1 - p))
    assert bernoulli_divergence(a, math.log(p)) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    for k in (10, 300):
        needed = math.ceil(a * k)
        assert binom.sf(needed - 1, k, p) <= math.exp(-k * bernoulli_divergence(needed / k, math.log(p))) + 1e-12


@given(share=st.floats(1e-4, 0.499), exponent=st.floats(1e-6, 500.0))
def test_the_largest_chance_inverts_the_divergence_from_below(share: float, exponent: float) -> None:
    log_p = log_largest_chance(share, exponent)
    assert log_p <= math.log(share)
    assert bernoulli_divergence(share, log_p) >= exponent
    assert bernoulli_divergence(share, log_p + max(1e-6, -1e-9 * log_p)) < exponent


def test_a_chance_that_no_float_holds_has_a_logarithm() -> None:
    assert math.exp(log_largest_chance(0.01, 50.0)) == 0.0
    assert log_largest_chance(0.01, 50.0) == pytest.approx(-(50.0 - 0.01 * math.log(0.01) + 0.01) / 0.01, rel=0.01)


def test_the_average_of_exponentials_rarely_exceeds_its_bound() -> None:
    needed = False
    for k in (1, 3, 30, 1_000, 30_000):
        for u in (1e-3, 0.01, 0.1, 1.0, 5.0):
            tau, chance = average_excess(u), math.exp(-k * u)
            assert gamma.sf(k * (1 + tau), k) <= chance
            needed |= bool(chance > 0 and gamma.sf(k * (1 + 0.7 * tau), k) > chance)
    assert needed


@pytest.mark.parametrize("records", [1, 5, 50, 2_000])
def test_the_tail_of_consistent_learners_covers_the_gaps_of_thresholds(records: int) -> None:
    """The worst consistent threshold errs on the larger of the gaps beside the target: 2(1−t)^N − (1−2t)^N."""
    offset, rate = consistent_learner_tail(lambda count: math.log(count + 1), records)
    t = np.linspace(0.0, 0.5, 2_001)
    exceeds = 2 * (1 - t) ** records - (1 - 2 * t) ** records
    assert (exceeds <= np.exp(np.minimum(0.0, offset - rate * t))).all()
    assert (exceeds > np.exp(-rate * t)).any()  # no offset would not do
    assert rate <= records


def test_the_tail_of_consistent_learners_covers_disjoint_errors() -> None:
    """M cells of mass 1/M, each the error of one hypothesis: some cell is missed as by a collector of coupons."""
    cells = 1_000
    needed = False
    for records in (6_000, 8_000, 10_000, 14_000):
        offset, rate = consistent_learner_tail(lambda count: math.log(min(count, cells) + 1), records)
        # As if cells were independent: a bound from below, since misses are negatively associated.
        missed = -math.expm1(cells * math.log1p(-((1 - 1 / cells) ** records)))
        assert missed <= math.exp(min(0.0, offset - rate / cells))
        needed |= missed > math.exp(0.7 * offset - rate / cells)
    assert needed


def test_a_single_hypothesis_never_errs() -> None:
    assert consistent_learner_tail(lambda _: 0.0, 100) == (0.0, 100.0)
