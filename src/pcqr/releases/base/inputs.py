"""What a fit gets: private records, and what is public of them."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_array, validate_data

from pcqr.checks import check_integer
from pcqr.data.records import Encoded, InMemory, Narrow, ParquetTable, Records
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.in_memory import is_narrow
from pcqr.data.records.parted.parquet import RawParquet
from pcqr.data.records.parted.source import Parted
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.cells import Cells, Reading, array_of, cells, distinct, listed, read, text_of
from pcqr.data.schema.labels import is_mostly_private
from pcqr.data.schema.raw import RawColumn, RawInMemory, RawKind, RawTable, kind_of, type_of
from pcqr.data.schema.table import CompactTable, column_names, columns_of, has_columns, matrix_of
from pcqr.errors import DataError, NearUnique, ParameterError, PublicRowsCoincide
from pcqr.hypotheses.base import MOST_LABELS, HypothesisClass, Labels, Points
from pcqr.planner.request import NO_PINS, Request
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.base.contributions import UnitIds
from pcqr.releases.classifier.plan import MapName
from pcqr.releases.classifier.predicates import PredicatesRecipe, Purchase
from pcqr.releases.protocol.plan import Aim, Budget, Pins

LabelArray = NDArray[Any]


@dataclass(frozen=True)
class PublicInfo:
    """What is public of a private table: its size once it is encoded, public points of its kind, its schema.

    `maps` are the public feature maps that an estimator makes of these, by name. `stand_in` are rows that stand in for
    public points where there is a schema with cuts alone: no class is made of them. `has_row_weights`: does each row
    have a private weight of its own?

    `columns` are those of which nothing is public but their kinds. The schema is then the public grid or, where
    `recipe` says what to buy, the widest that may come of it.
    """

    records: int
    features: int
    points: Points | None
    schema: Schema | None
    maps: Mapping[MapName, FeatureMap] = field(default_factory=dict)
    stand_in: Points | None = None
    has_row_weights: bool = False
    columns: tuple[RawColumn, ...] = ()
    recipe: PredicatesRecipe | None = None

    @property
    def bought(self) -> Purchase | None:
        """What is bought, if anything is."""
        return None if self.recipe is None else Purchase(self.recipe, self.columns)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the names of the text columns whose categories are bought."""
        names = (column.name for column in self.columns if column.kind == "categorical")
        return () if self.recipe is None else tuple(names)

    @property
    def is_nothing(self) -> bool:
        return self.points is None and self.schema is None

    @property
    def rows(self) -> Points | None:
        """Public points, or rows that stand in for them: how often a predicate holds, and where numbers lie."""
        return self.stand_in if self.points is None else self.points


@dataclass
class FitContext:
    """All that is public of a fit, and grows from step to step: `plan` and `fit` share the steps up to the plan.

    `width` is p, the columns of the table as it was read. `schema` says how columns are read, and becomes `schema_`.
    `assumptions` are those of the class and the columns. `uninformed` is what `fit` warns of where nothing is known of
    the columns, and `shortfall` why nothing can be learned. `names` are those of the labels, and `guarantee` that of
    the plan, once `fit` has them.
    """

    hypotheses: HypothesisClass
    public: PublicInfo
    width: int = 1
    schema: Schema | None = None
    has_column_names: bool = False
    is_user_level: bool = False
    assumptions: tuple[str, ...] = ()
    uninformed: str | None = None
    shortfall: str | None = None
    names: LabelArray = field(init=False, repr=False)
    guarantee: Guarantee = field(init=False, repr=False)

    @property
    def points(self) -> Points | None:
        """The public points of which the class is made; None where it is fixed."""
        return None if self.hypotheses.is_fixed else self.public.points

    def public_rows(self, allowed: str) -> Points:
        """Return the public rows. Raise where there are none, saying what is `allowed`."""
        if self.public.points is None:
            raise ParameterError("public", allowed, None)
        return self.public.points

    def assume_of_columns(self, guess: str) -> None:
        """Take down what is done to columns of which nothing is known. That costs accuracy, not privacy."""
        self.assumptions = (guess, *self.assumptions)
        self.uninformed = f"Nothing is known of the columns. They get {guess}: give `public` rows or a `schema`."

    def request(self, budget: Budget, aim: Aim | None = None, pins: Pins = NO_PINS) -> Request:
        """Return what a plan is made from, with what an estimator adds to it. Its numbers are checked."""
        return Request(
            records=self.public.records,
            features=self.width,
            hypotheses=self.hypotheses,
            budget=budget,
            aim=aim,
            pins=pins,
            public=None if self.points is None else self.points.shape[0],
        )


