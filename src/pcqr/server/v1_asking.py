"""Asking by `/v1`: the cost of rows beforehand, and their answers. Written by hand, as the inference protocol is."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import numpy as np
from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from pcqr.hypotheses.base import Points
from pcqr.plan import BatchCost, Usage
from pcqr.server import shapes
from pcqr.server.askers import asker_of
from pcqr.server.bodies import LONG, MANY, check_encoding
from pcqr.server.facts import cost_facts, counts
from pcqr.server.openapi import ASKING, CONFIRM, NAME, READING, ROWS, TOKEN, described
from pcqr.server.routes import (
    PlainRoute,
    for_rows,
    idempotency_token,
    in_thread,
    is_confirmed,
    problems,
    service_of,
    settings_of,
)
from pcqr.server.rows import from_body
from pcqr.server.schedule import takes_rows
from pcqr.server.served import ServedModel
from pcqr.server.service import Served
from pcqr.server.stopping import check_confirmed, check_whole, said

router = APIRouter(prefix="/v1/releases", tags=["pcqr"], route_class=PlainRoute)


@router.post(
    "/{name}/preview",
    response_model=shapes.Cost,
    responses=problems(*READING, "ledger_closed"),
    openapi_extra=described(NAME, body=ROWS),
)
async def preview(request: Request) -> Response:
    """What rows would cost. Asks for nothing."""
    served = service_of(request).named(request.path_params["name"])
    points = await _read(request, served)
    rows = points.shape[0]
    if isinstance(served, ServedModel):
        return await _response(request, cost_facts(_free(rows)) | {"known": [False] * rows}, rows)
    look = partial(served.cost, points, asker_of(request.scope))
    cost, known = await in_thread(request, look, is_long=rows > MANY)
    return await _response(request, cost_facts(cost) | {"known": known.tolist()}, rows)


@router.post(
    "/{name}/ask",
    response_model=shapes.Asked,
    responses=problems(*READING, *ASKING),
    openapi_extra=described(NAME, CONFIRM, TOKEN, body=ROWS),
)
async def ask(request: Request) -> Response:
    """The labels of rows. Nothing is spent on a request that is refused, but for what its refusal holds."""
    served = service_of(request).named(request.path_params["name"])
    token, confirmed = idempotency_token(request.headers), is_confirmed(request)
    points = await _read(request, served)
    if isinstance(served, ServedModel):
        answers = await for_rows(request, lambda: _said_by(served, points), points.shape[0])
        return await _response(request, {"answers": answers, "spent": None, "left": None}, len(answers))
    asker = asker_of(request.scope)
    await check_confirmed(request, served, points, token, is_confirmed=confirmed)
    told = await served.ask(points, asker, token)
    await check_whole(request, told, points.shape[0], served)
    last = told.replies[-1]
    used = {"spent": counts(last.spent), "left": counts(last.left)}
    return await _response(request, {"answers": said(told)} | used, points.shape[0])


def _said_by(served: ServedModel, points: Points) -> list[dict[str, Any]]:
    """The label of each row, and how likely it is, where the model has probabilities: the largest of the row."""
    told = served.predict(points, ("probability",))
    answers = [{"label": label, "coin": None, "kind": "published"} for label in told["label"].cells]
    if "probability" not in told:
        return answers
    largest = np.reshape(told["probability"].cells, (points.shape[0], -1)).max(axis=1, initial=0.0).tolist()
    return [answer | {"probability": share} for answer, share in zip(answers, largest, strict=True)]


async def _read(request: Request, served: Served) -> Points:
    """Return the rows of the body."""
    check_encoding(request)
    most, content_type = settings_of(request).most_rows, request.headers.get("content-type", "")
    body = await request.body()

    def read() -> Points:
        return served.points(from_body(body, content_type, served.schema, served.features, most))

    points = read() if len(body) < LONG else await in_thread(request, read, is_long=True)
    takes_rows(request.scope, points.shape[0])
    return points


def _free(rows: int) -> BatchCost:
    """What a published model costs."""
    return BatchCost(
        requested=rows,
        repeated=0,
        new=0,
        published=rows,
        certain=rows,
        left=Usage(None, None),
        beyond_plan=0,
        expected_unstable=None,
        chance_of_halting=0.0,
    )


async def _response(request: Request, told: dict[str, Any], rows: int) -> Response:
    written = await for_rows(request, lambda: json.dumps(told).encode(), rows)
    return Response(written, media_type="application/json")
