"""Whether a float underflows depends on the records: no error state that a user set may turn that into anything."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from pcqr import (
    AgnosticRelease,
    BudgetExhausted,
    NoisyMaxAggregate,
    PrivateClassifier,
    SemiPrivateLearner,
    SubsampleAggregate,
    UniversalRelease,
)
from pcqr.advice.outlook import look
from pcqr.advice.question import Question, compare
from pcqr.hypotheses import DecisionTrees, Halfspaces, Intervals, Rectangles, Stumps, Thresholds, UnionsOfIntervals
from pcqr.hypotheses.base import HypothesisClass
from pcqr.planner.request import Request

RECORDS = 2_000
Labels = NDArray[np.int64]

PATTERNS: dict[str, Callable[[NDArray[np.float64]], Labels]] = {
    "all 0": lambda X: np.zeros(X.shape[0], dtype=np.int64),
    "a conjunction": lambda X: ((X[:, 0] > 0.3) & (X[:, -1] > 0.4)).astype(np.int64),
    "coins": lambda X: (np.random.default_rng(5).random(X.shape[:1]) < 0.5).astype(np.int64),
}

ESTIMATORS: dict[str, Callable[[], Any]] = {
    "subsample": lambda: SubsampleAggregate(Stumps(), epsilon=4.0, queries=20, entropy=0),
    "agnostic": lambda: AgnosticRelease(Stumps(), epsilon=8.0, queries=20, entropy=0),
    "universal": lambda: UniversalRelease(Stumps(), epsilon=8.0, queries=20, publish_share=0.2, entropy=0),
    "noisy max": lambda: NoisyMaxAggregate(Stumps(), epsilon=8.0, queries=20, entropy=0),
    "semi-private": lambda: SemiPrivateLearner(Stumps(), epsilon=8.0, entropy=0),
    "empirical Bayes": lambda: PrivateClassifier(1.0, entropy=0, classes=(0, 1)),
    "trees": lambda: SemiPrivateLearner(DecisionTrees(depth=2), epsilon=8.0, entropy=0, classes=(0, 1)),
} | {
    method: lambda method=method: PrivateClassifier(8.0, method=method, entropy=0, classes=(0, 1))
    for method in ("tree", "linear", "auto")
}


def run(estimator: Any, y: Labels, X: NDArray[np.float64]) -> tuple[Any, ...]:
    """All that a run shows."""
    rng = np.random.default_rng(1)
    public, queries = rng.random((200, X.shape[1])), rng.random((20, X.shape[1]))
    takes_public = isinstance(estimator, SemiPrivateLearner | PrivateClassifier)
    estimator.fit(X, y, **({"public": public} if takes_public else {}))
    try:
        shown = estimator.predict(queries).tolist()
    except BudgetExhausted as halted:
        shown = list(halted.answers)
    margins = estimator.decision_function(queries).tolist() if hasattr(estimator, "decision_function") else None
    published = estimator.hypothesis_ if getattr(estimator, "is_published_", takes_public) else None
    return estimator.plan_, estimator.guarantee_, shown, margins, published


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_do_not_see_the_error_state_of_the_user(name: str, pattern: str) -> None:
    X = np.random.default_rng(0).random((RECORDS, 2))
    y = PATTERNS[pattern](X)
    expected = run(ESTIMATORS[name](), y, X)
    with np.errstate(all="raise"):
        assert run(ESTIMATORS[name](), y, X) == expected


def test_planning_does_not_see_it_either() -> None:
    question = Question(hypotheses=Thresholds(), records=20_000, epsilon=1.0, queries=200)
    expected = look(question)
    with np.errstate(all="raise"):
        assert look(question) == expected
        assert isinstance(expected.request, Request)
        assert len(compare(expected.request)) == len(expected.options)


CLASSES: dict[str, HypothesisClass] = {
    "thresholds": Thresholds(),
    "intervals": Intervals(),
    "unions": UnionsOfIntervals(2),
    "stumps": Stumps(),
    "rectangles": Rectangles(),
    "halfspaces": Halfspaces(),
    "trees": DecisionTrees(depth=2),
}


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("inverse_temperature", [0.01, 1e5])
def test_samplers_and_learners_do_not_see_it(name: str, pattern: str, inverse_temperature: float) -> None:
    columns = 1 if name in ("thresholds", "intervals", "unions") else 2
    rng = np.random.default_rng(0)
    X, queries = rng.random((60, columns)), rng.random((50, columns))
    y, hypotheses = PATTERNS[pattern](X), CLASSES[name].prepared(queries, None)

    def drawn() -> tuple[Any, ...]:
        draw = hypotheses.draw(X, y, inverse_temperature, entropy=0)
        found = (draw.hypothesis, draw.log_probability, draw.hypothesis.predict(queries).tolist())
        return (*found, hypotheses.learn(X, y).predict(queries).tolist())

    expected = drawn()
    with np.errstate(all="raise"):
        assert drawn() == expected