@dataclass(frozen=True)
class FitInputs:
    """The private records that `fit` got, checked. **Private.**

    `raw` is their table as columns of kinds, where nothing is public and its columns have names. `gpu` is the device on
    which sums are made, None for the CPU.
    """

    records: Records
    raw: RawTable | None = None
    gpu: str | None = None


@dataclass(frozen=True)
class AssumePublic:
    """Public rows that are public although they are rows of the private table, too: few different ones are possible.

    `fit` refuses public rows of which more than half are rows of the private table, and a schema that was made of the
    rows of the private table. It takes these as they are, without a warning: whoever writes this has seen to it.

    Parameters
    ----------
    rows : table, array-like of shape (rows, columns) or Schema
        The rows, as `public` takes them, or what `schema` takes.

    Examples
    --------
    Records of one truth value: each public row is bound to be a row of the private table.

    >>> import numpy as np
    >>> from pcqr import AssumePublic, SemiPrivateLearner
    >>> X = np.random.default_rng(0).integers(0, 2, size=(1_000, 1))
    >>> public = np.array([[0], [1]])
    >>> learner = SemiPrivateLearner(entropy=0).fit(X, X[:, 0], public=AssumePublic(public))  # seeded: NOT PRIVATE
    >>> learner.predict(public)
    array([0, 1])
    """

    rows: Any


def width_of(features: int | None, shown: Points | None, schema: Schema | None) -> int:
    """The columns of the encoded table; `features` counts those of the table itself."""
    if schema is not None:
        columns, width = len(schema.columns), len(schema.features)
    elif shown is not None:
        columns = width = shown.shape[1]
    else:
        check_integer("features", features, least=1)
        columns = width = int(features or 0)
    if features not in (None, columns):
        raise ParameterError("features", f"{columns}, as the public rows or the schema say, or None", features)
    return width


# ---------------------------------------------------------------------------------------------------------------------
# y as it comes, as labels 0, 1, … and their names: each label by itself, whatever the others are (proofs/table.md).


LONGEST_NAME = 1_000
"""An array of names has as much room for each as the longest takes."""
_ONE = "one class. Give classes=(negative, positive), such as classes=(0, 1)"
LABELS_READ = "the names of the labels, read from y because `classes` was not declared"
ZERO_AND_ONE = "that every label is 0 or 1, seen in y because `classes` was not declared"


def label_cells(y: Any) -> Cells:
    """The labels one by one. A column of a table with one column is taken, with scikit-learn's warning."""
    if y is None:
        raise DataError("y", "one label for each row of X", "None: requires y to be passed, but the target y is None")
    if hasattr(y, "__array__") and not hasattr(y, "__len__"):
        y = array_of(y, "y")
    if getattr(y, "ndim", 1) == 2:
        y = _only_column(y)
    if isinstance(y, str) or not hasattr(y, "__len__") or getattr(y, "ndim", 1) == 0:
        raise DataError("y", "one label for each row of X", "one value")
    if getattr(y, "ndim", 1) != 1:
        raise DataError("y", "one label for each row of X: y should be a 1d array", "an array of more dimensions")
    return cells(y, "y")


def _only_column(y: Any) -> Any:
    """Return the labels of a table with one column, with scikit-learn's warning."""
    columns = columns_of(y)
    if (y.shape[1] if columns is None else len(columns)) != 1:
        raise DataError("y", "one label for each row of X: y should be a 1d array", "another number of columns")
    warnings.warn(
        "A column-vector y was passed when a 1d array was expected. Give y as one column, such as y.ravel().",
        DataConversionWarning,
        stacklevel=8,
    )
    return y[:, 0] if columns is None else columns[0]


