"""The exponential mechanism over public points: exact ratio on neighbours, the reserve, and what is refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from support import sampler_law

from pcqr.data.records import InMemory
from pcqr.errors import ParameterError
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.mechanisms.exponential import exponential_guarantee, exponential_mechanism, inverse_temperature_for

PUBLIC = [0.5, 1.5]


def test_exactly_as_private_as_claimed() -> None:
    """Every pair of neighbours on six values: the log-ratio of every member stays within 2η."""
    eta = 0.7
    records = [(x, y) for x in (0.0, 1.0, 2.0) for y in (0, 1)]
    common = [(1.0, 1), (2.0, 0)]
    laws = []
    for last in records:
        x, y = zip(*common, last, strict=True)
        laws.append(sampler_law(Thresholds(), x, y, eta, public=PUBLIC))
    ratio = max(abs(p[h] - q[h]) for p, q in itertools.permutations(laws, 2) for h in p)
    stated = exponential_guarantee(Thresholds(), records=3, inverse_temperature=eta, features=1, public=2)
    assert 0.5 * stated.epsilon < ratio <= stated.epsilon


def test_the_bound_is_attained() -> None:
    """The replaced label moves a member's own weight one way, and the likeliest member's the other way."""
    eta, common = 0.5, [(1.0, 0)] * 40
    laws = []
    for label in (0, 1):
        x, y = zip(*common, (0.0, label), strict=True)
        laws.append(sampler_law(Thresholds(), x, y, eta, public=[1.0]))
    ratio = max(abs(laws[0][h] - laws[1][h]) for h in laws[0])
    assert ratio == pytest.approx(2 * eta, rel=1e-6)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 10.0])
@pytest.mark.parametrize("records", [10, 10**9])
def test_epsilon_is_kept_with_the_numerical_error_inside(epsilon: float, records: int) -> None:
    eta = inverse_temperature_for(Thresholds(), epsilon, records=records, features=1, public=5)
    stated = exponential_guarantee(Thresholds(), records=records, inverse_temperature=eta, features=1, public=5)
    assert stated.within(epsilon, 0.0)
    assert stated.epsilon == pytest.approx(epsilon, rel=1e-6)
    assert stated.is_pure


class Coarse(Thresholds):
    """As if its arithmetic were poor."""

    def log_probability_error(self, records: int, inverse_temperature: float, **_: object) -> float:  # noqa: ARG002
        return 0.01 + 0.1 * inverse_temperature


def test_the_reserve_covers_a_large_numerical_error() -> None:
    eta = inverse_temperature_for(Coarse(), 1.0, records=10, features=1, public=5)
    assert eta == pytest.approx(0.5 - 0.06)
    stated = exponential_guarantee(Coarse(), records=10, inverse_temperature=eta, features=1, public=5)
    slack = 0.01 + 0.1 * eta
    assert 2 * eta + 2 * slack <= stated.epsilon <= 1.0
    assert stated.epsilon == pytest.approx(2 * eta + 2 * slack, rel=1e-11), "λ is charged on either side, once"
    with pytest.raises(ParameterError, match="epsilon must be above"):
        inverse_temperature_for(Coarse(), 0.01, records=10, features=1, public=5)


def test_the_draw_and_its_guarantee() -> None:
    x = np.linspace(0.0, 1.0, 200)
    chosen = exponential_mechanism(Thresholds(), InMemory(x, x > 0.6), 1.0, public=np.linspace(0.0, 1.0, 11), entropy=3)
    assert np.mean(chosen.hypothesis.predict(x) == (x > 0.6)) > 0.8
    assert chosen.guarantee.epsilon == pytest.approx(2.0, rel=1e-9)
    assert not chosen.guarantee.is_private, "a seed was given"
    assert exponential_mechanism(Thresholds(), InMemory(x, x > 0.6), 1.0, public=[0.5]).guarantee.is_private


def test_a_class_read_off_the_records_is_refused() -> None:
    with pytest.raises(ParameterError, match="public must be given"):
        exponential_mechanism(Thresholds(), InMemory([0.0, 1.0], [0, 1]), 1.0)
    with pytest.raises(ParameterError, match="public must be given"):
        inverse_temperature_for(Thresholds(), 1.0, records=10, features=1)


@pytest.mark.parametrize("eta", [-1.0, math.nan, math.inf])
def test_bad_inverse_temperature(eta: float) -> None:
    with pytest.raises(ParameterError, match="inverse_temperature"):
        exponential_mechanism(Thresholds(), InMemory([0.0, 1.0], [0, 1]), eta, public=PUBLIC)
