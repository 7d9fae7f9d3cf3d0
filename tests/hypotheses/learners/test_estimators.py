"""Any scikit-learn classifier as a teacher: its own part, its own coins, and nothing said about how it went."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pcqr.data.records import InMemory
from pcqr.errors import ParameterError
from pcqr.hypotheses import Estimators
from pcqr.hypotheses.committees import Committee, trained
from pcqr.privacy.entropy import SeededEntropy, seeded_generators
from pcqr.progress import reporting

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=120) > 0).astype(np.int8) + (X[:, 1] > 0.7)
PARTS = np.array_split(SeededEntropy(1).permutation(120), 8)
ASKED = RNG.normal(size=(40, 3))
FOREST = RandomForestClassifier(n_estimators=3, max_depth=2, max_features=1)


def taught(estimator: Any, records: InMemory | None = None, seed: int = 0, **parameters: Any) -> Committee:
    held = InMemory(X, Y, 3) if records is None else records
    return trained(Estimators(estimator, labels=held.labels, **parameters), held, PARTS, SeededEntropy(seed))


class Odd(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Says what its part has most of, and misbehaves on parts with a first record of positive first feature."""

    def __init__(self, how: str = "raise") -> None:
        self.how = how

    def fit(self, X: NDArray[np.float64], y: NDArray[np.int64]) -> Odd:
        self.bad_, self.label_ = bool(X[0, 0] > 0), np.bincount(y).argmax()
        if self.bad_ and self.how == "raise":
            raise ValueError("a private value: 0.731")
        if self.how == "warn":
            warnings.warn("a private value: 0.731", stacklevel=1)
        self.drawn_ = (np.random.random(3 if self.bad_ else 1)[-1], random.random()) if self.how == "draw" else None  # noqa: NPY002, S311
        return self

    def predict(self, X: NDArray[np.float64]) -> Any:
        if self.how == "warn":
            warnings.warn("a private value: 0.731", stacklevel=1)
        if self.bad_ and self.how == "raise when asked":
            raise ValueError("a private value: 0.731")
        if self.drawn_ is not None:
            return np.full(len(X), int(sum(self.drawn_) > 1.0))
        return np.full(len(X), 7 if self.bad_ and self.how == "another label" else self.label_)


def test_each_teacher_is_a_clone_fitted_on_its_part_with_its_own_random_state() -> None:
    seeds = SeededEntropy(0).below(2**32, len(PARTS)).tolist()
    votes = [
        clone(FOREST).set_params(random_state=seed).fit(X[part], Y[part]).predict(ASKED)
        for part, seed in zip(PARTS, seeds, strict=True)
    ]
    expected = np.stack([(np.stack(votes) == label).sum(axis=0) for label in range(3)], axis=1)
    assert taught(FOREST).counts(ASKED).tolist() == expected.tolist()
    assert taught(FOREST, seed=1).counts(ASKED).tolist() != expected.tolist()


SEQUENTIAL = ("sequential", 1)
ELSEWHERE = [pytest.param((backend, 2), marks=pytest.mark.slow) for backend in ("loky", "multiprocessing")]
"""Processes take their time to start."""


@pytest.mark.parametrize("backend", [SEQUENTIAL, ("threading", 2), *ELSEWHERE])
def test_votes_do_not_depend_on_who_trains(backend: tuple[str, int]) -> None:
    expected = taught(FOREST, n_jobs=1).counts(ASKED).tolist()
    with joblib.parallel_config(backend[0], n_jobs=backend[1]):
        assert taught(FOREST).counts(ASKED).tolist() == expected


def test_random_states_within_pipelines_are_set_too() -> None:
    inside = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=2, max_depth=2, max_features=1))
    assert taught(inside).counts(ASKED).tolist() == taught(inside).counts(ASKED).tolist()
    assert taught(inside).counts(ASKED).tolist() != taught(inside, seed=1).counts(ASKED).tolist()


@pytest.mark.parametrize("estimator", [DecisionTreeClassifier(), LogisticRegression(), Odd("raise"), Odd("draw")])
def test_another_record_changes_one_vote_at_most(estimator: Any) -> None:
    before = taught(estimator).counts(ASKED)
    for record in range(0, 120, 17):
        other = X.copy()
        other[record] *= -1.0
        after = taught(estimator, InMemory(other, Y, 3)).counts(ASKED)
        assert np.abs(after - before).sum(axis=1).max() <= 2
        assert after.sum(axis=1).tolist() == [8] * 40


