"""What all estimators share: parameters checked, data checked, labels named, then a plan, and only then entropy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from pcqr.entropy import Entropy, resolve_entropy
from pcqr.errors import DataError, ParameterError
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import HypothesisClass, Labels, Points
from pcqr.hypotheses.stumps import Stumps
from pcqr.plan import Answer, Plan
from pcqr.planning.request import Request
from pcqr.schema import Schema

P = TypeVar("P", bound=Plan)
LabelArray = NDArray[Any]

LABELS_READ = "the names of the two labels, read from y because `classes` was not declared"


@dataclass(frozen=True)
class Records:
    """What `fit` was given, checked: private points and labels, and the public points."""

    X: Points
    y: Labels
    public: Points | None


class PrivateEstimator(ClassifierMixin, BaseEstimator, Generic[P]):  # type: ignore[misc]
    """The common part of every pcqr classifier. Subclasses say how to plan and how to start."""

    hypotheses: HypothesisClass | None
    epsilon: float
    entropy: Entropy | int | None
    classes: Sequence[Any] | None

    classes_: LabelArray
    n_features_in_: int
    plan_: P
    guarantee_: Guarantee

    def fit(self, X: Any, y: ArrayLike, public: ArrayLike | None = None, schema: Schema | None = None) -> Self:
        """Charge ε (and δ) whole and prepare the release. Each `fit` is a new release, charged anew.

        `X`, `y` are the private records. `public` holds public unlabelled points, `schema` the declared columns;
        with a schema, `X`, `public` and later queries are tables with named columns. Everything is checked before
        any noise is drawn.
        """
        hypotheses = self._request(1, 1, None if public is None else 1).hypotheses  # parameters are judged first
        entropy = resolve_entropy(self.entropy)
        self.schema_ = schema
        points, raw_labels = self._records(X, y)
        hypotheses.check_points(points)
        names, labels, assumptions = self._encode_labels(raw_labels)
        shown = None if public is None else hypotheses.check_points(self._table(public), name="public")

        request = self._request(points.shape[0], points.shape[1], None if shown is None else shown.shape[0])
        plan = self._make_plan(request)
        self.classes_ = names
        self.plan_ = plan
        self._start(hypotheses, Records(points, labels, shown), plan, entropy)
        self.guarantee_ = plan.guarantee.drawn_with(private_entropy=entropy.is_private).assuming(*assumptions)
        return self

    @abstractmethod
    def _request(self, records: int, features: int, public: int | None) -> Request:
        """The parameters, checked, together with the public size of the data."""

    @abstractmethod
    def _make_plan(self, request: Request) -> P: ...

    @abstractmethod
    def _start(self, hypotheses: HypothesisClass, records: Records, plan: P, entropy: Entropy) -> None:
        """Touch the private records for the first time."""

    def _class(self, public: int | None) -> HypothesisClass:
        """The class to use when there are `public` public points: `hypotheses`, or the default where that is None."""
        return self._default_class(public) if self.hypotheses is None else self.hypotheses

    def _default_class(self, public: int | None) -> HypothesisClass:  # noqa: ARG002
        return Stumps()

    def _records(self, X: Any, y: ArrayLike) -> tuple[Points, LabelArray]:
        """`X` and `y` through scikit-learn's own validation, which also sets `n_features_in_`."""
        if self.schema_ is not None:
            X = self.schema_.encode(X)
        if y is None:
            raise DataError(
                "y", "one label for each row of X", "None: requires y to be passed, but the target y is None"
            )
        points, labels = _numbers(validate_data, self, X, y, dtype=np.float64, order="C")
        check_classification_targets(labels)
        return points, column_or_1d(labels)

    def _table(self, X: Any) -> Points:
        """Public points or queries as the table of numbers that `fit` was given."""
        if self.schema_ is not None:
            X = self.schema_.encode(X)
        elif isinstance(X, Mapping):
            raise DataError("X", "a table of numbers, since fit had no schema", "a mapping")
        points: Points = _numbers(validate_data, self, X, dtype=np.float64, order="C", reset=False)
        return points

    def _encode_labels(self, y: LabelArray) -> tuple[LabelArray, Labels, tuple[str, ...]]:
        """(the two names, labels as 0/1, what had to be assumed public). Names come from `classes` or are 0 and 1."""
        if self.classes is not None:
            names = np.asarray(self.classes)
            if names.ndim != 1 or names.shape[0] != 2 or names[0] == names[1]:
                raise ParameterError("classes", "two different label names, negative first", self.classes)
            assumptions: tuple[str, ...] = ()
        elif y.dtype.kind in "biuf" and bool(np.isin(y, (0, 1)).all()):
            names, assumptions = np.array([0, 1], dtype=y.dtype), ()
        else:
            names, assumptions = np.unique(y), (LABELS_READ,)
            if names.shape[0] != 2:
                raise DataError(
                    "y",
                    "labels of two classes (0 and 1, or declared with classes=(negative, positive))",
                    f"{'one class' if names.shape[0] == 1 else 'more than two classes'}. Only binary classification "
                    f"is supported. The type of the target is {'binary' if names.shape[0] == 1 else 'multiclass'}",
                )
        if not bool(np.isin(y, names).all()):
            raise DataError("y", f"labels among classes={tuple(names.tolist())}", "other values")
        return names, (y == names[1]).astype(np.int8), assumptions

    def _named(self, answer: Answer[int]) -> Answer[Any]:
        label = None if answer.label is None else self.classes_[answer.label].item()
        return Answer(label, answer.kind, answer.spent, answer.remaining, answer.beyond_plan)

    def _query(self, x: Any) -> Points:
        """One query as a one-row table: a vector, a one-row table or, with a schema, a mapping of column to value."""
        check_is_fitted(self, "plan_")
        if self.schema_ is not None:
            if isinstance(x, Mapping):
                x = {name: [value] for name, value in x.items()}
            point = self._table(x)
        else:
            point = self._table(np.atleast_2d(np.asarray(x)))
        if point.shape[0] != 1:
            raise DataError("x", "one query", f"{point.shape[0]} rows; use predict for many")
        return point

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # a stump is the default class, and unstable answers are coins
        tags.non_deterministic = self.entropy is None
        return tags


def _numbers(validate: Callable[..., Any], *args: Any, **options: Any) -> Any:
    """`validate`, with an error of our own for text: scikit-learn's would quote the private value."""
    try:
        return validate(*args, **options)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
    raise DataError("X", "a table of numbers (declare other columns with a schema)", "text")
