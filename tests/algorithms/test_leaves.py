"""A run that takes one of several ways: the lemma on small laws, and the figures that it states."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pcqr.algorithms.leaves import shares, worst_leaf

from pcqr.guarantee import Guarantee

EPSILON = 0.5


def excess(one: np.ndarray, other: np.ndarray) -> float:
    """The least δ at ε = `EPSILON`, over all events."""
    return float(np.maximum(one - math.exp(EPSILON) * other, 0.0).sum())


@given(seed=st.integers(0, 2**32 - 1), ways=st.integers(1, 4))
def test_the_lemma_on_small_laws(seed: int, ways: int) -> None:
    """[j, x, o]: the chance that x is released first and o after it, where way j is taken whatever x is."""
    rng = np.random.default_rng(seed)
    first = rng.dirichlet(np.ones(5), size=2)
    after = rng.dirichlet(0.3 * np.ones(3), size=(2, ways, 5))
    one, other = first[:, None, :, None] * after
    taken = rng.integers(ways, size=5)  # a function of x
    run = [law[taken, np.arange(5)] for law in (one, other)]
    assert excess(*run) <= sum(excess(one[j], other[j]) for j in range(ways)) + 1e-12


def test_all_delta_can_be_needed() -> None:
    """Way j tells all with chance q after the value that leads to it, and nothing after others."""
    q, ways = 0.01, 2
    one, other = np.zeros((2, ways, 2, 3))  # what is told: nothing, or which table it is
    for j in range(ways):
        one[j, :, 0] = other[j, :, 0] = 0.5
        one[j, j], other[j, j] = [0.5 * (1 - q), 0.5 * q, 0.0], [0.5 * (1 - q), 0.0, 0.5 * q]
    run = [law[[0, 1], [0, 1]] for law in (one, other)]
    each = [excess(one[j], other[j]) for j in range(ways)]
    assert excess(*run) == pytest.approx(sum(each))
    assert each[0] > 0.9 * q / 2


def test_the_largest_epsilon_and_the_sum_of_all_delta() -> None:
    leaves = {
        "a": Guarantee(0.5, 1e-7, steps=("one",), assumptions=("public rows",)),
        "b": Guarantee(0.7, 0.0, steps=("two",)),
        "c": Guarantee(0.6, 3e-7, steps=("three", "four"), assumptions=("schema",)),
    }
    found = worst_leaf(leaves, proof="counted")
    assert (found.epsilon, found.proof) == (0.7, "counted")
    assert 4e-7 <= found.delta <= 4e-7 * (1 + 1e-11)
    assert found.assumptions == ("public rows", "schema")
    assert found.steps == tuple(f"where it is {told}" for told in ("a: one", "b: two", "c: three", "c: four"))
    assert worst_leaf({"b": leaves["b"]}, proof="").is_pure


@given(delta=st.floats(1e-300, 0.5), first=st.floats(0.01, 0.99))
def test_shares_add_up_to_no_more_than_the_whole_after_rounding(delta: float, first: float) -> None:
    parts = shares(delta, first)
    together = worst_leaf({str(part): Guarantee(1.0, part) for part in parts}, proof="")
    assert 0.999 * delta < together.delta <= delta
