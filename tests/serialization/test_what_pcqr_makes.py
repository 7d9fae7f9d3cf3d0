"""Whatever pcqr itself plans, draws, publishes and answers can be written down and read again."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pytest

from pcqr import (
    AgnosticRelease,
    Answer,
    Guarantee,
    NoisyMaxAggregate,
    Plan,
    PrivateClassifier,
    SemiPrivateLearner,
    SubsampleAggregate,
    UniversalRelease,
)
from pcqr.hypotheses import (
    DecisionTrees,
    Finite,
    Halfspaces,
    Intervals,
    Rectangles,
    Stumps,
    Thresholds,
    UnionsOfIntervals,
)
from pcqr.hypotheses.base import Hypothesis, HypothesisClass
from pcqr.hypotheses.thresholds import Threshold
from pcqr.privacy.composition import Stage
from pcqr.releases.classifier.plan import ComparisonStage, LeafCountsStage, LinearStage
from pcqr.releases.protocol.answers import BatchCost
from pcqr.releases.protocol.stages import DrawStage
from pcqr.serialization import Document

GENERATOR = np.random.default_rng(0)
X = GENERATOR.normal(size=(300, 2))
Y = (X[:, 0] > 0).astype(int)
PUBLIC = GENERATOR.normal(size=(40, 2))
RELEASES: tuple[Any, ...] = (SubsampleAggregate, AgnosticRelease, UniversalRelease)


def assert_kept(family: type[Document], value: Any) -> None:
    text = value.to_json()
    again = family.from_json(text)
    assert again == value
    assert again.to_json() == text


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(("mode", "records"), [("calibrated", 10**5), ("paper", 10**13)])
def test_plans_of_releases(release: Any, mode: str, records: int) -> None:
    plan = release(Thresholds(), epsilon=0.9, queries=50, mode=mode).plan(records, 1)
    assert_kept(Plan, plan)
    assert_kept(Guarantee, plan.guarantee)


def test_plans_of_peers() -> None:
    assert_kept(Plan, NoisyMaxAggregate(Thresholds(), epsilon=1.0, queries=50).plan(20_000, 1))


@pytest.mark.parametrize(
    ("method", "epsilon", "kinds"),
    [
        ("tree", 2.0, {DrawStage, LeafCountsStage}),
        ("linear", 2.0, {LinearStage}),
        ("auto", 20.0, {DrawStage, LinearStage}),
        ("auto", 600.0, {DrawStage, LinearStage, ComparisonStage}),
    ],
)
def test_classifiers_that_are_published_at_once(
    method: Literal["auto", "tree", "linear"], epsilon: float, kinds: set[type[Stage]]
) -> None:
    learner = PrivateClassifier(epsilon=epsilon, delta=1e-6, method=method, entropy=0).fit(X, Y, public=PUBLIC)
    assert set(map(type, learner.plan_.stage.within())) == kinds
    assert_kept(Plan, learner.plan_)
    assert_kept(Hypothesis, learner.hypothesis_)
    assert_kept(Guarantee, learner.guarantee_)


def test_more_than_two_labels() -> None:
    labels = np.arange(300) % 3
    learner = PrivateClassifier(epsilon=2.0, delta=1e-6, method="linear", entropy=0).fit(X, labels, public=PUBLIC)
    assert_kept(Plan, learner.plan_)
    assert_kept(Hypothesis, learner.hypothesis_)


@pytest.mark.parametrize(
    "hypotheses",
    [
        Thresholds("both"),
        Intervals(),
        UnionsOfIntervals(2),
        Stumps(),
        Rectangles(),
        Halfspaces(),
        DecisionTrees(depth=1),
        Finite([Threshold(0.0), Threshold(1.0, up=False)]),
    ],
    ids=lambda hypotheses: type(hypotheses).__name__,
)
def test_what_is_drawn_and_what_is_learned(hypotheses: HypothesisClass) -> None:
    width = 1 if hypotheses.features == 1 or isinstance(hypotheses, Finite) else 2
    ready = hypotheses.prepared(PUBLIC, None)
    for hypothesis in (
        ready.learn(X[:40, :width], Y[:40]),
        *(
            ready.sample(X[:40, :width], Y[:40], eta, public=PUBLIC[:, :width], entropy=seed)
            for eta in (0, 9)
            for seed in (1, 2)
        ),
    ):
        assert_kept(Hypothesis, hypothesis)
    if isinstance(hypotheses, Intervals):
        learner = SemiPrivateLearner(hypotheses, epsilon=1.0, entropy=0).fit(X[:, :1], Y, public=PUBLIC[:, :1])
        assert_kept(Plan, learner.plan_)


@pytest.mark.parametrize("names", [("no", "yes"), (0, 1), (-1.5, 2.0)])
def test_answers_and_what_they_will_cost(names: tuple[Any, Any]) -> None:
    labels = np.array(names)[Y]
    release = SubsampleAggregate(Stumps(), epsilon=50.0, queries=20, entropy=0, classes=names).fit(X, labels)
    assert_kept(BatchCost, release.preview(X[:5]))
    answers = [release.answer(x) for x in X[:5]]
    assert {answer.label for answer in answers} & set(names)
    for answer in answers:
        assert_kept(Answer, answer)