def encode_labels(
    y: Cells, classes: Sequence[Any] | None, hypotheses: HypothesisClass
) -> tuple[LabelArray, Labels, tuple[str, ...]]:
    """(the names, labels as 0, 1, …, what had to be assumed public).

    A label is compared with the names by what it means (`pcqr.data.schema.cells`). Names come from `classes`, or
    from the class, or are the numbers 0 and 1, of no other type whatever y has, or else are read from y.
    """
    y, places = distinct(y)
    readings = _read(y)
    assumptions: tuple[str, ...] = ()
    if classes is not None:
        names: Sequence[Any] = declared(classes)
    elif hypotheses.labels > 2:  # declared with the class
        names = range(hypotheses.labels)
    else:
        is_binary = all(reading in (0.0, 1.0) for reading in readings) and not any(
            isinstance(label, str) for label in y
        )
        if len(set(readings)) < 2 and (hypotheses.several_labels or not is_binary):
            raise DataError(
                "y", "labels of two classes or more; where records of one class are all there are, declare both", _ONE
            )
        if is_binary:
            names = (0, 1)  # another label would have been taken for another name, or for a third class
            assumptions = (LABELS_READ if hypotheses.several_labels else ZERO_AND_ONE,)
        else:
            names, assumptions = _distinct(y, readings), (LABELS_READ,)
        if len(names) > 2 and not hypotheses.several_labels:
            found = "more. Only binary classification is supported. The type of the target is multiclass"
            raise DataError("y", "labels of two classes: 0 and 1, or declared as classes=(negative, positive)", found)
    place = {text_of(read(name)): place for place, name in enumerate(names)}
    labels = np.array([place.get(text_of(reading), -1) for reading in readings], dtype=np.int8)
    if (labels < 0).any():
        raise DataError("y", f"labels among classes={tuple(names)}", "other values")
    return as_array(names), labels[places], assumptions


def plain_name(name: Any) -> Any:
    """A label's name as Python has it."""
    return name.item() if isinstance(name, np.generic) else name


def as_array(names: Sequence[Any]) -> LabelArray:
    """Names of one type as numpy has it, others as they are: 1 beside "a" stays a number."""
    kinds = {np.asarray(name).dtype.kind for name in names}
    if kinds in ({"U"}, {"b"}) or kinds <= set("iuf"):
        return np.array(list(names))
    return np.array(list(names), dtype=object)


def _read(y: Sequence[Any]) -> list[Reading]:
    try:
        readings = [read(label) for label in y]
    except TypeError:
        raise DataError("y", "numbers, truth values or texts", "labels of another type") from None
    if None in readings:
        raise DataError("y", "a label in every row", "missing ones (None or NaN)")
    return readings


def declared(classes: Sequence[Any]) -> list[Any]:
    """The names in `classes`, checked."""
    allowed = f"2 to {MOST_LABELS} label names that are read as different ones, negative first"
    try:
        names = [plain_name(name) for name in classes]
        texts = {text_of(read(name)) for name in names}
    except TypeError:
        raise ParameterError("classes", allowed, classes) from None
    if len(names) > MOST_LABELS:
        raise ParameterError("classes", allowed, f"{len(names):,} names")
    if isinstance(classes, str) or len(names) < 2 or len(texts) < len(names) or None in texts:
        raise ParameterError("classes", allowed, classes)
    return names


