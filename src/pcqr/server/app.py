"""Every endpoint, with what /openapi.json says of it, as one application."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from pcqr.server import endpoints, openapi
from pcqr.server.openapi import ASKING, CONFIRM, INFERENCE, READING, ROWS, TOKEN, OfAnswers, OfPlan, OfRelease
from pcqr.server.requests import LIVE, Application, Request, Response, Route, finding
from pcqr.server.service import ServedRelease, Service
from pcqr.server.state import ServerState

_MODEL = "/v2/models/{name}"
_RELEASE = "/v1/releases/{name}"
_INFER = ("bad_tensor", *READING, *ASKING)
_UNREADABLE = ("unknown_model", "ledger_closed")
ROUTES = (
    Route("POST", f"{_RELEASE}/ask", endpoints.ask, openapi.Answered, (*READING, *ASKING), (CONFIRM, TOKEN), body=ROWS),
    Route("POST", f"{_RELEASE}/preview", endpoints.preview, openapi.Cost, (*READING, "ledger_closed"), body=ROWS),
    *(
        route
        for model in (_MODEL, f"{_MODEL}/versions/{{version}}")
        for route in (
            Route("POST", f"{model}/infer", endpoints.infer, openapi.Inferred, _INFER, (TOKEN,), body=INFERENCE),
            Route("GET", model, endpoints.model_metadata, openapi.Model, ("unknown_model",)),
            Route("GET", f"{model}/ready", endpoints.model_ready, openapi.ModelReady, _UNREADABLE),
        )
    ),
    Route("GET", "/v2", endpoints.server_metadata, openapi.Server),
    Route("GET", LIVE, endpoints.live, openapi.Live),
    Route("GET", "/v2/health/ready", endpoints.ready, openapi.Ready, ("ledger_closed",)),
    Route("GET", "/v1/releases", endpoints.releases, openapi.Releases),
    Route("GET", _RELEASE, endpoints.release, openapi.ReleaseDetail, _UNREADABLE),
    Route("GET", f"{_RELEASE}/picture.svg", endpoints.release_picture, "image/svg+xml", ("unknown_path", *_UNREADABLE)),
    Route("GET", "/v1/budget", endpoints.budget, openapi.Budget, ("bad_value", *_UNREADABLE), query=OfRelease),
    Route("GET", "/v1/answers", endpoints.answers, openapi.Answers, ("bad_value", *_UNREADABLE), query=OfAnswers),
    Route(
        *("GET", "/v1/account", endpoints.account, openapi.Account),
        ("bad_value", "unknown_model", "unknown_path"),
        query=OfRelease,
    ),
    Route("GET", "/v1/plan", endpoints.plan, "application/json", ("bad_value",), query=OfPlan),
    Route("GET", "/metrics", endpoints.metrics, "text/plain"),
    Route("GET", "/", endpoints.page),
    Route("GET", "/static/{name}", endpoints.page),
)


def make_app(state: ServerState) -> Application:
    """The ASGI application that serves what `state` has; it closes it when it ends."""
    text = cache(lambda: json.dumps(document(state.service)).encode())

    async def described(_: Request) -> Response:
        return Response(text())

    return Application(state, finding((*ROUTES, Route("GET", "/openapi.json", described))))


def document(service: Service) -> dict[str, Any]:
    """/openapi.json: the routes, with the names of what is served here."""
    names = [each.name for each in service.all]
    return openapi.document(ROUTES, names, [each.name for each in service.all if isinstance(each, ServedRelease)])
