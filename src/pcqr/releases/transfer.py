"""What `pcqr export` wrote, read again: queries with their answers, and the guarantee that they have."""

from __future__ import annotations

import csv
import json
import os
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pcqr.data.schema import Schema
from pcqr.data.schema.cells import number_of
from pcqr.data.schema.table import unescaped
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.estimators import is_estimator
from pcqr.privacy.guarantee import Guarantee
from pcqr.release import open as open_kept
from pcqr.releases.base.answering import Release
from pcqr.releases.base.inputs import LabelArray, as_array, read_points

TRANSCRIPT, GUARANTEE, READING = "transcript.csv", "guarantee.json", "reading.json"
_FORMAT, _VERSION = "pcqr transcript reading", 1


@dataclass(frozen=True)
class Reading:
    """How the columns of a transcript are to be read. Public.

    `names` are those of the queries' columns where they have any, `features` the number of columns once encoded.
    """

    schema: Schema | None
    names: tuple[str, ...] | None
    features: int
    classes: tuple[Any, ...]

    def to_json(self) -> str:
        described = {
            "format": _FORMAT,
            "version": _VERSION,
            "schema": None if self.schema is None else self.schema.to_dict(),
            "names": self.names,
            "features": self.features,
            "classes": self.classes,
        }
        return json.dumps(described, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Reading:
        found = json.loads(text)
        if (found["format"], found["version"]) != (_FORMAT, _VERSION):
            raise ValueError
        schema = None if found["schema"] is None else Schema.from_dict(found["schema"])
        names = None if found["names"] is None else tuple(found["names"])
        return cls(schema, names, int(found["features"]), tuple(found["classes"]))


@dataclass(frozen=True)
class Lesson:
    """All that a student gets: answered queries, encoded, with their labels 0, 1, …, and what is promised of them."""

    X: Points
    y: LabelArray
    classes: LabelArray
    schema: Schema | None
    names: tuple[str, ...] | None
    guarantee: Guarantee


def exported(folder: Path) -> Lesson:
    """The lesson in a folder that `pcqr export` has written. Queries without a label are left out."""
    texts = []
    for name in (READING, GUARANTEE, TRANSCRIPT):
        try:
            texts.append((folder / name).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError):
            allowed = "a fitted release, the directory of one that is kept, or one that pcqr export wrote"
            raise ParameterError("release", allowed, str(folder)) from None
    try:
        reading = Reading.from_json(texts[0])
        rows = [[unescaped(cell) or None for cell in row] for row in csv.reader(StringIO(texts[2], newline=""))]
        places = {str(name): place for place, name in enumerate(reading.classes)}
        names, told = rows[0], [row for row in rows[1:] if row[-2] is not None]
        y = np.array([places[str(row[-2])] for row in told], dtype=np.int8)
        columns = {name: [row[place] for row in told] for place, name in enumerate(names[:-2]) if name is not None}
        if reading.schema is None:
            X = np.array([[number_of(cell) for cell in row[:-2]] for row in told], dtype=np.float64)
        else:
            X = reading.schema.encode(columns) if told else np.empty(0)
        X = X.reshape(len(told), reading.features)
    except (ValueError, KeyError, IndexError, TypeError) as error:
        allowed = f"a transcript that pcqr export wrote, as {READING} says that it is read"
        raise DataError(str(folder), allowed, "something else") from error
    guarantee = Guarantee.from_json(texts[1])
    return Lesson(X, y, as_array(reading.classes), reading.schema, reading.names, guarantee)


# ---------------------------------------------------------------------------------------------------------------------
# A student: any classifier, trained on the answers of a release. Post-processing, proofs/transfer.md.


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
