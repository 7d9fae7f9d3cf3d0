"""X as it comes, as a table of numbers: each cell by itself, whatever the others are (proofs/table.md)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from pcqr.errors import DataError
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.records import ParquetTable
from pcqr.records.narrow import is_narrow
from pcqr.records.parted import Parted
from pcqr.schema import Column, Schema
from pcqr.schema.cells import cells, listed
from pcqr.schema.matrix import matrix_of
from pcqr.schema.raw import kind_of, type_of
from pcqr.schema.table import CompactTable, column_names, columns_of

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
    float64, which stays as it is (`pcqr.records.Narrow`): it may be large.
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
