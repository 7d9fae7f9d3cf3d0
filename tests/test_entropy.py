"""The door to randomness: uniform, unbiased, reproducible only when seeded. False alarms at most 10⁻⁶ each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pcqr.entropy import Entropy, SeededEntropy, SystemEntropy, resolve_entropy
from pcqr.errors import ParameterError

FALSE_ALARM = 1e-6
BOTH = pytest.mark.parametrize("entropy", [SystemEntropy(), SeededEntropy(1)], ids=["system", "seeded"])


@BOTH
def test_words_have_fair_and_independent_bits(entropy: Entropy) -> None:
    words = entropy.words(4000)
    bits = np.unpackbits(words.view(np.uint8)).reshape(4000, 64)
    for column in (*bits.T, bits[1:, 0] ^ bits[:-1, 0]):
        assert stats.binomtest(int(column.sum()), column.size).pvalue > FALSE_ALARM / 65
    assert words.dtype == np.uint64


@BOTH
@pytest.mark.parametrize("bound", [1, 2, 3, 10])
def test_integers_below_a_bound_are_uniform(entropy: Entropy, bound: int) -> None:
    drawn = entropy.below(bound, 5000)
    counts = np.bincount(drawn, minlength=bound)
    assert counts.size == bound
    if bound > 1:
        assert stats.chisquare(counts).pvalue > FALSE_ALARM


@BOTH
def test_a_bound_near_the_largest_is_not_biased(entropy: Entropy) -> None:
    """2⁶⁴ = 5·bound + bound/3: without the redraw the lowest third of the range would come 6/5 as often."""
    bound = (1 << 61) + (1 << 60)
    low = int((entropy.below(bound, 20_000) < bound // 3).sum())
    assert stats.binomtest(low, 20_000, (bound // 3) / bound).pvalue > FALSE_ALARM
    modulo = int((entropy.words(20_000) % np.uint64(bound) < bound // 3).sum())
    assert stats.binomtest(modulo, 20_000, (bound // 3) / bound).pvalue < FALSE_ALARM, "the test must have power"


def test_words_that_would_bias_are_redrawn() -> None:
    class Scripted(Entropy):
        is_private = False
        left = (2**64 - 1, 7, 2**64 - 1, 5)

        def bytes(self, count: int) -> bytes:
            taken, self.left = self.left[: count // 8], self.left[count // 8 :]  # type: ignore[assignment]
            return b"".join(word.to_bytes(8, "little") for word in taken)

    assert Scripted().below(3, 2).tolist() == [2, 1]


@pytest.mark.parametrize("bound", [0, -1, 1 << 62])
def test_a_bad_bound_is_refused(bound: int) -> None:
    with pytest.raises(ParameterError, match="bound"):
        SystemEntropy().below(bound, 1)


@given(st.integers(0, 300))
def test_a_permutation_is_one(count: int) -> None:
    assert sorted(SystemEntropy().permutation(count)) == list(range(count))


@BOTH
def test_permutations_are_uniform(entropy: Entropy) -> None:
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(3000):
        order = tuple(map(int, entropy.permutation(3)))
        seen[order] = seen.get(order, 0) + 1
    assert len(seen) == 6
    assert stats.chisquare(list(seen.values())).pvalue > FALSE_ALARM


def test_a_seed_repeats_and_the_system_does_not() -> None:
    assert SeededEntropy(7).bytes(32) == SeededEntropy(7).bytes(32)
    assert SeededEntropy(7).bytes(32) != SeededEntropy(8).bytes(32)
    assert SystemEntropy().bytes(32) != SystemEntropy().bytes(32)
    source = SeededEntropy(7)
    assert source.bytes(32) != source.bytes(32)


def test_resolving_an_entropy_parameter() -> None:
    assert isinstance(resolve_entropy(None), SystemEntropy)
    assert resolve_entropy(None).is_private
    source = SeededEntropy(3)
    assert resolve_entropy(source) is source
    seeded = resolve_entropy(np.int64(3))  # type: ignore[arg-type]
    assert isinstance(seeded, SeededEntropy)
    assert not seeded.is_private
    assert seeded.bytes(8) == source.bytes(8)


@pytest.mark.parametrize("bad", [-1, True, 0.5, "seed", np.random.default_rng(0)])
def test_what_is_no_source_of_entropy_is_refused(bad: object) -> None:
    with pytest.raises(ParameterError, match="entropy"):
        resolve_entropy(bad)  # type: ignore[arg-type]


def test_a_source_shows_what_it_is() -> None:
    assert repr(SystemEntropy()) == "SystemEntropy()"
    assert repr(SeededEntropy(3)) == "SeededEntropy(3)"
