"""Fresh draws for single queries: m and no more, on fresh sub-samples, within (ε, δ); and behind an estimator."""

from __future__ import annotations

import math
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from pcqr import BudgetExhausted, CopyCannotAnswer, GibbsPrediction, InfeasiblePlan, ParameterError, Schema
from pcqr.data.records import InMemory
from pcqr.hypotheses import DecisionTrees, Halfspaces, HypothesisClass, Stumps, Thresholds
from pcqr.privacy.accounting import BoundedRangeEvent, PureEvent
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.gibbs import run as algorithm
from pcqr.releases.gibbs.plan import GibbsStage
from pcqr.releases.gibbs.run import GibbsLabels, gibbs_event, gibbs_guarantee, gibbs_labels
from pcqr.releases.protocol.answers import Usage

X = np.random.default_rng(0).uniform(0.0, 10.0, size=(2_000, 1))
Y = (X[:, 0] > 6.0).astype(np.int64)
FIXED = Stumps(cuts=[2.0, 6.0])


def labeller(stage: GibbsStage, hypotheses: HypothesisClass | None = None, public: Any = None) -> GibbsLabels:
    return gibbs_labels(hypotheses or Thresholds(), InMemory(X, Y), public, stage, SeededEntropy(0))


def test_m_draws_and_no_more() -> None:
    found = labeller(GibbsStage(2_000, 100, 2, 2.0))
    first, second = found.counts(np.array([[1.0], [9.0]]))
    assert (found.decide(first), found.decide(second)) == (0, 1)
    assert found.remaining == Usage(0, None)
    with pytest.raises(RuntimeError, match="paid for"):
        found.decide(first)


def test_a_draw_that_breaks_off_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    found = labeller(GibbsStage(2_000, 100, 2, 2.0))
    monkeypatch.setattr(Thresholds, "_draw", broken)
    with pytest.raises(KeyboardInterrupt):
        found.decide(np.array([1.0]))
    assert found.remaining == Usage(1, None)


