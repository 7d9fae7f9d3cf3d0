"""Figures that depend on votes: bounds on exact divergences, and for the data holder alone."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Mapping
from functools import partial
from statistics import NormalDist

import numpy as np
import pytest
from support.releases import steps

from pcqr import ConfidentMaxAggregate, NoisyMaxAggregate, ParameterError
from pcqr.audit.exact import law_of
from pcqr.audit.exact.cases.peers import Votes, neighbouring_votes
from pcqr.hypotheses import Thresholds
from pcqr.mechanisms.noisy_max import GaussianMax
from pcqr.privacy.accounting import concentrated_epsilon
from pcqr.releases.confident.plan import ConfidentMax
from pcqr.releases.noisy_max.dependent import Cost, NotReleasable, _log_tail, confident_cost, gaussian_cost

ORDERS = (1.2, 2.0, 5.0, 20.0)


def law(noise: GaussianMax | ConfidentMax, votes: Votes) -> Mapping[int | None, float]:
    return law_of(partial(noise.decide, np.array(votes)))


def renyi(p: Mapping[int | None, float], q: Mapping[int | None, float], order: float) -> float:
    terms = [order * math.log(p[outcome]) + (1 - order) * math.log(q[outcome]) for outcome in p]
    return float(np.logaddexp.reduce(terms)) / (order - 1)


CASES: list[tuple[GaussianMax | ConfidentMax, int, float]] = [
    (GaussianMax(2.0), 2, 1 / 8),
    (GaussianMax(2.0), 3, 1 / 4),
    (ConfidentMax(8, 2.0, 2.0, grid=1), 3, 1 / 8 + 1 / 4),
    (ConfidentMax(4, 1.5, 1.0, grid=4), 2, 1 / 4.5 + 1.0),
]


def cost_of(noise: GaussianMax | ConfidentMax, votes: Votes) -> Cost:
    if isinstance(noise, GaussianMax):
        return gaussian_cost(noise, np.array(votes))
    return confident_cost(noise, np.array(votes))


@pytest.mark.parametrize(("noise", "labels", "rho"), CASES, ids=str)
def test_the_figure_bounds_the_exact_divergence_to_every_neighbour(
    noise: GaussianMax | ConfidentMax, labels: int, rho: float
) -> None:
    laws: dict[Votes, Mapping[int | None, float]] = {}
    below = 0
    for first, second in neighbouring_votes(14, labels)[:: 1 if labels == 2 else 41]:
        for votes in (first, second):
            if votes not in laws:
                laws[votes] = law(noise, votes)
        cost = cost_of(noise, first)
        for order in ORDERS:
            assert renyi(laws[first], laws[second], order) <= cost(order) * (1 + 1e-9)
            assert cost(order) <= rho * order * (1 + 1e-12)
            below += cost(order) < 0.5 * rho * order
    assert below > 0, "where teachers agree it is far less than the worst case"


def test_agreement_makes_answers_cheap() -> None:
    agreed, split = (gaussian_cost(GaussianMax(40.0), np.array([250 - x, x, 0])) for x in (0, 120))
    assert agreed(10.0) < 0.1 * split(10.0)
    assert split(10.0) == pytest.approx(10.0 / 40.0**2)
    noise = ConfidentMax(200, 150.0, 40.0)
    agreed, split = (confident_cost(noise, np.array([250 - x, x, 0])) for x in (0, 120))
    worst = 10.0 * (0.5 / 150.0**2 + 1.0 / 40.0**2)
    assert agreed(10.0) < 0.15 * worst
    assert split(10.0) < 0.8 * worst, "a label counts as much as it is likely to be given"


def test_nothing_shows_writes_or_copies_the_figure() -> None:
    figure = NotReleasable(1.2345)
    for told in (repr(figure), str(figure), f"{figure}", f"{[figure]}", "%s" % figure):  # noqa: UP031
        assert "1.2" not in told
        assert "data holder alone" in told
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="not copied, pickled or kept"):
            attempt(figure)
    with pytest.raises(TypeError):
        float(figure)  # type: ignore[arg-type]
    assert figure.reveal_to_data_holder() == 1.2345


def test_releases_have_it_for_the_data_holder_alone() -> None:
    X, y = steps(20_000)
    common = {"epsilon": 4.0, "queries": 20, "teachers": 251, "entropy": 0}
    noisy = NoisyMaxAggregate(Thresholds(), noise="gaussian", **common).fit(X, y)  # type: ignore[arg-type]
    confident = ConfidentMaxAggregate(Thresholds(), **common).fit(X, y)  # type: ignore[arg-type]
    for release in (noisy, confident):
        assert release.data_dependent_epsilon().reveal_to_data_holder() == 0.0, "nothing was asked"
        promised = release.guarantee_
        release.predict(np.linspace(0.5, 0.99, 8)[:, None])
        told = release.data_dependent_epsilon()
        assert isinstance(told, NotReleasable)
        assert 0.0 < told.reveal_to_data_holder() < 0.5 * promised.epsilon
        assert told.reveal_to_data_holder() > release.data_dependent_epsilon(delta=1e-3).reveal_to_data_holder()
        assert release.guarantee_ == promised
        assert release.queries_answered_ == 8
    scale = noisy.plan_.vote.noise.scale  # type: ignore[union-attr]
    most = concentrated_epsilon(8 / (2 * scale**2), 1e-6)
    assert noisy.data_dependent_epsilon().reveal_to_data_holder() <= most


def test_the_figure_is_never_above_that_of_so_many_queries_whatever_the_votes_are() -> None:
    """Random labels split the votes: Rényi's divergences alone are above what other accountants promise."""
    X, y = np.random.default_rng(0).random((2_000, 1)), np.arange(2_000) % 2
    common = {"queries": 50, "teachers": 41, "entropy": 0}
    noisy = NoisyMaxAggregate(Thresholds(), noise="gaussian", **common).fit(X, y)  # type: ignore[arg-type]
    confident = ConfidentMaxAggregate(Thresholds(), epsilon=4.0, threshold=1, most_labels=50, **common)  # type: ignore[arg-type]
    for release in (noisy, confident.fit(X, y)):
        promised = release.guarantee_
        rows = np.linspace(0.01, 0.99, 50)[:, None]
        release.predict(rows[:25])
        half = release.data_dependent_epsilon(promised.delta).reveal_to_data_holder()
        assert half < 0.75 * promised.epsilon, "of so many queries as were asked"
        release.predict(rows[25:])
        assert half < release.data_dependent_epsilon(promised.delta).reveal_to_data_holder() <= promised.epsilon


def test_other_noise_has_no_such_figure() -> None:
    X, y = steps(2_000)
    release = NoisyMaxAggregate(Thresholds(), epsilon=4.0, queries=5, noise="laplace", entropy=0).fit(X, y)
    with pytest.raises(ParameterError, match="noise must be Gaussian"):
        release.data_dependent_epsilon()


@pytest.mark.parametrize(("scale", "least"), [(2.5, 1), (2.5, 6), (1.9, 1), (40.0, 3)])
def test_the_tail_of_one_draw_is_bounded_by_the_closer_of_two_figures(scale: float, least: int) -> None:
    z = np.arange(-1_000, 1_001)
    weights = np.exp(-0.5 * (z / scale) ** 2)
    exact = float(weights[z >= least].sum() / weights.sum())
    figures = [math.exp(-(least**2) / (2 * scale**2))]
    if scale**2 >= 4.0:
        figures.append(NormalDist().cdf(-(least - 0.5) / scale) + 1.0 / (16.0 * scale**2))
    assert exact <= math.exp(_log_tail(least, scale)) == pytest.approx(min(figures), rel=1e-12)