def _distinct(y: Sequence[Any], readings: Sequence[Reading]) -> list[Any]:
    """The names that occur, in order. They depend on which labels occur, not on how often, and are assumed public."""
    if any(isinstance(reading, float) and not reading.is_integer() for reading in readings):
        raise DataError("y", "labels of some classes", "numbers with fractions. Unknown label type: continuous")
    spelling: dict[Reading, Any] = {}
    for label, reading in zip(y, readings, strict=True):
        name = str.__str__(label) if isinstance(label, str) else _plain(reading)
        known = spelling.setdefault(reading, name)
        if type(known) is not type(name):
            raise DataError("y", "labels of one type", "labels of several types")
        if known != name:  # whichever were taken, one record would rename the others
            raise DataError("y", "labels that are each spelt in one way, or declared as classes=…", "several spellings")
    if len({type(name) for name in spelling.values()}) > 1:
        raise DataError("y", "labels of one type", "labels of several types")
    if any(isinstance(name, str) and len(name) > LONGEST_NAME for name in spelling.values()):
        raise DataError("y", f"labels of at most {LONGEST_NAME:,} characters, or declared as classes=…", "longer ones")
    if len(spelling) > MOST_LABELS:  # how many is not said: they are private
        raise DataError("y", f"labels of at most {MOST_LABELS} classes", "more")
    return sorted(spelling.values())


def _plain(reading: Reading) -> Any:
    return int(reading) if isinstance(reading, float) else text_of(reading)


# ---------------------------------------------------------------------------------------------------------------------
# X as it comes, as a table of numbers: each cell by itself, whatever the others are (proofs/table.md).


_ROWS = 1 << 12


def read_points(estimator: BaseEstimator, X: Any, schema: Schema | None, *, reset: bool) -> Points:
    """`X` as a float64 matrix through scikit-learn's checks, which set (`reset`) or compare its width and names.

    All but one: where numbers are missing scikit-learn advises to impute them, and an imputer that is fitted on private
    records is covered by no ε.
    """
    columns = None if schema is not None else columns_of(X)
    points: Points
    options: dict[str, Any] = {"dtype": np.float64, "order": "C", "ensure_all_finite": False}
    if columns is not None:
        _, matrix = validate_data(estimator, X, reset=reset, skip_check_array=True), matrix_of(X)
        points = check_array(matrix, **options, estimator=estimator, input_name="X")
    else:
        if isinstance(X, CompactTable):
            matrix = _read_before(X, schema).encoded()
        else:
            matrix = _matrix(X) if schema is None else schema.encode(X)
        if not reset and _is_as_fitted(estimator, matrix):
            points = np.ascontiguousarray(matrix, dtype=np.float64)
        else:
            points = validate_data(estimator, matrix, **options, reset=reset)
    _check_finite(points)
    return points


def in_order(row: Mapping[str, list[Any]]) -> Points:
    """Return one row with its cells in the order of the columns of `fit`. Its names were checked before."""
    points = np.asarray(matrix_of([[cell for (cell,) in row.values()]]), dtype=np.float64)
    _check_finite(points)
    return points


def read_table(estimator: BaseEstimator, X: Any, schema: Schema | None) -> NDArray[Any] | CompactTable:
    """`X` for `fit`: read once, in few bytes where there is a schema, else as a float64 matrix.

    What a schema has read before (`Schema.compact`) is taken as it is. scikit-learn's checks are the same: a first row
    stands for all, since a schema lets only finite numbers through. So it does for an array of numbers shorter than
    float64, which stays as it is (`pcqr.data.records.Narrow`): it may be large.
    """
    if schema is None and type(X) is np.ndarray and X.ndim == 2 and X.shape[0] > 0 and is_narrow(X.dtype):
        validate_data(estimator, X[:1], dtype=np.float64, ensure_all_finite=False, reset=True)
        _check_finite(X)
        return X
    if schema is None and not isinstance(X, CompactTable):
        return read_points(estimator, X, None, reset=True)
    table = _read_before(X, schema) if isinstance(X, CompactTable) or schema is None else schema.compact(X)
    validate_data(estimator, table.rows(slice(1)).encoded(), dtype=np.float64, reset=True)
    return table


def _read_before(table: CompactTable, schema: Schema | None) -> CompactTable:
    """`table` as it is, which `schema` has read, if one is given."""
    if schema is not None and table.columns != schema.columns:
        raise DataError("X", "a table that was read by this schema", "one that another schema has read")
    return table


