"""The endpoints: asking by the Open Inference Protocol v2 and by `/v1`, and what is served, spent and answered.

By /v2 a row of a release gives three outputs. `label` is what `predict` says: where the vote was unstable it is a coin,
drawn once and logged. `kind` says how it came about, and `is_answer` is false where the label is a coin.

Nothing but `infer` and `ask` spends. What reads disks is a plain function, and runs in a thread.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from functools import cache, partial
from importlib import resources
from pathlib import Path, PurePath
from typing import Any

import numpy as np
from prometheus_client import CONTENT_TYPE_LATEST
from pydantic import BaseModel

from pcqr import __version__
from pcqr.data.schema.schema import decoded
from pcqr.durable.account import Account
from pcqr.durable.account.account import account_facts, charge_facts
from pcqr.errors import LedgerError, PcqrError
from pcqr.hypotheses.base import Points
from pcqr.releases.protocol.answers import BatchCost, Usage, counted
from pcqr.releases.protocol.log import UNLIMITED, Answered
from pcqr.server import openapi, planning
from pcqr.server.bodies import (
    BOOL,
    BYTES,
    HEADER_LENGTH,
    LONG,
    VERSION,
    Inference,
    Output,
    from_body,
    from_tensors,
    read_inference,
    written_inference,
)
from pcqr.server.errors import Refusal, refusal
from pcqr.server.keys import read
from pcqr.server.requests import MANY, Request, Response
from pcqr.server.service import (
    Served,
    ServedModel,
    ServedRelease,
    as_cells,
    cost_facts,
    counts,
    detail,
    facts,
    picture,
    promised,
    state_of,
)

EXTENSIONS = ["binary_tensor_data"]
MOMENTS = 200
_TYPES = ("application/json", "application/octet-stream")


def _json(content: Any) -> Response:
    return Response(json.dumps(content).encode())


def _shaped(shape: type[BaseModel], content: Any, *, exclude_unset: bool = False) -> Response:
    """The members that the shape has, with its defaults."""
    return Response(shape.model_validate(content).model_dump_json(exclude_unset=exclude_unset).encode())


# ---------------------------------------------------------------------------------------------------------------------
# The Open Inference Protocol v2 over REST: health, metadata, inference, with its binary tensor extension.


async def server_metadata(_: Request) -> Response:
    """The server: its name, its version, and the extensions of the protocol that it has."""
    return _json({"name": "pcqr", "version": __version__, "extensions": EXTENSIONS})


async def live(_: Request) -> Response:
    """Is there a server at all?"""
    return _json({"live": True})


async def ready(request: Request) -> Response:
    """Can everything that is served be asked?"""
    await _check_ready(*request.state.service.all)
    return _json({"ready": True})


async def model_metadata(request: Request) -> Response:
    """The tensors that a release or a model takes and gives."""
    served = _served(request)
    told = {"name": served.name, "versions": [VERSION], "platform": served.platform}
    return _json(told | {"inputs": served.inputs, "outputs": served.outputs})


async def model_ready(request: Request) -> Response:
    """Can it be asked?"""
    served = _served(request)
    await _check_ready(served)
    return _json({"name": served.name, "ready": True})


async def infer(request: Request) -> Response:
    """Ask for the labels of rows. Nothing is spent on a request that is refused."""
    served = _served(request)
    _check_encoding(request)
    token = _idempotency_token(request)
    most, length, body = request.state.settings.most_rows, request.header(HEADER_LENGTH), request.body
    _check_type(request)

    def read() -> tuple[Inference, Points]:
        asked = read_inference(body, length, most_rows=most, columns=served.features)
        asked.check_outputs([each["name"] for each in served.outputs])
        return asked, served.points(from_tensors(asked.inputs, served.schema, served.features))

    asked, points = read() if len(body) < LONG else await request.in_thread(read, is_long=True)
    rows = points.shape[0]
    request.takes_rows(rows)
    if isinstance(served, ServedModel):
        also = [each for each in ("score", "probability") if asked.wants(each)]
        outputs: Mapping[str, Output] = await request.for_rows(lambda: served.predict(points, also), rows)
        parameters: dict[str, Any] = {}
    else:
        answered = await _answered(request, served, points, token, is_confirmed=asked.is_confirmed)
        outputs, parameters = _outputs(answered, served), _spent(answered)
    content, header_length = await request.for_rows(
        lambda: written_inference(served.name, asked, outputs, rows, parameters), rows
    )
    if header_length is None:
        return Response(content)
    headers = ((HEADER_LENGTH.encode(), b"%d" % header_length),)
    return Response(content, media_type=b"application/octet-stream", headers=headers)


def _outputs(answered: Answered[Any], served: ServedRelease) -> dict[str, Output]:
    """The tensors of a reply."""
    replies = answered.replies
    labels = [each.coin if each.label is None else each.label for each in replies]
    return {
        "label": Output(served.label_type, as_cells(labels, served.label_type)),
        "kind": Output(BYTES, [each.kind for each in replies]),
        "is_answer": Output(BOOL, [each.label is not None for each in replies]),
    }


def _spent(answered: Answered[Any]) -> dict[str, Any]:
    """What is spent and what remains after the last row, as parameters of a reply."""
    last = answered.replies[-1]
    remaining = {} if last.unstable_remaining is None else {"unstable_remaining": last.unstable_remaining}
    return {"queries_answered": last.asked} | remaining


def _served(request: Request) -> Served:
    if request.names.get("version", VERSION) != VERSION:
        raise Refusal("unknown_model", f"There is one version, {VERSION}.")
    return request.state.service.named(request.names["name"])


def _check_type(request: Request) -> None:
    """Refuse types that a web page elsewhere can send without asking the server first: text/plain, forms, none.

    Clients of the protocol may leave the type out: unlike browsers, they send no Origin.
    """
    given = request.header("content-type")
    is_left_out = given is None and b"origin" not in request.headers
    if given not in _TYPES and not is_left_out and (given or "").partition(";")[0].strip().lower() not in _TYPES:
        raise Refusal("wrong_type", f"Send {' or '.join(_TYPES)}.")


def _check_encoding(request: Request) -> None:
    """A compressed body is refused: what it would become is not known before it is there."""
    if request.headers.get(b"content-encoding", b"identity").lower() != b"identity":
        raise Refusal("wrong_type", "Send the body as it is: Content-Encoding is not supported.")


async def _check_ready(*all_served: Served) -> None:
    """Refuse unless every ledger answers. All are asked at the same time, so that each that failed tries again."""
    found = await asyncio.gather(*(each.failure() for each in all_served))
    causes = [each for each in found if each is not None]
    if causes:
        raise Refusal("ledger_closed", "The log of a release cannot be written now.", cause=causes[0])
    if not all(each.is_ready for each in all_served):
        raise Refusal("closing", "The server is about to end.")


# ---------------------------------------------------------------------------------------------------------------------
# Asking by /v1: the cost of rows beforehand, and their answers.


async def preview(request: Request) -> Response:
    """What rows would cost. Asks for nothing."""
    served = request.state.service.named(request.names["name"])
    points = await _points(request, served)
    rows = points.shape[0]
    if isinstance(served, ServedModel):
        cost, asked_before = _free(rows), [False] * rows
    else:
        look = partial(served.cost, points, request.asker)
        cost, marks = await request.in_thread(look, is_long=rows > MANY)
        asked_before = marks.tolist()
    return await request.for_rows(lambda: _json(cost_facts(cost) | {"asked_before": asked_before}), rows)


async def ask(request: Request) -> Response:
    """The labels of rows. Nothing is spent on a request that is refused, but for what its refusal holds."""
    served = request.state.service.named(request.names["name"])
    token, is_confirmed = _idempotency_token(request), _is_confirmed(request)
    points = await _points(request, served)
    rows = points.shape[0]
    if isinstance(served, ServedModel):
        answers = await request.for_rows(lambda: _said_by(served, points), rows)
        told: dict[str, Any] = {"answers": answers, "spent": None, "remaining": None}
    else:
        answered = await _answered(request, served, points, token, is_confirmed=is_confirmed)
        last = answered.replies[-1]
        told = {"answers": _said(answered), "spent": counts(last.spent), "remaining": counts(last.remaining)}
    return await request.for_rows(lambda: _json(told), rows)


def _said(answered: Answered[Any]) -> list[dict[str, Any]]:
    """The answers of a request, as JSON has them."""
    return [{"label": each.label, "coin": each.coin, "kind": each.kind} for each in answered.replies]


def _said_by(served: ServedModel, points: Points) -> list[dict[str, Any]]:
    """The label of each row, and how likely it is, where the model has probabilities: the largest of the row."""
    told = served.predict(points, ("probability",))
    answers = [{"label": label, "coin": None, "kind": "published"} for label in told["label"].cells]
    if "probability" not in told:
        return answers
    largest = np.reshape(told["probability"].cells, (points.shape[0], -1)).max(axis=1, initial=0.0).tolist()
    return [answer | {"probability": share} for answer, share in zip(answers, largest, strict=True)]


async def _points(request: Request, served: Served) -> Points:
    """Return the rows of the body."""
    _check_encoding(request)
    most, content_type, body = request.state.settings.most_rows, request.header("content-type") or "", request.body

    def read() -> Points:
        return served.points(from_body(body, content_type, served.schema, served.features, most))

    points = read() if len(body) < LONG else await request.in_thread(read, is_long=True)
    request.takes_rows(points.shape[0])
    return points


def _free(rows: int) -> BatchCost:
    """What a published model costs."""
    return BatchCost(
        requested=rows,
        repeated=0,
        new=0,
        published=rows,
        certain=rows,
        remaining=Usage(None, None),
        beyond_plan=0,
        expected_unstable=None,
        chance_of_halting=0.0,
    )


def _is_confirmed(request: Request) -> bool:
    """Does the address have confirm=true: ask even if the rows are expected to exhaust the release?"""
    found = request.values("confirm")
    if found not in ([], ["true"], ["false"]):
        raise Refusal("bad_value", "confirm must be true or false.", {"parameter": "confirm"})
    return found == ["true"]


def _idempotency_token(request: Request) -> bytes | None:
    """The request's own token, under which its replies are remembered."""
    found = request.header("idempotency-key")
    if found is None:
        return None
    if not 0 < len(found) <= 128 or any(not "!" <= sign <= "~" for sign in found):
        raise Refusal("bad_value", "Idempotency-Key must be 1 to 128 visible ASCII characters.")
    return found.encode()


