"""A student: any classifier, trained on the answers of a release. Post-processing, proofs/transfer.md."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pcqr.errors import DataError, ParameterError
from pcqr.estimators.answering import Release
from pcqr.estimators.labels import LabelArray
from pcqr.estimators.tables import read_points
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.learners.estimators import is_estimator
from pcqr.peers.transfer.exported import Lesson, exported
from pcqr.release import open as open_kept
from pcqr.schema import Schema

PUBLIC_QUERIES = "the queries that were asked, and the student's learner with its parameters"
_KEPT = "release.json"


def transfer(release: Release[Any] | str | os.PathLike[str], learner: Any) -> Student:
    """Train any classifier on the answered queries of a release, to publish it [1]_. Costs nothing more.

    The student sees the queries that got a label, each once, as the release has encoded them (categories as
    indicators), and their labels. Those that got ⊥ are left out: their coins say nothing. It may be published as far as
    the queries may be seen, and asked as often as one likes. The guarantee is the release's own. Proof:
    proofs/transfer.md.

    Parameters
    ----------
    release : fitted release, str or path
        Any release that answers queries; the directory of one that is kept (read beside a running writer, without its
        secrets); or a directory that `pcqr export` wrote, on whatever machine.
    learner : scikit-learn classifier
        What is cloned and trained. It must not have been chosen, nor tuned, by the private records.

    Returns
    -------
    Student

    Raises
    ------
    DataError
        When fewer than two labels were answered: there is nothing to learn yet.
    ParameterError
        When the learner is no classifier, or there is no release.

    References
    ----------
    .. [1] R. Bassily, O. Thakkar, A. Thakurta. Model-agnostic private learning. NeurIPS 2018.

    Examples
    --------
    >>> import numpy as np
    >>> import pcqr
    >>> from sklearn.linear_model import LogisticRegression
    >>> X = np.random.default_rng(0).uniform(0, 10, size=(5_000, 1))
    >>> y = (X[:, 0] > 6).astype(int)
    >>> release = pcqr.SubsampleAggregate(queries=40, entropy=0).fit(X, y)  # seeded: NOT PRIVATE
    >>> _ = release.predict(np.linspace(0, 10, 40)[:, None])
    >>> student = pcqr.transfer(release, LogisticRegression())
    >>> student.predict([[1.0], [9.0]])
    array([0, 1])
    >>> student.guarantee_.epsilon == release.guarantee_.epsilon
    True
    """
    return Student(learner).fit(release)


def _has_probabilities(student: Student) -> bool:
    return hasattr(getattr(student, "learner_", student.learner), "predict_proba")


class Student(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier that was trained on released answers; `transfer` makes one. It holds nothing else of the release.

    Parameters
    ----------
    learner : scikit-learn classifier
        What was cloned.

    Attributes
    ----------
    learner_ : scikit-learn classifier
        The clone, trained on labels 0, 1, … of the release's `classes_`.
    classes_ : ndarray
        The names of the labels that it has seen.
    guarantee_ : Guarantee
        That of the release; queries and learner are treated as public.
    n_queries_used_ : int
        The distinct queries that it learned from.
    n_features_in_ : int
        The columns of the table once it is encoded.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from pcqr import NoisyMaxAggregate, Student
    >>> X = np.random.default_rng(0).uniform(0, 10, size=(5_000, 1))
    >>> y = np.where(X[:, 0] > 6, "high", "low")
    >>> release = NoisyMaxAggregate(queries=40, classes=("low", "high"), entropy=0).fit(X, y)  # seeded: NOT PRIVATE
    >>> _ = release.predict(np.linspace(0, 10, 40)[:, None])
    >>> student = Student(DecisionTreeClassifier(max_depth=1)).fit(release)
    >>> student.predict([[1.0], [9.0]]), student.n_queries_used_
    (array(['low', 'high'], dtype='<U4'), 40)
    """

    learner_: Any
    classes_: LabelArray
    guarantee_: Guarantee
    schema_: Schema | None
    n_queries_used_: int
    n_features_in_: int

    def __init__(self, learner: Any) -> None:
        self.learner = learner

    def fit(self, release: Release[Any] | str | os.PathLike[str]) -> Student:
        """Learn from the answers of a release, as they are by now.

        Parameters
        ----------
        release : fitted release, str or path
            As for `transfer`, which also says what may go wrong.

        Returns
        -------
        Student
            This one.
        """
        if not is_estimator(self.learner) or not is_classifier(self.learner):
            raise ParameterError("learner", "a scikit-learn classifier", self.learner)
        lesson = _lesson(release)
        seen = np.unique(lesson.y)
        if seen.size < 2:
            raise DataError(
                "release",
                "one whose answers so far have two different labels or more: ask more queries",
                "answers of one label alone" if seen.size else "no answer with a label",
            )
        self.learner_ = clone(self.learner).fit(lesson.X, lesson.y)
        self._names, self.classes_, self.schema_ = lesson.classes, lesson.classes[seen], lesson.schema
        self.n_queries_used_, self.n_features_in_ = lesson.X.shape
        if lesson.names is not None:
            self.feature_names_in_ = np.array(lesson.names, dtype=object)
        step = f"a student trained on {self.n_queries_used_:,} of the answers: post-processing, at no further cost"
        self.guarantee_ = lesson.guarantee.assuming(PUBLIC_QUERIES).explained(step)
        return self

    def predict(self, X: Any) -> LabelArray:
        """The label of each row. Costs nothing, however often.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            As the queries of the release.

        Returns
        -------
        ndarray of shape (rows,)
            Label names.

        Raises
        ------
        DataError
            When the rows cannot be read as queries.
        NotFittedError
            Before `fit`.
        """
        points = self._read(X)
        labels: LabelArray = self._names[np.asarray(self.learner_.predict(points), dtype=np.intp)]
        return labels

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The learner's probabilities, a column for each of `classes_`.

        Parameters
        ----------
        X : table or array-like of shape (rows, columns)
            As the queries of the release.

        Returns
        -------
        ndarray of shape (rows, classes)
        """
        points = self._read(X)
        chances: NDArray[np.float64] = self.learner_.predict_proba(points)
        return chances

    def _read(self, X: Any) -> Any:
        check_is_fitted(self, "learner_")
        return read_points(self, X, self.schema_, reset=False)


def _lesson(release: Any) -> Lesson:
    if isinstance(release, Release):
        X, y = release.answered()
        names = getattr(release, "feature_names_in_", None)
        plain = None if names is None else tuple(map(str, names))
        return Lesson(X, y, release.classes_, release.schema_, plain, release.guarantee_)
    if not isinstance(release, str | os.PathLike):
        raise ParameterError("release", "a release that answers queries, or a directory", type(release).__name__)
    if not (Path(release) / _KEPT).exists():
        return exported(Path(release))
    kept = open_kept(release, read_only=True)
    try:
        return _lesson(kept)
    finally:
        kept.close()