def _check_finite(points: NDArray[Any]) -> None:
    """Some thousand rows at a time: as many truth values as numbers take an eighth of the memory of a large table."""
    if not all(np.isfinite(points[start : start + _ROWS]).all() for start in range(0, points.shape[0], _ROWS)):
        raise DataError(
            "X",
            "finite numbers; where cells are missing, declare the `types` of a frame (PrivateClassifier with nothing "
            "public), give X and `public` as frames, or declare the column with missing = true in a schema; do not "
            "impute from private records, since no ε would cover that",
            "NaN or infinity",
        )


def schema_from(public: Any, hypotheses: HypothesisClass) -> Schema | None:
    """Return a schema made of the public rows, None unless they are a frame whose columns have names.

    A class of a certain width, or one whose members are declared by position, reads columns of numbers as they are: a
    gap would need a column of its own.
    """
    if not has_names(public):
        return None
    if (hypotheses.is_fixed or hypotheses.features is not None) and not is_mixed(public):
        return Schema(tuple(map(Column, column_names(public, "public"))))
    return Schema.from_public(public)


def raw_table(X: Any, types: Mapping[str, RawKind] | None, hypotheses: HypothesisClass) -> RawTable | None:
    """Return `X` as columns of kinds, declared as `types` or those of a frame; None where it is one of numbers."""
    if isinstance(X, RawInMemory):
        return X
    if isinstance(X, ParquetTable) and not hypotheses.is_fixed:
        return RawParquet(X.parts, types or {}, (X.label, *X.drop))
    if hypotheses.is_fixed or not has_names(X):
        if types is not None and not hypotheses.is_fixed:
            raise ParameterError("types", "None for a table without names, whose columns are numbers", types)
        return None
    return RawInMemory(X, types or {}) if types is not None or not is_of_numbers(X) else None


def check_same_columns(X: Any, public: Any) -> None:
    """Refuse private records whose columns are not those of the public rows that the schema was made of."""
    if isinstance(X, CompactTable | ParquetTable | Parted):
        return  # read by a schema of their own, or compared with it when they are
    if not has_names(X):
        raise DataError(
            "X",
            "a table with the column names of `public`, such as a data frame (or give both as arrays of numbers)",
            "one without names",
        )
    private, shown = column_names(X, "X"), column_names(public, "public")
    if extra := [name for name in shown if name not in private]:
        raise DataError(
            "public",
            "rows with the columns of X alone",
            f"also {listed(extra)}: leave out the label, and what X lacks",
        )
    if absent := [name for name in private if name not in shown]:
        raise DataError(
            "public",
            "rows with all columns of X, or `schema` given, which declares them",
            f"rows without {listed(absent)}: add that to public, or leave it out of X",
        )


def check_width(public: Any, width: int) -> None:
    """Refuse public rows without names that have more or fewer columns than the private records."""
    columns = columns_of(public)
    found = matrix_of(public).shape[1] if columns is None else len(columns)
    if found != width:
        label = ", the label perhaps among them" if found == width + 1 else ""
        raise DataError("public", f"rows with the {width} columns of X", f"{found} columns{label}")


def has_names(table: Any) -> bool:
    """Is it a frame, or a mapping of columns, whose column names are texts?"""
    is_frame = isinstance(table, Mapping) or columns_of(table) is not None
    return is_frame and all(isinstance(name, str) for name in column_names(table, "the table"))


def is_of_numbers(table: Any) -> bool:
    """Do the types of the columns of a frame say that all are numbers, or truth values? No cell is looked at."""
    kinds = [kind_of(type_of(column)) for column in columns_of(table) or (None,)]
    return set(kinds) <= {"numeric", "boolean"}


def is_mixed(table: Any) -> bool:
    """Has `table` columns that are not numbers, or missing values?"""
    columns = table.values() if isinstance(table, Mapping) else columns_of(table) or ()
    return any(_is_mixed(cells(column)) for column in columns)


def _is_mixed(column: Any) -> bool:
    if not isinstance(column, np.ndarray):
        return not all(type(cell) is int or (type(cell) is float and not math.isnan(cell)) for cell in column)
    return column.dtype.kind not in "biuf" or bool(np.isnan(column).any())


