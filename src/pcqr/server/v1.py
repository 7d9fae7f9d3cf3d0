"""Asking by `/v1`: the cost of rows beforehand, and their answers. Written by hand, as the inference protocol is."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path, PurePath
from threading import Lock
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from pcqr import registry
from pcqr.advice.advice import Situation, advise
from pcqr.advice.question import Question, compare, estimator_of, recommend
from pcqr.advice.solving import Varied, curves, fewest
from pcqr.data.schema.decoding import decoded
from pcqr.durable.account import Account
from pcqr.durable.account.account import account_facts, charge_facts
from pcqr.errors import PcqrError
from pcqr.hypotheses.base import Points
from pcqr.releases.protocol.answers import BatchCost, Usage
from pcqr.releases.protocol.log import UNLIMITED
from pcqr.server import shapes
from pcqr.server.errors import Refusal
from pcqr.server.keys import asker_of, check_holder, read
from pcqr.server.routes import (
    ASKING,
    CONFIRM,
    NAME,
    READING,
    ROWS,
    TOKEN,
    PlainRoute,
    SharedRoute,
    described,
    for_rows,
    idempotency_token,
    in_thread,
    is_confirmed,
    problems,
    service_of,
    settings_of,
)
from pcqr.server.schedule import takes_rows
from pcqr.server.service import Served, ServedModel, cost_facts, counts, detail, facts, picture, promised, state_of
from pcqr.server.shapes import LONG, MANY, check_encoding
from pcqr.server.stopping import check_confirmed, check_whole, said
from pcqr.server.tensors import from_body

asking_router = APIRouter(prefix="/v1/releases", tags=["pcqr"], route_class=PlainRoute)


@asking_router.post(
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


@asking_router.post(
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
        return await _response(request, {"answers": answers, "spent": None, "remaining": None}, len(answers))
    asker = asker_of(request.scope)
    await check_confirmed(request, served, points, token, is_confirmed=confirmed)
    told = await served.ask(points, asker, token)
    await check_whole(request, told, points.shape[0], served)
    last = told.replies[-1]
    used = {"spent": counts(last.spent), "remaining": counts(last.remaining)}
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
        remaining=Usage(None, None),
        beyond_plan=0,
        expected_unstable=None,
        chance_of_halting=0.0,
    )


async def _response(request: Request, told: dict[str, Any], rows: int) -> Response:
    written = await for_rows(request, lambda: json.dumps(told).encode(), rows)
    return Response(written, media_type="application/json")


# ---------------------------------------------------------------------------------------------------------------------
# The planner in a process of its own: it takes seconds of computing, which must not delay an answer, and can be ended.
#
# From public numbers alone: nothing that is served is touched.


SCHEMA = "pcqr.plan-service/1"
CLASSES = {"thresholds": 1, "intervals": 1, "stumps": None, "rectangles": None, "halfspaces": 2}
"""Classes that can be planned for within seconds, and how many columns they take; None: any number."""
SECONDS = 60.0
"""After which a process that has not answered is ended."""
WAIT_SECONDS = 20.0
"""For the question of somebody else."""
MOST_WAITING = 8
"""Whoever waits holds a place among the requests in flight, and those are for asking."""
_LOOK_SECONDS = 0.05
_REMEMBERED = 64
_NICER = 5


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What is asked of the planner: public numbers."""

    hypotheses: str
    features: int
    records: int
    epsilon: float
    delta: float
    queries: int
    alpha: float
    beta: float
    over: Varied | None

    @property
    def question(self) -> Question:
        known = asdict(self)
        known["features"] = CLASSES[known.pop("hypotheses")] or self.features
        del known["over"]
        family = registry.hypothesis_class(self.hypotheses)
        return Question(hypotheses=registry.resolve(family.make)(), **known)


_turn = Lock()
_waiting = 0
_responses: OrderedDict[Planned, bytes] = OrderedDict()
"""The last replies: they never change."""


async def planned(asked: Planned, *, seconds: float = SECONDS, wait_seconds: float = WAIT_SECONDS) -> bytes:
    """The reply as JSON, made by another process. One at a time: others wait, and are refused when that is long."""
    if asked in _responses:
        _responses.move_to_end(asked)
        return _responses[asked]
    await _come_to_turn(time.monotonic() + wait_seconds)
    try:
        told = await _computed(asked, seconds)
    finally:
        _turn.release()
    _responses[asked] = told
    if len(_responses) > _REMEMBERED:
        _responses.popitem(last=False)
    return told


