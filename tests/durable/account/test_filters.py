"""What an account lets pass: exact sums, limits against known values, figures that are never shown too small."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pcqr.durable.account.filters import (
    BasicFilter,
    ConcentratedFilter,
    Tally,
    at_least,
    at_most,
    exact,
    new_filter,
    root_at_most,
)
from pcqr.errors import ParameterError
from pcqr.privacy.accounting import concentrated_epsilon
from pcqr.privacy.guarantee import Guarantee

EPSILONS, DELTAS = st.floats(1e-6, 1e3), st.floats(1e-30, 0.99)
POSITIVE = st.fractions(min_value=Fraction(1, 10**40), max_value=10**20)


@given(st.lists(st.tuples(st.floats(0, 1e3), st.floats(0, 0.5)), max_size=20))
def test_sums_are_exact_and_in_any_order(charges: list[tuple[float, float]]) -> None:
    account = BasicFilter(1.0, 0.5)
    spent = sum((account.price(Guarantee(*charge)) for charge in charges), Tally())
    again = sum((account.price(Guarantee(*charge)) for charge in reversed(charges)), Tally())
    assert spent == again
    assert spent.loss == sum((Fraction(Decimal(repr(epsilon))) for epsilon, _ in charges), Fraction(0))
    assert abs(float(spent.loss) - math.fsum(e for e, _ in charges)) <= 1e-15 * float(spent.loss) + 1e-321


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_the_number_that_it_prints_as(value: float) -> None:
    assert float(exact(value)) == value
    assert abs(exact(value) - Fraction(value)) <= Fraction(12, 10**17) * abs(Fraction(value)) + Fraction(5, 10**324)


@settings(max_examples=30)
@given(EPSILONS, DELTAS)
@example(epsilon=1e-300, delta=1e-5)
@example(epsilon=1e6, delta=0.9)
@example(epsilon=1.0, delta=1e-299)
def test_the_limit_of_a_zcdp_account_implies_its_promise_and_is_nearly_the_largest(
    epsilon: float, delta: float
) -> None:
    account = ConcentratedFilter.calibrated(epsilon, delta)
    assert concentrated_epsilon(account.rho, account.conversion) <= epsilon
    assert concentrated_epsilon(account.rho * (1 + 1e-8), account.conversion) > epsilon
    assert account.limit.delta + exact(account.conversion) == exact(delta)
    assert account.limit.loss == exact(account.rho)


def test_known_prices() -> None:
    basic, zcdp = BasicFilter(1.0, 1e-5), ConcentratedFilter.calibrated(1.0, 1e-5)
    release, better = Guarantee(0.2, 1e-7), Guarantee(0.2, 1e-7, rho=0.005)
    assert basic.price(release) == Tally(Fraction(1, 5), Fraction(1, 10**7))
    assert basic.price(better) == basic.price(release)
    assert zcdp.price(release) == Tally(Fraction(1, 50), Fraction(1, 10**7))
    assert zcdp.price(better) == Tally(Fraction(1, 200))


@given(st.sampled_from(["basic", "zcdp"]), st.floats(0.01, 10.0), POSITIVE)
def test_what_is_said_to_fit_fits(name: str, epsilon: float, loss: Fraction) -> None:
    account, remaining = new_filter(name, epsilon, 1e-6), Tally(loss)
    largest = float(account.largest_epsilon(remaining))
    assert account.price(Guarantee(largest)).within(remaining)
    assert not account.price(Guarantee(largest * (1 + 1e-5))).within(remaining)


@given(POSITIVE)
def test_what_is_shown_is_rounded_to_the_safe_side(value: Fraction) -> None:
    assert value <= Fraction(at_least(value)) <= value * (1 + Fraction(1, 10**5))
    assert value * (1 - Fraction(1, 10**5)) <= Fraction(at_most(value)) <= value
    assert value * (1 - Fraction(1, 10**4)) <= Fraction(root_at_most(value)) ** 2 <= value


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        *(
            ("4", "4"),
            ("0.1", "0.1"),
            ("1e-4", "0.0001"),
            ("1e-5", "1e-05"),
            ("1e-6", "1e-06"),
            ("1234567", "1234570"),
            ("0", "0"),
        ),
        *(("2e-300", "2e-300"), ("0.12345678", "0.123457"), ("1.5e-7", "1.5e-07"), ("1e20", "1e+20")),
    ],
)
def test_figures_look_as_people_write_them(value: str, shown: str) -> None:
    assert at_least(Fraction(value)) == shown


@pytest.mark.parametrize("name", ["basic", "zcdp"])
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.0, 1e-6), (-1.0, 1e-6), (math.inf, 1e-6), (math.nan, 1e-6), (1.0, -1e-6), (1.0, 1.0)]
)
def test_impossible_figures_are_refused(name: str, epsilon: float, delta: float) -> None:
    with pytest.raises(ParameterError, match=r"epsilon|delta"):
        new_filter(name, epsilon, delta)


def test_without_delta_only_basic_is_possible() -> None:
    assert new_filter("basic", 1.0, 0.0).limit == Tally(Fraction(1))
    with pytest.raises(ParameterError, match="basic goes without"):
        new_filter("zcdp", 1.0, 0.0)


def test_another_filter_is_refused_and_so_is_a_rho_that_is_too_large() -> None:
    with pytest.raises(ParameterError, match="'basic' or 'zcdp'"):
        new_filter("advanced", 1.0, 1e-6)
    with pytest.raises(ParameterError, match="rho"):
        ConcentratedFilter(1.0, 1e-6, 0.023)
    with pytest.raises(ParameterError, match="epsilon must be larger"):
        new_filter("zcdp", 1e-20, 1e-299)


@pytest.mark.parametrize("rho", [-1.0, math.nan, math.inf])
def test_a_release_does_not_fill_the_account_up(rho: float) -> None:
    with pytest.raises(ParameterError, match="rho"):
        Guarantee(0.5, rho=rho)


def test_a_rho_that_underflowed_is_not_free() -> None:
    """ρ = ε²/8 of a tiny ε is 0 in float64, and its exact ε²/2 is not."""
    zcdp = new_filter("zcdp", 1.0, 1e-5)
    tiny = Guarantee(1e-200, 1e-9, rho=0.0)
    assert (
        zcdp.price(tiny) == zcdp.price(Guarantee(1e-200, 1e-9)) == Tally(Fraction(1, 2 * 10**400), Fraction(1, 10**9))
    )
    assert zcdp.price(Guarantee(0.0, rho=0.0)) == Tally()
