"""What FastAPI cannot see of routes that read their request themselves, for /openapi.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pcqr.server.tensors import BYTES, NUMPY

READING = (*("bad_json", "bad_value", "not_utf8", "unknown_model", "too_large", "too_many_rows", "wrong_type"),)
ASKING = ("quota_spent", "token_reused", "would_exhaust", "budget_exhausted", "ledger_closed")
"""What a request to ask can be refused with once it has been read."""

NAME = {
    "name": "name",
    "in": "path",
    "required": True,
    "description": "A release or a model.",
    "schema": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
}
ONE_VERSION = {
    "name": "version",
    "in": "path",
    "required": True,
    "description": "There is one version.",
    "schema": {"type": "string", "enum": ["1"]},
}
CONFIRM: dict[str, Any] = {
    "name": "confirm",
    "in": "query",
    "required": False,
    "description": "true: ask even if the rows are expected to exhaust the release for everybody, for ever.",
    "schema": {"type": "boolean", "default": False},
}
TOKEN = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "What the asker calls this request: sent again, it gets the same reply.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,128}$"},
}


def _only(name: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": False}


def _some(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": items}


_CELL: dict[str, Any] = {"type": ["string", "number", "boolean", "null"]}
ROWS = {
    "application/json": {
        "schema": {
            "oneOf": [
                _only(
                    "rows", {"type": "array", "minItems": 1, "items": {"type": "object", "additionalProperties": _CELL}}
                ),
                _only("columns", {"type": "object", "additionalProperties": {"type": "array", "items": _CELL}}),
                _only("x", {"type": "array", "minItems": 1, "items": {"type": "array", "items": {"type": "number"}}}),
            ]
        }
    },
    "text/csv": {"schema": {"type": "string", "description": "A header line with the columns, then the rows."}},
}
_CONFIRMED = {"description": CONFIRM["description"]}
_PARAMETERS: dict[str, Any] = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}
_TENSOR = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "shape": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
        "datatype": {"type": "string", "enum": [*NUMPY, BYTES]},
        "parameters": _PARAMETERS,
        "data": {"type": "array", "items": {}},
    },
    "required": ["name", "shape", "datatype"],
}
_OUTPUT = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "parameters": _PARAMETERS},
    "required": ["name"],
}
INFERENCE = {
    "application/json": {
        "schema": {
            "type": "object",
            "properties": {
                "id": {"type": "string"},
                "parameters": _PARAMETERS | {"properties": {"confirm": CONFIRM["schema"] | _CONFIRMED}},
                "inputs": {"type": "array", "minItems": 1, "items": _TENSOR},
                "outputs": {"type": "array", "items": _OUTPUT},
            },
            "required": ["inputs"],
        }
    },
    "application/octet-stream": {
        "schema": {
            "type": "string",
            "format": "binary",
            "description": "The same JSON, as long as Inference-Header-Content-Length says, then the binary tensors.",
        }
    },
}


def described(*parameters: dict[str, Any], body: dict[str, Any] | None = None) -> dict[str, Any]:
    """The parameters and the body of a route."""
    told: dict[str, Any] = {"parameters": list(parameters)} if parameters else {}
    return told if body is None else told | {"requestBody": {"required": True, "content": body}}


def with_names(document: dict[str, Any], names: Sequence[str], releases: Sequence[str]) -> dict[str, Any]:
    """The document with the names of what is served wherever a path or a query asks for one.

    And without FastAPI's status for parameters that it refuses: here they are refused as everything is.
    """
    for operation in (each for path in document["paths"].values() for each in path.values()):
        operation["responses"].pop("422", None)
        for parameter in operation.get("parameters", ()):
            if parameter["name"] == "name" and parameter["in"] == "path":
                parameter["schema"] = {"type": "string", "enum": list(names)}
            if parameter["name"] == "release" and parameter["in"] == "query":
                parameter["schema"] = {"type": "string", "enum": list(releases)}
    return document
