"""The integer laws and the weighted choice: exact where exactness is claimed, tested with power where it is not.

Every statistical test below raises a false alarm with probability 10⁻⁶ (as good as the χ² approximation is with 40 or
more expected in a bin) and must reject, on as many samples, a law whose scale is 30 % off: a test that cannot fail
shows nothing.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from support.releases import ScriptedEntropy

from pcqr import noise as noise_module
from pcqr.entropy import Entropy, SeededEntropy, SystemEntropy
from pcqr.errors import ParameterError
from pcqr.noise import (
    Chooser,
    _is_below_exponential,
    discrete_gaussian,
    discrete_gaussians,
    discrete_laplace,
    geometric,
    log_normaliser,
    sech_squared,
    weighted_choice,
)

FALSE_ALARM = 1e-6
DRAWS = 4000
SCALE = 3.0

Noise = Callable[[float, Entropy], int]
Law = Callable[[float, int], float]


def p_value(samples: list[int], law: Callable[[int], float]) -> float:
    """Pearson's χ² of `samples` against `law`, tails pooled so that every bin expects at least 40."""
    expected = {z: len(samples) * law(z) for z in range(-200, 201)}
    bins = [z for z, count in expected.items() if count >= 40]
    inside = [samples.count(z) for z in bins]
    observed = [*inside, len(samples) - sum(inside)]
    wanted = [expected[z] for z in bins]
    wanted.append(len(samples) - math.fsum(wanted))
    return float(stats.chisquare(observed, wanted).pvalue)


def laplace_law(scale: float, z: int) -> float:
    return math.tanh(0.5 / scale) * math.exp(-abs(z) / scale)


def geometric_law(scale: float, z: int) -> float:
    return -math.expm1(-1 / scale) * math.exp(-z / scale) if z >= 0 else 0.0


def gaussian_law(scale: float, z: int) -> float:
    mass = math.fsum(math.exp(-(j**2) / (2 * scale**2)) for j in range(-200, 201))
    return math.exp(-(z**2) / (2 * scale**2)) / mass


LAWS = [(discrete_laplace, laplace_law), (geometric, geometric_law), (discrete_gaussian, gaussian_law)]


@pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(1)], ids=["system", "seeded"])
@pytest.mark.parametrize(("noise", "law"), LAWS, ids=["laplace", "geometric", "gaussian"])
def test_integer_noise_has_its_law_and_the_test_has_power(noise: Noise, law: Law, entropy: Entropy) -> None:
    right = [noise(SCALE, entropy) for _ in range(DRAWS)]
    wrong = [noise(1.3 * SCALE, entropy) for _ in range(DRAWS)]
    assert p_value(right, lambda z: law(SCALE, z)) > FALSE_ALARM
    assert p_value(wrong, lambda z: law(SCALE, z)) < FALSE_ALARM
    assert all(type(z) is int for z in right)


