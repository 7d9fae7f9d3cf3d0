"""Stated figures against the same formulas in 60 digits: never below, and above by no more than rounding up takes.

Half of all float64 results are rounded down. Over this many parameters a figure that is not rounded up is caught.
"""

from __future__ import annotations

import decimal
import itertools
from decimal import Decimal

import pytest

from pcqr.hypotheses import Thresholds
from pcqr.mechanisms.exponential import exponential_guarantee
from pcqr.mechanisms.noisy_max import ExponentialMax, GaussianMax, LaplaceMax
from pcqr.mechanisms.relabelling import relabel_guarantee
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, PaperSparseVector, RenyiSparseVector
from pcqr.mechanisms.stability import StabilityTest, laplace_tail
from pcqr.privacy.guarantee import Guarantee

SCALES = [0.7, 1.3, 3.1, 17.3, 101.7, 1234.5]
COUNTS = [1, 2, 3, 7, 29, 113]
MOST = Decimal("1e-11")  # relative: a few steps of 10⁻¹²
PRECISE = decimal.Context(prec=60)


def assert_just_above(stated: float, exact: Decimal) -> None:
    assert 0 <= Decimal(stated) - exact <= MOST * exact


def tail(scale: float, threshold: int) -> Decimal:
    a = (-1 / Decimal(scale)).exp()
    return a ** (threshold + 1) / (1 + a)


@pytest.mark.parametrize(("first", "second"), list(itertools.product(SCALES, SCALES)))
def test_one_sided_sparse_vector(first: float, second: float) -> None:
    for unstable, threshold in zip(COUNTS, (0, 1, 2, 5, 11, 40), strict=True):
        stated = OneSidedSparseVector(threshold, first, second, unstable).guarantee
        with decimal.localcontext(PRECISE):
            assert_just_above(stated.epsilon, 1 / Decimal(first) + 2 * unstable / Decimal(second))
            assert_just_above(stated.delta, tail(first, threshold))


@pytest.mark.parametrize(("scale", "unstable"), list(itertools.product(SCALES, COUNTS)))
def test_paper_sparse_vector(scale: float, unstable: int) -> None:
    for threshold, queries, slack in ((0, 1, 1e-3), (7, 5, 1e-6), (40, 1000, 1e-9)):
        if threshold < scale:
            continue  # δ would exceed 1
        parameters = PaperSparseVector(threshold, scale, unstable, queries, slack)
        with decimal.localcontext(PRECISE):
            epoch = 2 / Decimal(scale)
            pure = unstable * epoch
            grown = epoch.exp()
            advanced = pure * (grown - 1) / (grown + 1) + epoch * (-2 * unstable * Decimal(slack).ln()).sqrt()
            a = (-1 / (2 * Decimal(scale))).exp()
            passing = a ** (threshold + 1) * (1 + a) / (1 + a + a * a)
            passing -= a ** (2 * threshold + 3) / ((1 + a * a) * (1 + a + a * a))
            delta = min(unstable, queries) * passing + (Decimal(slack) if advanced < pure else 0)
            if delta < 1:
                assert_just_above(parameters.guarantee.epsilon, min(pure, advanced))
                assert_just_above(parameters.guarantee.delta, delta)


@pytest.mark.parametrize(("sigma", "scale"), list(itertools.product(SCALES, SCALES)))
def test_renyi_divergence(sigma: float, scale: float) -> None:
    for order, head_start, unstable in ((1.5, 0, 1), (3.0, 2, 7), (40.0, 5, 29), (1.0 + 2.0**-20, 1, 2)):
        parameters = RenyiSparseVector(5, sigma, scale, head_start, unstable, 1e-6)
        with decimal.localcontext(PRECISE):
            c, above = 1 / Decimal(scale), Decimal(order) - 1
            lower = 2 * c - (1 + above * (1 - (-2 * c).exp())).ln() / above
            half = c * (head_start + 2) / 2
            upper = 2 * ((half.exp() + (-half).exp()) / 2).ln()
            shift = Decimal(order) / (2 * Decimal(sigma) ** 2)
            cost = max(lower, upper)
            assert 0 <= Decimal(parameters.unstable_cost(order)) - cost <= MOST * (cost + 2 * c)
            whole = shift + unstable * cost
            assert 0 <= Decimal(parameters.divergence(order)) - whole <= MOST * (whole + 2 * c * unstable)


@pytest.mark.parametrize("epsilon", [1 / scale for scale in SCALES] + [0.1, 0.3, 1.0, 3.0])
def test_stability(epsilon: float) -> None:
    test = StabilityTest(epsilon, 1e-6)
    with decimal.localcontext(PRECISE):
        assert_just_above(test.guarantee.epsilon, 1 / Decimal(test.scale))
        assert Decimal(test.guarantee.epsilon) <= Decimal(epsilon)
        for threshold in (0, 1, 9, test.threshold):
            assert_just_above(laplace_tail(test.scale, threshold), tail(test.scale, threshold))


@pytest.mark.parametrize("eta", [0.01, 0.1, 0.3, 0.7, 1.1, 2.3, 5.9])
def test_draws_and_relabelling(eta: float) -> None:
    for records, inner in ((1, 0.1), (1000, 0.3), (36_001, 1.7)):
        error = Decimal(2 * records) * Decimal(eta) / 2**53
        drawn = exponential_guarantee(Thresholds(), records=records, inverse_temperature=eta, features=1, public=3)
        free = relabel_guarantee(Guarantee(inner), Thresholds(), records, eta, 1)
        fixed = relabel_guarantee(Guarantee(inner), Thresholds(), records, eta, 1, public=3)
        with decimal.localcontext(PRECISE):
            price = 2 * Decimal(eta) + 2 * error
            assert_just_above(drawn.epsilon, price)
            assert_just_above(fixed.epsilon, Decimal(inner) + price)
            assert_just_above(free.epsilon, Decimal(inner) + 2 * (1 + Decimal(eta).exp()).ln() + 2 * error)


@pytest.mark.parametrize("teachers", [1, 101, 2**30, 2**50])
def test_noisy_max_by_odds(teachers: int) -> None:
    """η·gap is rounded, and a gap may be as large as the number of teachers; of three labels two gaps are."""
    for eta in (0.01, 0.3, 2.3):
        with decimal.localcontext(PRECISE):
            for labels, rounded in ((2, 1), (3, 2), (100, 2)):
                exact = 2 * Decimal(eta) * (1 + rounded * Decimal(teachers) / 2**53)
                assert_just_above(ExponentialMax(eta).event(teachers, labels).epsilon, exact)


@pytest.mark.parametrize("scale", [0.3, 20.0, 1e5])
def test_noisy_max_with_noise_on_every_count(scale: float) -> None:
    with decimal.localcontext(PRECISE):
        assert_just_above(LaplaceMax(scale).event(250, 3).epsilon, 2 / Decimal(scale))
        for labels, squared in ((2, 1), (3, 2), (100, 2)):
            multiplier = Decimal(GaussianMax(scale).event(250, labels).noise_multiplier)
            assert 1 <= Decimal(scale) ** 2 / squared / multiplier**2 < 1 + Decimal("1e-11")
