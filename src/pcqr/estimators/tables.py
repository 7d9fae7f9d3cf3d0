"""X as it comes, as a table of numbers: each cell by itself, whatever the others are (proofs/table.md)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array, validate_data

from pcqr.errors import DataError
from pcqr.hypotheses.base import Points
from pcqr.records.narrow import is_narrow
from pcqr.schema import Schema
from pcqr.schema.cells import cells, numbers
from pcqr.schema.reading import number_of, read
from pcqr.schema.table import CompactTable

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
        _, matrix = validate_data(estimator, X, reset=reset, skip_check_array=True), _stacked(columns)
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
            "finite numbers; where cells are missing, declare their column with missing = true in a schema, "
            "and do not impute by private records, which no ε would cover",
            "NaN or infinity",
        )


def columns_of(table: Any) -> Sequence[Any] | None:
    """The columns of a pandas or Polars frame or an Arrow table in their order; None for anything else."""
    if hasattr(table, "get_columns"):  # Polars
        return table.get_columns()  # type: ignore[no-any-return]
    if hasattr(table, "column_names"):  # Arrow
        return table.columns  # type: ignore[no-any-return]
    if hasattr(table, "iloc") and getattr(table, "ndim", 1) == 2:  # pandas
        return [table.iloc[:, place] for place in range(table.shape[1])]
    return None


def is_mixed(table: Any) -> bool:
    """Is `table` a frame with columns that are not numbers, or missing values: is a schema needed?"""
    return any(_is_mixed(cells(column)) for column in columns_of(table) or ())


def _is_mixed(column: Any) -> bool:
    return not isinstance(column, np.ndarray) or column.dtype.kind not in "biuf" or bool(np.isnan(column).any())


def _is_as_fitted(estimator: BaseEstimator, matrix: Any) -> bool:
    """Would scikit-learn have nothing to say? Its own checks take ten times as long as the rest of an answer."""
    return (
        type(matrix) is np.ndarray
        and matrix.shape[0] > 0
        and matrix.shape[1] == getattr(estimator, "n_features_in_", None)
        and getattr(estimator, "feature_names_in_", None) is None
    )


def _stacked(columns: Sequence[Any]) -> Points:
    try:
        found = [numbers(cells(column)) for column in columns]
    except TypeError:
        raise _no_numbers() from None
    return np.column_stack(found) if found else np.empty((0, 0))


def _matrix(X: Any) -> Any:
    """Where numpy finds numbers alone, each is its cell's own, rounded to float64 at most; else cell by cell."""
    if hasattr(X, "tocsr"):  # scikit-learn refuses sparse tables in its own words
        return X
    if isinstance(X, Mapping):
        raise DataError("X", "a table of numbers, since there is no schema", "a mapping")
    if isinstance(X, np.ma.MaskedArray):
        X = X.tolist()  # None for what is masked
    found = np.asarray(X)
    if found.dtype.kind == "c":
        raise DataError("X", "real numbers. Complex data not supported", "complex numbers")
    if found.ndim < 2:  # scikit-learn would quote the values, here and below
        raise DataError(
            "X", "a table with two dimensions. Reshape your data, e.g. by array.reshape(-1, 1)", "one dimension"
        )
    if found.ndim > 2:
        raise DataError("X", "a table with two dimensions", f"{found.ndim} dimensions")
    if found.dtype.kind in "biuf":
        return found
    try:
        return np.array([[number_of(value) for value in row] for row in _rows(X, found)], dtype=np.float64)
    except TypeError:
        refused = _no_numbers() if all(map(_is_readable, found.flat)) else _no_cell()
    raise refused


def _rows(X: Any, found: Any) -> Any:
    return X if isinstance(X, list | tuple) else found


def _is_readable(value: Any) -> bool:
    try:
        read(value)
    except TypeError:
        return False
    return True


def _no_numbers() -> DataError:
    return DataError("X", "a table of numbers (declare other columns with a schema)", "text, dates or missing values")


def _no_cell() -> TypeError:
    return TypeError("X: each cell of the argument must be a string that spells a number, or a number.")