async def _come_to_turn(end: float) -> None:
    """Wait until nobody else is computing, or refuse at `end`; at once where enough are waiting."""
    global _waiting  # noqa: PLW0603 - of this process, as the turn is
    if _turn.acquire(blocking=False):
        return
    _waiting += 1
    try:
        while _waiting <= MOST_WAITING and time.monotonic() <= end:
            await asyncio.sleep(_LOOK_SECONDS)
            if _turn.acquire(blocking=False):
                return
    finally:
        _waiting -= 1
    raise Refusal("overloaded", "The planner is busy with other questions. Please ask again in a few seconds.")


async def _computed(asked: Planned, seconds: float) -> bytes:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, json.dumps(asdict(asked))),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        told, _ = await asyncio.wait_for(child.communicate(), seconds)
    except TimeoutError:
        raise Refusal("overloaded", "This plan takes too long. On the command line, pcqr plan has time.") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    if child.returncode != 0:
        raise Refusal("internal", "The planner failed.")
    if told.startswith(b'"'):
        raise Refusal("bad_value", json.loads(told))
    return told


def reply(asked: Planned) -> dict[str, Any]:
    """What is expected at one point and what a proof needs; or, with `over`, the same while that number varies."""
    told: dict[str, Any] = {"schema": SCHEMA, "asked": asdict(asked)}
    if asked.over is not None:
        return told | {"curves": asdict(curves(asked.question, asked.over))}
    question = asked.question
    options = compare(question.request())
    best = recommend(options, asked.alpha)
    situation = Situation(asked.records, asked.epsilon, asked.delta, asked.features, asked.queries)
    return told | {
        "algorithms": [
            {
                "algorithm": option.algorithm,
                "estimator": estimator_of(option),
                "proved": option.proved,
                "expected": None if option.expected is None else asdict(option.expected),
                "objection": option.objection,
            }
            for option in options
        ],
        "recommendation": {
            "estimator": None if best.option is None else estimator_of(best.option),
            "reason": best.reason,
        },
        "needed": fewest(question),
        "published": _published(situation),
    }


def _published(situation: Situation) -> dict[str, Any]:
    """The way that was best on real tables, with what it lost there: measured, no bound."""
    advice = advise(situation)
    found = advice.best.measured
    return {
        "way": advice.best.method.words,
        "estimator": advice.best.method.algorithm.estimator_name,
        "reason": advice.reason,
        "loss": None if found is None else found.loss,
        "tables": [] if found is None else list(found.tables),
        "n_times_epsilon": None if found is None else found.n_epsilon,
        "extrapolated": found is not None and found.extrapolated,
        "shortfall": advice.shortfall,
        "notes": list(advice.notes),
    }


def main(text: str) -> str:
    """The reply to a question as JSON; one string where the question is refused."""
    try:
        return json.dumps(reply(Planned(**json.loads(text))), ensure_ascii=False)
    except PcqrError as error:
        return json.dumps(str(error), ensure_ascii=False)


if __name__ == "__main__":
    os.nice(_NICER)
    print(main(sys.argv[1]))


# ---------------------------------------------------------------------------------------------------------------------
# What would be possible, from public numbers alone: `pcqr plan` over HTTP.


Class = Literal["thresholds", "intervals", "stumps", "rectangles", "halfspaces"]

plan_router = APIRouter(prefix="/v1", tags=["pcqr"])


@plan_router.get(
    "/plan",
    response_class=Response,
    responses={200: {"content": {"application/json": {}}}, **problems("bad_value", "overloaded")},
)
async def plan(
    records: Annotated[int, Query(ge=1, le=10**12, description="n, the private records.")],
    epsilon: Annotated[float, Query(gt=0, le=1000, description="ε.", allow_inf_nan=False)],
    delta: Annotated[float, Query(gt=0, lt=1, description="δ.")] = 1e-6,
    queries: Annotated[int, Query(ge=1, le=10**6, description="m, the queries that are planned for.")] = 1000,
    features: Annotated[int, Query(ge=1, le=10_000, description="Columns of the table once it is encoded.")] = 1,
    hypotheses: Annotated[Class, Query(alias="class", description="What the teachers learn.")] = "stumps",
    alpha: Annotated[float, Query(gt=0, lt=0.5, description="α, the extra error that a proof is for.")] = 0.1,
    beta: Annotated[float, Query(gt=0, lt=1, description="β, the chance of more.")] = 0.05,
    over: Annotated[Varied | None, Query(description="Let this number vary, from a quarter to four times.")] = None,
) -> Response:
    """What each algorithm is expected to give, the records that a proof needs, and what was measured on real tables.

    It takes some seconds, one question at a time.
    """
    asked = Planned(
        hypotheses=hypotheses,
        features=features,
        records=records,
        epsilon=epsilon,
        delta=delta,
        queries=queries,
        alpha=alpha,
        beta=beta,
        over=over,
    )
    return Response(await planned(asked), media_type="application/json")


# ---------------------------------------------------------------------------------------------------------------------
# Endpoints of pcqr's own: what is served, what was spent, what was answered, what would be possible.
#
# They read public facts and the book; nothing here spends. Reading waits for disks, so it is done in threads.


