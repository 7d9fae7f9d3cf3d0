"""The limits hold as often as they say, and bound ε from below."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom

from pcqr.audit.statistical import largest_probability, least_epsilon, least_probability


@pytest.mark.parametrize("runs", [10, 300])
@pytest.mark.parametrize("level", [0.05, 1e-6])
def test_the_limits_miss_as_rarely_as_they_say_and_not_much_more_rarely(runs: int, level: float) -> None:
    hits = np.arange(runs + 1)
    low, high = least_probability(hits, runs, level), largest_probability(hits, runs, level)
    for p in (0.001, 0.1, 0.5, 0.97):
        law = binom(runs, p).pmf(hits)
        assert law[low > p].sum() <= level
        assert law[high < p].sum() <= level
    # Clopper and Pearson's definition: at the limit itself, what was seen or more has exactly that chance.
    assert binom(runs, low[1:]).sf(hits[1:] - 1) == pytest.approx(level, rel=1e-6)
    assert binom(runs, high[:-1]).cdf(hits[:-1]) == pytest.approx(level, rel=1e-6)
    assert (low[0], high[-1]) == (0.0, 1.0)


@given(
    p=st.floats(0.01, 0.99),
    q=st.floats(0.01, 0.99),
    delta=st.sampled_from([0.0, 0.01, 0.2]),
    level=st.sampled_from([0.2, 0.01]),
)
def test_a_bound_on_epsilon_is_too_high_no_more_often_than_its_level(
    p: float, q: float, delta: float, level: float
) -> None:
    """The exact chance, over all pairs of counts, that the bound exceeds the true ln((p − δ)/q)."""
    runs = 40
    hits = np.arange(runs + 1)
    bounds = least_epsilon(hits[:, None], hits[None, :], runs, delta, level)
    truth = math.log((p - delta) / q) if p > delta else -math.inf
    chances = binom(runs, p).pmf(hits)[:, None] * binom(runs, q).pmf(hits)[None, :]
    assert chances[(bounds > truth + 1e-12) & (bounds > 0)].sum() <= level
