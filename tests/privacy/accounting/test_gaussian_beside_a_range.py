"""A Gaussian release beside one of bounded range: against 50 digits, plain sums and exponential mechanisms, all of
them.
"""

from __future__ import annotations

import math
import sys
from itertools import product

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from pcqr.privacy.accounting import gaussian
from pcqr.privacy.accounting.gaussian import LARGEST_EPSILON, gaussian_delta

Floats = NDArray[np.float64]
parts = st.lists(st.floats(0.0, 1.0), max_size=2).map(tuple)
shifts, lengths = st.floats(0.01, 5.0), st.floats(0.005, 8.0)


def plain(shift: float, at: Floats) -> Floats:
    return np.asarray(ndtr(shift / 2 - at / shift) - np.exp(at + log_ndtr(-shift / 2 - at / shift)))


def of_laws(p: Floats, q: Floats, shift: float, epsilon: float) -> Floats:
    """δ of laws P against Q, one in each row, beside a Gaussian: all outcomes of the former, one by one."""
    return np.asarray(np.sum(p * plain(shift, epsilon - np.log(p / q)), axis=-1))


def costliest(shift: float, epsilon: float, beside: tuple[float, ...], ranged: float) -> tuple[float, float]:
    """δ is largest at this t, of 8,001; and what it is there, in float64."""
    top = np.log1p(np.linspace(0.0, 1.0, 8_001) * math.expm1(ranged))
    linears = (math.exp(ranged) - np.exp(top)) / math.expm1(ranged)
    found = np.zeros_like(top)
    for signs in product((1, -1), repeat=len(beside)):
        losses = [sign * part for sign, part in zip(signs, beside, strict=True)]
        at = epsilon - sum(losses) - top
        weight = math.prod(1 / (1 + math.exp(-loss)) for loss in losses)
        found += weight * (linears * plain(shift, at) + (1 - linears) * plain(shift, at + ranged))
    best = int(np.argmax(found))
    return float(top[best]), float(found[best])


def in_many_digits(shift: float, epsilon: float, beside: tuple[float, ...], ranged: float, top: float) -> mpmath.mpf:
    """δ where the loss of the last release is `top` or `top` − `ranged`."""
    with mpmath.workdps(60):
        mu, total = mpmath.mpf(shift), mpmath.mpf(0)
        linears = (mpmath.exp(ranged) - mpmath.exp(top)) / mpmath.expm1(ranged)
        for signs in product((1, -1), repeat=len(beside)):
            losses = [sign * mpmath.mpf(part) for sign, part in zip(signs, beside, strict=True)]
            weight = mpmath.fprod(1 / (1 + mpmath.exp(-loss)) for loss in losses)
            for chance, loss in ((linears, mpmath.mpf(top)), (1 - linears, mpmath.mpf(top) - ranged)):
                at = epsilon - mpmath.fsum(losses) - loss
                by_itself = mpmath.ncdf(mu / 2 - at / mu) - mpmath.exp(at) * mpmath.ncdf(-mu / 2 - at / mu)
                total += weight * chance * by_itself
        return +total


@settings(max_examples=60)
@given(shifts, st.floats(-4.0, 20.0), parts, lengths, st.floats(0.0, 1.0))
def test_it_is_below_the_exact_value_at_no_interval_and_hardly_above_the_largest(
    shift: float, deviations: float, beside: tuple[float, ...], ranged: float, share: float
) -> None:
    epsilon = max(0.0, shift * (deviations + shift / 2))
    stated = gaussian_delta(shift, epsilon, beside, ranged)
    top, _ = costliest(shift, epsilon, beside, ranged)
    exact = in_many_digits(shift, epsilon, beside, ranged, top)
    assert exact <= stated
    assert in_many_digits(shift, epsilon, beside, ranged, share * ranged) <= stated
    assert stated <= 1.2 * exact + 1e-300


