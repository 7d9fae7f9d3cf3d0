"""What FastAPI cannot see of routes that read their request themselves, for /openapi.json."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, TypeVar

from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from pcqr.server.errors import STATUS, Refusal
from pcqr.server.schedule import SHARE, Share
from pcqr.server.service import Service
from pcqr.server.shapes import MANY
from pcqr.server.state import Settings
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


# ---------------------------------------------------------------------------------------------------------------------
# Routes that FastAPI documents and nobody else slows down.


T = TypeVar("T")


class PlainRoute(APIRoute):
    """A route whose function takes the request and gives the response: no dependencies, no pydantic.

    An answer takes less time than either. What the function takes and gives is declared for /openapi.json all the same.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        endpoint: Callable[[Request], Coroutine[Any, Any, Response]] = self.endpoint
        return endpoint


class Problem(BaseModel):
    """Every refusal has this shape."""

    error: str = Field(description="One plain sentence or two.")
    code: str = Field(description="What happened, for programs: it never changes its meaning.")
    status: int = Field(description="The status of the response.")
    details: dict[str, Any] = Field(description="What a program may want to know beside the code.")


def problems(*codes: str) -> dict[int | str, dict[str, Any]]:
    """The refusals of a route, for the OpenAPI document; those of the door can come from any."""
    told: dict[int | str, dict[str, Any]] = {}
    everywhere = (
        *("missing_key", "wrong_key", "not_allowed", "wrong_origin", "too_slow", "wrong_host"),
        *("internal", "closing", "overloaded"),
    )
    for code in (*codes, *everywhere):
        words = told.setdefault(STATUS[code], {"model": Problem, "description": ""})
        words["description"] = ", ".join(filter(None, (words["description"], code)))
    return told


def service_of(request: Request) -> Service:
    found: Service = request.app.state.service
    return found


def settings_of(request: Request) -> Settings:
    found: Settings = request.app.state.settings
    return found


def is_confirmed(request: Request) -> bool:
    """Does the address have confirm=true: ask even if the rows are expected to exhaust the release?"""
    found = request.query_params.getlist("confirm")
    if found not in ([], ["true"], ["false"]):
        raise Refusal("bad_value", "confirm must be true or false.", {"parameter": "confirm"})
    return found == ["true"]


def idempotency_token(headers: Mapping[str, str]) -> bytes | None:
    """The request's own token, under which its replies are remembered."""
    found = headers.get("idempotency-key")
    if found is None:
        return None
    if not 0 < len(found) <= 128 or any(not "!" <= sign <= "~" for sign in found):
        raise Refusal("bad_value", "Idempotency-Key must be 1 to 128 visible ASCII characters.")
    return found.encode()


async def for_rows(request: Request, act: Callable[[], T], rows: int) -> T:
    """Return what `act` returns, run at once for few rows, and in a thread for many."""
    return act() if rows <= MANY else await in_thread(request, act)


class SharedRoute(APIRoute):
    """A route whose function runs in a thread: few of one asker at a time, so that others find threads, too."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handler = super().get_route_handler()

        async def handled(request: Request) -> Response:
            async with _share(request).thread(is_long=False):
                return await handler(request)

        return handled


async def in_thread(request: Request, act: Callable[[], T], *, is_long: bool = False) -> T:
    """Return what `act` returns, run in a thread: one at a time for long work of one asker, and few for short work."""
    async with _share(request).thread(is_long=is_long):
        return await asyncio.to_thread(act)


def _share(request: Request) -> Share:
    found: Share = request.scope[SHARE]
    return found
