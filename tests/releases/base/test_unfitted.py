"""Before `fit`, and after one that failed, nothing answers and nothing is said of a release."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from support.releases import ALL, RELEASES

from pcqr import ConfidentMaxAggregate, MultipartyClassifier, NoisyMaxAggregate, PrivateClassifier, UniversalRelease
from pcqr.errors import ParameterError
from pcqr.hypotheses import Thresholds

X = np.linspace(0.0, 1.0, 50)[:, None]
QUESTIONS: dict[str, Callable[[Any], object]] = {
    "answer": lambda estimator: estimator.answer(X[0]),
    "predict": lambda estimator: estimator.predict(X),
    "preview": lambda estimator: estimator.preview(X),
    "queries_answered_": lambda estimator: estimator.queries_answered_,
    "unstable_remaining_": lambda estimator: estimator.unstable_remaining_,
}
VOTING: list[type[Any]] = [*RELEASES, NoisyMaxAggregate, ConfidentMaxAggregate]


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("release", VOTING)
def test_a_release_that_was_not_fitted_answers_nothing(release: type[Any], question: str) -> None:
    with pytest.raises(NotFittedError):
        QUESTIONS[question](release(Thresholds()))


@pytest.mark.parametrize("learner", [*ALL, MultipartyClassifier, NoisyMaxAggregate, PrivateClassifier])
def test_a_fit_that_failed_leaves_nothing_that_predicts(learner: type[Any]) -> None:
    estimator = learner(epsilon=-1.0)
    with pytest.raises(ParameterError, match="epsilon"):
        estimator.fit(X, (X[:, 0] > 0.5).astype(int))
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    assert not hasattr(estimator, "guarantee_")


def test_a_universal_release_that_was_not_fitted_has_published_nothing() -> None:
    for name in ("is_published_", "hypothesis_"):
        with pytest.raises(NotFittedError):
            getattr(UniversalRelease(Thresholds()), name)


@pytest.mark.parametrize("question", ["decision_function", "predict_proba", "predict_log_proba"])
@pytest.mark.parametrize("method", ["auto", "tree", "linear"])
def test_probabilities_exist_before_fit_and_after_one_that_failed(method: Any, question: str) -> None:
    """Tools of scikit-learn look for the methods before they fit."""
    classifier = PrivateClassifier(1.0, method=method)
    ask = getattr(classifier, question)
    with pytest.raises(NotFittedError):
        ask(X)
    with pytest.raises(ValueError, match="one label"):
        classifier.fit(X, None)
    with pytest.raises(NotFittedError):
        ask(X)
