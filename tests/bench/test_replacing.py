"""Budgets of outside libraries for replacing one record: never smaller noise than the exact law asks for."""

from __future__ import annotations

import math

import pytest
from dp_accounting import NeighboringRelation
from dp_accounting.pld import privacy_loss_distribution as pld

from pcqr.bench.inside import noise_multiplier, settings, settings_for
from pcqr.bench.outside.task import delta_of, largest, largest_mu


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 4.0])
def test_the_largest_mu_is_that_of_the_gaussian_mechanism(epsilon: float) -> None:
    mu = largest_mu(epsilon, 1e-6)
    assert delta_of(epsilon, mu) <= 1e-6 < delta_of(epsilon, 1.001 * mu)
    exact = pld.from_gaussian_mechanism(1.0 / mu, value_discretization_interval=epsilon / 1000)
    assert exact.get_epsilon_for_delta(1e-6) == pytest.approx(epsilon, rel=0.01)


def test_full_batches_of_doubled_noise_compose_to_the_budget() -> None:
    """What with_opacus does for logistic regression: T sums, each moved by 2C, with noise 2C·√T/μ."""
    steps, mu = 120, largest_mu(1.0, 1e-6)
    noise = 2.0 * math.sqrt(steps) / mu
    one = pld.from_gaussian_mechanism(noise, sensitivity=2.0, value_discretization_interval=1e-3)
    assert one.self_compose(steps).get_epsilon_for_delta(1e-6) == pytest.approx(1.0, rel=0.01)


def test_the_noise_of_a_network_is_enough_for_replacing_and_little_more() -> None:
    noise = noise_multiplier(1.0, 1e-6, 50, 1200)

    def spent(scale: float) -> float:
        one = pld.from_gaussian_mechanism(
            scale, sampling_prob=0.02, neighboring_relation=NeighboringRelation.REPLACE_ONE
        )
        return float(one.self_compose(1200).get_epsilon_for_delta(1e-6))

    assert spent(noise) <= 1.01
    assert spent(0.95 * noise) > 1.0
    adding = pld.from_gaussian_mechanism(noise / 2.0, sampling_prob=0.02)
    assert adding.self_compose(1200).get_epsilon_for_delta(1e-6) == pytest.approx(1.0, rel=0.1)  # about doubled


def test_settings_depend_on_public_numbers_alone() -> None:
    assert settings(30_000, 0.1, 1e-6)["steps"] == 150
    assert settings(30_000, 1.0, 1e-6)["steps"] == 1200
    assert settings_for("linear", 30_000, 1.0, 1e-6) == {}


def test_largest_finds_the_border() -> None:
    assert largest(lambda x: x <= 0.3, 1e-3, 1.0) == pytest.approx(0.3)