def test_private_noise_is_opendps_at_the_very_scale(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rounded noise of NumPy's floats looks much alike: a test of its law would need 10⁵ draws to tell."""
    asked: list[tuple[str, float]] = []

    def single(law: str, scale: float) -> Callable[[int], int]:
        asked.append((law, scale))
        return lambda value: value + 17

    def many(scale: float) -> Callable[[list[int]], list[int]]:
        asked.append(("gaussians", scale))
        return lambda values: [value + place for place, value in enumerate(values)]

    monkeypatch.setattr(noise_module, "_opendp_noise", single)
    monkeypatch.setattr(noise_module, "_opendp_gaussians", many)
    entropy = SystemEntropy()
    assert [noise(2.5, entropy) for noise in (discrete_laplace, geometric, discrete_gaussian)] == [17, 17, 17]
    assert discrete_gaussians(2.5, 3, entropy).tolist() == [0, 1, 2]
    assert asked == [("laplace", 2.5), ("laplace", 2.5), ("gaussian", 2.5), ("gaussians", 2.5)]


@pytest.mark.parametrize("noise", [discrete_laplace, geometric, discrete_gaussian, sech_squared])
@pytest.mark.parametrize("scale", [0.0, -1.0, math.nan, math.inf, 2.0**51])
def test_a_bad_scale_is_named_before_anything_is_drawn(noise: Noise, scale: float) -> None:
    with pytest.raises(ParameterError, match="scale"):
        noise(scale, ScriptedEntropy())


@pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(1)], ids=["system", "seeded"])
def test_many_gaussians_at_once_have_the_law_of_one_and_the_test_has_power(entropy: Entropy) -> None:
    right, wrong = (discrete_gaussians(scale, DRAWS, entropy) for scale in (SCALE, 1.3 * SCALE))
    assert right.shape == (DRAWS,)
    assert right.dtype == np.int64
    assert p_value(right.tolist(), lambda z: gaussian_law(SCALE, z)) > FALSE_ALARM
    assert p_value(wrong.tolist(), lambda z: gaussian_law(SCALE, z)) < FALSE_ALARM
    # Neighbours in a vector are independent: their product has mean 0 and the variance of both, σ⁴.
    assert abs(np.mean(right[1:] * right[:-1])) < 6 * SCALE**2 / math.sqrt(DRAWS)


@pytest.mark.parametrize("count", [1, 2, 7])
def test_as_many_gaussians_as_asked_for_come(count: int) -> None:
    for entropy in (SystemEntropy(), SeededEntropy(0)):
        assert discrete_gaussians(2.0**40, count, entropy).shape == (count,)


def test_seeded_gaussians_are_the_first_that_the_rejection_keeps() -> None:
    kept = noise_module._seeded_gaussians(SCALE, 2 * 7 + 8, SeededEntropy(5))
    assert discrete_gaussians(SCALE, 7, SeededEntropy(5)).tolist() == kept[:7].tolist()


def test_a_bad_scale_or_count_of_gaussians_is_named_before_anything_is_drawn() -> None:
    for scale in (0.0, -1.0, math.nan, 2.0**51):
        with pytest.raises(ParameterError, match="scale"):
            discrete_gaussians(scale, 3, ScriptedEntropy())
    for count in (0, -1, True):
        with pytest.raises(ParameterError, match="count"):
            discrete_gaussians(1.0, count, ScriptedEntropy())


def sech_squared_law(scale: float, z: int) -> float:
    return math.cosh(z / (2 * scale)) ** -2 - math.cosh((z + 1) / (2 * scale)) ** -2 if z >= 0 else 0.0


@pytest.mark.parametrize(("entropy", "draws"), [(SystemEntropy(), 1000), (SeededEntropy(1), DRAWS)])
def test_sech_squared_has_its_law_and_the_test_has_power(entropy: Entropy, draws: int) -> None:
    """A draw takes a dozen of OpenDP's, so there are fewer."""
    right, wrong = ([sech_squared(scale, entropy) for _ in range(draws)] for scale in (SCALE, 1.3 * SCALE))
    assert p_value(right, lambda z: sech_squared_law(SCALE, z)) > FALSE_ALARM
    assert p_value(wrong, lambda z: sech_squared_law(SCALE, z)) < FALSE_ALARM
    assert all(type(z) is int for z in right)