# ---------------------------------------------------------------------------------------------------------------------
# Rows put to a release, and requests that cannot be answered to their end.


async def _answered(
    request: Request, served: ServedRelease, points: Points, token: bytes | None, *, is_confirmed: bool
) -> Answered[Any]:
    """Return the answers to all rows, or refuse the request; the refusal has the answers that were given, and paid."""
    rows = points.shape[0]
    if rows > 1 and not is_confirmed:
        await _check_confirmed(request, served, points, token)
    answered = await served.ask(points, request.asker, token)
    if answered.stopped is None:
        return answered
    if answered.stopped == "reused":
        raise Refusal("token_reused", "This Idempotency-Key was sent before, with another request.")
    details: dict[str, Any] = {"requested": rows, "answered": _said(answered)}
    if answered.stopped == "quota":
        asker = request.asker
        used = await request.in_thread(lambda: served.release.quota_table().usage(asker.name))
        details |= {"allowance": counts(asker.allowance), "used": counts(used)}
        raise Refusal("quota_spent", "The quota of this key is used up. The release itself goes on.", details)
    raise Refusal(
        "budget_exhausted",
        "The release is exhausted for ever: what it may answer is used up. Queries asked before are still answered.",
        details,
    )


async def _check_confirmed(request: Request, served: ServedRelease, points: Points, token: bytes | None) -> None:
    """Refuse rows that are expected to exhaust the release.

    Expected from the transcript and public numbers: what is new to this asker, what remains, and the plan's model.
    """
    try:
        look = partial(served.exhausting, points, request.asker, token)
        cost = await request.in_thread(look, is_long=points.shape[0] > MANY)
    except LedgerError as error:
        raise refusal(error) from None
    if cost is not None:
        raise Refusal(
            "would_exhaust",
            f"These rows are expected to exhaust the release, for everybody and for ever: {counted(cost.new, 'row')} "
            f"of them would be new. Remaining: {cost.remaining}. Nothing was asked. Ask fewer rows, or confirm them: "
            "confirm=true in the address, in /v2 the parameter confirm of the request.",
            {"cost": cost_facts(cost)},
        )


