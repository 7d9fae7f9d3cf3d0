"""Straight to the handlers of what is asked most: routing would take longer than the answer.

FastAPI compares a path with every route before it, and enters several context managers a request. The few routes that
answer rows need neither: their handlers take a request and give a response, and the door tells what they raise.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import cache, partial
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pcqr import __version__
from pcqr.errors import LedgerError
from pcqr.server import limits as door
from pcqr.server import v1, v2, watching
from pcqr.server.errors import Refusal, refusal
from pcqr.server.logs import REFUSED
from pcqr.server.metrics import Metrics
from pcqr.server.page import pages
from pcqr.server.routes import with_names
from pcqr.server.service import ServedRelease, Service
from pcqr.server.state import ServerState, Settings


class Shortcut:
    """The innermost layer: requests to `routes`, all of them of plain handlers, end here; others go on."""

    def __init__(self, app: ASGIApp, routes: Sequence[APIRoute]) -> None:
        self.app = app
        self.routes = [(route.path_regex.fullmatch, route, route.endpoint) for route in routes]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] == "POST":
            for match, route, handler in self.routes:
                if found := match(scope["path"]):
                    scope["route"], scope["path_params"] = route, found.groupdict()
                    response = await handler(Request(scope, receive, send))
                    await response(scope, receive, send)
                    return
        await self.app(scope, receive, send)


# ---------------------------------------------------------------------------------------------------------------------
# The application: routes, the door before them, and one shape for every error.


_SUMMARY = "Labels for queries on private records, under differential privacy."
_CODES = {404: "unknown_path", 405: "wrong_method"}


def make_app(service: Service, settings: Settings, gate: ServerState | None = None) -> FastAPI:
    """The ASGI application that serves `service`; it closes it when it ends. `gate` is for who runs it."""
    gate = gate or ServerState(settings, Metrics(lambda: watching.counts(service)))

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="pcqr",
        version=__version__,
        summary=_SUMMARY,
        docs_url=None,  # both pages load scripts from other hosts
        redoc_url=None,
        lifespan=lifespan,
        middleware=[*door.middleware(gate), Middleware(Shortcut, routes=_hot())],
        telemetry={"tracing": False, "metrics": False, "logs": False},  # /metrics and our own lines say all there is
        redirect_slashes=False,
    )
    app.state.service, app.state.settings, app.state.metrics = service, settings, gate.metrics
    for router in (v2.router, v1.router, v1.asking_router, v1.plan_router, watching.router, pages.router):
        app.include_router(router)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(RequestValidationError, _validation)
    app.add_exception_handler(Refusal, _error_response)
    app.add_exception_handler(LedgerError, _error_response)
    app.add_exception_handler(Exception, _error_response)
    app.openapi = cache(partial(_document, app, service))  # type: ignore[method-assign]
    return app


def _document(app: FastAPI, service: Service) -> dict[str, Any]:
    """/openapi.json: the routes, with the names of what is served here."""
    told = get_openapi(title=app.title, version=app.version, summary=app.summary, routes=app.routes)
    names = [each.name for each in service.all]
    return with_names(told, names, [each.name for each in service.all if isinstance(each, ServedRelease)])


def _hot() -> list[APIRoute]:
    """The routes that rows are sent to."""
    routes = (*v2.router.routes, *v1.asking_router.routes)
    return [route for route in routes if isinstance(route, APIRoute) and "POST" in (route.methods or ())]


async def _error_response(request: Request, error: Exception) -> Response:
    told = request.scope[REFUSED] = refusal(error)
    return told.response


async def _http(_: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise AssertionError
    code = _CODES.get(error.status_code)
    if code is None:
        return Refusal("internal", "The server failed.").response
    words = {"unknown_path": "There is nothing at this path.", "wrong_method": "This path takes another method."}
    told = Refusal(code, words[code])
    told.headers |= error.headers or {}
    return told.response


async def _validation(_: Request, error: Exception) -> Response:
    """A parameter of the address that FastAPI refused."""
    if not isinstance(error, RequestValidationError):
        raise AssertionError
    first = error.errors()[0]
    name = str(first["loc"][-1])
    return Refusal("bad_value", f"{name}: {first['msg']}.", {"parameter": name}).response
