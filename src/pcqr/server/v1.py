"""Endpoints of pcqr's own: what is served, what was spent, what was answered, what would be possible.

They read public facts and the book; nothing here spends. Reading waits for disks, so it is done in threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from pcqr.algorithms.asking import UNLIMITED
from pcqr.errors import PcqrError
from pcqr.plan import Usage
from pcqr.release.account import Account
from pcqr.release.account.telling import told_account, told_charge
from pcqr.schema.decoding import decoded
from pcqr.server import shapes
from pcqr.server.askers import asker_of, check_holder
from pcqr.server.errors import Refusal
from pcqr.server.facts import counts, detail, facts, picture, promised, state_of
from pcqr.server.keys import read
from pcqr.server.routes import SharedRoute, problems, service_of, settings_of

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
    book, now = served.release.book(), state_of(served)
    untimed, history = served.history(MOMENTS)
    everybody = book.usages()
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
    lines = served.release.book().answers(None if asker.is_holder else asker.name, after, limit + 1)
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
        charges = [told_charge(found, charge) for charge in found.charges]
        return told_account(found) | {"account": PurePath(found.name).name, "charges": charges}  # not where it is kept
    except PcqrError:
        raise Refusal("unknown_path", "The account of this release cannot be read from here.") from None
