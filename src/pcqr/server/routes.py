"""Routes that FastAPI documents and nobody else slows down."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypeVar

from fastapi.routing import APIRoute
from pydantic import BaseModel, Field
from starlette.requests import Request
from starlette.responses import Response

from pcqr.server.bodies import MANY
from pcqr.server.errors import STATUS, Refusal
from pcqr.server.service import Service
from pcqr.server.settings import Settings
from pcqr.server.shares import SHARE, Share

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
