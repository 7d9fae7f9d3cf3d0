"""The rows of a request as a table: columns by name, or a matrix where there is no schema. Then its cells are checked.

A request brings them as tensors, as JSON ({"rows": …}, {"columns": …} or {"x": …}) or as CSV.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.data.schema import Column, Schema
from pcqr.datasets.tables import parse_table
from pcqr.errors import DataError
from pcqr.hypotheses.base import Points
from pcqr.server.errors import Refusal
from pcqr.server.shapes import IN_CSV, IN_JSON, check_rows, check_values, parse_object

Table = dict[str, Any] | Points
JSON, CSV = "application/json", "text/csv"


def count_rows(table: Table) -> int:
    return len(next(iter(table.values()))) if isinstance(table, dict) else table.shape[0]


def from_tensors(inputs: Mapping[str, Tensor], schema: Schema | None, features: int) -> Table:
    """One tensor a column, or `x` with all of them."""
    if schema is None:
        return _tensor_matrix(inputs, features)
    if wrong := _wrong_names(inputs, schema):
        raise Refusal("bad_tensor", *wrong)
    count = None
    for name in schema.names:
        shape = inputs[name].shape
        if len(shape) > 2 or shape[1:] not in ((), (1,)):
            raise bad(f"Tensor {name!r} must have the shape [rows] or [rows, 1].", name)
        if count is not None and shape[0] != count:
            raise bad(f"Tensor {name!r} must have as many rows as the others.", name)
        count = shape[0]
    if not count:
        raise bad("There must be at least one row.")
    return {name: inputs[name].cells for name in schema.names}


def from_body(body: bytes, content_type: str, schema: Schema | None, features: int, most_rows: int) -> Table:
    """The table in a body of JSON or CSV. Too many rows are refused before they are looked at."""
    kind, _, parameters = content_type.partition(";")
    kind, charset = kind.strip().lower(), parameters.strip().lower()
    if kind not in (JSON, CSV) or charset not in ("", "charset=utf-8", 'charset="utf-8"'):
        raise Refusal("wrong_type", f"Send {JSON} or {CSV}, in UTF-8.")
    columns = features if schema is None else len(schema.columns)
    check_values(body, IN_CSV if kind == CSV else IN_JSON, most_rows, columns)
    table = _from_csv(body, most_rows) if kind == CSV else _from_json(body, schema, most_rows)
    if isinstance(table, list) or schema is None:
        return _matrix(table, schema, features)
    if wrong := _wrong_names(table, schema):
        raise Refusal("bad_value", *wrong)
    if not count_rows(table):
        raise Refusal("bad_value", "There must be at least one row.")
    return table


def checked(table: Table, schema: Schema | None, read: Callable[[Table], Points]) -> Points:
    """The points of a table; a cell that the schema refuses is told by its column and its row."""
    try:
        with np.errstate(all="ignore"):
            return read(table)
    except DataError as error:
        raise Refusal("bad_value", str(error), _blamed(table, schema)) from None


def _blamed(table: Table, schema: Schema | None) -> dict[str, Any]:
    """The first column with a cell that is refused, and the row of that cell, from 1. The cells are the asker's own."""
    if schema is None or not isinstance(table, dict):
        return {} if isinstance(table, dict) else {"row": int(np.argmin(np.isfinite(table).all(axis=1))) + 1}
    for column in schema.columns:
        cells = table[column.name]
        if _is_refused(column, cells):
            return {"column": column.name, "row": _first_refused(column, cells)}
    return {}


def _first_refused(column: Column, cells: Sequence[Any]) -> int:
    """By bisection: some cell before `high` is refused, and none before `low`."""
    low, high = 0, len(cells)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_refused(column, cells[low:middle]) else (middle, high)
    return low + 1


def _is_refused(column: Column, cells: Any) -> bool:
    try:
        with np.errstate(all="ignore"):
            column.compact(cells)
    except DataError:
        return True
    return False


def _wrong_names(given: Mapping[str, Any], schema: Schema) -> tuple[str, dict[str, Any]] | None:
    """What is wrong with the names of columns, in words and as details."""
    if given.keys() == set(schema.names):
        return None
    missing = [name for name in schema.names if name not in given][:20]
    unknown = [name for name in given if name not in schema.names][:20]
    told = "The columns must be those of the schema." + "".join(
        f" {word}: {', '.join(map(repr, found))}."
        for word, found in (("Missing", missing), ("Unknown", unknown))
        if found
    )
    return told, {"missing": missing, "unknown": unknown}