# ---------------------------------------------------------------------------------------------------------------------
# What is served, what was spent, what was answered, what would be possible.


def releases(request: Request) -> Response:
    """Everything that is served, and the role of the key of this request."""
    settings, asker = request.state.settings, request.asker
    told = [facts(served, settings, for_holder=asker.is_holder) for served in request.state.service.all]
    return _shaped(openapi.Releases, {"releases": told, "role": asker.role})


def release(request: Request) -> Response:
    """One release or model, with its plan and, once it is published, its classifier."""
    served = request.state.service.named(request.names["name"])
    told = detail(served, request.state.settings, for_holder=request.asker.is_holder)
    return _shaped(openapi.ReleaseDetail, told)


def release_picture(request: Request) -> Response:
    """The published classifier as a picture."""
    return Response(picture(request.state.service.named(request.names["name"])), media_type=b"image/svg+xml")


def budget(request: Request) -> Response:
    """What was spent over time, and what remains."""
    served, asker = _of_release(request, openapi.OfRelease), request.asker
    quota_table, now = served.release.quota_table(), state_of(served)
    untimed, history = served.history(MOMENTS)
    everybody = quota_table.usages()
    used = everybody.get(asker.name, Usage(0, 0))
    told = {
        "release": served.name,
        **promised(served, for_holder=asker.is_holder),
        **now,
        "planned_queries": served.release.plan_.queries,
        "untimed": counts(untimed),
        "history": [{"time": each.time, "queries": each.queries, "unstable": each.unstable} for each in history],
        "mine": {"name": asker.name, "used": counts(used), "allowance": counts(asker.allowance)},
        "askers": _askers(everybody, request.state.settings.keys) if asker.is_holder else None,
    }
    return _shaped(openapi.Budget, told)


