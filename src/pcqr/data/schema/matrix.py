"""Tables of numbers without a schema, of any type: each cell is read by itself (proofs/table.md).

numpy is never given a list that has anything but Python's own numbers in it: it would make texts of all cells, each as
long as the longest, and what it says of one that it cannot convert quotes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.data.schema.cells import as_given, cells, listed, numbers, plain, unmasked
from pcqr.data.schema.reading import number_of, read
from pcqr.data.schema.table import columns_of
from pcqr.errors import DataError

_NUMBERS = {int, float, bool}


def matrix_of(X: Any) -> NDArray[Any]:
    """Return `X` as a table of numbers, with NaN for missing cells. Return an array of numbers as it is.

    Raises
    ------
    DataError
        When it has another number of dimensions, or cells that are no numbers. No message has a cell in it.
    TypeError
        When a cell is of a type that no table needs.
    """
    columns = columns_of(X)
    if columns is not None:
        return _stacked(columns)
    if isinstance(X, Mapping):
        raise DataError("X", "a table of numbers, since there is no schema", "a mapping")
    if isinstance(X, list | tuple):
        return _of_rows(plain(X))
    return _of_array(_array(X))


def one_row(x: Any, names: Sequence[str] | None) -> Any:
    """Return one query as a table with one row: read by names if it has any, else by position. A table stays as it is.

    `names` are those of the columns; None where they have none. A mapping, or a pandas Series whose index has names,
    becomes a mapping of each column to a list of one cell.
    """
    by_name: Any = x if isinstance(x, Mapping) else None
    if hasattr(x, "to_dict") and getattr(x, "ndim", 2) == 1 and any(isinstance(name, str) for name in x.index):
        by_name = x.to_dict() if names is not None else None
    if by_name is not None:
        return _named(by_name, names)
    is_vector = getattr(x, "ndim", None) == 1
    if isinstance(x, list | tuple):
        x = plain(x)
        is_vector = not any(issubclass(type(cell), list | tuple | np.ndarray) for cell in x)
    return [list(cells(x, "x"))] if is_vector else x


def _named(x: Mapping[Any, Any], names: Sequence[str] | None) -> dict[str, list[Any]]:
    if names is None:
        raise DataError(
            "x",
            "a vector of numbers, since the columns have no names here: `fit` got neither a schema nor a frame",
            "a mapping",
        )
    if absent := [name for name in names if name not in x]:
        raise DataError("x", f"a value for each of the columns {listed(names)}", f"none for {listed(absent)}")
    if unknown := [name for name in x if name not in names]:
        raise DataError("x", f"values for the columns {listed(names)} alone", f"also {listed(unknown)}: leave that out")
    return {name: [x[name]] for name in names}


def _stacked(columns: Sequence[Any]) -> NDArray[np.float64]:
    try:
        found = [numbers(cells(column)) for column in columns]
    except TypeError:
        raise _no_numbers() from None
    return np.column_stack(found) if found else np.empty((0, 0))


def _array(X: Any) -> NDArray[Any]:
    """Return the array of what is neither a list nor a frame. Drop errors of its library, which may quote a cell."""
    if isinstance(X, np.ndarray):
        return X
    if hasattr(X, "__array__") or not hasattr(X, "__len__"):
        return as_given(X, "X")
    try:
        rows = list(X)
    except Exception:
        rows = None
    if rows is None:
        raise _no_numbers()
    return _of_rows(rows)


def _of_array(found: NDArray[Any]) -> NDArray[Any]:
    if found.dtype.kind == "c":
        raise DataError("X", "real numbers. Complex data not supported", "complex numbers")
    if found.ndim != 2:
        raise _dimensions(found.ndim)
    if isinstance(found, np.ma.MaskedArray):
        return _read([unmasked(row) for row in found])
    return found if found.dtype.kind in "biuf" else _read(found)


def _of_rows(rows: Sequence[Any]) -> NDArray[Any]:
    found: list[Sequence[Any]] = []
    kinds: set[type] = set()
    for row in rows:
        cells_of_row = _row(row)
        kinds.update(map(type, cells_of_row))
        if found and len(cells_of_row) != len(found[0]):
            raise DataError("X", "a table whose rows have one length", "rows of different lengths")
        found.append(cells_of_row)
    if not found:
        return np.empty((0, 0))
    if kinds <= _NUMBERS:
        array = np.asarray(found)
        if array.dtype.kind in "biuf":
            return array
    if any(issubclass(kind, complex | np.complexfloating) for kind in kinds):
        raise DataError("X", "real numbers. Complex data not supported", "complex numbers")
    if any(issubclass(kind, list | tuple | np.ndarray) for kind in kinds):
        raise _dimensions(3)
    return _read(found)


def _row(row: Any) -> Sequence[Any]:
    """Return the cells of one row of a list."""
    if isinstance(row, list | tuple):
        return plain(row)
    if isinstance(row, np.ma.MaskedArray) and row.ndim == 1:
        return unmasked(row)
    if isinstance(row, str | bytes | Mapping) or not hasattr(row, "__len__") or getattr(row, "ndim", 1) == 0:
        raise _dimensions(1)
    if getattr(row, "ndim", 1) != 1:
        raise _dimensions(3)
    found = cells(row)
    return list(found)


def _read(rows: Any) -> NDArray[np.float64]:
    """Return the numbers of these cells, read one by one."""
    try:
        return np.array([[number_of(value) for value in row] for row in rows], dtype=np.float64)
    except TypeError:
        is_readable = all(_is_readable(value) for row in rows for value in row)
    raise _no_numbers() if is_readable else _no_cell()


def _is_readable(value: Any) -> bool:
    try:
        read(value)
    except TypeError:
        return False
    return True


def _dimensions(count: int) -> DataError:
    if count < 2:
        return DataError(
            "X", "a table with two dimensions. Reshape your data, e.g. by array.reshape(-1, 1)", "one dimension"
        )
    return DataError("X", "a table with two dimensions", f"{count} dimensions")


def _no_numbers() -> DataError:
    return DataError("X", "a table of numbers (declare other columns with a schema)", "text, dates or missing values")


def _no_cell() -> TypeError:
    return TypeError("X: each cell of the argument must be a string that spells a number, or a number.")