def _is_as_fitted(estimator: BaseEstimator, matrix: Any) -> bool:
    """Would scikit-learn have nothing to say? Its own checks take ten times as long as the rest of an answer."""
    return (
        type(matrix) is np.ndarray
        and matrix.shape[0] > 0
        and matrix.shape[1] == getattr(estimator, "n_features_in_", None)
        and getattr(estimator, "feature_names_in_", None) is None
    )


def _matrix(X: Any) -> Any:
    return X if hasattr(X, "tocsr") else matrix_of(X)  # scikit-learn refuses sparse tables in its own words


# ---------------------------------------------------------------------------------------------------------------------
# The private table that `fit` got, in memory or in files, until it becomes records.


Named = tuple[LabelArray, Records, tuple[str, ...]]
"""The names of the labels, the records, and what had to be assumed public."""


class PrivateTable:
    """A table in memory with its labels, whose its rows are and what each of them counts. **Private.**"""

    def __init__(
        self,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        schema: Schema | None,
        groups: Any,
        shares: NDArray[np.float64] | None = None,
    ) -> None:
        self._table, self._labels, self._unit_ids = read_table(estimator, X, schema), label_cells(y), UnitIds(groups)
        self._unit_ids.check_lengths(self._table, self._labels)
        if shares is not None and shares.size != self._table.shape[0]:
            raise DataError("sample_weight", "as long as X", "another number of weights")
        self._shares = shares
        self.size, self.width = self._unit_ids.count(self._table), self._table.shape[1]

    def named(
        self,
        classes: Sequence[Any] | None,
        hypotheses: HypothesisClass,
        texts: Sequence[str] = (),  # noqa: ARG002
    ) -> Named:
        """Return the records, once the labels have names. In memory, texts are kept as they are."""
        names, labels, assumptions = encode_labels(self._labels, classes, hypotheses)
        return names, self._unit_ids.grouped(_source(self._table, labels, names.shape[0]), self._shares), assumptions


class PrivateParts:
    """A table in parts, not read yet (`ParquetTable`), or read before (`Parted`)."""

    def __init__(
        self, estimator: BaseEstimator, table: ParquetTable | Parted, y: Any, schema: Schema | None, groups: Any
    ) -> None:
        if y is not None:
            raise DataError("y", "None for a table in files, which says itself where its labels are", "something else")
        if groups is not None:
            raise DataError(
                "groups", "None for a table in parts; read it into memory (pcqr.datasets.read_table) for persons", "ids"
            )
        if schema is None and isinstance(table, ParquetTable):
            raise DataError(
                "schema",
                "given for a table in files: declared columns, one that Schema.private(table, …) buys, or `public` "
                "rows that are not all numbers (PrivateClassifier without declared predicates needs none of these)",
                "None",
            )
        if schema is not None and isinstance(table, Parted) and table.columns != schema.columns:
            raise DataError("X", "a table that was read by this schema", "one that another schema has read")
        self._table, self._schema = table, schema
        if isinstance(table, Parted):
            self.size, self.width = table.size, table.width
        else:
            self.size, self.width = table.parts.rows, 0 if schema is None else len(schema.features)
        validate_data(estimator, np.zeros((1, self.width)), reset=True)  # the width alone, as `read_table` has it

    def named(self, classes: Sequence[Any] | None, hypotheses: HypothesisClass, texts: Sequence[str] = ()) -> Named:
        """Read and check the records. Labels without declared names are 0 and 1, or 0, 1, … of the class.

        The texts of the columns `texts` are kept, so that their categories can be bought.
        """
        names: Sequence[Any] | None = None
        if classes is not None:
            names = declared(classes)
        elif hypotheses.labels > 2:
            names = range(hypotheses.labels)
        records = self._table
        if isinstance(records, ParquetTable) and self._schema is not None:
            records = records.read(self._schema, names, texts)
        if not isinstance(records, Parted) or records.labels != (2 if names is None else len(names)):
            raise DataError("X", "a table with as many labels as there are classes", "another number")
        return as_array((0, 1) if names is None else names), records, () if names is not None else (ZERO_AND_ONE,)