def _tensor_matrix(inputs: Mapping[str, Tensor], features: int) -> Points:
    if set(inputs) != {"x"}:
        raise bad(f"There must be one input, 'x', of the shape [rows, {features}].")
    x = inputs["x"]
    if len(x.shape) != 2 or x.shape[1] != features or not x.shape[0]:
        raise bad(f"Tensor 'x' must have the shape [rows, {features}], and at least one row.", "x")
    if x.datatype == BYTES:
        raise bad("Tensor 'x' must hold numbers.", "x")
    return _numbers(x.cells).reshape(x.shape)


def _from_csv(body: bytes, most_rows: int) -> dict[str, Any]:
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise Refusal("not_utf8", "The body must be text in UTF-8.") from None
    try:
        table = dict(parse_table(text, "the body", most_rows=most_rows + 1))
    except DataError as error:
        raise Refusal("bad_value", str(error)) from None
    check_rows(count_rows(table), most_rows)
    return table


def _from_json(body: bytes, schema: Schema | None, most_rows: int) -> dict[str, Any] | list[Any]:
    given = parse_object(body)
    if len(given) != 1 or not given.keys() <= {"rows", "columns", "x"}:
        raise Refusal("bad_value", "The body must have one of the members rows, columns and x.")
    ((what, told),) = given.items()
    if what == "columns":
        return _columns(told, most_rows)
    if not isinstance(told, list) or not told:
        raise Refusal("bad_value", f"{what} must be a list with at least one row.")
    check_rows(len(told), most_rows)
    if what == "x":
        return told
    if schema is None:
        raise Refusal("bad_value", "There are no named columns here: send x, a list of rows of numbers.")
    return _transposed(told, schema)


def _columns(told: object, most_rows: int) -> dict[str, Any]:
    if not isinstance(told, dict) or not told or not all(isinstance(cells, list) for cells in told.values()):
        raise Refusal("bad_value", "columns must be an object with a list of cells for each column.")
    lengths = set(map(len, told.values()))
    check_rows(max(lengths), most_rows)
    if len(lengths) > 1:
        raise Refusal("bad_value", "The columns must have equal lengths.")
    return told


def _transposed(rows: list[Any], schema: Schema) -> dict[str, Any]:
    for place, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise Refusal("bad_value", "Each row must be an object with a cell for each column.", {"row": place})
        if wrong := _wrong_names(row, schema):
            words, details = wrong
            raise Refusal("bad_value", words, details | {"row": place})
    return {name: [row[name] for row in rows] for name in schema.names}


def _matrix(table: dict[str, Any] | list[Any], schema: Schema | None, features: int) -> Points:
    if schema is not None:
        raise Refusal("bad_value", "There are named columns here: send rows or columns, not x.")
    if isinstance(table, dict):
        raise Refusal("bad_value", "There are no named columns here: send x, a list of rows of numbers.")
    for place, row in enumerate(table, start=1):
        if not isinstance(row, list) or len(row) != features or not {type(cell) for cell in row} <= {int, float}:
            raise Refusal("bad_value", f"Each row of x must be a list of {features} numbers.", {"row": place})
    return _numbers([cell for row in table for cell in row]).reshape(len(table), features)


def _numbers(cells: Any) -> Points:
    with np.errstate(all="ignore"):
        try:
            return np.array(cells, dtype=np.float64)
        except OverflowError:
            raise Refusal("bad_value", "A number is too large for float64.") from None


# ---------------------------------------------------------------------------------------------------------------------
# Tensors of the Open Inference Protocol v2: in JSON, and in its binary form. Every check is strict.
#
# Numbers are little-endian in binary; a BYTES element is its length in four bytes, then the bytes, which here are text
# in UTF-8. In JSON the data are a list of the shape, or flat, in row-major order.


BYTES, BOOL, INT64, FP64 = "BYTES", "BOOL", "INT64", "FP64"
_INTEGERS = {
    f"{sign}INT{bits}": f"<{kind}{bits // 8}" for bits in (8, 16, 32, 64) for sign, kind in (("", "i"), ("U", "u"))
}
_FLOATS = {f"FP{bits}": f"<f{bits // 8}" for bits in (16, 32, 64)}
NUMPY: Mapping[str, np.dtype[Any]] = {
    name: np.dtype(code) for name, code in ({BOOL: "u1"} | _INTEGERS | _FLOATS).items()
}
"""How each datatype but BYTES lies in memory. Truth values are bytes of 0 or 1."""
_LIMITS = {name: (int(np.iinfo(code).min), int(np.iinfo(code).max)) for name, code in _INTEGERS.items()}
_MOST_DIMENSIONS = 8
LARGEST = 1 << 48
"""No tensor has so many cells along any of its dimensions."""

Cells = Sequence[Any] | NDArray[Any]


@dataclass(frozen=True)
class Tensor:
    """One tensor: its cells are flat, in row-major order; texts are `str`."""

    name: str
    datatype: str
    shape: tuple[int, ...]
    cells: Cells


