"""Students: trained on released answers alone, wherever these lie, with the guarantee of the release."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from support.kept import HARD, QUERIES, fitted
from typer.testing import CliRunner

import pcqr
from pcqr import DataError, ParameterError, Schema, Student, transfer
from pcqr.cli.main import app
from pcqr.hypotheses import Thresholds
from pcqr.releases.transfer import PUBLIC_QUERIES

SCHEMA = Schema.from_dict(
    {
        "columns": [
            {"name": "age", "kind": "numeric", "bounds": [0, 100], "missing": True},
            {"name": "ward", "kind": "categorical", "categories": ["north, wing", "south"]},
            {"name": "since", "kind": "date"},
        ]
    }
)


class Noting(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A learner that keeps what it is given."""

    def fit(self, X: Any, y: Any) -> Noting:
        self.X_, self.y_, self.classes_ = X, y, np.unique(y)
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.classes_[-1])


def people(n: int) -> tuple[dict[str, list[Any]], list[str]]:
    random = np.random.default_rng(0)
    ages = random.integers(0, 100, n).tolist()
    wards = random.choice(["north, wing", "south"], n).tolist()
    return {"age": ages, "ward": wards, "since": ["2024-02-03"] * n}, ["ill" if age > 60 else "well" for age in ages]


@pytest.mark.parametrize("name", ["agnostic", "subsamp", "noisy max", "universal"])
def test_after_any_vote_a_student_learns_from_the_labels_that_were_answered(name: str) -> None:
    release = fitted(name, entropy=0)
    rows = np.concatenate([QUERIES[::5], QUERIES[::5], HARD[::7]])
    asked = [release.answer(row) for row in rows]
    voted = [answer.kind in ("stable", "unstable") for answer in asked]
    expected = {
        float(row[0]): answer.label
        for row, answer, is_vote in zip(rows, asked, voted, strict=True)
        if is_vote and answer.label is not None
    }
    student = transfer(release, Noting())
    seen = dict(zip(student.learner_.X_[:, 0].tolist(), student.learner_.y_.tolist(), strict=True))
    assert seen == expected, "each once; no ⊥ and no coin"
    assert student.n_queries_used_ == len(expected)
    assert student.guarantee_.epsilon == release.guarantee_.epsilon
    assert student.guarantee_.delta == release.guarantee_.delta
    assert student.guarantee_.proof == release.guarantee_.proof
    assert student.guarantee_.unit == release.guarantee_.unit
    assert not student.guarantee_.is_private, "the release was seeded"
    assert set(student.guarantee_.assumptions) == {*release.guarantee_.assumptions, PUBLIC_QUERIES}
    assert transfer(release, DecisionTreeClassifier(max_depth=1)).predict([[0.0], [1.0]]).tolist() == [0, 1]


def test_the_release_is_not_asked_and_can_still_be() -> None:
    release = fitted("subsamp", entropy=0)
    release.predict(QUERIES)
    before = release.queries_answered_, release.unstable_remaining_
    student = transfer(release, LogisticRegression(C=100.0))
    assert student.predict(HARD).shape == (len(HARD),)
    assert (release.queries_answered_, release.unstable_remaining_) == before
    assert student.score(QUERIES, QUERIES[:, 0] > 0.4) == 1.0
    assert student.predict_proba(QUERIES[:3]).shape == (3, 2)
    assert not hasattr(transfer(release, LinearSVC()), "predict_proba")


def test_nothing_secret_is_in_a_student() -> None:
    release = fitted("subsamp")
    release.predict(QUERIES[::2])
    student = transfer(release, LogisticRegression())
    assert student.guarantee_.is_private
    holds = {name for name in vars(student) if not name.startswith("__")}
    public = {"learner", "learner_", "_names", "classes_", "schema_", "n_queries_used_", "n_features_in_", "guarantee_"}
    assert holds == public
    again = pickle.loads(pickle.dumps(student))  # noqa: S301
    assert again.predict(QUERIES).tolist() == student.predict(QUERIES).tolist()


def asked(release: Any, queries: Any) -> Any:
    release.predict(queries)
    return release


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: fitted("subsamp", entropy=0), "ask more queries; received no answer with a label"),
        (
            lambda: asked(fitted("subsamp", entropy=0), QUERIES[:5]),
            "ask more queries; received answers of one label alone",
        ),
    ],
)
def test_there_must_be_something_to_learn(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(DataError, match=said):
        transfer(make(), LogisticRegression())


@pytest.mark.parametrize("learner", [None, LinearRegression(), LogisticRegression, Thresholds(), "logistic"])
def test_a_learner_is_a_classifier(learner: Any) -> None:
    with pytest.raises(ParameterError, match="learner must be a scikit-learn classifier"):
        transfer(fitted("subsamp", entropy=0), learner)


def test_a_release_is_one_that_answers(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError):
        transfer(pcqr.SubsampleAggregate(), LogisticRegression())
    with pytest.raises(NotFittedError):
        Student(LogisticRegression()).predict([[0.0]])
    with pytest.raises(ParameterError, match="a release that answers queries, or a directory; received 'SemiPriv"):
        transfer(pcqr.SemiPrivateLearner(), LogisticRegression())
    with pytest.raises(ParameterError, match="or one that pcqr export wrote"):
        transfer(tmp_path, LogisticRegression())


def test_the_same_student_from_memory_from_disk_and_from_an_export(home: Path) -> None:
    X, y = people(4_000)
    release = pcqr.SubsampleAggregate(epsilon=8.0, queries=60, classes=("well", "ill"), entropy=0)
    release.fit(X, y, schema=SCHEMA)
    queries = {name: column[:60] for name, column in X.items()}
    queries["age"][0] = None
    release.predict(queries)
    students = [transfer(release, LogisticRegression())]
    release.save(home / "release")
    students.append(transfer(home / "release", LogisticRegression()))
    release.close()
    done = CliRunner().invoke(app, ["export", str(home / "release"), "--out", str(home / "public")])
    assert done.exit_code == 0, done.output
    (home / "release").rename(home / "elsewhere")
    students.append(transfer(str(home / "public"), LogisticRegression()))
    first = students[0]
    for student in students[1:]:
        assert student.n_queries_used_ == first.n_queries_used_
        assert (student.learner_.coef_ == first.learner_.coef_).all()
        assert student.predict(X).tolist() == first.predict(X).tolist()
        assert student.guarantee_ == first.guarantee_
    assert first.score(X, y) > 0.9


def test_labels_and_columns_of_an_export_are_those_of_the_release(home: Path) -> None:
    release = fitted("subsamp", entropy=0)
    release.predict(np.concatenate([QUERIES, HARD[::5]]))
    points, labels = release.answered()
    release.save(home / "release").close()
    assert CliRunner().invoke(app, ["export", str(home / "release"), "--out", str(home / "public")]).exit_code == 0
    student = transfer(home / "public", Noting())
    assert (points == student.learner_.X_).all(), "to the last bit"
    assert (student.learner_.y_ == labels).all()
    assert student.classes_.tolist() == [0, 1], "numbers, not texts"
    assert not student.guarantee_.is_private
    (home / "public" / "reading.json").write_text(json.dumps({"format": "something else"}))
    with pytest.raises(DataError, match="a transcript that pcqr export wrote"):
        transfer(home / "public", Noting())
