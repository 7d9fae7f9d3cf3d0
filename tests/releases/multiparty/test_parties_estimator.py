"""A student of soft votes behind an estimator: what it plans, draws, publishes and refuses."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

from pcqr import InfeasiblePlan, MultipartyClassifier, ParameterError, Schema, registry
from pcqr.data.records import InMemory
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.vectors import ColumnVectors
from pcqr.hypotheses import LogisticTeachers, Stumps
from pcqr.mechanisms.exponential import PUBLIC_POINTS
from pcqr.models import PublishedModel
from pcqr.privacy.entropy import SeededEntropy
from pcqr.releases.multiparty import run as algorithm
from pcqr.releases.multiparty.plan import PartiesStage
from pcqr.releases.multiparty.run import curvature_of, parties_guarantee, published_student, unit_vectors, whole_weights
from pcqr.releases.subsample.run import Teachers

RNG = np.random.default_rng(0)
X, PUBLIC = RNG.normal(size=(4_000, 2)), RNG.normal(size=(300, 2))
Y = (X[:, 0] > 0.3).astype(np.int64)
MAP = FeatureMap(ColumnVectors((0.0, 0.0), (256.0, 256.0), 2, constant=256), None, 256)
VECTORS = unit_vectors(MAP, PUBLIC)
PLAN = PartiesStage(4_000, 100, 300, 3, 0.1, curvature_of(VECTORS), 20, 2.0**20, 2**24)


def made(**given: Any) -> MultipartyClassifier:
    return MultipartyClassifier(**({"entropy": 0} | given))


def test_it_learns_and_publishes() -> None:
    classifier = made(epsilon=2.0).fit(X, Y, public=PUBLIC)
    assert classifier.score(X, Y) > 0.9
    assert (classifier.decision_function(X) > 0).tolist() == (classifier.predict(X) == 1).tolist()
    assert classifier.guarantee_.proof == "parties"
    assert PUBLIC_POINTS in classifier.guarantee_.assumptions
    model = PublishedModel.from_learner(classifier)
    assert PublishedModel.from_json(model.to_json()) == model
    assert model.predict(X[:50]).tolist() == classifier.predict(X[:50]).tolist()
    assert "soft votes of" in model.provenance.hypotheses
    assert dict(model.provenance.settings)["parties"] == classifier.plan_.student.parties
    assert model.provenance.predicates


def test_several_labels_and_any_teacher() -> None:
    y = np.array(["low", "middle", "high"])[Y + (X[:, 0] > 1.0)]
    tree = DecisionTreeClassifier(max_depth=3)
    classifier = made(hypotheses=tree, epsilon=4.0, classes=("low", "middle", "high")).fit(X, y, public=PUBLIC)
    assert classifier.score(X, y) > 0.7
    assert classifier.decision_function(X[:4]).shape == (4, 3)


@pytest.mark.parametrize("penalty", [1.7e308, 1e300, 5e-324, 1e-300])
def test_a_penalty_that_cannot_be_computed_with_is_refused(penalty: float) -> None:
    with pytest.raises(ParameterError, match="penalty"):
        made(penalty=penalty).plan(4_000, public=PUBLIC)


@pytest.mark.parametrize("given", [{"epsilon": 1.7e308}, {"epsilon": 1e-300}, {"delta": 1e-300}, {"penalty": 1e15}])
def test_a_plan_is_made_or_refused_whatever_the_numbers(given: dict[str, float]) -> None:
    with suppress(InfeasiblePlan, ParameterError):
        made(**given).plan(4_000, public=PUBLIC)


def test_the_plan_is_made_of_public_things_alone() -> None:
    classifier = made(epsilon=0.5)
    planned = classifier.plan(4_000, public=PUBLIC)
    fitted = clone(classifier).fit(X, Y, public=PUBLIC).plan_
    assert planned.student == fitted.student
    assert not {"_known", "_map"} & vars(classifier).keys()
    other = made(epsilon=0.5).fit(np.full_like(X, 7.5), 1 - Y, public=PUBLIC).plan_
    assert other.student == fitted.student


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 8.0])
@pytest.mark.parametrize("delta", [1e-6, 1e-11])
@pytest.mark.parametrize("penalty", [None, 1e-3, 1e3])
def test_plans_keep_the_budget_with_no_more_noise_than_needed(
    epsilon: float, delta: float, penalty: float | None
) -> None:
    stage = made(epsilon=epsilon, delta=delta, penalty=penalty).plan(4_000, public=PUBLIC).student
    stated = parties_guarantee(stage, delta)
    assert stated.within(epsilon, delta)
    assert stated.epsilon > 0.9999 * epsilon
    assert penalty in (None, stage.penalty)


def test_more_strength_is_for_fewer_parties_and_a_smaller_penalty() -> None:
    weak, strong = (made(epsilon=epsilon).plan(30_000, public=PUBLIC).student for epsilon in (0.1, 2.0))
    assert weak.parties > strong.parties
    assert weak.penalty > strong.penalty
    assert weak.scale / weak.grid == pytest.approx(strong.scale / strong.grid, rel=1e-3), "a tenth"


def test_the_published_weights_are_those_of_the_votes_with_one_draw_each(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = []

    def draws(scale: float, size: int, _: object) -> Any:
        drawn.append((scale, size))
        return np.arange(size)

    monkeypatch.setattr(algorithm, "discrete_gaussians", draws)
    records, hypotheses = InMemory(X, Y.astype(np.int8)), LogisticTeachers()
    linear = published_student(hypotheses, MAP, records, PUBLIC, PLAN, SeededEntropy(3))
    assert drawn == [(PLAN.scale, 3)]
    counts = Teachers(hypotheses, records, PLAN.parties, SeededEntropy(3)).counts(PUBLIC)
    expected = (whole_weights(VECTORS, counts, PLAN) + np.arange(3)) / PLAN.grid
    assert np.array(linear.weights) == pytest.approx(expected, abs=2.0**-20)


def test_a_plan_for_something_else_is_refused_before_anything_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        raise AssertionError

    monkeypatch.setattr(algorithm, "Teachers", never)
    records = InMemory(X, Y.astype(np.int8))
    for plan, message in (
        (replace(PLAN, labels=3), "2 labels"),
        (replace(PLAN, records=5_000), "4000 records"),
        (replace(PLAN, points=299), "300 points"),
        (replace(PLAN, coordinates=4), "length 3"),
        (replace(PLAN, curvature=0.9 * PLAN.curvature), "curvature"),
    ):
        with pytest.raises(ParameterError, match=message):
            published_student(Stumps(), MAP, records, PUBLIC, plan, SeededEntropy(0))


def test_what_is_refused() -> None:
    for given, error, message in (
        ({"delta": 0.0}, ParameterError, "delta"),
        ({"parties": 0}, ParameterError, "parties"),
        ({"penalty": -1.0}, ParameterError, "penalty"),
        ({"parties": 4_001}, InfeasiblePlan, "records"),
    ):
        with pytest.raises(error, match=message):
            made(**given).fit(X, Y, public=PUBLIC)
    with pytest.raises(ParameterError, match="public rows"):
        made().fit(X, Y)
    with pytest.raises(ParameterError, match="public rows"):
        made().fit({"a": X[:, 0]}, Y, schema=Schema.from_public({"a": PUBLIC[:, 0]}))


def test_the_registry_knows_it() -> None:
    assert registry.algorithm("Hamm-Cao-Belkin").estimator_name == "MultipartyClassifier"
    assert registry.algorithm("parties").publishes
