"""What a request brings and an inference replies: JSON, tables of rows, tensors. Every check is strict.

Rows come as tensors, as JSON ({"rows": …}, {"columns": …} or {"x": …}) or as CSV, and become a table: columns by name,
or a matrix where there is no schema. Then its cells are checked.
"""

from __future__ import annotations

import json
import json.scanner
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import NDArray

from pcqr.data.schema import Column, Schema
from pcqr.datasets.tables import parse_table
from pcqr.errors import DataError
from pcqr.hypotheses.base import Points
from pcqr.server.errors import Refusal

LONG = 1 << 16
"""Bytes of a body that is read in a thread: reading it would hold up everybody else."""
PATIENT = 1 << 20
"""Bytes of JSON from which on Python itself parses it: the quick parser lets no other thread run before its end."""
IN_JSON, IN_CSV = b"[{,", b",;\t|\n\r"
"""What comes before, or after, each value."""
_SPARE = 4
"""Times as many of them as the rows need: nested tensors have two a value, and texts may hold some."""


def parse_json(body: bytes | memoryview) -> Any:
    """The value of a JSON text in UTF-8. NaN, infinities and names that occur twice are no JSON here."""
    try:
        text = str(body, "utf-8")
    except UnicodeDecodeError:
        raise Refusal("not_utf8", "The body must be text in UTF-8.") from None
    try:
        return (_patient() if len(body) >= PATIENT else _QUICK).decode(text)
    except (ValueError, RecursionError):  # integers too long to be read are ValueErrors, too
        raise Refusal("bad_json", "The body must be one JSON value (RFC 8259), each name in an object once.") from None


def parse_object(body: bytes | memoryview) -> dict[str, Any]:
    found = parse_json(body)
    if not isinstance(found, dict):
        raise Refusal("bad_json", "The body must be a JSON object.")
    return found


def check_rows(rows: int, most: int) -> None:
    if rows > most:
        raise Refusal("too_many_rows", f"A request may have {most:,} rows.", {"most": most})


def check_values(body: bytes | memoryview, marks: bytes, rows: int, columns: int) -> None:
    """Refuse a body with more values than so many rows can have, before any of them is made: each takes memory."""
    if len(body) < LONG:
        return
    signs = np.frombuffer(body, dtype=np.uint8)
    found = sum(int(np.count_nonzero(signs == mark)) for mark in marks)
    if found > _SPARE * rows * (columns + 1) + LONG:
        words = f"The body has more values than {rows:,} rows can have, the most of a request."
        raise Refusal("too_many_rows", words, {"most": rows})


def _no_constant(_: str) -> NoReturn:
    raise ValueError


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


_QUICK = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_object)


def _patient() -> json.JSONDecoder:
    """Reads the same, in Python: several times slower, while others are answered."""
    found = json.JSONDecoder(
        parse_constant=_no_constant,
        object_pairs_hook=_object,
        parse_int=_of_ascii(int),
        parse_float=_of_ascii(float),
    )
    found.scan_once = json.scanner.py_make_scanner(found)  # type: ignore[attr-defined]
    return found