@pytest.mark.parametrize("cells", [1, 2, 4, 16])
@pytest.mark.parametrize(("shift", "ranged"), [(0.02, 0.05), (0.15, 0.5), (0.6, 2.0), (3.0, 0.3)])
def test_few_cells_are_enough_for_a_bound(
    shift: float, ranged: float, cells: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between their ends δ is larger, by far where there are few: what is added has to cover that."""
    monkeypatch.setattr(gaussian, "_CELLS", cells)
    for epsilon in np.linspace(0.0, ranged + 6 * shift, 12).tolist():
        for beside in ((), (0.7 * shift,), (4 * shift,)):
            _, exact = costliest(shift, epsilon, beside, ranged)
            assert gaussian._beside_a_range(shift, epsilon, beside, ranged) >= exact * (1 - 1e-9)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.03, 1e-6), (0.1, 1e-6), (1.0, 1e-6), (4.0, 1e-5)])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.7, 0.9])
def test_the_cells_cost_less_than_two_hundredths_of_a_percent_of_epsilon(
    epsilon: float, delta: float, share: float
) -> None:
    low, high = 1e-4 * epsilon, epsilon
    while high - low > 1e-9 * high:
        shift = 0.5 * (low + high)
        low, high = (shift, high) if gaussian_delta(shift, epsilon, (), share * epsilon) <= delta else (low, shift)
    assert costliest(low, epsilon, (), share * epsilon)[1] <= delta
    assert costliest(low, epsilon * (1 - 2e-4), (), share * epsilon)[1] > delta


@pytest.mark.parametrize("ranged", [0.4, 1.5])
@pytest.mark.parametrize("shift", [0.3, 1.5])
def test_two_outcomes_and_a_rounded_gaussian_come_close_to_it_from_below(shift: float, ranged: float) -> None:
    """All outcomes of the product of both pairs, one by one, for many t: rounding the Gaussian is post-processing."""
    cells = np.linspace(-12.0, 12.0 + shift, 20_001)
    p, q = (np.diff(np.concatenate(([0.0], ndtr(cells - mean), [1.0]))) for mean in (shift, 0.0))
    for epsilon in (0.0, 0.2, 1.0, 2.5):
        met = []
        for top in np.linspace(0.0, ranged, 41).tolist():
            linears = (math.exp(ranged) - math.exp(top)) / math.expm1(ranged)
            others = linears * math.exp(-top)
            over = (
                linears * p - math.exp(epsilon) * others * q,
                (1 - linears) * p - math.exp(epsilon) * (1 - others) * q,
            )
            met.append(math.fsum(np.maximum(0.0, np.concatenate(over))))
        stated = gaussian_delta(shift, epsilon, (), ranged)
        assert max(met) <= stated + 1e-13, "the sum is rounded"
        assert max(met) >= 0.995 * stated


@settings(max_examples=200)
@given(st.lists(st.tuples(st.floats(0.01, 1.0), st.floats(0.01, 1.0)), min_size=2, max_size=6), shifts)
def test_any_two_laws_keep_the_bound_of_their_range(masses: list[tuple[float, float]], shift: float) -> None:
    p, q = (np.array(law) / sum(law) for law in zip(*masses, strict=True))
    loss = np.log(p / q)
    ranged = float(np.ptp(loss)) + 1e-12
    for epsilon in (0.0, 0.3 * ranged, ranged, ranged + 2 * shift):
        assert of_laws(p, q, shift, epsilon) <= gaussian_delta(shift, epsilon, (), ranged) * (1 + 1e-9) + 1e-12


def exponential_mechanisms(eta: float) -> tuple[Floats, Floats]:
    """Four members, their mistakes, and each way in which one replaced record changes them."""
    gaps = [gap * math.ceil(0.3 / eta) for gap in (0, 1, 3, 6, 10, 15)]
    before = np.array([(0, *others) for others in product(gaps, repeat=3)])
    changes = np.array(list(product((-1, 0, 1), repeat=4)))
    after = before[:, None] + changes
    p, q = np.exp(-eta * before)[:, None], np.exp(-eta * after)
    p, q = p / p.sum(axis=-1, keepdims=True), q / q.sum(axis=-1, keepdims=True)
    return np.broadcast_to(p, q.shape).reshape(-1, 4), q.reshape(-1, 4)


@pytest.mark.parametrize("eta", [0.05, 0.3])
@pytest.mark.parametrize(("share", "deviations"), [(0.5, 0.5), (1.0, 1.0), (1.0, 3.0)])
def test_all_exponential_mechanisms_of_four_members_keep_it_and_refute_less(
    eta: float, share: float, deviations: float
) -> None:
    """Range 2η, for neighbours in either order. The worst of them is next to it: 70 % of the range would be too little,
    and so would 97 %.
    """
    p, q = exponential_mechanisms(eta)
    ranged, shift = 2 * eta, 0.2 * eta
    epsilon = share * ranged + deviations * shift
    met = max(of_laws(p, q, shift, epsilon).max(), of_laws(q, p, shift, epsilon).max())
    stated = gaussian_delta(shift, epsilon, (), ranged)
    assert 0.9 * stated < met <= stated
    assert met > gaussian_delta(shift, epsilon, (), 0.97 * ranged)
    assert met > 1.5 * gaussian_delta(shift, epsilon, (), 0.7 * ranged)


def mean_of_the_most(shift: float, epsilon: float, ranged: float) -> float:
    """Where t may be chosen with the Gaussian's loss in view, δ given the latter is (e^{r/2} − e^{e/2})²/(e^r − 1), e
    being what is left of ε, for |e| ≤ r: its mean, by a plain sum.
    """
    noise = np.linspace(-9.0, 9.0, 200_001)
    remaining = epsilon - shift * (noise + shift / 2)
    chosen = (np.exp(ranged / 2) - np.exp(np.clip(remaining, -ranged, ranged) / 2)) ** 2 / np.expm1(ranged)
    given_noise = np.where(remaining < -ranged, -np.expm1(remaining), chosen)
    return float(np.sum(given_noise * np.exp(-(noise**2) / 2)) * (noise[1] - noise[0]) / math.sqrt(2 * math.pi))


def any_range_in_many_digits(shift: float, epsilon: float, beside: tuple[float, ...], ranged: float) -> mpmath.mpf:
    with mpmath.workdps(60):
        mu, total = mpmath.mpf(shift), mpmath.mpf(0)

        def squares(at: mpmath.mpf) -> mpmath.mpf:
            middle = mpmath.exp(at / 2 - mu * mu / 8) * mpmath.ncdf(-at / mu)
            return mpmath.ncdf(mu / 2 - at / mu) - 2 * middle + mpmath.exp(at) * mpmath.ncdf(-mu / 2 - at / mu)

        for signs in product((1, -1), repeat=len(beside)):
            losses = [sign * mpmath.mpf(part) for sign, part in zip(signs, beside, strict=True)]
            weight = mpmath.fprod(1 / (1 + mpmath.exp(-loss)) for loss in losses)
            at = epsilon - mpmath.fsum(losses)
            total += weight * (mpmath.exp(ranged) * squares(at - ranged) - squares(at + ranged))
        return total / mpmath.expm1(ranged)


def test_an_interval_that_depends_on_what_was_released_before_costs_more() -> None:
    shift, epsilon, ranged = 0.1, 0.6, 0.5
    met = mean_of_the_most(shift, epsilon, ranged)
    assert 1.05 * gaussian_delta(shift, epsilon, (), ranged) < met < gaussian_delta(shift, epsilon, (ranged,))
    assert gaussian_delta(shift, epsilon, (), ranged, is_adaptive=True) == pytest.approx(met, rel=1e-6)


@settings(max_examples=100)
@given(shifts, st.floats(-4.0, 12.0), parts, lengths)
def test_any_interval_is_next_to_the_exact_value_and_never_below(
    shift: float, deviations: float, beside: tuple[float, ...], ranged: float
) -> None:
    epsilon = max(0.0, shift * (deviations + shift / 2))
    stated = gaussian_delta(shift, epsilon, beside, ranged, is_adaptive=True)
    exact = any_range_in_many_digits(shift, epsilon, beside, ranged)
    pure = gaussian_delta(shift, epsilon, (*beside, ranged))
    assert exact <= stated <= pure
    beyond = float(ndtr(shift / 2 - (epsilon - sum(beside) - ranged) / shift))
    assert stated <= exact * (1 + 1e-8) + 1e-10 * beyond / -math.expm1(-ranged) + 1e-300
    assert gaussian_delta(shift, epsilon, beside, ranged) <= stated * 1.2


@given(st.floats(0.01, 3.0), st.floats(0.0, 8.0), parts, st.floats(0.0, 4.0))
def test_more_is_released_and_less_is_kept(
    shift: float, epsilon: float, beside: tuple[float, ...], ranged: float
) -> None:
    here = gaussian_delta(shift, epsilon, beside, ranged)
    slack = 1 + 1e-8 * (1 + 40 / shift)
    cells = 1.2
    assert gaussian_delta(shift, epsilon, beside) <= here * slack
    assert gaussian_delta(shift, epsilon, (*beside, ranged)) >= here
    assert gaussian_delta(shift, epsilon, beside, ranged + 0.05) * cells >= here
    assert gaussian_delta(shift * 1.01, epsilon, beside, ranged) * slack >= here
    assert gaussian_delta(shift, epsilon, (*beside, 0.1), ranged) * slack >= here
    assert gaussian_delta(shift, epsilon + 0.1, beside, ranged) <= here * slack


def test_far_below_the_smallest_float_and_beyond_the_largest_epsilon() -> None:
    with np.errstate(all="raise"):
        assert 0 < gaussian_delta(0.1, 20.0, (0.1,), 0.5) < 1e-300
        assert gaussian_delta(1.0, 1.0, (), LARGEST_EPSILON - 1.0) <= 1 + 1e-9
    assert gaussian_delta(1.0, LARGEST_EPSILON, (), 0.1) == math.inf


@pytest.mark.parametrize(("beside", "ranged"), [((), 0.75), ((0.25,), 0.75), ((0.25, 0.5), 2.0)])
def test_what_rounding_may_take_of_epsilon_counts_all_that_is_added(
    beside: tuple[float, ...], ranged: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8u·(ε + Σ ε_i + 2r), as proofs/accounting.md has it. A large u shows it, where 2⁻⁵³ drowns."""
    monkeypatch.setattr(gaussian, "_UNIT_ROUNDOFF", 2.0**-10)
    stated = gaussian._beside_a_range(0.5, 3.0, beside, ranged)
    monkeypatch.setattr(gaussian, "_UNIT_ROUNDOFF", 0.0)
    taken = 8.0 * 2.0**-10 * (3.0 + sum(beside) + 2.0 * ranged)
    assert stated == pytest.approx(gaussian._beside_a_range(0.5, 3.0 - taken, beside, ranged), rel=1e-9)


@pytest.mark.parametrize("ranged", [100.0, 290.0])
def test_a_chance_that_underflows_is_added_before_it_is_multiplied(ranged: float) -> None:
    """A loss beyond ε − t is rarer than the smallest float at every t; a cell may multiply its chance by e^r/2¹⁸."""
    stated = gaussian._beside_a_range(0.1, ranged + 10.0, (), ranged)
    factor = math.expm1(ranged) / gaussian._CELLS / (4.0 * gaussian._CELLS)
    assert stated / sys.float_info.min == pytest.approx(factor, rel=1e-9)


@pytest.mark.parametrize("shift", [0.05, 0.7, 3.0])
def test_both_sides_of_the_squares_have_room_for_the_errors_of_the_normal_distribution(shift: float) -> None:
    """Its errors are ten times as small (test_gaussian.py): half of the room is left."""
    at = np.array([-40.0, -3.0, -0.1, 0.0, 0.2, 2.0, 15.0])
    for value, more, less in zip(
        at, gaussian._squares(shift, at, 1.0), gaussian._squares(shift, at, -1.0), strict=True
    ):
        with mpmath.workdps(60):
            mu, c = mpmath.mpf(shift), mpmath.mpf(float(value))
            outer = mpmath.ncdf(mu / 2 - c / mu) + mpmath.exp(c) * mpmath.ncdf(-mu / 2 - c / mu)
            exact = outer - 2 * mpmath.exp(c / 2 - mu * mu / 8) * mpmath.ncdf(-c / mu)
            assert more - exact >= 5e-12 * outer
            assert exact - less >= 5e-12 * outer