def private_table(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    schema: Schema | None,
    groups: Any,
    shares: NDArray[np.float64] | None = None,
) -> PrivateTable | PrivateParts:
    """The table that `fit` got. `shares` say what each row counts, from 0 to 1."""
    if isinstance(X, ParquetTable | Parted):
        if shares is not None:
            raise no_weights_in_parts("sample_weight")
        return PrivateParts(estimator, X, y, schema, groups)
    return PrivateTable(estimator, X, y, schema, groups, shares)


def no_weights_in_parts(name: str) -> DataError:
    """What is said where weights are asked for a table in parts."""
    allowed = "None for a table in parts; read it into memory (pcqr.datasets.read_table) for weights"
    return DataError(name, allowed, "weights")


def schema_for(X: Any, schema: Schema | AssumePublic | None, public: Any, hypotheses: HypothesisClass) -> Schema | None:
    """Return the schema of a fit: the one that was given, the table's own, or one made of the public rows."""
    own = X.schema if isinstance(X, ParquetTable) else None
    named = _plain_schema(schema)
    if own is not None and named is not None and own != named:
        raise DataError("schema", "that of the table, or None", "another one")
    found: Schema | None = own if named is None else named
    if found is None:
        found = schema_from(public, hypotheses)
        if found is not None:
            check_same_columns(X, public)
    elif not isinstance(schema, AssumePublic):
        _check_origin(found, X)
    if found is not None:
        warn_of_near_unique(found)
    return found


def plan_schema(schema: Any, public: Any, hypotheses: HypothesisClass) -> Schema | None:
    """Return the schema of a plan, for which there is no private table."""
    named = _plain_schema(schema)
    return schema_from(public, hypotheses) if named is None else named


def _plain_schema(schema: Any) -> Schema | None:
    found = schema.rows if isinstance(schema, AssumePublic) else schema
    if found is not None and not isinstance(found, Schema):
        raise ParameterError("schema", "a Schema, AssumePublic(schema) or None", type(found).__name__)
    return found


def _check_origin(schema: Schema, X: Any) -> None:
    """Refuse a schema that was made of the private rows: its categories and bounds are theirs."""
    origin = schema.origin
    if origin is None or isinstance(X, CompactTable | Parted) or not (isinstance(X, ParquetTable) or has_columns(X)):
        return
    if isinstance(X, ParquetTable):
        is_private = origin.is_of(X.parts.rows, X.parts.tables(origin.columns))
    else:
        first = next(iter(column_names(X, "X")), None)
        is_private = first is not None and origin.is_of(len(X[first]), [X])
    if is_private:
        raise DataError(
            "schema",
            "made of public rows, or declared without a look at the records (should these rows be public: "
            "schema=pcqr.AssumePublic(schema))",
            "one that was made of the very rows of X",
        )


def warn_of_near_unique(schema: Schema) -> None:
    """Warn of columns that are nearly unique in the public rows, from the schema alone."""
    if schema.near_unique:
        names = listed(schema.near_unique)
        warnings.warn(
            f"Hardly any value occurs twice in the public rows of {names}: an identifier or free text, which says "
            "nothing of other records. Leave it out: schema.without(…), `pcqr schema … --drop …`, or declare what its "
            "values mean.",
            NearUnique,
            stacklevel=6,
        )


def check_public(shown: Points, private: Records) -> None:
    """Refuse rows called public of which more than half are private ones; warn, without a figure, where any is."""
    coinciding = private.coinciding(shown)
    if is_mostly_private(coinciding, shown):
        raise DataError(
            "public",
            "rows that are free to be shown, not private ones (should they be public and coincide because few "
            "different rows are possible: pcqr.AssumePublic(rows))",
            "rows of which more than half are rows of X",
        )
    if coinciding:
        warnings.warn(
            "Some of the public rows are equal to private records. Make sure that they did not come from them. For the "
            "data holder: that this warning appears depends on the private records.",
            PublicRowsCoincide,
            stacklevel=5,
        )


def _source(table: NDArray[Any] | CompactTable, labels: Labels, count: int) -> Records:
    if isinstance(table, CompactTable):
        return Encoded(table, labels, count)
    return Narrow(table, labels, count) if is_narrow(table.dtype) else InMemory(table, labels, count)
