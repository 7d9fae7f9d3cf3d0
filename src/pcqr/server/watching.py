"""`/metrics`, for the holder's Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from pcqr.releases.protocol.answers import Usage
from pcqr.server.keys import check_holder
from pcqr.server.metrics import Counts, Metrics
from pcqr.server.routes import PlainRoute, in_thread, problems
from pcqr.server.service import ServedRelease, Service

router = APIRouter(tags=["Operation"], route_class=PlainRoute)


@router.get("/metrics", response_class=PlainTextResponse, responses=problems())
async def metrics(request: Request) -> Response:
    """Requests, and what releases have spent, in the text format of Prometheus."""
    check_holder(request.scope)
    found: Metrics = request.app.state.metrics
    return Response(await in_thread(request, found.text), media_type=CONTENT_TYPE_LATEST)


def counts(service: Service) -> Iterator[Counts]:
    """What each release has spent, and what is left of it, on disk."""
    for each in service.all:
        if isinstance(each, ServedRelease) and each.is_ready:
            found = each.release
            spent = Usage(found.queries_answered_, found.unstable_answers_)
            yield Counts(each.name, spent, Usage(None, found.unstable_remaining_))
