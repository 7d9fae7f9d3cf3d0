"""The weighted choice: exact where exactness is claimed, tested with power where it is not.

The statistical test raises a false alarm with probability 10⁻⁶ and must reject, on as many samples, weights that are
30 % flatter: a test that cannot fail shows nothing.
"""

from __future__ import annotations

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats
from support.releases import ScriptedEntropy

from pcqr.errors import ParameterError
from pcqr.privacy.entropy import Entropy, SeededEntropy, SystemEntropy
from pcqr.privacy.noise import Chooser, log_normaliser, weighted_choice
from pcqr.privacy.noise import laws as choice
from pcqr.privacy.noise.laws import _is_below_exponential

FALSE_ALARM = 1e-6
DRAWS = 4000


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
        assert not entropy.remaining
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

    monkeypatch.setattr(choice, "_is_below_exponential", slow)
    for seed in range(20):
        assert weighted_choice(np.array([0.0, -1.0, -30.0]), SeededEntropy(seed)) in (0, 1)


def test_the_chooser_adds_up_log_probabilities() -> None:
    choose = Chooser(SeededEntropy(6))
    first, second = np.array([0.0, -math.inf]), np.log([0.25, 0.25, 0.5])
    assert choose(first) == 0
    assert choose.log_probability == 0.0
    index = choose(second)
    assert choose.log_probability == pytest.approx(second[index], abs=1e-15)


class Counted(SeededEntropy):
    """Keeps how many words were asked for at a time."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.asked: list[int] = []

    def words(self, size: int) -> NDArray[np.uint64]:
        self.asked.append(size)
        return super().words(size)


@pytest.mark.parametrize(
    ("count", "batch"), [(2, 16), (8, 16), (9, 18), (500, 1_000), (1 << 17, 1 << 18), (10**6, 1 << 18)]
)
def test_a_batch_is_twice_the_proposals_that_are_expected(count: int, batch: int) -> None:
    """One weight of `count` is not negligible: one proposal in `count` is accepted. From 16 to 2¹⁸ at a time."""
    log_weights = np.full(count, -1000.0)
    log_weights[count // 2] = 0.0
    entropy = Counted(0)
    assert weighted_choice(log_weights, entropy) == count // 2
    assert set(entropy.asked) == {batch}


def test_the_lazy_comparison_decides_all_that_its_digits_tell() -> None:
    """2¹²⁸·e^x is 2¹²⁸ − c + c²·2⁻¹²⁹ for x = −c·2⁻¹²⁸; with 82 digits its bracket is 3.4·10⁻³⁹ to either side.

    For c = 3 it is 1.3·10⁻³⁸ above a whole number, which decides, and for c = 1 1.5·10⁻³⁹, which does not.
    """
    every = 2**64 - 1
    assert _is_below_exponential(every, -3 * 2.0**-128, ScriptedEntropy(every - 3))
    undecided = ScriptedEntropy(every - 1, 0)
    assert _is_below_exponential(every, -(2.0**-128), undecided)
    assert not undecided.remaining