def bad(message: str, tensor: str | None = None) -> Refusal:
    """The refusal of a tensor."""
    return Refusal("bad_tensor", message, {} if tensor is None else {"tensor": tensor})


def read_shape(given: object, name: str) -> tuple[int, ...]:
    """A shape of whole numbers."""
    is_shape = isinstance(given, list) and 0 < len(given) <= _MOST_DIMENSIONS
    if not is_shape or any(type(size) is not int or not 0 <= size < LARGEST for size in given):  # type: ignore[attr-defined]
        raise bad(f"The shape of tensor {name!r} must be a list of 1 to {_MOST_DIMENSIONS} whole numbers.", name)
    return tuple(given)  # type: ignore[arg-type]


def check_datatype(given: object, name: str) -> str:
    if isinstance(given, str) and (given in NUMPY or given == BYTES):
        return given
    raise bad(f"The datatype of tensor {name!r} must be one of {', '.join([*NUMPY, BYTES])}.", name)


def from_json(name: str, datatype: str, shape: tuple[int, ...], data: object) -> Tensor:
    """A tensor whose data are a JSON list."""
    count = math.prod(shape)
    if not isinstance(data, list):
        raise bad(f"The data of tensor {name!r} must be a list.", name)
    cells = data
    if cells and isinstance(cells[0], list):
        cells = _flat(data, shape, name)
    if len(cells) != count:
        raise bad(f"Tensor {name!r} must have {count:,} elements, as its shape says.", name)
    _check_cells(cells, datatype, name)
    return Tensor(name, datatype, shape, cells)


def from_binary(name: str, datatype: str, shape: tuple[int, ...], data: memoryview) -> Tensor:
    """A tensor whose data are these bytes."""
    count = math.prod(shape)
    if datatype == BYTES:
        return Tensor(name, datatype, shape, _texts(data, count, name))
    kind = NUMPY[datatype]
    if len(data) != count * kind.itemsize:
        raise bad(f"Tensor {name!r} must have {count * kind.itemsize:,} bytes, as its shape and datatype say.", name)
    cells = np.frombuffer(data, dtype=kind)
    if datatype == BOOL:
        if (cells > 1).any():
            raise bad(f"Tensor {name!r} is BOOL: its bytes must be 0 or 1.", name)
        cells = cells.astype(np.bool_)
    return Tensor(name, datatype, shape, cells)


def to_binary(datatype: str, cells: Sequence[Any]) -> bytes:
    """The bytes of a tensor with these cells."""
    if datatype != BYTES:
        return np.asarray(cells, dtype=NUMPY[datatype]).tobytes()
    texts = [text.encode() for text in cells]
    return b"".join(part for text in texts for part in (len(text).to_bytes(4, "little"), text))


def _flat(data: list[Any], shape: tuple[int, ...], name: str) -> list[Any]:
    """Nested lists, which must have the shape, as one list."""
    ragged = bad(f"The data of tensor {name!r} must be flat, or nested as its shape says.", name)
    level = data
    if len(level) != shape[0]:
        raise ragged
    for inner in shape[1:]:
        if any(not isinstance(each, list) or len(each) != inner for each in level):
            raise ragged
        level = [cell for each in level for cell in each]
    return level


def _check_cells(cells: list[Any], datatype: str, name: str) -> None:
    kinds = set(map(type, cells))
    if datatype == BYTES:
        allowed: set[type] = {str}
    elif datatype == BOOL:
        allowed = {bool}
    elif datatype in _FLOATS:
        allowed = {int, float}
    else:
        allowed = {int}
    if not kinds <= allowed:
        words = {BYTES: "texts", BOOL: "true or false"}.get(
            datatype, "numbers" if float in allowed else "whole numbers"
        )
        raise bad(f"Tensor {name!r} is {datatype}: its elements must be {words}.", name)
    if datatype in _LIMITS and cells:
        least, most = _LIMITS[datatype]
        if min(cells) < least or max(cells) > most:
            raise bad(f"Tensor {name!r} has a number that {datatype} cannot hold.", name)


def _texts(data: memoryview, count: int, name: str) -> list[str]:
    torn = bad(f"Tensor {name!r} must have {count:,} elements of BYTES, each after its length in 4 bytes.", name)
    if len(data) < 4 * count:
        raise torn
    found, start, end = [], 0, len(data)
    try:
        for _ in range(count):
            text = start + 4
            start = text + int.from_bytes(data[start:text], "little")
            if text > end or start > end:
                raise torn
            found.append(str(data[text:start], "utf-8"))
    except UnicodeDecodeError:
        raise Refusal("not_utf8", f"Tensor {name!r} must hold text in UTF-8.", {"tensor": name}) from None
    if start != end:
        raise torn
    return found