@pytest.mark.parametrize("how", ["raise", "raise when asked", "another label"])
def test_who_fails_casts_the_fixed_vote(how: str) -> None:
    labels = np.where(np.arange(120) % 2 == 0, 1, 2)  # no record says 0
    bad = sum(bool(X[part][0, 0] > 0) for part in PARTS)
    assert 0 < bad < 8
    counts = taught(Odd(how), InMemory(X, labels, 3)).counts(ASKED)
    assert counts[:, 0].tolist() == [bad] * 40


def test_a_part_of_one_label_says_that_label() -> None:
    """Where scikit-learn's own linear models refuse to learn."""
    counts = taught(LogisticRegression(), InMemory(X, np.full(120, 2), 3)).counts(ASKED)
    assert counts.tolist() == [[0, 0, 8]] * 40


@pytest.mark.parametrize("backend", [SEQUENTIAL, ("threading", 2), *ELSEWHERE])
def test_nothing_is_warned_of(backend: tuple[str, int], capfd: pytest.CaptureFixture[str]) -> None:
    """Warnings are errors in these tests: one that got out of a teacher would be its fixed vote, or end the fit."""
    labels = np.full(120, 2)
    labels[::2] = 1
    with joblib.parallel_config(backend[0], n_jobs=backend[1]):
        counts = taught(Odd("warn"), InMemory(X, labels, 3)).counts(ASKED)
    assert counts[:, 0].tolist() == [0] * 40
    assert "0.731" not in "".join(capfd.readouterr())


def test_nothing_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    taught(make_pipeline(RandomForestClassifier(n_estimators=2, verbose=3), verbose=True))
    assert capfd.readouterr() == ("", "")


def test_nothing_is_cached_on_disk(tmp_path: Path) -> None:
    """A pipeline's cache would hold private rows, and teachers would share it."""
    taught(make_pipeline(StandardScaler(), LogisticRegression(), memory=str(tmp_path)))
    assert list(tmp_path.iterdir()) == []


def test_global_generators_are_the_teachers_own_and_are_put_back() -> None:
    with seeded_generators(0):
        expected = np.random.random(), random.random()  # noqa: NPY002, S311
    with seeded_generators(0):
        votes = taught(Odd("draw")).counts(ASKED).tolist()
        assert (np.random.random(), random.random()) == expected  # noqa: NPY002, S311
    with seeded_generators(7):
        assert taught(Odd("draw")).counts(ASKED).tolist() == votes


def test_the_classifier_that_is_handed_in_is_left_alone() -> None:
    estimator = LogisticRegression()
    teachers = Estimators(estimator)
    estimator.C = 1e-9
    assert teachers.estimator.C == 1.0
    taught(estimator)
    assert not hasattr(estimator, "coef_")


def test_progress_is_told() -> None:
    told = []
    with reporting(lambda progress: told.append((progress.stage, progress.done, progress.total))):
        taught(DecisionTreeClassifier())
    assert told[0] == ("teachers", 0, 8)
    assert told[-1] == ("teachers", 8, 8)


def test_one_teacher_learns_by_itself() -> None:
    hypotheses = Estimators(DecisionTreeClassifier(), labels=3)
    assert hypotheses.learn(X, Y).predict(X).tolist() == Y.tolist()


@pytest.mark.parametrize(
    "call",
    [
        lambda teachers: teachers.vc_dimension,
        lambda teachers: teachers.vc_bound(3),
        lambda teachers: teachers.log_growth(3),
        lambda teachers: teachers.log_probability_error(10, 1.0),
        lambda teachers: teachers.enumerate(X),
        lambda teachers: teachers.sample(X, Y, 1.0, entropy=0),
    ],
)
def test_a_class_that_only_learns_says_so(call: Any) -> None:
    with pytest.raises(ParameterError, match="it only learns"):
        call(Estimators(LogisticRegression(), labels=3))


@pytest.mark.parametrize("wrong", [LinearRegression(), LogisticRegression, "logistic", None, StandardScaler()])
def test_what_is_no_classifier_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="estimator must be a scikit-learn classifier"):
        Estimators(wrong)


@pytest.mark.parametrize("parameters", [{"labels": 1}, {"labels": 128}, {"dimension": 0}])
def test_numbers_outside_their_range_are_refused(parameters: dict[str, int]) -> None:
    with pytest.raises(ParameterError):
        Estimators(LogisticRegression(), **parameters)


def test_a_classifier_that_always_fails_is_refused_on_made_up_records() -> None:
    with pytest.raises(ParameterError, match="which raises InvalidParameterError: The 'C' parameter"):
        Estimators(LogisticRegression(C=-1.0)).check_work([(50, 9)], 2)
    Estimators(LogisticRegression(), labels=5).check_work([(50, 9), (1, 9)], 2)