def test_each_draw_sees_its_own_sub_sample_and_the_query(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn, genuine = list[InMemory](), Thresholds.draw_on

    def noting(self: Thresholds, records: InMemory, *more: Any, **how: Any) -> Any:
        drawn.append(records)
        return genuine(self, records, *more, **how)

    monkeypatch.setattr(Thresholds, "draw_on", noting)
    found = labeller(GibbsStage(2_000, 50, 30, 1.0))
    for row in found.counts(np.full((30, 1), 5.5)):
        found.decide(row)
    assert all(records.size == 51 and records.X[-1, 0] == 5.5 for records in drawn)
    assert {int(records.y[-1]) for records in drawn} == {0, 1}, "the query's own label is a coin"
    assert len({records.X[:-1].tobytes() for records in drawn}) == 30
    assert all(set(records.X[:-1, 0]) <= set(X[:, 0]) for records in drawn)
    drawn.clear()
    labeller(GibbsStage(2_000, 2_000, 1, 1.0), public=np.array([[6.0]])).decide(np.array([5.5]))
    assert drawn[0].size == 2_000, "over a public class all records, and not the query"


def test_what_the_caller_does_to_the_table_afterwards_changes_nothing() -> None:
    mine = X.copy()
    found = gibbs_labels(Thresholds(), InMemory(mine, Y), None, GibbsStage(2_000, 500, 1, 5.0), SeededEntropy(0))
    mine[:] = -100.0
    assert found.decide(np.array([1.0])) == 0


def test_what_one_answer_costs() -> None:
    fixed = gibbs_event(GibbsStage(2_000, 2_000, 1, 0.5), FIXED, 1, None)
    assert isinstance(fixed, BoundedRangeEvent)
    assert 1.0 < fixed.epsilon == pytest.approx(1.0, rel=1e-6)
    sampled = gibbs_event(GibbsStage(2_000, 200, 1, 0.5), Thresholds(), 1, None)
    assert isinstance(sampled, PureEvent)
    exact = math.log1p(0.1 * ((1.0 + math.exp(0.5)) ** 2 - 1.0))
    assert exact < sampled.epsilon == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("hypotheses", [FIXED, Thresholds()])
def test_answers_compose(hypotheses: HypothesisClass) -> None:
    def stated(queries: int, delta: float) -> float:
        stage = GibbsStage(2_000, 2_000 if hypotheses.is_fixed else 20, queries, 0.01)
        return gibbs_guarantee(stage, hypotheses, 1, None, delta).epsilon

    assert stated(3, 0.0) == pytest.approx(3.0 * stated(1, 0.0), rel=1e-9)
    assert stated(2_000, 1e-6) < 0.5 * stated(2_000, 0.0)


def test_stages_that_do_not_belong_to_the_class_are_refused() -> None:
    with pytest.raises(ParameterError, match="2000 records in each draw over a public class"):
        gibbs_guarantee(GibbsStage(2_000, 10, 1, 0.1), FIXED, 1, None, 0.0)
    with pytest.raises(ParameterError, match="a plan for 2000 records"):
        labeller(GibbsStage(10, 10, 1, 0.1))


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
@pytest.mark.parametrize("queries", [1, 40])
@pytest.mark.parametrize("public", [None, 50])
def test_plans_use_up_epsilon_and_no_more(epsilon: float, queries: int, public: int | None) -> None:
    shown = None if public is None else np.linspace(0.0, 10.0, public)[:, None]
    release = GibbsPrediction(Thresholds(), epsilon=epsilon, queries=queries)
    plan = release.plan(records=100_000, features=1, public=shown)
    assert plan.guarantee.within(epsilon, 1e-6)
    assert plan.guarantee.epsilon > 0.94 * epsilon
    assert plan.guarantee.is_pure or queries > 1
    assert (plan.draws.subsample == 100_000) == (public is not None) or epsilon == 6.0
    assert plan.remaining == Usage(queries, None)


def test_a_budget_that_allows_no_draw_is_refused() -> None:
    with pytest.raises(InfeasiblePlan, match="no draw for each of m = 5 queries keeps to"):
        GibbsPrediction(Thresholds(), epsilon=0.01, queries=5).plan(records=50, features=1)


def test_large_classes_stay_within_what_their_sampler_holds() -> None:
    plan = GibbsPrediction(Halfspaces(), epsilon=1.0).plan(records=1_000_000, features=2)
    assert plan.draws.subsample < (Halfspaces().largest_support or 0)


def test_the_estimator_answers_what_was_paid_for() -> None:
    release = clone(GibbsPrediction(Thresholds(), epsilon=4.0, queries=3, classes=("low", "high"), entropy=0))
    release.fit(X, np.array(["low", "high"])[Y])
    assert release.predict([[1.0], [9.0]]).tolist() == ["low", "high"]
    assert release.preview([[1.0], [2.0], [3.0]]).certain == 2
    assert release.answer([1.0]).kind == "repeated"
    assert release.answer([0.5]).remaining == Usage(0, None)
    with pytest.raises(BudgetExhausted):
        release.answer([0.7])
    assert (release.queries_answered_, release.unstable_remaining_) == (3, None)


def test_one_answer_is_right_where_the_records_are_clear() -> None:
    """A threshold on the real line, 2,000 records, pure ε = ½: 40 releases of one answer each; a coin: 10⁻⁹."""
    right = sum(
        GibbsPrediction(Thresholds(), epsilon=0.5, entropy=seed).fit(X, Y).answer([9.0 - 8.0 * (seed % 2)]).label
        == 1 - seed % 2
        for seed in range(40)
    )
    assert right >= 39


def test_several_labels_over_a_public_class() -> None:
    schema = Schema.from_dict({"columns": [{"name": "x", "kind": "numeric", "bounds": [0, 10]}]})
    release = GibbsPrediction(DecisionTrees(depth=2), epsilon=8.0, queries=2, classes=("a", "b", "c"), entropy=0)
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [3.0, 7.0])]
    release.fit({"x": X[:, 0]}, labels, schema=schema)
    assert release.predict({"x": [1.0, 9.0]}).tolist() == ["a", "c"]


def test_it_has_secrets_that_go_nowhere(tmp_path: Path) -> None:
    release = GibbsPrediction(Thresholds(), epsilon=2.0).fit(X, Y)
    copy = pickle.loads(pickle.dumps(release))  # noqa: S301
    with pytest.raises(CopyCannotAnswer):
        copy.answer([1.0])
    with pytest.raises(ParameterError, match="drawn from the private records themselves"):
        release.save(tmp_path / "release")
    assert algorithm.AskedRows(np.zeros((4, 1)), 2).shape == (4, 2)
