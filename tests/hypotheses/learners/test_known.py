"""Classifiers of scikit-learn as arrays: the same votes, kept without pickles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier
from support.committees import kept_and_read, partition

from pcqr.data.records import InMemory
from pcqr.errors import ParameterError
from pcqr.hypotheses import Estimators
from pcqr.hypotheses.committees import trained
from pcqr.hypotheses.estimators import has_arrays, restored, written
from pcqr.privacy.entropy import SeededEntropy

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 0.0]
ASKED = RNG.normal(size=(200, 3)) * [1.0, 10.0, 0.1] + [0.0, 5.0, 0.0]
KNOWN = [
    LogisticRegression(C=0.5),
    RidgeClassifier(),
    SGDClassifier(),
    Perceptron(),
    LinearSVC(),
    LinearDiscriminantAnalysis(),
    make_pipeline(StandardScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(with_mean=False), LinearSVC()),
    make_pipeline(StandardScaler(with_std=False), RidgeClassifier()),
    DecisionTreeClassifier(max_depth=3),
    ExtraTreeClassifier(max_depth=2),
]


def labelled(labels: int) -> Any:
    score = X[:, 0] + 0.1 * (X[:, 1] - 5.0) + 0.5 * RNG.normal(size=400)
    return np.clip(np.floor(score + labels / 2), 0, labels - 1).astype(np.int8)


@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("estimator", KNOWN, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_votes_are_those_of_predict(estimator: Any, labels: int) -> None:
    """Parts of forty records, of which some lack a label."""
    y, parts = labelled(labels), partition(400, 10, 0)
    seeds = SeededEntropy(0).below(2**32, 10).tolist()
    committee = trained(Estimators(estimator, labels=labels), InMemory(X, y, labels), parts, SeededEntropy(0))
    expected = np.zeros((200, labels), dtype=np.int64)
    for part, seed in zip(parts, seeds, strict=True):
        own = clone(estimator)
        own.set_params(**{name: seed for name in own.get_params() if name.split("__")[-1] == "random_state"})
        expected[np.arange(200), own.fit(X[part], y[part].astype(np.int64)).predict(ASKED)] += 1
    assert committee.counts(ASKED).tolist() == expected.tolist()
    assert kept_and_read(committee).counts(ASKED).tolist() == expected.tolist()


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("estimator", [LogisticRegression(), DecisionTreeClassifier(max_depth=2)])
def test_failures_and_parts_of_one_label_are_arrays_too(estimator: Any, labels: int) -> None:
    y = np.full(400, labels - 1)
    parts = partition(400, 4, 0)
    records = InMemory(X, y, labels)
    alone = trained(Estimators(estimator, labels=labels), records, parts, SeededEntropy(0))
    assert alone.counts(ASKED)[:, labels - 1].tolist() == [4] * 200
    y[::2] = 0
    broken = Estimators(clone(estimator).set_params(class_weight={0: -1.0, 1: "none"}), labels=labels)
    assert trained(broken, InMemory(X, y, labels), parts).counts(ASKED)[:, 0].tolist() == [4] * 200


@pytest.mark.parametrize("estimator", KNOWN, ids=str)
def test_what_is_written_is_read_again(estimator: Any) -> None:
    assert has_arrays(estimator)
    again = restored(written(estimator))
    assert str(again) == str(estimator)
    assert again.get_params(deep=False).keys() == estimator.get_params(deep=False).keys()


@pytest.mark.parametrize(
    "described",
    [
        {"estimator": "os.system", "parameters": {}},
        {"estimator": "LogisticRegression", "parameters": {"command": "rm"}},
        {"estimator": "Pipeline", "steps": [["a", {"estimator": "Pickle", "parameters": {}}]]},
        {"estimator": "Pipeline"},
        {"estimator": ["LogisticRegression"], "parameters": {}},
    ],
)
def test_nothing_else_is_read(described: Any) -> None:
    with pytest.raises(ParameterError, match="a classifier that pcqr keeps"):
        restored(described)


UNKNOWN = [
    GaussianNB(),
    DecisionTreeClassifier(),
    DecisionTreeClassifier(max_depth=9),
    make_pipeline(MinMaxScaler(), LogisticRegression()),
    make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2)),
]


@pytest.mark.parametrize("estimator", [*UNKNOWN, LogisticRegression(class_weight={0: 1.0, 1: 2.0})], ids=str)
def test_others_are_not_written(estimator: Any) -> None:
    with pytest.raises(ParameterError, match=r"hypotheses must be .* pickles"):
        written(estimator)
