"""The per-query noisy majority: m answers and no more, at the price of m events."""

from __future__ import annotations

import numpy as np
import pytest

from pcqr.accounting import concentrated_epsilon
from pcqr.algorithms.ensemble import Teachers
from pcqr.algorithms.priv_class import PrivClass
from pcqr.entropy import SeededEntropy
from pcqr.errors import BudgetExhausted, ParameterError
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.hypotheses.base import Labels, Points
from pcqr.peers.noisy_max.algorithm import NoisyVotes, noisy_max, noisy_max_guarantee
from pcqr.peers.noisy_max.mechanism import ExponentialMax, GaussianMax, NoisyMax
from pcqr.peers.noisy_max.plan import NoisyMaxStage
from pcqr.plan import Usage
from pcqr.records import InMemory

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
    for left in (3, 2, 1):
        assert labeller.left == Usage(left, None)
        assert labeller.decide(UNANIMOUS) == 1
    assert labeller.left.is_nothing
    with pytest.raises(RuntimeError, match="paid for"):
        labeller.decide(UNANIMOUS)


def test_the_protocol_stops_after_m_distinct_queries_and_repeats_are_free() -> None:
    online = PrivClass(votes(3), 3, SeededEntropy(0))
    given = [online.answer(np.array([[x]])) for x in (0.1, 0.9, 0.1, 0.2, 0.9)]
    assert [answer.label for answer in given] == [0, 1, 0, 0, 1]
    assert [answer.kind for answer in given] == ["stable", "stable", "repeated", "stable", "repeated"]
    assert given[-1].remaining.queries == 0
    with pytest.raises(BudgetExhausted) as caught:
        online.answer(np.array([[0.3]]))
    assert (caught.value.spent.queries, caught.value.spent.unstable) == (3, 0)


def test_an_interrupted_decision_counts() -> None:
    class Broken(GaussianMax):
        def decide(self, *_: object) -> int:
            raise KeyboardInterrupt

    X, y = table()
    labeller = NoisyVotes.trained(Thresholds(), InMemory(X, y), plan(2, Broken(1.0)), SeededEntropy(0))
    with pytest.raises(KeyboardInterrupt):
        labeller.decide(np.array([11, 20]))
    assert labeller.left == Usage(1, None)


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


def test_a_class_of_more_labels_is_refused() -> None:
    X, y = table()
    with pytest.raises(ParameterError, match="a class of two labels"):
        noisy_max(DecisionTrees(depth=1, labels=3), InMemory(X, y), plan(), SeededEntropy(0))


@pytest.mark.parametrize("queries", [1, 10, 1_000])
def test_gaussian_answers_add_up_as_zcdp(queries: int) -> None:
    stated = noisy_max_guarantee(plan(queries, GaussianMax(30.0)), 1e-6)
    assert stated.epsilon == pytest.approx(concentrated_epsilon(queries / (2 * 30.0**2), 1e-6), rel=1e-9)
    assert (stated.delta, stated.proof) == (1e-6, "noisy_max")


def test_exponential_answers_are_bounded_ranges_or_pure_whichever_is_less() -> None:
    many = noisy_max_guarantee(plan(1_000, ExponentialMax(0.01)), 1e-6)
    assert many.epsilon <= concentrated_epsilon(1_000 * (2 * 0.01) ** 2 / 8, 1e-6) * (1 + 1e-9)
    assert many.epsilon > 0.98 * concentrated_epsilon(1_000 * (2 * 0.01) ** 2 / 8, 1e-6)
    few = noisy_max_guarantee(plan(3, ExponentialMax(0.1)), 1e-6)
    assert few.is_pure
    assert few.epsilon == pytest.approx(0.6, rel=1e-9)


def test_a_delta_that_buys_next_to_nothing_is_not_stated() -> None:
    assert noisy_max_guarantee(plan(1, ExponentialMax(1.0)), 1e-6).is_pure
    assert not noisy_max_guarantee(plan(1, ExponentialMax(1.0)), 0.3).is_pure
