"""One inference of the Open Inference Protocol v2: the request as tensors, the reply in JSON or with binary tensors."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from starlette.responses import Response

from pcqr.server.errors import Refusal
from pcqr.server.shapes import IN_JSON, check_rows, check_values, parse_object
from pcqr.server.tensors import LARGEST, Tensor, bad, check_datatype, from_binary, from_json, read_shape, to_binary

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


def reply(
    name: str, asked: Inference, outputs: Mapping[str, Output], rows: int, parameters: Mapping[str, Any]
) -> Response:
    """The response. Written by hand: pydantic would take longer than the answer."""
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
    if not binary:
        return Response(header, media_type="application/json")
    headers = {"Inference-Header-Content-Length": str(len(header))}
    return Response(b"".join((header, *binary)), headers=headers, media_type="application/octet-stream")


def _inputs(given: object, view: memoryview, start: int, most_rows: int, columns: int) -> tuple[dict[str, Tensor], int]:
    """The tensors, and where the binary ones end."""
    if not isinstance(given, list) or not given:
        raise bad("There must be a list of inputs.")
    inputs: dict[str, Tensor] = {}
    for each in given:
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


def _outputs(given: object, is_binary: bool) -> tuple[Wanted, ...] | None:
    if given is None or given == []:
        return None
    if not isinstance(given, list):
        raise bad("The outputs must be a list.")
    wanted: dict[str, Wanted] = {}
    for each in given:
        name = each.get("name") if isinstance(each, dict) else None
        if not isinstance(name, str) or name in wanted:
            raise bad("Each output must be an object with a name of its own.")
        parameters = _parameters(each, f"output {name!r}")
        if parameters.get("classification"):
            raise bad(f"Output {name!r} has no classes to be ranked: leave out the parameter classification.")
        wanted[name] = Wanted(name, _flag(parameters, "binary_data", default=is_binary))
    return tuple(wanted.values())


def _parameters(given: Mapping[str, Any], what: str) -> Mapping[str, Any]:
    found = given.get("parameters", {})
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