@pytest.mark.parametrize("t", [0, 1, 7])
def test_the_race_against_a_power_is_exact(t: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Down the tree of coins and draws: True has the chance 1 / (1 + e^{−t/s}), but for what is cut off."""
    power = math.exp(-t / SCALE)
    reached, chance = 0.0, 1.0
    for failures in range(50):
        # The first `failures` rounds: the coin says no (0), the geometric draw is t − 1 < t. Then the coin says yes.
        monkeypatch.setattr(noise_module, "geometric", lambda *_: t - 1)
        entropy = ScriptedEntropy(*[0] * failures, 1)
        assert noise_module._outruns_power(SCALE, t, entropy)
        assert not entropy.left
        reached += chance / 2
        monkeypatch.setattr(noise_module, "geometric", lambda *_: t)
        assert not noise_module._outruns_power(SCALE, t, ScriptedEntropy(0))
        chance *= (1 - power) / 2
    assert reached == pytest.approx(1 / (1 + power), rel=1e-12)


def test_half_logistic_draws_are_kept_as_often_as_the_law_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """P(z) ∝ (1 − a)·a^z times the chances of the two races that are run for it."""
    raced: list[int] = []

    def wins(scale: float, t: int, _: Entropy) -> bool:
        raced.append(t)
        return scale == SCALE

    monkeypatch.setattr(noise_module, "_outruns_power", wins)
    kept = []
    for z in range(300):
        monkeypatch.setattr(noise_module, "geometric", lambda *_, z=z: z)
        raced.clear()
        assert noise_module._half_logistic(SCALE, SystemEntropy()) == z
        kept.append(geometric_law(SCALE, z) * math.prod(1 / (1 + math.exp(-t / SCALE)) for t in raced))
    tails = np.cumsum(kept[::-1])[::-1] / math.fsum(kept)
    np.testing.assert_allclose(tails[:60], [2 / (1 + math.exp(t / SCALE)) for t in range(60)], rtol=1e-9)
    assert math.fsum(kept) == pytest.approx(0.5, rel=1e-12)


def test_a_lost_race_draws_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    draws, races = iter([5, 6, 7]), iter([False, True, False, True, True])
    monkeypatch.setattr(noise_module, "geometric", lambda *_: next(draws))
    monkeypatch.setattr(noise_module, "_outruns_power", lambda *_: next(races))
    assert noise_module._half_logistic(SCALE, SystemEntropy()) == 7


def test_sech_squared_is_the_larger_of_two(monkeypatch: pytest.MonkeyPatch) -> None:
    for pair in ((3, 8), (8, 3), (0, 0)):
        draws = iter(pair)
        monkeypatch.setattr(noise_module, "_half_logistic", lambda *_, draws=draws: next(draws))
        assert sech_squared(SCALE, SystemEntropy()) == max(pair)


def test_tiny_and_huge_scales() -> None:
    for entropy in (SystemEntropy(), SeededEntropy(0)):
        assert discrete_laplace(1e-3, entropy) == geometric(1e-3, entropy) == discrete_gaussian(1e-3, entropy) == 0
        assert len({discrete_gaussian(1e9, entropy) for _ in range(8)}) == 8


def test_the_unit_roundoff_and_the_largest_scale() -> None:
    """Half the gap above 1; and a scale at which 64 bits are reached with a chance below e^−8000."""
    assert np.finfo(np.float64).eps / 2 == noise_module.UNIT_ROUNDOFF
    assert 2.0**63 / noise_module.LARGEST_SCALE > 8000
    noise_module.check_scale("scale", 2.0**50)


# --------------------------------------------------------------------------------------------------------------
# Weighted choice


@pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(2)], ids=["system", "seeded"])
def test_weighted_choice_has_its_law_and_the_test_has_power(entropy: Entropy) -> None:
    log_weights = np.array([0.0, -1.0, -2.5, -0.25, -6.0]) + 100.0
    counts = np.bincount([weighted_choice(log_weights, entropy) for _ in range(DRAWS)], minlength=5)
    flatter = log_weights / 1.3
    assert _choice_p_value(counts, log_weights) > FALSE_ALARM
    assert _choice_p_value(counts, flatter) < FALSE_ALARM


def _choice_p_value(counts: NDArray[np.int64], log_weights: NDArray[np.float64]) -> float:
    probabilities = np.exp(log_weights - log_normaliser(log_weights))
    return float(stats.chisquare(counts, counts.sum() * probabilities / probabilities.sum()).pvalue)


def test_choice_among_many_draws_a_late_acceptance_too() -> None:
    """One heavy index among 10⁶ light ones: most proposals are refused, and the answer is still right."""
    log_weights = np.full(10**6, -60.0)
    log_weights[123_456] = 0.0
    assert weighted_choice(log_weights, SeededEntropy(3)) == 123_456


def test_extreme_spreads_single_options_and_excluded_options() -> None:
    entropy = SeededEntropy(4)
    assert {weighted_choice(np.array([-1000.0, 0.0, -1e300]), entropy) for _ in range(200)} == {1}
    assert weighted_choice(np.array([-7.5]), entropy) == 0
    excluded = np.array([-np.inf, 0.0, -np.inf, 0.0])
    assert {weighted_choice(excluded, entropy) for _ in range(100)} == {1, 3}
    both_small = np.array([-2000.0, -2000.0])
    assert {weighted_choice(both_small, entropy) for _ in range(100)} == {0, 1}


@pytest.mark.parametrize("bad", [[], [[0.0]], [math.nan, 0.0], [math.inf, 0.0], [-math.inf, -math.inf]])
def test_weights_that_are_none_are_refused(bad: list[float]) -> None:
    with pytest.raises(ParameterError, match="log_weights"):
        weighted_choice(np.array(bad), ScriptedEntropy())


def test_weighted_choice_does_not_heed_numpys_error_state() -> None:
    with np.errstate(all="raise"):
        assert weighted_choice(np.array([0.0, -740.0, -1e6]), SeededEntropy(5)) == 0


def test_numpys_exponential_is_as_accurate_as_the_doubt_margin_assumes() -> None:
    exponents = np.concatenate([-np.logspace(-12, 2.8, 400), -np.linspace(0, 700, 401)])
    for exponent, power in zip(exponents, np.exp(exponents), strict=True):
        exact = Fraction(decimal.Context(prec=60).exp(decimal.Decimal(float(exponent))))
        assert abs(Fraction(float(power)) - exact) <= exact * Fraction(1, 2**49)


def scaled_exponential(exponent: float, bits: int) -> Fraction:
    """2^bits · e^exponent from the Taylor series in rationals, good to far less than one unit."""
    halvings = math.ceil(math.log2(abs(exponent) + 1)) + 2
    small = Fraction(exponent) / 2**halvings
    term = total = Fraction(1)
    for k in range(1, 80):
        term = to_600_bits(term * small / k)
        total += term
    for _ in range(halvings):
        total = to_600_bits(total * total)
    return total * (1 << bits)


def to_600_bits(value: Fraction) -> Fraction:
    return Fraction(round(value * 2**600), 2**600)


@given(st.floats(-40.0, -1e-6), st.sampled_from([-(10**9), -2, -1, 1, 2, 10**9]), st.sampled_from([64, 128, 192]))
def test_the_lazy_comparison_agrees_with_rational_arithmetic(exponent: float, offset: int, bits: int) -> None:
    """Words chosen so that U lies next to e^exponent: decided by the last bits alone, and decided rightly."""
    target = scaled_exponential(exponent, bits)
    known = int(target) + offset
    if not 0 <= known < 2**bits:
        return
    words = [(known >> shift) & (2**64 - 1) for shift in range(bits - 64, -1, -64)]
    assert _is_below_exponential(words[0], exponent, ScriptedEntropy(*words[1:])) == (known < target)


def test_the_lazy_comparison_asks_for_more_bits_only_when_undecided() -> None:
    word = int(scaled_exponential(-0.5, 64))
    for next_word, below in ((0, True), (2**64 - 1, False)):
        entropy = ScriptedEntropy(next_word)
        assert _is_below_exponential(word, -0.5, entropy) is below
        assert not entropy.left
    assert _is_below_exponential(word - 1, -0.5, ScriptedEntropy())
    assert not _is_below_exponential(word + 1, -0.5, ScriptedEntropy())


def test_the_lazy_comparison_at_its_ends() -> None:
    assert not _is_below_exponential(0, -math.inf, ScriptedEntropy())
    assert _is_below_exponential(2**64 - 2, 0.0, ScriptedEntropy())
    assert _is_below_exponential(2**64 - 1, 0.0, ScriptedEntropy(5))
    assert _is_below_exponential(0, -100.0, ScriptedEntropy(0, 0)), "e^-100 is about 2^-144: 192 zero bits are below"
    assert not _is_below_exponential(0, -1e300, ScriptedEntropy(0, 0, 1)), "no number of zero bits decides this"
    with pytest.raises(IndexError):
        _is_below_exponential(0, -1e300, ScriptedEntropy(0, 0))


def test_the_lazy_comparison_does_not_heed_the_threads_decimal_context() -> None:
    known = int(scaled_exponential(-0.5, 128)) - 1
    with decimal.localcontext(decimal.Context(prec=3, Emin=0, Emax=1, traps=[decimal.Inexact])):
        assert _is_below_exponential(known >> 64, -0.5, ScriptedEntropy(known & (2**64 - 1)))


def weighted_pair(word: int, *later: int) -> int:
    """`weighted_choice` of weights 1 and e^{−½}: proposes the second with U = `word`/2⁶⁴…, then surely the first."""
    batch = 16
    proposed = [1, *[0] * (batch - 1)]
    return weighted_choice(np.array([0.0, -0.5]), ScriptedEntropy(*proposed, word, *[0] * (batch - 1), *later))


@pytest.mark.parametrize("error", [0.0, 2.0**-49, -(2.0**-49)], ids=["exact", "high", "low"])
@pytest.mark.parametrize("offset", [1, 3, 1000, 2**15])
def test_a_doubtful_comparison_is_decided_by_all_bits(
    offset: int, error: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Words that float64 cannot tell from 2⁶⁴·e^{−½} are accepted below it and refused above, whatever np.exp errs."""
    exponential = np.exp
    monkeypatch.setattr(np, "exp", lambda values: exponential(values) * (1.0 + error))
    word = int(scaled_exponential(-0.5, 64))
    assert weighted_pair(word - offset) == 1
    assert weighted_pair(word + offset) == 0
    assert weighted_pair(word, 0) == 1, "the next 64 bits decide"
    assert weighted_pair(word, 2**64 - 1) == 0


def test_clear_comparisons_need_no_more_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(*_: object) -> bool:
        raise AssertionError("decimals were asked for")

    monkeypatch.setattr(noise_module, "_is_below_exponential", slow)
    for seed in range(20):
        assert weighted_choice(np.array([0.0, -1.0, -30.0]), SeededEntropy(seed)) in (0, 1)


def test_the_chooser_adds_up_log_probabilities() -> None:
    choose = Chooser(SeededEntropy(6))
    first, second = np.array([0.0, -math.inf]), np.log([0.25, 0.25, 0.5])
    assert choose(first) == 0
    assert choose.log_probability == 0.0
    index = choose(second)
    assert choose.log_probability == pytest.approx(second[index], abs=1e-15)


def test_the_log_normaliser_neither_overflows_nor_underflows() -> None:
    assert log_normaliser(np.array([1e4, 1e4])) == pytest.approx(1e4 + math.log(2))
    assert log_normaliser(np.array([-1e4, -1e4])) == pytest.approx(-1e4 + math.log(2))


def test_a_doubtful_comparison_does_not_see_the_decimal_settings_of_the_user() -> None:
    with decimal.localcontext() as context:
        context.prec, context.traps[decimal.FloatOperation], context.traps[decimal.Inexact] = 3, True, True
        assert _is_below_exponential(2**63, -0.69, SeededEntropy(0))
        assert not _is_below_exponential(2**63, -0.7, SeededEntropy(0))