MOST_ANSWERS = 1_000
MOMENTS = 200

Name = Annotated[str, Query(description="The name of a release.", max_length=64)]

router = APIRouter(prefix="/v1", tags=["pcqr"], route_class=SharedRoute)


@router.get("/releases", response_model=shapes.Releases, responses=problems())
def releases(request: Request) -> Any:
    """Return everything that is served, and the role of the key of this request."""
    settings, asker = settings_of(request), asker_of(request.scope)
    told = [facts(served, settings, for_holder=asker.is_holder) for served in service_of(request).all]
    return {"releases": told, "role": asker.role}


@router.get(
    "/releases/{name}", response_model=shapes.ReleaseDetail, responses=problems("unknown_model", "ledger_closed")
)
def release(request: Request, name: str) -> Any:
    """One release or model, with its plan and, once it is published, its classifier."""
    for_holder = asker_of(request.scope).is_holder
    return detail(service_of(request).named(name), settings_of(request), for_holder=for_holder)


@router.get(
    "/releases/{name}/picture.svg",
    response_class=Response,
    responses={200: {"content": {"image/svg+xml": {}}}, **problems("unknown_model", "unknown_path", "ledger_closed")},
)
def release_picture(request: Request, name: str) -> Response:
    """The published classifier as a picture."""
    return Response(picture(service_of(request).named(name)), media_type="image/svg+xml")


@router.get("/budget", response_model=shapes.Budget, responses=problems("bad_value", "unknown_model", "ledger_closed"))
def budget(request: Request, release: Name) -> Any:
    """What was spent over time, and what is left."""
    served, asker = service_of(request).release(release), asker_of(request.scope)
    quota_table, now = served.release.quota_table(), state_of(served)
    untimed, history = served.history(MOMENTS)
    everybody = quota_table.usages()
    return {
        "release": served.name,
        **promised(served, for_holder=asker.is_holder),
        **now,
        "planned_queries": served.release.plan_.queries,
        "untimed": counts(untimed),
        "history": [
            {"time": moment.time, "queries": moment.queries, "unstable": moment.unstable} for moment in history
        ],
        "mine": {
            "name": asker.name,
            "used": counts(everybody.get(asker.name, Usage(0, 0))),
            "allowance": counts(asker.allowance),
        },
        "askers": _askers(everybody, settings_of(request).keys) if asker.is_holder else None,
    }


def _askers(used: Mapping[str | None, Usage], keys: Path | None) -> list[dict[str, Any]]:
    """What everybody has used and may have; keys that the file has no more are allowed nothing that is known."""
    allowed = {None: UNLIMITED} | ({} if keys is None else {key.name: key.allowance for key in read(keys).values()})
    return [
        {"name": name, "used": counts(usage), "allowance": counts(allowed[name]) if name in allowed else None}
        for name, usage in used.items()
    ]


@router.get(
    "/answers", response_model=shapes.Answers, responses=problems("bad_value", "unknown_model", "ledger_closed")
)
def answers(
    request: Request,
    release: Name,
    after: Annotated[int, Query(ge=0, lt=1 << 63, description="The number of the last answer that is known.")] = 0,
    limit: Annotated[int, Query(ge=1, le=MOST_ANSWERS, description="The most answers of a page.")] = 100,
) -> Any:
    """The answers of the asker's own key; for the holder all of them, each once."""
    served, asker = service_of(request).release(release), asker_of(request.scope)
    lines = served.release.quota_table().answers(None if asker.is_holder else asker.name, after, limit + 1)
    names = (*served.classes, None)
    return {
        "answers": [
            {
                "number": line.number,
                "time": line.time,
                "asker": line.asker,
                "x": decoded(served.schema, line.point),
                "label": names[-1 if line.label is None else line.label],
                "coin": names[-1 if line.coin is None else line.coin],
                "kind": line.kind,
            }
            for line in lines[:limit]
        ],
        "next": lines[limit - 1].number if len(lines) > limit else None,
    }


@router.get(
    "/account",
    response_model=shapes.Account,
    response_model_exclude_unset=True,
    responses=problems("bad_value", "unknown_model", "unknown_path"),
)
def account(request: Request, release: Name) -> Any:
    """The account that the release was charged to, for the holder alone."""
    check_holder(request.scope)
    place = service_of(request).release(release).release.account
    if place is None:
        return {"account": None}
    try:
        found = place if isinstance(place, Account) else Account.open(place)
        charges = [charge_facts(found, charge) for charge in found.charges]
        return account_facts(found) | {"account": PurePath(found.name).name, "charges": charges}  # not where it is kept
    except PcqrError:
        raise Refusal("unknown_path", "The account of this release cannot be read from here.") from None
