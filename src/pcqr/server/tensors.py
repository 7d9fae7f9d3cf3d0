"""Tensors of the Open Inference Protocol v2: in JSON, and in its binary form. Every check is strict.

Numbers are little-endian in binary; a BYTES element is its length in four bytes, then the bytes, which here are text in
UTF-8. In JSON the data are a list of the shape, or flat, in row-major order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.server.errors import Refusal

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