def _of_ascii(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Python's scanner takes the digits of any script."""

    def checked(text: str) -> Any:
        if not text.isascii():
            raise ValueError
        return read(text)

    return checked


# ---------------------------------------------------------------------------------------------------------------------
# Rows as a table: columns by name, or a matrix where there is no schema.


Table = dict[str, Any] | Points
JSON_TYPE, CSV_TYPE = "application/json", "text/csv"


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
    if kind not in (JSON_TYPE, CSV_TYPE) or charset not in ("", "charset=utf-8", 'charset="utf-8"'):
        raise Refusal("wrong_type", f"Send {JSON_TYPE} or {CSV_TYPE}, in UTF-8.")
    columns = features if schema is None else len(schema.columns)
    check_values(body, IN_CSV if kind == CSV_TYPE else IN_JSON, most_rows, columns)
    table = _from_csv(body, most_rows) if kind == CSV_TYPE else _from_json(body, schema, most_rows)
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


def _wrong_names(names: Mapping[str, Any], schema: Schema) -> tuple[str, dict[str, Any]] | None:
    """What is wrong with the names of columns, in words and as details."""
    if names.keys() == set(schema.names):
        return None
    missing = [name for name in schema.names if name not in names][:20]
    unknown = [name for name in names if name not in schema.names][:20]
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


def _columns(columns: object, most_rows: int) -> dict[str, Any]:
    if not isinstance(columns, dict) or not columns or not all(isinstance(cells, list) for cells in columns.values()):
        raise Refusal("bad_value", "columns must be an object with a list of cells for each column.")
    lengths = set(map(len, columns.values()))
    check_rows(max(lengths), most_rows)
    if len(lengths) > 1:
        raise Refusal("bad_value", "The columns must have equal lengths.")
    return columns


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


def read_shape(value: object, name: str) -> tuple[int, ...]:
    """A shape of whole numbers."""
    is_shape = isinstance(value, list) and 0 < len(value) <= _MOST_DIMENSIONS
    if not is_shape or any(type(size) is not int or not 0 <= size < LARGEST for size in value):  # type: ignore[attr-defined]
        raise bad(f"The shape of tensor {name!r} must be a list of 1 to {_MOST_DIMENSIONS} whole numbers.", name)
    return tuple(value)  # type: ignore[arg-type]


def check_datatype(value: object, name: str) -> str:
    if isinstance(value, str) and (value in NUMPY or value == BYTES):
        return value
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


# ---------------------------------------------------------------------------------------------------------------------
# One inference of the Open Inference Protocol v2: the request as tensors, the reply in JSON or with binary tensors.


HEADER_LENGTH = "inference-header-content-length"
VERSION = "1"


class Wanted(NamedTuple):
    """An output that was asked for."""

    name: str
    is_binary: bool


@dataclass(frozen=True)
class Inference:
    """What was asked: tensors by name, the outputs wanted (None: all), and how they shall come."""

    id: str | None
    inputs: Mapping[str, Tensor]
    outputs: tuple[Wanted, ...] | None
    is_binary: bool
    is_confirmed: bool = False
    """Are the rows to be asked even if they are expected to exhaust the release?"""

    def wants(self, name: str) -> bool:
        return self.outputs is None or any(each.name == name for each in self.outputs)

    def check_outputs(self, names: Sequence[str]) -> None:
        """Refuse outputs that there are not, before anything is asked."""
        for each in self.outputs or ():
            if each.name not in names:
                raise bad(f"There is no output {each.name!r}: there are {', '.join(names)}.", each.name)


class Output(NamedTuple):
    """A tensor of the reply: its datatype, its cells, one a row unless `width` says more."""

    datatype: str
    cells: Sequence[Any]
    width: tuple[int, ...] = ()


def read_inference(
    body: bytes, header_length: str | None, *, most_rows: int = LARGEST, columns: int = LARGEST
) -> Inference:
    """The request in `body`; binary tensors follow the JSON, which has `header_length` bytes.

    Tensors of more rows than `most_rows`, or more cells than these can have in so many `columns`, are refused before
    their cells are looked at.
    """
    view, start = memoryview(body), len(body)
    if header_length is not None:
        is_number = header_length.isascii() and header_length.isdecimal() and len(header_length) < 18
        if not is_number or int(header_length) > len(body):
            raise bad("Inference-Header-Content-Length must be the length of the JSON at the beginning of the body.")
        start = int(header_length)
    check_values(view[:start], IN_JSON, most_rows, columns)
    told = parse_object(view[:start])
    parameters = _parameters(told, "the request")
    is_binary = _flag(parameters, "binary_data_output")
    found = told.get("id")
    if found is not None and not isinstance(found, str):
        raise Refusal("bad_json", "The id must be a text.")
    inputs, end = _inputs(told.get("inputs"), view, start, most_rows, columns)
    if end != len(body):
        raise bad(f"The body has {len(body) - end:,} bytes that belong to no tensor.")
    is_confirmed = _flag(parameters, "confirm")
    return Inference(found, inputs, _outputs(told.get("outputs"), is_binary), is_binary, is_confirmed)


def written_inference(
    name: str, asked: Inference, outputs: Mapping[str, Output], rows: int, parameters: Mapping[str, Any]
) -> tuple[bytes, int | None]:
    """The body of the reply and, if binary tensors follow its JSON, the length of the JSON."""
    wanted = asked.outputs
    if wanted is None:
        wanted = tuple(Wanted(each, asked.is_binary) for each in outputs)
    tensors: list[dict[str, Any]] = []
    binary: list[bytes] = []
    for each in wanted:
        datatype, cells, width = outputs[each.name]
        tensor: dict[str, Any] = {"name": each.name, "datatype": datatype, "shape": [rows, *width]}
        if each.is_binary:
            binary.append(to_binary(datatype, cells))
            tensor["parameters"] = {"binary_data_size": len(binary[-1])}
        else:
            tensor["data"] = cells
        tensors.append(tensor)
    told: dict[str, Any] = {"model_name": name, "model_version": VERSION}
    if asked.id is not None:
        told["id"] = asked.id
    if parameters:
        told["parameters"] = parameters
    told["outputs"] = tensors
    header = json.dumps(told).encode()
    return (b"".join((header, *binary)), len(header)) if binary else (header, None)


def _inputs(value: object, view: memoryview, start: int, most_rows: int, columns: int) -> tuple[dict[str, Tensor], int]:
    """The tensors, and where the binary ones end."""
    if not isinstance(value, list) or not value:
        raise bad("There must be a list of inputs.")
    inputs: dict[str, Tensor] = {}
    for each in value:
        name = each.get("name") if isinstance(each, dict) else None
        if not isinstance(name, str):
            raise bad("Each input must be an object with a name, a shape and a datatype.")
        if name in inputs:
            raise bad(f"Tensor {name!r} is there twice.", name)
        datatype, shape = check_datatype(each.get("datatype"), name), read_shape(each.get("shape"), name)
        check_rows(shape[0], most_rows)
        if math.prod(shape[1:]) > columns:
            raise bad(f"Tensor {name!r} has more columns than there are.", name)
        size = _parameters(each, f"tensor {name!r}").get("binary_data_size")
        if size is None:
            inputs[name] = from_json(name, datatype, shape, each.get("data"))
            continue
        if "data" in each or type(size) is not int or not 0 <= size <= len(view) - start:
            raise bad(
                f"Tensor {name!r} has data, or as many bytes after the JSON as its binary_data_size says.",
                name,
            )
        inputs[name] = from_binary(name, datatype, shape, view[start : start + size])
        start += size
    return inputs, start


def _outputs(value: object, is_binary: bool) -> tuple[Wanted, ...] | None:
    if value is None or value == []:
        return None
    if not isinstance(value, list):
        raise bad("The outputs must be a list.")
    wanted: dict[str, Wanted] = {}
    for each in value:
        name = each.get("name") if isinstance(each, dict) else None
        if not isinstance(name, str) or name in wanted:
            raise bad("Each output must be an object with a name of its own.")
        parameters = _parameters(each, f"output {name!r}")
        if parameters.get("classification"):
            raise bad(f"Output {name!r} has no classes to be ranked: leave out the parameter classification.")
        wanted[name] = Wanted(name, _flag(parameters, "binary_data", default=is_binary))
    return tuple(wanted.values())


def _parameters(value: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    found = value.get("parameters", {})
    if not isinstance(found, dict):
        raise bad(f"The parameters of {what} must be an object.")
    if "shared_memory_region" in found:
        raise bad("Shared memory is not supported: send the data.")
    return found


def _flag(parameters: Mapping[str, Any], name: str, *, default: bool = False) -> bool:
    found = parameters.get(name, default)
    if not isinstance(found, bool):
        raise bad(f"The parameter {name} must be true or false.")
    return found
