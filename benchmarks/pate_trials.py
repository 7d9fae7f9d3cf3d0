"""The runs of `benchmarks.pate` on MNIST and Adult: the releases, the queries, the students."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.semi_supervised import LabelSpreading

from benchmarks.adult import distinct_rows
from benchmarks.neighbours import read
from benchmarks.pate import LAPLACE, METHODS, TEACHERS, Run
from benchmarks.tables import load
from pcqr import (
    AgnosticRelease,
    BudgetExhausted,
    ConfidentMaxAggregate,
    NoisyMaxAggregate,
    PrivateClassifier,
    SubsampleAggregate,
    UniversalRelease,
    transfer,
)
from pcqr.hypotheses import DecisionTrees, LogisticTeachers, TreeTeachers
from pcqr.mechanisms.noisy_max import GaussianMax, LaplaceMax
from pcqr.releases.base.answering import Release

DELTA = 1e-5


FEW = 2_000
"""Public images that a published classifier gets, as in examples/mnist.py."""


class Spread(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A student with public points beside its labels: these spread along a graph of ten nearest neighbours."""

    def __init__(self, public: NDArray[Any], neighbours: int = 10, pull: float = 0.8) -> None:
        self.public = public
        self.neighbours = neighbours
        self.pull = pull

    def fit(self, X: NDArray[Any], y: NDArray[Any]) -> Spread:
        self.classes_ = np.unique(y)
        spread = LabelSpreading(kernel="knn", n_neighbors=self.neighbours, alpha=self.pull, max_iter=200)
        nobody = np.full(len(self.public), -1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it did not converge, or that a point has no label near
            self.spread_ = spread.fit(np.concatenate([X, self.public]), np.concatenate([y, nobody]))
        return self

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels: NDArray[Any] = self.spread_.predict(X)
        return labels


def fitted(estimator: Any, X: NDArray[Any], y: NDArray[Any], public: NDArray[Any] | None) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that public rows of Adult are equal to records
        return estimator.fit(X, y, public=public)


def given(release: Release[Any], X: NDArray[Any], y: NDArray[Any]) -> tuple[int, int]:
    """(labels, right ones) of what is asked until the release halts."""
    try:
        answers = list(release.answers(X))
    except BudgetExhausted as halted:
        answers = list(halted.answers)
    right = [bool(answer.label == truth) for answer, truth in zip(answers, y, strict=False) if answer.label is not None]
    return len(right), sum(right)


def accuracy(classifier: Any, X: NDArray[Any], y: NDArray[Any]) -> float:
    return round(float((classifier.predict(X) == y).mean()), 5)


class Digits:
    """MNIST: Confident-GNMax with three kinds of teachers, its parts beside it, and a published classifier."""

    methods = METHODS["mnist"]
    asked, answered, epsilon = 640, 286, 2.5427
    public, directions = 9_000, 100

    def __init__(self, data: Path, features: Path) -> None:
        self.pixels, self.y, self.training = read(data)
        with np.load(features) as kept:
            self.scattering = kept["features"]
        shown = self.scattering[self.training : self.training + self.public].astype(np.float32)
        main = PCA(self.directions, svd_solver="randomized", random_state=0).fit(shown)
        blocks = [main.transform(block.astype(np.float32)) for block in np.array_split(self.scattering, 20)]
        self.main = np.concatenate(blocks).astype(np.float64)

    def most(self, method: str) -> int:
        """Seeds: a published classifier hardly varies, and takes its time."""
        return 2 if method == "`PrivateClassifier`" else 1_000

    def perform(self, method: str, teacher: str, seed: int) -> Run:
        if method == "`PrivateClassifier`":
            return self._published(method, seed)
        X = (self.pixels.astype(np.float64)) if teacher.endswith("pixels") else self.main
        release = self._release(method, teacher, seed)
        fitted(release, X[: self.training], self.y[: self.training], None)
        test = np.arange(self.training, X.shape[0])
        asked = test[np.random.default_rng(seed).permutation(self.public)[: release.queries]]
        answered, right = given(release, X[asked], self.y[asked])
        unseen, rest = test[self.public :], np.setdiff1d(test, asked)
        learners = {
            "alone": LogisticRegression(C=0.01, max_iter=1_000),
            "spread": Spread(X[test[: self.public]]),
        }
        if teacher.endswith("pixels"):
            del learners["spread"]
        students = {}
        for name, learner in learners.items():
            student = transfer(release, learner)
            students[f"{name}, held out"] = accuracy(student, X[unseen], self.y[unseen])
            students[f"{name}, not asked"] = accuracy(student, X[rest], self.y[rest])
        stated = release.guarantee_
        numbers = (TEACHERS, stated.epsilon, stated.delta, release.queries, answered, right, students)
        return Run("mnist", method, teacher, seed, *numbers)

    def _release(self, method: str, teacher: str, seed: int) -> Release[Any]:
        teachers: Any = LogisticTeachers(labels=10)
        if teacher.startswith("scikit-learn"):
            teachers = LogisticRegression(C=0.01, max_iter=200)
        shared: dict[str, Any] = {"delta": DELTA, "teachers": TEACHERS, "classes": tuple(range(10)), "entropy": seed}
        if method == "Confident-GNMax":
            shared |= {"most_labels": self.answered, "threshold": 200, "check_scale": 150.0, "answer_scale": 40.0}
            return ConfidentMaxAggregate(teachers, epsilon=self.epsilon, queries=self.asked, **shared)
        if method.startswith("GNMax"):
            return NoisyMaxAggregate(teachers, epsilon=10.0, queries=self.answered, noise=GaussianMax(40.0), **shared)
        return NoisyMaxAggregate(teachers, epsilon=10.0, queries=100, noise=LaplaceMax(LAPLACE), **shared)

    def _published(self, method: str, seed: int) -> Run:
        classifier = PrivateClassifier(self.epsilon, DELTA, features="dense", classes=tuple(range(10)), entropy=seed)
        unseen, public = self.scattering[self.training + self.public :], self.scattering[self.training :][:FEW]
        classifier.fit(self.scattering[: self.training], self.y[: self.training], public=public)
        students = {"alone, held out": accuracy(classifier, unseen, self.y[self.training + self.public :])}
        stated = classifier.guarantee_
        return Run("mnist", method, "–", seed, None, stated.epsilon, stated.delta, 0, 0, 0, students)


class Incomes:
    """Adult: Confident-GNMax as published and as planned, and ours, at the same ε and δ and for the same queries."""

    methods = METHODS["adult"]
    asked, epsilon = 1_500, 3.5431
    published: Mapping[str, Any] = {
        "most_labels": 524,
        "threshold": 300,
        "check_scale": 200.0,
        "answer_scale": 40.0,
        "teachers": TEACHERS,
    }

    def __init__(self) -> None:
        self.task = load("adult", Path())

    def most(self, method: str) -> int:  # noqa: ARG002
        return 1_000

    def perform(self, method: str, teacher: str, seed: int) -> Run:
        task = self.task
        asked = distinct_rows(task.X_test, self.asked, np.random.default_rng(seed))
        rest = np.setdiff1d(np.arange(task.y_test.size), asked)
        made = fitted(self._made(method, teacher, seed), task.X, task.y, task.public)
        if isinstance(made, Release):
            answered, right = given(made, task.X_test[asked], task.y_test[asked])
            teachers = made.plan_.vote.teachers
        else:
            answered, right = asked.size, int((made.predict(task.X_test[asked]) == task.y_test[asked]).sum())
            teachers = None
        learned = made
        if isinstance(made, Release) and not isinstance(made, UniversalRelease):
            learned = transfer(made, RandomForestClassifier(200, min_samples_leaf=5, random_state=seed))
        students = {"not asked": accuracy(learned, task.X_test[rest], task.y_test[rest])}
        stated = made.guarantee_
        numbers = (teachers, stated.epsilon, stated.delta, asked.size, answered, right, students)
        return Run("adult", method, teacher, seed, *numbers)

    def _made(self, method: str, teacher: str, seed: int) -> Any:
        shared: dict[str, Any] = {"epsilon": self.epsilon, "delta": DELTA, "entropy": seed, "classes": (0, 1)}
        if method == "`PrivateClassifier`":
            return PrivateClassifier(**shared)
        shared |= {"queries": self.asked}
        name, _, how = method.partition(", ")
        own = {"tree": TreeTeachers(), "logistic": LogisticTeachers()}.get(teacher, DecisionTrees(depth=2))
        if name == "Confident-GNMax":
            capped = {"as published": self.published, "labels not capped": {"most_labels": self.asked}}.get(how, {})
            return ConfidentMaxAggregate(own, **shared, **capped)
        if name == "noisy max":
            return NoisyMaxAggregate(own, **shared)
        if name == "SubSamp":
            return SubsampleAggregate(own, **shared, vote="stability", teachers=251 if how == "251 teachers" else None)
        if name == "AgPrivCl":
            return AgnosticRelease(own, **shared, vote="stability")
        return UniversalRelease(own, **shared)
