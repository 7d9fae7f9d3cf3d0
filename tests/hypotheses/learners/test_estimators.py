"""Any scikit-learn classifier as a teacher: its own part, its own coins, and nothing said about how it went."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.learners import Odd

from pcqr.data.records import InMemory
from pcqr.errors import ParameterError
from pcqr.hypotheses import Estimators
from pcqr.hypotheses.committees import Committee, trained
from pcqr.privacy.entropy import SeededEntropy, seeded_generators

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 3))
Y = (X[:, 0] + 0.5 * RNG.normal(size=120) > 0).astype(np.int8) + (X[:, 1] > 0.7)
PARTS = np.array_split(SeededEntropy(1).permutation(120), 8)
ASKED = RNG.normal(size=(40, 3))
FOREST = RandomForestClassifier(n_estimators=3, max_depth=2, max_features=1)


def taught(estimator: Any, records: InMemory | None = None, seed: int = 0, **parameters: Any) -> Committee:
    held = InMemory(X, Y, 3) if records is None else records
    return trained(Estimators(estimator, labels=held.labels, **parameters), held, PARTS, SeededEntropy(seed))


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


@pytest.mark.parametrize("backend", [SEQUENTIAL, ("threading", 2), *ELSEWHERE])
def test_nothing_is_warned_of(backend: tuple[str, int], capfd: pytest.CaptureFixture[str]) -> None:
    """Warnings are errors in these tests: one that got out of a teacher would be its fixed vote, or end the fit."""
    labels = np.full(120, 2)
    labels[::2] = 1
    with joblib.parallel_config(backend[0], n_jobs=backend[1]):
        counts = taught(Odd("warn"), InMemory(X, labels, 3)).counts(ASKED)
    assert counts[:, 0].tolist() == [0] * 40
    assert "0.731" not in "".join(capfd.readouterr())


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


def test_a_classifier_that_always_fails_is_refused_on_made_up_records() -> None:
    with pytest.raises(ParameterError, match="which raises InvalidParameterError: The 'C' parameter"):
        Estimators(LogisticRegression(C=-1.0)).check_work([(50, 9)], 2)
    Estimators(LogisticRegression(), labels=5).check_work([(50, 9), (1, 9)], 2)
