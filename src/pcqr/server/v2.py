"""The Open Inference Protocol v2 over REST: health, metadata, inference, with its binary tensor extension.

A row of a release gives three outputs. `label` is what `predict` says: where the vote was unstable it is a coin, drawn
once and logged. `kind` says how it came about, and `is_answer` is false where the label is a coin.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from pcqr import __version__
from pcqr.hypotheses.base import Points
from pcqr.releases.protocol.log import Answered
from pcqr.server import shapes
from pcqr.server.errors import Refusal
from pcqr.server.inference import HEADER_LENGTH, VERSION, Inference, Output, read_inference, reply
from pcqr.server.keys import asker_of
from pcqr.server.routes import (
    ASKING,
    INFERENCE,
    NAME,
    ONE_VERSION,
    READING,
    TOKEN,
    PlainRoute,
    described,
    for_rows,
    idempotency_token,
    in_thread,
    problems,
    service_of,
    settings_of,
)
from pcqr.server.schedule import takes_rows
from pcqr.server.service import Served, ServedModel, ServedRelease, as_cells
from pcqr.server.shapes import LONG, check_encoding
from pcqr.server.stopping import check_confirmed, check_whole
from pcqr.server.tensors import BOOL, BYTES, from_tensors

EXTENSIONS = ["binary_tensor_data"]
_TYPES = ("application/json", "application/octet-stream")

router = APIRouter(prefix="/v2", tags=["Open Inference Protocol v2"], route_class=PlainRoute)


@router.get("", response_model=shapes.Server, responses=problems())
async def server_metadata(_: Request) -> Response:
    """The server: its name, its version, and the extensions of the protocol that it has."""
    return JSONResponse({"name": "pcqr", "version": __version__, "extensions": EXTENSIONS})


@router.get("/health/live", response_model=shapes.Live, responses=problems())
async def live(_: Request) -> Response:
    """Is there a server at all?"""
    return JSONResponse({"live": True})


@router.get("/health/ready", response_model=shapes.Ready, responses=problems("ledger_closed"))
async def ready(request: Request) -> Response:
    """Can everything that is served be asked?"""
    await _check_ready(*service_of(request).all)
    return JSONResponse({"ready": True})


@router.get(
    "/models/{name}", response_model=shapes.Model, responses=problems("unknown_model"), openapi_extra=described(NAME)
)
@router.get(
    "/models/{name}/versions/{version}",
    response_model=shapes.Model,
    responses=problems("unknown_model"),
    openapi_extra=described(NAME, ONE_VERSION),
)
async def model_metadata(request: Request) -> Response:
    """The tensors that a release or a model takes and gives."""
    served = _served(request)
    return JSONResponse(
        {
            "name": served.name,
            "versions": [VERSION],
            "platform": served.platform,
            "inputs": served.inputs,
            "outputs": served.outputs,
        }
    )


@router.get(
    "/models/{name}/ready",
    response_model=shapes.ModelReady,
    responses=problems("unknown_model", "ledger_closed"),
    openapi_extra=described(NAME),
)
@router.get(
    "/models/{name}/versions/{version}/ready",
    response_model=shapes.ModelReady,
    responses=problems("unknown_model", "ledger_closed"),
    openapi_extra=described(NAME, ONE_VERSION),
)
async def model_ready(request: Request) -> Response:
    """Can it be asked?"""
    served = _served(request)
    await _check_ready(served)
    return JSONResponse({"name": served.name, "ready": True})


@router.post(
    "/models/{name}/infer",
    response_model=shapes.Inferred,
    responses=problems("bad_tensor", *READING, *ASKING),
    openapi_extra=described(NAME, TOKEN, body=INFERENCE),
)
@router.post(
    "/models/{name}/versions/{version}/infer",
    response_model=shapes.Inferred,
    responses=problems("bad_tensor", *READING, *ASKING),
    openapi_extra=described(NAME, ONE_VERSION, TOKEN, body=INFERENCE),
)
async def infer(request: Request) -> Response:
    """Ask for the labels of rows. Nothing is spent on a request that is refused."""
    served = _served(request)
    check_encoding(request)
    token = idempotency_token(request.headers)
    most, length = settings_of(request).most_rows, request.headers.get(HEADER_LENGTH)
    _check_type(request.headers)
    body = await request.body()

    def read() -> tuple[Inference, Points]:
        asked = read_inference(body, length, most_rows=most, columns=served.features)
        asked.check_outputs([each["name"] for each in served.outputs])
        table = from_tensors(asked.inputs, served.schema, served.features)
        return asked, served.points(table)

    asked, points = read() if len(body) < LONG else await in_thread(request, read, is_long=True)
    rows = points.shape[0]
    takes_rows(request.scope, rows)
    if isinstance(served, ServedModel):
        also = [each for each in ("score", "probability") if asked.wants(each)]

        def predict() -> Response:
            return reply(served.name, asked, served.predict(points, also), rows, {})

        return await for_rows(request, predict, rows)
    asker = asker_of(request.scope)
    await check_confirmed(request, served, points, token, is_confirmed=asked.is_confirmed)
    told = await served.ask(points, asker, token)
    await check_whole(request, told, rows, served)

    def write() -> Response:
        return reply(served.name, asked, outputs_of(told, served), rows, parameters_of(told))

    return await for_rows(request, write, rows)


def outputs_of(told: Answered[Any], served: ServedRelease) -> dict[str, Output]:
    """The tensors of a reply."""
    replies = told.replies
    labels = [each.coin if each.label is None else each.label for each in replies]
    return {
        "label": Output(served.label_type, as_cells(labels, served.label_type)),
        "kind": Output(BYTES, [each.kind for each in replies]),
        "is_answer": Output(BOOL, [each.label is not None for each in replies]),
    }


def parameters_of(told: Answered[Any]) -> dict[str, Any]:
    """What is spent and left after the last row."""
    last = told.replies[-1]
    return {"queries_answered": last.asked} | (
        {} if last.unstable_remaining is None else {"unstable_remaining": last.unstable_remaining}
    )


def _served(request: Request) -> Served:
    if request.path_params.get("version", VERSION) != VERSION:
        raise Refusal("unknown_model", f"There is one version, {VERSION}.")
    return service_of(request).named(request.path_params["name"])


def _check_type(headers: Mapping[str, str]) -> None:
    """Refuse types that a web page elsewhere can send without asking the server first: text/plain, forms, none.

    Clients of the protocol may leave the type out: unlike browsers, they send no Origin.
    """
    given = headers.get("content-type")
    is_left_out = given is None and "origin" not in headers
    if not is_left_out and (given or "").partition(";")[0].strip().lower() not in _TYPES:
        raise Refusal("wrong_type", f"Send {' or '.join(_TYPES)}.")


async def _check_ready(*all_served: Served) -> None:
    """Refuse unless every ledger answers. All are asked at the same time, so that each that failed tries again."""
    found = await asyncio.gather(*(each.failure() for each in all_served))
    causes = [each for each in found if each is not None]
    if causes:
        raise Refusal("ledger_closed", "The log of a release cannot be written now.", cause=causes[0])
    if not all(each.is_ready for each in all_served):
        raise Refusal("closing", "The server is about to end.")
