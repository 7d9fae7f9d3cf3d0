"""Releases whose teachers are scikit-learn classifiers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from support.releases import Forbidden

import pcqr
from pcqr import AgnosticRelease, NoisyMaxAggregate, SemiPrivateLearner, SubsampleAggregate, UniversalRelease
from pcqr.errors import ParameterError
from pcqr.hypotheses import Estimators, LogisticTeachers, TreeTeachers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4_000, 2))
NAMES = np.array(["a", "b", "c"])
Y = NAMES[(X[:, 0] > 0).astype(int) + (X[:, 1] > 0)]
FAR = [[-3.0, -3.0], [3.0, -3.0], [3.0, 3.0]]


def test_any_classifier_teaches_any_number_of_labels() -> None:
    teacher = make_pipeline(StandardScaler(), LogisticRegression())
    release = SubsampleAggregate(
        teacher, epsilon=4.0, queries=20, teachers=101, entropy=0, classes=("a", "b", "c")
    ).fit(X, Y)
    assert release.predict(FAR).tolist() == ["a", "b", "c"]
    assert isinstance(release.hypotheses_, Estimators)
    assert release.hypotheses_.labels == 3
    assert release.guarantee_.assumptions == ()


def test_two_labels_are_the_default() -> None:
    release = SubsampleAggregate(DecisionTreeClassifier(max_depth=2), epsilon=4.0, queries=20, teachers=151, entropy=0)
    release.fit(X, (X[:, 0] > 0).astype(int))
    assert release.predict(FAR).tolist() == [0, 1, 1]


def test_noisy_max_takes_them_too() -> None:
    release = NoisyMaxAggregate(GaussianNB(), epsilon=4.0, queries=20, entropy=0).fit(X, X[:, 0] > 0)
    assert release.predict(FAR).tolist() == [0, 1, 1]


def test_a_plan_needs_no_vc_dimension_but_in_paper_mode() -> None:
    release = SubsampleAggregate(GaussianNB(), epsilon=4.0, queries=20)
    assert release.plan(4_000, 2).guarantee.within(4.0, 1e-6)
    with pytest.raises(ParameterError, match="a class with a VC dimension, such as DecisionTrees"):
        release.set_params(mode="paper", epsilon=0.5).plan(4_000, 2)


@pytest.mark.parametrize("estimator", [AgnosticRelease, UniversalRelease, SemiPrivateLearner])
@pytest.mark.parametrize("teacher", [GaussianNB(), Estimators(GaussianNB())])
def test_what_must_be_drawn_from_says_who_takes_a_classifier(estimator: Any, teacher: Any) -> None:
    with pytest.raises(ParameterError, match=r"can be drawn from; teachers that only learn are for .*SubsampleAggr"):
        estimator(teacher, entropy=Forbidden()).fit(X, Y == "a")


@pytest.mark.parametrize("wrong", [LinearRegression(), GaussianNB, "bayes"])
def test_what_is_no_classifier_is_refused(wrong: Any) -> None:
    with pytest.raises(ParameterError, match="scikit-learn classifier"):
        SubsampleAggregate(wrong, entropy=Forbidden()).fit(X, Y == "a")


def test_a_classifier_that_cannot_learn_is_refused_before_noise_is_drawn() -> None:
    release = SubsampleAggregate(LogisticRegression(C=-1.0), epsilon=4.0, entropy=Forbidden())
    with pytest.raises(ParameterError, match="The 'C' parameter"):
        release.fit(X, Y == "a")
    with pytest.raises(ParameterError, match="The 'C' parameter"):
        release.plan(4_000, 2)


def test_parameters_of_the_teacher_are_parameters_of_the_release() -> None:
    release = SubsampleAggregate(LogisticRegression()).set_params(hypotheses__C=0.25)
    assert release.get_params()["hypotheses__C"] == 0.25
    assert clone(release).hypotheses.C == 0.25


def test_teachers_that_would_be_pickled_are_not_kept(tmp_path: Path) -> None:
    teacher = RandomForestClassifier(n_estimators=2, max_depth=2)
    release = SubsampleAggregate(teacher, epsilon=4.0, queries=5, teachers=51, entropy=0).fit(X, Y == "a")
    with pytest.raises(ParameterError, match=r"hypotheses must be .* pickles"):
        release.save(tmp_path / "kept", anchor=tmp_path / "anchor")
    assert list(tmp_path.iterdir()) == []
    assert release.predict(FAR).tolist() == [1, 0, 0]


@pytest.mark.parametrize("teachers", [LogisticTeachers(0.5), TreeTeachers(depth=3)])
def test_teachers_that_are_arrays_are_kept(teachers: Any, tmp_path: Path) -> None:
    release = SubsampleAggregate(teachers, epsilon=4.0, queries=20, teachers=101, entropy=0, classes=("a", "b", "c"))
    release.fit(X, Y).save(tmp_path / "kept", anchor=tmp_path / "anchor").close()
    again = pcqr.release.open(tmp_path / "kept", anchor=tmp_path / "anchor")
    assert again.hypotheses_ == release.hypotheses_
    assert again.predict(FAR).tolist() == ["a", "b", "c"]
    again.close()
