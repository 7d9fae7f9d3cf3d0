"""Confident answers: checks and labels are capped, both are paid for, and the paper's figures come out."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pcqr.data.records import InMemory
from pcqr.errors import BudgetExhausted, ParameterError
from pcqr.hypotheses import DecisionTrees, Thresholds
from pcqr.privacy.accounting import concentrated_epsilon
from pcqr.privacy.accounting.gaussian import gaussian_delta
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.confident.plan import ConfidentMax, ConfidentMaxStage
from pcqr.releases.confident.run import ConfidentVotes, confident_max, confident_max_guarantee
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.online import PrivClass

AGREED, SPLIT = np.array([0, 31]), np.array([16, 15])
NOISE = ConfidentMax(25, 0.5, 0.5)


def votes(asked: int = 4, answered: int = 2, noise: ConfidentMax = NOISE) -> ConfidentVotes:
    X = np.random.default_rng(0).random((300, 1))
    y = (X[:, 0] > 0.5).astype(np.int8)
    plan = ConfidentMaxStage(300, 31, asked, answered, noise)
    return confident_max(Thresholds(), InMemory(X, y), plan, SeededEntropy(0))


def test_a_label_uses_up_a_check_and_a_label_and_nothing_a_check() -> None:
    labeller = votes()
    assert labeller.remaining == Usage(4, None, 2)
    assert labeller.decide(SPLIT) is None
    assert labeller.remaining == Usage(3, None, 2)
    assert labeller.decide(AGREED) == 1
    assert labeller.remaining == Usage(2, None, 1)


@pytest.mark.parametrize(
    ("queries", "remaining"),
    [([AGREED] * 2, Usage(2, None, 0)), ([SPLIT] * 4, Usage(0, None, 2))],
    ids=["labels", "checks"],
)
def test_it_halts_when_either_is_used_up(queries: list[np.ndarray], remaining: Usage) -> None:
    labeller = votes()
    for counts in queries:
        assert not labeller.remaining.is_nothing
        labeller.decide(counts)
    assert labeller.remaining == remaining
    assert labeller.remaining.is_nothing
    for counts in (AGREED, SPLIT):
        with pytest.raises(RuntimeError, match="paid for"):
            labeller.decide(counts)
    assert labeller.remaining == remaining


def test_a_decision_that_is_broken_off_has_spent_both() -> None:
    class Broken(ConfidentMax):
        def decide(self, *_: object) -> int:
            raise KeyboardInterrupt

    labeller = votes(noise=Broken(25, 0.5, 0.5))
    with pytest.raises(KeyboardInterrupt):
        labeller.decide(SPLIT)
    assert labeller.remaining == Usage(3, None, 1)


def test_the_protocol_halts_and_repeats_are_free() -> None:
    online = PrivClass(votes(asked=9, answered=2), 9, SeededEntropy(0))
    given = [online.answer(np.array([[x]])) for x in (0.1, 0.1, 0.9)]
    assert [answer.label for answer in given] == [0, 0, 1]
    assert given[-1].remaining == Usage(7, None, 0)
    with pytest.raises(BudgetExhausted):
        online.answer(np.array([[0.3]]))
    assert online.answer(np.array([[0.9]])).label == 1


def test_plans_for_other_tables_are_refused() -> None:
    X, y = np.zeros((300, 1)), np.zeros(300, dtype=np.int8)
    for plan in (ConfidentMaxStage(299, 31, 4, 2, NOISE), ConfidentMaxStage(300, 31, 4, 2, NOISE, labels=3)):
        with pytest.raises(ParameterError, match="a plan for"):
            confident_max(Thresholds(), InMemory(X, y), plan, SeededEntropy(0))


def test_three_labels_are_voted_on() -> None:
    X = np.random.default_rng(0).random((900, 1))
    hypotheses = DecisionTrees(depth=2, labels=3).prepared(np.linspace(0.05, 0.95, 19)[:, None], None)
    records = InMemory(X, (X[:, 0] * 3).astype(np.int8), 3)
    plan = ConfidentMaxStage(900, 31, 4, 3, NOISE, labels=3)
    online = PrivClass(confident_max(hypotheses, records, plan, SeededEntropy(0)), 4, SeededEntropy(0))
    assert [online.answer(np.array([[x]])).label for x in (0.1, 0.5, 0.9)] == [0, 1, 2]


PAPER = {
    "MNIST": (ConfidentMaxStage(60_000, 250, 640, 286, ConfidentMax(200, 150.0, 40.0), 10), 1e-5, 2.54, 2.76),
    "SVHN": (ConfidentMaxStage(604_388, 250, 8_500, 3_098, ConfidentMax(300, 200.0, 40.0), 10), 1e-6, 11.14, 11.84),
    "Adult": (ConfidentMaxStage(32_561, 250, 1_500, 524, ConfidentMax(300, 200.0, 40.0), 2), 1e-5, 3.54, 3.83),
}


@pytest.mark.parametrize("name", PAPER)
def test_the_papers_runs_have_these_data_independent_figures(name: str) -> None:
    plan, delta, gaussian, renyi = PAPER[name]
    stated = confident_max_guarantee(plan, delta)
    assert stated.epsilon == pytest.approx(gaussian, abs=0.01)
    assert (stated.delta, stated.proof) == (delta, "confident")
    check, answer = plan.noise.check_scale, plan.noise.answer_scale
    shift = math.sqrt(plan.asked / check**2 + 2 * plan.answered / answer**2)
    assert gaussian_delta(shift, stated.epsilon) == pytest.approx(delta, rel=0.01), "all but the grid's part of δ"
    assert concentrated_epsilon(shift**2 / 2, delta) == pytest.approx(renyi, abs=0.01)


def test_on_a_coarse_grid_renyi_composition_is_stated() -> None:
    plan = ConfidentMaxStage(60_000, 250, 640, 286, ConfidentMax(200, 150.0, 40.0, grid=1), 10)
    stated = confident_max_guarantee(plan, 1e-5)
    assert stated.epsilon == pytest.approx(2.758, abs=0.001)
    assert "Rényi" in stated.steps[0]


def test_more_of_anything_costs_more() -> None:
    plan, delta, *_ = PAPER["MNIST"]
    stated = confident_max_guarantee(plan, delta).epsilon
    for asked, answered in ((641, 286), (640, 287)):
        more = ConfidentMaxStage(60_000, 250, asked, answered, plan.noise, 10)
        assert confident_max_guarantee(more, delta).epsilon > stated
