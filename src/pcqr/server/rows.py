"""The rows of a request as a table that a release or a model reads: columns by name, or a matrix where no schema is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pcqr.schema import Schema
from pcqr.server.errors import Refusal
from pcqr.server.tensors import BYTES, Tensor, bad


@dataclass(frozen=True)
class Rows:
    """A table, and how many rows it has. Cells are checked when it is read."""

    table: Any
    count: int


def from_tensors(inputs: Mapping[str, Tensor], schema: Schema | None, features: int) -> Rows:
    """One tensor a column, or `x` with all of them."""
    if schema is None:
        return _matrix(inputs, features)
    names = schema.names
    check_names(inputs, names, "input")
    count = None
    for name in names:
        shape = inputs[name].shape
        if len(shape) > 2 or shape[1:] not in ((), (1,)):
            raise bad(f"Tensor {name!r} must have the shape [rows] or [rows, 1].", tensor=name)
        if count is not None and shape[0] != count:
            raise bad(f"Tensor {name!r} must have as many rows as the others.", tensor=name)
        count = shape[0]
    return Rows({name: inputs[name].cells for name in names}, _some(count or 0))


def check_names(given: Mapping[str, Any], names: tuple[str, ...], what: str) -> None:
    """Refuse columns that are missing or unknown."""
    if given.keys() == set(names):
        return
    missing = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names]
    told = f"The {what}s must be the columns of the schema." + "".join(
        f" {word}: {', '.join(map(repr, found[:20]))}{' …' if len(found) > 20 else ''}."
        for word, found in (("Missing", missing), ("Unknown", unknown))
        if found
    )
    raise Refusal("bad_tensor" if what == "input" else "bad_value", told, {"missing": missing, "unknown": unknown})


def _matrix(inputs: Mapping[str, Tensor], features: int) -> Rows:
    if set(inputs) != {"x"}:
        raise bad(f"There must be one input, 'x', of the shape [rows, {features}].")
    x = inputs["x"]
    if len(x.shape) != 2 or x.shape[1] != features:
        raise bad(f"Tensor 'x' must have the shape [rows, {features}].", tensor="x")
    if x.datatype == BYTES:
        raise bad("Tensor 'x' must hold numbers.", tensor="x")
    with np.errstate(all="ignore"):
        return Rows(np.array(x.cells, dtype=np.float64).reshape(x.shape), _some(x.shape[0]))


def _some(count: int) -> int:
    if count < 1:
        raise bad("There must be at least one row.")
    return count
