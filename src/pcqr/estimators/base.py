"""What all estimators share: parameters checked, data checked, labels named, then a plan, and only then entropy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from pcqr.entropy import Entropy, resolve_entropy
from pcqr.errors import DataError, ParameterError
from pcqr.guarantee import Guarantee, warn_if_weak
from pcqr.hypotheses.base import HypothesisClass, Labels, Points
from pcqr.hypotheses.stumps import Stumps
from pcqr.mechanisms.exponential import PUBLIC_POINTS
from pcqr.plan import Answer, Plan
from pcqr.planning.request import Request
from pcqr.schema import Schema

P = TypeVar("P", bound=Plan)
LabelArray = NDArray[Any]

MOST_CLASSES = 127
LABELS_READ = "the names of the labels, read from y because `classes` was not declared"


_FITTED = {
    *("plan_", "guarantee_", "classes_", "schema_", "hypotheses_", "hypothesis_", "method_", "n_records_", "n_public_"),
    *("n_features_in_", "feature_names_in_", "_protocol", "_universal"),
}


@dataclass(frozen=True)
class Records:
    """What `fit` was given, checked: private points and labels, and the public points.

    `public` are those that a draw makes its class of, None where the class is fixed; `shown` are all that were given.
    """

    X: Points
    y: Labels
    public: Points | None
    shown: Points | None = None


class PrivateEstimator(ClassifierMixin, BaseEstimator, Generic[P]):  # type: ignore[misc]
    """The common part of every pcqr classifier. Subclasses say how to plan and how to start."""

    hypotheses: HypothesisClass | None
    epsilon: float
    entropy: Entropy | int | None
    classes: Sequence[Any] | None

    classes_: LabelArray
    n_features_in_: int
    hypotheses_: HypothesisClass
    plan_: P
    guarantee_: Guarantee

    @np.errstate(all="ignore")  # whether a float underflows depends on the records
    def fit(self, X: Any, y: ArrayLike, public: Any = None, schema: Schema | None = None) -> Self:
        """Charge ε (and δ) whole and prepare the release. Each `fit` is a new release, charged anew.

        `X`, `y` are the private records. `public` holds public unlabelled points, `schema` the declared columns;
        with a schema, `X`, `public` and later queries are tables with named columns. A public frame that is not all
        numbers gives a schema by itself (`Schema.from_public`). Everything is checked before any noise is drawn.
        """
        for name in _FITTED & vars(self).keys():
            delattr(self, name)  # a fit that fails must not leave an earlier release behind, half replaced
        hypotheses = self._class(has_public=public is not None)
        self._request(hypotheses, 1, 1, None)  # parameters are judged before data
        entropy = resolve_entropy(self.entropy)
        if public is not None and (public is X or _overlap(public, X)):
            raise ParameterError("public", "rows that are public, not the private X", "X itself")
        if schema is None and is_mixed(public):
            schema = Schema.from_public(public)
        points, raw_labels = self._records(X, y, schema)
        shown = None if public is None else hypotheses.check_points(self._table(public, schema), name="public")
        hypotheses = self._sized(hypotheses, points.shape[0]).prepared(shown, schema)
        hypotheses = self._declared(hypotheses, points.shape[1])
        if hypotheses.needs_public and not hypotheses.is_fixed:
            raise ParameterError("public", f"public rows or a schema for {type(hypotheses).__name__}", None)
        points = hypotheses.check_points(points)
        names, labels, assumptions = self._encode_labels(raw_labels, hypotheses)
        if shown is not None and (hypotheses.needs_public or not hypotheses.is_fixed):
            assumptions += (PUBLIC_POINTS,)
        hypotheses = hypotheses.with_labels(names.shape[0])
        records = Records(points, labels, None if hypotheses.is_fixed else shown, shown)

        n, p = points.shape
        request = self._request(hypotheses, n, p, None if records.public is None else records.public.shape[0])
        plan = self._make_plan(request)
        hypotheses.check_work(plan.work(n))
        guarantee = plan.guarantee.drawn_with(private_entropy=entropy.is_private).assuming(*assumptions)
        warn_if_weak(guarantee, n)
        self._start(hypotheses, records, plan, entropy)
        self.schema_, self.classes_, self.hypotheses_ = schema, names, hypotheses
        self.n_records_, self.n_public_ = n, None if shown is None else shown.shape[0]
        self.guarantee_, self.plan_ = guarantee, replace(plan, guarantee=guarantee)
        return self

    @abstractmethod
    def _request(self, hypotheses: HypothesisClass, records: int, features: int, public: int | None) -> Request:
        """The parameters, checked, together with the class and the public size of the data."""

    @abstractmethod
    def _make_plan(self, request: Request) -> P: ...

    @abstractmethod
    def _start(self, hypotheses: HypothesisClass, records: Records, plan: P, entropy: Entropy) -> None:
        """Touch the private records for the first time."""

    def _class(self, *, has_public: bool) -> HypothesisClass:
        """`hypotheses`, or the default where that is None."""
        return self._default_class(has_public=has_public) if self.hypotheses is None else self.hypotheses

    def _sized(self, hypotheses: HypothesisClass, records: int) -> HypothesisClass:  # noqa: ARG002
        """The class for n = `records`, where a default depends on it."""
        return hypotheses

    def _declared(self, hypotheses: HypothesisClass, features: int) -> HypothesisClass:  # noqa: ARG002
        """The class for a table of `features` columns about which nothing public was given, if there is a default."""
        return hypotheses

    def _default_class(self, *, has_public: bool) -> HypothesisClass:  # noqa: ARG002
        return Stumps()

    def _records(self, X: Any, y: ArrayLike, schema: Schema | None) -> tuple[Points, LabelArray]:
        """`X` and `y` through scikit-learn's own validation, which also sets `n_features_in_`."""
        if y is None:
            raise DataError(
                "y", "one label for each row of X", "None: requires y to be passed, but the target y is None"
            )
        points, labels = _numbers(self, _encoded(X, schema), y, dtype=np.float64, order="C")
        check_classification_targets(labels)
        return points, column_or_1d(labels)

    def _table(self, X: Any, schema: Schema | None) -> Points:
        """Public points or queries as the table of numbers that `fit` was given."""
        points: Points = _numbers(self, _encoded(X, schema), dtype=np.float64, order="C", reset=False)
        return points

    def _encode_labels(self, y: LabelArray, hypotheses: HypothesisClass) -> tuple[LabelArray, Labels, tuple[str, ...]]:
        """(the names, labels as 0, 1, …, what had to be assumed public). Names come from `classes` or are 0 and 1."""
        assumptions: tuple[str, ...] = ()
        if self.classes is not None:
            names = np.asarray(self.classes)
            if names.ndim != 1 or names.shape[0] < 2 or np.unique(names).shape != names.shape:
                raise ParameterError("classes", "two or more different label names, negative first", self.classes)
        elif hypotheses.labels > 2:  # declared with the class
            names = np.arange(hypotheses.labels)
        elif y.dtype.kind in "biuf" and bool(np.isin(y, (0, 1)).all()):
            names = np.array([0, 1], dtype=y.dtype)
            if hypotheses.needs_public:  # a third label would have been taken for a third class
                assumptions = (LABELS_READ,)
        else:
            names, assumptions = _distinct(y), (LABELS_READ,)
            binary = not hypotheses.needs_public  # only classes of public predicates have more than two labels
            if names.shape[0] < 2 or (binary and names.shape[0] > 2):
                found = "one class"
                if names.shape[0] > 2:
                    found = "more. Only binary classification is supported. The type of the target is multiclass"
                raise DataError(
                    "y", "labels of two classes: 0 and 1, or declared as classes=(negative, positive)", found
                )
        order = np.argsort(names, kind="stable")
        place = order[np.searchsorted(names, y, sorter=order).clip(0, names.shape[0] - 1)]
        if not bool((names[place] == y).all()):
            raise DataError("y", f"labels among classes={tuple(names.tolist())}", "other values")
        return names, place.astype(np.int8), assumptions

    def _named(self, answer: Answer[int]) -> Answer[Any]:
        label = None if answer.label is None else self.classes_[answer.label].item()
        return Answer(label, answer.kind, answer.spent, answer.remaining, answer.beyond_plan)

    def _query(self, x: Any) -> Points:
        """One query as a one-row table: a vector, a one-row table or, with a schema, a mapping of column to value."""
        check_is_fitted(self, "plan_")
        if self.schema_ is None:
            point = self._table(np.atleast_2d(np.asarray(x)), None)
        else:
            row = x.to_dict() if getattr(x, "ndim", 2) == 1 and hasattr(x, "to_dict") else x
            if isinstance(row, Mapping):
                row = {name: [value] for name, value in row.items()}
            point = self._table(row, self.schema_)
        if point.shape[0] != 1:
            raise DataError("x", "one query", f"{point.shape[0]} rows; use predict for many")
        return point

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True  # a stump is the default class, and unstable answers are coins
        tags.non_deterministic = self.entropy is None
        return tags


