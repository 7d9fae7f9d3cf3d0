"""Models from fitted learners: what `PrivateClassifier` published, with public facts alone."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from pcqr.algorithms.contest import contest_guarantee
from pcqr.algorithms.counted import counted_guarantee
from pcqr.algorithms.piloted import piloted_guarantee
from sklearn.base import BaseEstimator

from pcqr import AssumePublic, Guarantee, ParameterError
from pcqr.algorithms.linear import linear_guarantee
from pcqr.estimators.private_classifier import PrivateClassifier
from pcqr.hypotheses import DecisionTrees
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.models import PublishedModel
from pcqr.plan import (
    Budget,
    ContestStage,
    CountedStage,
    LinearStage,
    PilotedPlan,
    PilotedStage,
    StackedStage,
)
from pcqr.records.branching import Leaf, Split
from pcqr.records.feature_map import FeatureMap
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import PredicateVectors

GENERATOR = np.random.default_rng(0)
COLOUR = np.where(GENERATOR.random(600) < 0.5, "red", "blue")
FRAME = pd.DataFrame({"x": GENERATOR.normal(size=600).round(1), "colour": COLOUR})
Y = np.where((COLOUR == "red") | (FRAME["x"] > 1.0), "yes", "no")
NUMBERS = GENERATOR.integers(0, 2, (600, 5)).astype(np.float64)
PUBLIC = FRAME[:60].reset_index(drop=True).copy()


def fitted(method: str) -> PrivateClassifier:
    epsilon = 8.0 if method == "counted" else 2.0  # no label is rare among 600 records
    classifier = PrivateClassifier(epsilon, 1e-6, method=method, entropy=4, classes=("no", "yes"))  # type: ignore[arg-type]
    return classifier.fit(FRAME, Y, public=AssumePublic(PUBLIC))


@pytest.mark.parametrize(
    ("method", "kind", "drawn_from"),
    [
        ("tree", "decision-tree", "decision trees of depth "),
        ("linear", "linear", "linear classifiers over "),
        ("asked", "decision-tree", "trees of depth "),
        ("counted", "linear", "a tree of depth "),
    ],
)
def test_every_method_gives_a_model(method: str, kind: str, drawn_from: str) -> None:
    learner = fitted(method)
    model = PublishedModel.from_learner(learner)
    assert model.kind.name == kind
    assert model.hypothesis == learner.hypothesis_, "kept as it was drawn"
    assert model.predict(FRAME).tolist() == learner.predict(FRAME).tolist()
    assert model.guarantee == learner.guarantee_
    assert not model.guarantee.is_private, "seeded"
    assert "NOT PRIVATE" in model.card()
    assert model.provenance.hypotheses.startswith(drawn_from)
    assert (model.provenance.records, model.provenance.public_rows) == (600, 60)
    assert PublishedModel.from_json(model.to_json()) == model
    if learner.method_ != "tree":
        np.testing.assert_array_equal(model.decision_function(FRAME), learner.decision_function(FRAME))


def test_the_guarantee_can_be_recomputed_from_the_file() -> None:
    linear = PublishedModel.from_json(PublishedModel.from_learner(fitted("linear")).to_json())
    stage = LinearStage(**dict(linear.provenance.settings))  # type: ignore[arg-type]
    assert linear_guarantee(stage, 1e-6).epsilon == linear.guarantee.epsilon


def test_the_guarantee_of_a_counted_head_can_be_recomputed_from_the_file() -> None:
    """Its own questions are in the linear classifier, those of the tree beside it in the provenance."""
    learner = fitted_on_numbers("counted", 40.0)
    assert learner.method_ == "linear", "both labels are common"
    model = PublishedModel.from_json(PublishedModel.from_learner(learner).to_json())
    found: dict[str, Any] = dict(model.provenance.settings)
    trees = DecisionTrees(predicates=model.provenance.predicates)
    otherwise = taken_stacked(found, "otherwise_")
    plan = CountedStage(careful=LinearStage(**taken(found, "careful_")), otherwise=otherwise, **found)
    assert counted_guarantee(plan, trees, learner.n_features_in_, 1e-6).epsilon == model.guarantee.epsilon
    assert model.provenance.hypotheses == (
        f"a tree of depth {plan.depth} where one label is rare, a linear classifier over {plan.careful.dense} dense coordinates "
        f"where one is uncommon, by a private count; else linear classifiers over up to {otherwise.linear.dense} dense coordinates "
        f"beside a tree of depth {otherwise.depth}"
    )
    assert isinstance(learner.hypothesis_, LinearClassifier)
    assert learner.hypothesis_.feature_map.tree is not None
    assert "It asks the tree first" in model.rules()


def test_the_guarantee_of_a_contest_can_be_recomputed_from_the_file() -> None:
    model = PublishedModel.from_json(PublishedModel.from_learner(fitted_on_numbers("asked", 10.0)).to_json())
    found: dict[str, Any] = dict(model.provenance.settings)
    trees = DecisionTrees(predicates=model.provenance.predicates)
    pilot, linear = (LinearStage(**taken(found, f"{part}_")) for part in ("pilot", "linear"))
    plan = ContestStage(pilot=pilot, linear=linear, **found)
    assert contest_guarantee(plan, trees, 5, 1e-6).epsilon == model.guarantee.epsilon
    assert model.provenance.hypotheses == (
        f"trees of depth {plan.depth}, or linear classifiers over {linear.dense} dense coordinates, as a pilot compares with trees"
    )


def fitted_on_numbers(method: Literal["asked", "counted"], epsilon: float) -> PrivateClassifier:
    """On five columns of which the majority decides."""
    learner = PrivateClassifier(epsilon, 1e-6, method=method, entropy=1, classes=("no", "yes"))
    return learner.fit(NUMBERS, np.where(NUMBERS.sum(axis=1) > 2, "yes", "no"), public=NUMBERS[:60] + 1e-9)


def taken_stacked(found: dict[str, Any], start: str) -> StackedStage:
    linear = LinearStage(**taken(found, f"{start}head_"))
    return StackedStage(linear=linear, **taken(found, start))


def taken(found: dict[str, Any], start: str) -> dict[str, Any]:
    """What is named `start` and more, taken out of `found`, by the rest of its name."""
    return {name.removeprefix(start): found.pop(name) for name in list(found) if name.startswith(start)}


class Plain(BaseEstimator):  # type: ignore[misc]
    def fit(self) -> None: ...


def test_any_learner_with_these_attributes_will_do() -> None:
    predicates = (Predicate(0, 0.5),)
    learner: Any = Plain()
    features = FeatureMap(PredicateVectors(predicates, (256,), (0,), 2), None, 256)
    learner.hypothesis_ = LinearClassifier.of(features, 2, np.array([[1.0, -0.5]]), np.zeros((1, 0, 1)))
    learner.hypotheses_ = DecisionTrees(predicates=predicates)
    learner.classes_, learner.schema_, learner.guarantee_ = np.array([0, 1]), None, Guarantee(1.0, 1e-6)
    learner.plan_, learner.n_features_in_, learner.n_records_, learner.n_public_ = "a plan", 2, 10, None
    model = PublishedModel.from_learner(learner)
    assert model.schema.names == ("x0", "x1")
    assert model.predict(np.array([[1.0, 0.0], [0.0, 0.0]])).tolist() == [1, 0]
    assert model.provenance.public_rows == 0
    features = features.beside(Split(Predicate(1, 3.0), Leaf(0), Leaf(1)), None, 0.0)
    learner.hypothesis_ = LinearClassifier.of(features, 2, np.ones((1, 3)), np.zeros((1, 0, 1)))
    beside = PublishedModel.from_learner(learner)
    assert beside.provenance.predicates == model.provenance.predicates == predicates, "the tree is no column"
    assert PublishedModel.from_json(beside.to_json()) == beside
    del learner.hypothesis_
    with pytest.raises(ParameterError, match="learner must be a PrivateClassifier"):
        PublishedModel.from_learner(learner)


def test_the_guarantee_of_a_piloted_linear_can_be_recomputed_from_the_file() -> None:
    plain, mixed, ferned = (
        LinearStage(10_000, 40, ferns, depth, share, 50, 2**20, 2.0**27, 0.9, 0.001)
        for ferns, depth, share in ((0, 0, 256), (10, 5, 128), (20, 6, 13))
    )
    stage = PilotedStage((plain, ferned), 2.0**25, -80, 0, (plain, mixed, ferned))
    guarantee = piloted_guarantee(stage, 1e-6)
    learner = fitted("linear")
    learner.plan_ = PilotedPlan(mode="calibrated", budget=Budget(1.0, 1e-6), guarantee=guarantee, piloted=stage)
    model = PublishedModel.from_json(PublishedModel.from_learner(learner).to_json())
    assert (
        model.provenance.hypotheses
        == "linear classifiers with up to 20 ferns of up to 6 questions, as two pilots compare privately"
    )
    found: dict[str, Any] = dict(model.provenance.settings)
    parts: dict[str, Any] = {}
    for kind, count in (("pilots", 2), ("linears", 3)):
        parts[kind] = tuple(LinearStage(**taken(found, f"{kind}_{place}_")) for place in range(count))
    assert piloted_guarantee(PilotedStage(**parts, **found), 1e-6).epsilon == guarantee.epsilon