def _of_release(request: Request, model: type[openapi.OfRelease]) -> ServedRelease:
    return request.state.service.release(request.parameters(model).release)


def _askers(used: Mapping[str | None, Usage], keys: Path | None) -> list[dict[str, Any]]:
    """What everybody has used and may have; keys that the file has no more are allowed nothing that is known."""
    allowed = {None: UNLIMITED} | ({} if keys is None else {key.name: key.allowance for key in read(keys).values()})
    return [
        {"name": name, "used": counts(usage), "allowance": counts(allowed[name]) if name in allowed else None}
        for name, usage in used.items()
    ]


def answers(request: Request) -> Response:
    """The answers of the asker's own key; for the holder all of them, each once."""
    asked, asker = request.parameters(openapi.OfAnswers), request.asker
    served = request.state.service.release(asked.release)
    who = None if asker.is_holder else asker.name
    lines = served.release.quota_table().answers(who, asked.after, asked.limit + 1)
    names = (*served.classes, None)
    told = [
        {
            "number": line.number,
            "time": line.time,
            "asker": line.asker,
            "x": decoded(served.schema, line.point),
            "label": names[-1 if line.label is None else line.label],
            "coin": names[-1 if line.coin is None else line.coin],
            "kind": line.kind,
        }
        for line in lines[: asked.limit]
    ]
    following = lines[asked.limit - 1].number if len(lines) > asked.limit else None
    return _shaped(openapi.Answers, {"answers": told, "next": following})


def account(request: Request) -> Response:
    """The account that the release was charged to, for the holder alone."""
    request.check_holder()
    place = _of_release(request, openapi.OfRelease).release.account
    if place is None:
        return _json({"account": None})
    try:
        found = place if isinstance(place, Account) else Account.open(place)
        charges = [charge_facts(found, charge) for charge in found.charges]
        told = account_facts(found) | {"account": PurePath(found.name).name, "charges": charges}  # not where it is kept
    except PcqrError:
        raise Refusal("unknown_path", "The account of this release cannot be read from here.") from None
    return _shaped(openapi.Account, told, exclude_unset=True)


async def plan(request: Request) -> Response:
    """What each algorithm is expected to give, the records that a proof needs, and what was measured on real tables.

    It takes some seconds, one question at a time.
    """
    asked = request.parameters(openapi.OfPlan)
    return Response(await planning.planned(planning.Planned(**asked.model_dump())))


def metrics(request: Request) -> Response:
    """Requests, and what releases have spent, in the text format of Prometheus, for the holder alone."""
    request.check_holder()
    return Response(request.state.metrics.text(), media_type=CONTENT_TYPE_LATEST.encode())


# ---------------------------------------------------------------------------------------------------------------------
# The page and its parts, from the package: fixed names, right types, and a tag by which a browser asks again.


_MEDIA = {
    ".html": b"text/html; charset=utf-8",
    ".css": b"text/css; charset=utf-8",
    ".js": b"text/javascript; charset=utf-8",
    ".svg": b"image/svg+xml",
}


@cache
def parts() -> dict[str, tuple[bytes, bytes, str]]:
    """Every file of the page by its name: content, type, tag. Nothing else can be asked for."""
    found = {}
    for file in (resources.files("pcqr.server") / "page").iterdir():
        if media := _MEDIA.get(file.name[file.name.rfind(".") :]):
            content = file.read_bytes()
            found[file.name] = content, media, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    return found


async def page(request: Request) -> Response:
    """The page, or a part of it."""
    found = parts().get(request.names.get("name", "index.html"))
    if found is None:
        raise Refusal("unknown_path", "There is nothing at this path.")
    content, media, tag = found
    headers, cache = ((b"etag", tag.encode()),), b"no-cache"  # kept, but asked for anew: a new version shows at once
    kept = (each.strip().removeprefix("W/") for each in (request.header("if-none-match") or "").split(","))
    if tag in kept:
        return Response(b"", 304, media, headers, cache)
    return Response(content, 200, media, headers, cache)
