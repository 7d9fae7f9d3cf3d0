"""The hockey stick of laws that are known by heart."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcqr.audit.exact import curve, epsilon_at, hockey_stick, largest_log_ratio

HALF = {"heads": 0.5, "tails": 0.5}
BIASED = {"heads": 0.75, "tails": 0.25}


def test_by_hand() -> None:
    assert hockey_stick(BIASED, HALF, 0.0) == 0.25
    assert hockey_stick(HALF, BIASED, 0.0) == 0.25
    assert hockey_stick(BIASED, HALF, math.log(1.2)) == pytest.approx(0.75 - 0.6)
    assert hockey_stick(HALF, BIASED, math.log(1.2)) == pytest.approx(0.5 - 0.3)
    assert curve(BIASED, HALF, [0.0, math.log(1.2), math.log(2)]) == pytest.approx((0.25, 0.2, 0.0))
    assert epsilon_at(BIASED, HALF, 0.0) == pytest.approx(math.log(2)) == largest_log_ratio(HALF, BIASED)
    assert epsilon_at(BIASED, HALF, 0.2) == pytest.approx(math.log(1.2), abs=1e-11)
    assert epsilon_at(BIASED, HALF, 0.25) == 0.0


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomised_response_is_tight_at_its_own_epsilon(epsilon: float) -> None:
    truth = 1 / (1 + math.exp(-epsilon))
    p, q = {0: truth, 1: 1 - truth}, {0: 1 - truth, 1: truth}
    assert epsilon_at(p, q, 0.0) == pytest.approx(epsilon)
    assert hockey_stick(p, q, epsilon) == pytest.approx(0.0, abs=1e-14)
    assert hockey_stick(p, q, 0.5 * epsilon) == pytest.approx(truth - math.exp(0.5 * epsilon) * (1 - truth))


laws = st.lists(st.floats(0.01, 1.0), min_size=4, max_size=4).map(
    lambda weights: {i: weight / math.fsum(weights) for i, weight in enumerate(weights)}
)


@given(laws, laws, st.floats(0.0, 2.0))
def test_it_is_the_largest_gap_over_all_events(p: dict[int, float], q: dict[int, float], epsilon: float) -> None:
    events = itertools.chain.from_iterable(itertools.combinations(p, size) for size in range(5))
    largest = max(sum(p[i] for i in event) - math.exp(epsilon) * sum(q[i] for i in event) for event in events)
    assert hockey_stick(p, q, epsilon) == pytest.approx(largest, abs=1e-14)


@given(laws, laws, st.floats(1e-6, 0.3))
def test_epsilon_at_is_the_inverse(p: dict[int, float], q: dict[int, float], delta: float) -> None:
    epsilon = epsilon_at(p, q, delta)
    (reached,) = curve(p, q, [epsilon])
    assert reached <= delta
    if epsilon > 1e-6:
        (just_below,) = curve(p, q, [epsilon - 1e-6])
        assert just_below > delta
    assert epsilon <= epsilon_at(p, q, 0.0) + 1e-9
