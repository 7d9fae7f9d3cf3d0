"""The rows of a request as a table: columns by name, or a matrix where there is no schema. Then its cells are checked.

A request brings them as tensors, as JSON ({"rows": …}, {"columns": …} or {"x": …}) or as CSV.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from pcqr.datasets.tables import parse_table
from pcqr.errors import DataError
from pcqr.hypotheses.base import Points
from pcqr.schema import Column, Schema
from pcqr.server.bodies import IN_CSV, IN_JSON, check_rows, check_values, parse_object
from pcqr.server.errors import Refusal
from pcqr.server.tensors import BYTES, Tensor, bad

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