def _distinct(y: LabelArray) -> LabelArray:
    try:
        names = np.unique(y)
    except TypeError:
        raise DataError("y", "labels of one type", "labels of several types, or missing ones") from None
    if names.shape[0] > MOST_CLASSES:  # how many is not said: they are private
        raise DataError("y", f"labels of at most {MOST_CLASSES} classes", "more")
    return names


def is_mixed(table: Any) -> bool:
    """Is `table` a pandas or Arrow frame with columns that are not numbers, or missing values: is a schema needed?"""
    if hasattr(table, "to_pandas"):
        table = table.to_pandas()
    dtypes = getattr(table, "dtypes", None)
    if dtypes is None:
        return False
    kinds = {getattr(dtype, "kind", "O") for dtype in dtypes}
    return not kinds <= set("biuf") or bool(table.isna().to_numpy().any())


def _overlap(first: Any, second: Any) -> bool:
    """Do two arrays have an element of memory in common? Rows of one table that were set apart do not."""
    if not (isinstance(first, np.ndarray) and isinstance(second, np.ndarray)):
        return False
    return np.may_share_memory(first, second) and np.shares_memory(first, second)


def _encoded(X: Any, schema: Schema | None) -> Any:
    if schema is not None:
        return schema.encode(X)
    if isinstance(X, Mapping) and not hasattr(X, "tocsr"):  # one kind of sparse matrix is a mapping
        raise DataError("X", "a table of numbers, since there is no schema", "a mapping")
    return X


def _numbers(estimator: BaseEstimator, *tables: Any, **options: Any) -> Any:
    """scikit-learn's `validate_data`, with errors of our own where its messages would quote private values."""
    if any(np.asarray(table).dtype.kind == "c" for table in tables if not hasattr(table, "tocsr")):
        raise DataError("X", "real numbers. Complex data not supported", "complex numbers")
    try:
        return validate_data(estimator, *tables, **options)
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
    raise DataError("X", "a table of numbers (declare other columns with a schema)", "text")
