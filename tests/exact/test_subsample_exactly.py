"""Amplification by a secret sub-sample, on cases small enough to list every sample (proofs/subsample.md)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import pytest
from support.exact import hockey_stick, laplace_support, mixture

from pcqr.privacy.guarantee import Guarantee, amplified, unamplified

Bits = Sequence[int]


def subsampled(records: Bits, size: int, mechanism: dict[int, dict[str, float]]) -> dict[str, float]:
    """The law of `mechanism`, indexed by the sum of its input bits, on a uniform sub-sample without replacement."""
    samples = list(itertools.combinations(records, size))
    return mixture((1 / len(samples), mechanism[sum(sample)]) for sample in samples)


def worst_bit(epsilon: float, delta: float, size: int) -> dict[int, dict[str, float]]:
    """Any 1 in the sample: shown with probability δ, else by randomised response. Tight in ε and in δ."""
    truth = 1 / (1 + math.exp(-epsilon))
    none = {"shown 0": delta, "told 0": (1 - delta) * truth, "told 1": (1 - delta) * (1 - truth)}
    some = {"shown 1": delta, "told 1": (1 - delta) * truth, "told 0": (1 - delta) * (1 - truth)}
    return {total: some if total else none for total in range(size + 1)}


@pytest.mark.parametrize(("records", "size"), [(2, 1), (5, 2), (6, 5), (4, 4)])
@pytest.mark.parametrize("inner", [Guarantee(0.3, 0.0), Guarantee(1.0, 0.05), Guarantee(3.0, 0.2)])
def test_the_formula_is_attained(records: int, size: int, inner: Guarantee) -> None:
    mechanism = worst_bit(inner.epsilon, inner.delta, size)
    first = subsampled([1] + [0] * (records - 1), size, mechanism)
    second = subsampled([0] * records, size, mechanism)
    claimed = inner.amplify(size / records)
    assert hockey_stick(first, second, claimed.epsilon) == pytest.approx(claimed.delta, rel=1e-9, abs=1e-11)
    assert hockey_stick(second, first, claimed.epsilon) <= claimed.delta + 1e-12
    assert hockey_stick(first, second, claimed.epsilon - 0.01) > claimed.delta + 1e-5


@pytest.mark.parametrize("size", [1, 3, 5])
def test_a_noisy_count_of_every_table_stays_within_it(size: int) -> None:
    scale, inner = 2.0, Guarantee(0.5)
    z, mass = laplace_support(scale)
    mechanism = {
        total: {str(noisy): float(m) for noisy, m in zip(z + total, mass, strict=True)} for total in range(size + 1)
    }
    claimed = inner.amplify(size / 6)
    for ones in range(6):
        first = subsampled([1] * ones + [0] * (6 - ones), size, mechanism)
        second = subsampled([1] * (ones + 1) + [0] * (5 - ones), size, mechanism)
        for p, q in ((first, second), (second, first)):
            assert hockey_stick(p, q, claimed.epsilon) <= 1e-12


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 29.9, 45.0])
@pytest.mark.parametrize("rate", [1e-4, 0.3, 1.0])
def test_unamplified_is_the_inverse(epsilon: float, rate: float) -> None:
    assert amplified(unamplified(epsilon, rate), rate) == pytest.approx(epsilon, rel=1e-9)
