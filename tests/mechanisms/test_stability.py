"""The stability test: its threshold, its exact law, and the code's decision under scripted noise."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.exact import hockey_stick, laplace_support

from pcqr.errors import ParameterError
from pcqr.mechanisms import stability
from pcqr.mechanisms.stability import StabilityTest, laplace_tail, smallest_threshold
from pcqr.privacy.entropy import SystemEntropy


def law(test: StabilityTest, value: str, distance: int) -> dict[str, float]:
    z, mass = laplace_support(test.scale)
    released = math.fsum(mass[distance + z > test.threshold])
    return {value: released, "⊥": 1.0 - released}


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1.0, 0.01), (1.0, 0.3), (5.0, 1e-9), (0.5, 0.9)])
def test_exactly_as_private_as_claimed(epsilon: float, delta: float) -> None:
    test = StabilityTest(epsilon, delta)
    stated = test.guarantee
    assert stated.within(epsilon, delta)
    for d in range(test.threshold + 20):
        for other in (d - 1, d + 1):
            if other >= 0:
                assert hockey_stick(law(test, "a", d), law(test, "a", other), stated.epsilon) <= 1e-12
    assert hockey_stick(law(test, "a", 0), law(test, "b", 0), 0.0) == pytest.approx(stated.delta, rel=1e-9)


def test_epsilon_is_attained() -> None:
    test = StabilityTest(1.0, 1e-6)
    near, far = law(test, "a", 0)["a"], law(test, "a", 1)["a"]
    assert math.log(far / near) == pytest.approx(1.0, rel=1e-9)


@given(scale=st.floats(1e-2, 1e6), log_delta=st.floats(-300, -1e-3))
def test_the_threshold_is_the_smallest(scale: float, log_delta: float) -> None:
    delta = math.exp(log_delta)
    w = smallest_threshold(scale, delta)
    assert laplace_tail(scale, w) <= delta
    assert w == 0 or laplace_tail(scale, w - 1) > delta


def test_the_code_releases_by_the_rule_of_the_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    test = StabilityTest(1.0, 0.01)
    for distance in range(12):
        for z in range(-12, 13):

            def scripted(scale: float, _: object, z: int = z) -> int:
                assert scale == test.scale
                return z

            monkeypatch.setattr(stability, "discrete_laplace", scripted)
            expected = "label" if distance + z > test.threshold else None
            assert test.release("label", distance, SystemEntropy()) == expected


@pytest.mark.parametrize("epsilon", [0.0, -1.0, math.inf, math.nan])
def test_bad_epsilon(epsilon: float) -> None:
    with pytest.raises(ParameterError, match="epsilon"):
        StabilityTest(epsilon, 0.1)
