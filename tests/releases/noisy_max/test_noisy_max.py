"""The per-query noisy majority: m answers and no more, at the price of m events."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pcqr.data.records import InMemory
from pcqr.errors import ParameterError
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.hypotheses.base import Labels, Points
from pcqr.mechanisms.noisy_max import ExponentialMax, GaussianMax, LaplaceMax, NoisyMax
from pcqr.privacy.accounting import concentrated_epsilon
from pcqr.privacy.accounting.gaussian import gaussian_delta
from pcqr.privacy.accounting.renyi import divergence
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.noisy_max.run import NoisyVotes, noisy_max, noisy_max_guarantee
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.subsample.run import Teachers

UNANIMOUS = np.array([0, 31])


def table(n: int = 300) -> tuple[Points, Labels]:
    X = np.random.default_rng(0).random((n, 1))
    return X, (X[:, 0] > 0.5).astype(np.int8)


def plan(queries: int = 3, noise: NoisyMax | None = None, records: int = 300) -> NoisyMaxStage:
    return NoisyMaxStage(records, 31, queries, noise or GaussianMax(1.0))


def votes(queries: int = 3) -> NoisyVotes:
    X, y = table()
    return noisy_max(Thresholds(), InMemory(X, y), plan(queries), SeededEntropy(0))


def test_m_decisions_are_made_and_no_more() -> None:
    labeller = votes(3)
    for remaining in (3, 2, 1):
        assert labeller.remaining == Usage(remaining, None)
        assert labeller.decide(UNANIMOUS) == 1
    assert labeller.remaining.is_nothing
    with pytest.raises(RuntimeError, match="paid for"):
        labeller.decide(UNANIMOUS)


def test_an_interrupted_decision_counts() -> None:
    class Broken(GaussianMax):
        def decide(self, *_: object) -> int:
            raise KeyboardInterrupt

    X, y = table()
    labeller = NoisyVotes.trained(Thresholds(), InMemory(X, y), plan(2, Broken(1.0)), SeededEntropy(0))
    with pytest.raises(KeyboardInterrupt):
        labeller.decide(np.array([11, 20]))
    assert labeller.remaining == Usage(1, None)


def test_votes_are_those_of_teachers_on_all_the_records() -> None:
    X, y = table()
    grid = np.linspace(0, 1, 40)[:, None]
    teachers = Teachers(Thresholds(), InMemory(X, y), 31, SeededEntropy(0))
    assert (votes().counts(grid) == teachers.counts(grid)).all()


@pytest.mark.parametrize("records", [200, 400])
def test_a_plan_for_another_table_is_refused(records: int) -> None:
    X, y = table(records)
    with pytest.raises(ParameterError, match=f"a plan for {records} records"):
        noisy_max(Thresholds(), InMemory(X, y), plan(), SeededEntropy(0))


def test_a_plan_for_another_number_of_labels_is_refused() -> None:
    X, y = table()
    with pytest.raises(ParameterError, match="a plan for 3 labels; received 'one for 2'"):
        noisy_max(DecisionTrees(depth=1, labels=3), InMemory(X, y, 3), plan(), SeededEntropy(0))


@pytest.mark.parametrize("noise", [GaussianMax(1.0), LaplaceMax(0.5), ExponentialMax(2.0)], ids=str)
def test_three_labels_are_voted_on(noise: NoisyMax) -> None:
    X = np.random.default_rng(0).random((900, 1))
    y = (X[:, 0] * 3).astype(np.int8)
    hypotheses = DecisionTrees(depth=2, labels=3).prepared(np.linspace(0.05, 0.95, 19)[:, None], None)
    stage = NoisyMaxStage(900, 31, 3, noise, labels=3)
    online = PrivClass(noisy_max(hypotheses, InMemory(X, y, 3), stage, SeededEntropy(0)), 3, SeededEntropy(0))
    assert [online.answer(np.array([[x]])).label for x in (0.1, 0.5, 0.9)] == [0, 1, 2]
    assert online.remaining.is_nothing


@pytest.mark.parametrize("queries", [1, 10, 1_000])
@pytest.mark.parametrize("labels", [2, 3])
def test_gaussian_answers_cost_less_than_zcdp_says(queries: int, labels: int) -> None:
    stage = NoisyMaxStage(300, 31, queries, GaussianMax(30.0), labels)
    stated = noisy_max_guarantee(stage, 1e-6)
    moved = queries if labels == 2 else 2 * queries
    assert stated.epsilon < concentrated_epsilon(moved / (2 * 30.0**2), 1e-6)
    assert (
        gaussian_delta(math.sqrt(moved) / 30.0, stated.epsilon)
        <= 1e-6
        < gaussian_delta(math.sqrt(moved) / 30.0, stated.epsilon - 1.01 / 30.0**2)
    )
    assert (stated.delta, stated.proof) == (1e-6, "noisy_max")


@pytest.mark.parametrize(("scale", "queries", "delta"), [(1.5, 10, 1e-6), (30.0, 10**7, 1e-6)])
def test_gaussian_answers_add_up_as_zcdp_where_no_more_is_proved(scale: float, queries: int, delta: float) -> None:
    stated = noisy_max_guarantee(plan(queries, GaussianMax(scale)), delta)
    assert stated.epsilon == pytest.approx(concentrated_epsilon(queries / (2 * scale**2), delta), rel=1e-9)


def test_exponential_answers_are_bounded_ranges_or_pure_whichever_is_less() -> None:
    many = noisy_max_guarantee(plan(1_000, ExponentialMax(0.01)), 1e-6)
    assert many.epsilon <= concentrated_epsilon(1_000 * (2 * 0.01) ** 2 / 8, 1e-6) * (1 + 1e-9)
    assert many.epsilon > 0.98 * concentrated_epsilon(1_000 * (2 * 0.01) ** 2 / 8, 1e-6)
    few = noisy_max_guarantee(plan(3, ExponentialMax(0.1)), 1e-6)
    assert few.is_pure
    assert few.epsilon == pytest.approx(0.6, rel=1e-9)


def test_more_labels_double_what_a_gaussian_answer_costs_and_no_other() -> None:
    for noise, factor in ((GaussianMax(30.0), 2.0), (LaplaceMax(30.0), 1.0), (ExponentialMax(0.03), 1.0)):
        two, three = (NoisyMaxStage(300, 31, 100, noise, labels) for labels in (2, 3))
        rho = [divergence(stage.answer, 2.0) / 2.0 for stage in (two, three)]
        assert rho[1] == pytest.approx(factor * rho[0], rel=1e-9)
        assert noisy_max_guarantee(three, 1e-6).epsilon >= noisy_max_guarantee(two, 1e-6).epsilon


class TestFiguresOfThePapers:
    """Data-independent accounting, as the authors do it in their public code (tensorflow/privacy, research/pate_2018,
    core.py): a GNMax answer has the Rényi divergence α/σ², an LNMax answer ½(2γ)²α; then ε = R + ln(1/δ)/(α − 1).
    """

    @staticmethod
    def converted(slope: float, delta: float) -> float:
        orders = np.linspace(1.01, 500.0, 200_000)
        return float((slope * orders - np.log(delta) / (orders - 1.0)).min())

    @pytest.mark.parametrize(("queries", "delta", "strong"), [(100, 1e-5, 5.80), (1_000, 1e-6, 26.62)])
    def test_lnmax_of_2017(self, queries: int, delta: float, strong: float) -> None:
        """γ = .05, MNIST and SVHN. `strong` is ε₀·√(2m·ln(1/δ)) + m·ε₀², ε₀ = 2γ; Rényi composition is below it."""
        stage = NoisyMaxStage(60_000, 250, queries, LaplaceMax(20.0), labels=10)
        stated = noisy_max_guarantee(stage, delta).epsilon
        by_moments = self.converted(queries * 0.5 * 0.1**2, delta)
        assert 0.1 * np.sqrt(2 * queries * np.log(1 / delta)) + queries * 0.01 == pytest.approx(strong, abs=0.005)
        assert 0.8 * by_moments < stated < by_moments < strong

    @pytest.mark.parametrize(
        ("queries", "scale", "delta", "figure"), [(286, 40.0, 1e-5, 2.436), (1_000, 100.0, 1e-8, 2.402)]
    )
    def test_gnmax_of_2018(self, queries: int, scale: float, delta: float, figure: float) -> None:
        stage = NoisyMaxStage(60_000, 250, queries, GaussianMax(scale), labels=10)
        stated = noisy_max_guarantee(stage, delta).epsilon
        assert stated == pytest.approx(figure, abs=0.001)
        authors = self.converted(queries / scale**2, delta)
        assert 0.75 * authors < stated < concentrated_epsilon(queries / scale**2, delta) < authors


def test_a_delta_that_buys_next_to_nothing_is_not_stated() -> None:
    assert noisy_max_guarantee(plan(1, ExponentialMax(1.0)), 1e-6).is_pure
    assert not noisy_max_guarantee(plan(1, ExponentialMax(1.0)), 0.3).is_pure
