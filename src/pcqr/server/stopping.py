"""Requests that could not be answered to their end: why, and what they got until then."""

from __future__ import annotations

from functools import partial
from typing import Any

from starlette.requests import Request

from pcqr.errors import LedgerError
from pcqr.hypotheses.base import Points
from pcqr.releases.protocol.answers import counted
from pcqr.releases.protocol.log import Answered
from pcqr.server.errors import Refusal, refusal
from pcqr.server.keys import asker_of
from pcqr.server.routes import in_thread
from pcqr.server.service import ServedRelease, cost_facts, counts
from pcqr.server.shapes import MANY


async def check_confirmed(
    request: Request, served: ServedRelease, points: Points, token: bytes | None, *, is_confirmed: bool
) -> None:
    """Refuse rows that are expected to exhaust the release, unless the request confirms them.

    Expected from the transcript and public numbers: what is new to this asker, what remains, and the plan's model.
    """
    if is_confirmed or points.shape[0] == 1:
        return
    try:
        look = partial(served.exhausting, points, asker_of(request.scope), token)
        cost = await in_thread(request, look, is_long=points.shape[0] > MANY)
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


async def check_whole(request: Request, told: Answered[Any], requested: int, served: ServedRelease) -> None:
    """Refuse what could not be answered to its end. The answers that were given, and are paid, are in the refusal."""
    if told.stopped is None:
        return
    if told.stopped == "reused":
        raise Refusal("token_reused", "This Idempotency-Key was sent before, with another request.")
    details: dict[str, Any] = {"requested": requested, "answered": said(told)}
    if told.stopped == "quota":
        asker = asker_of(request.scope)
        used = await in_thread(request, lambda: served.release.quota_table().usage(asker.name))
        details |= {"allowance": counts(asker.allowance), "used": counts(used)}
        raise Refusal("quota_spent", "The quota of this key is used up. The release itself goes on.", details)
    raise Refusal(
        "budget_exhausted",
        "The release is exhausted for ever: what it may answer is used up. Queries asked before are still answered.",
        details,
    )


def said(told: Answered[Any]) -> list[dict[str, Any]]:
    """The answers of a request, as JSON has them."""
    return [{"label": each.label, "coin": each.coin, "kind": each.kind} for each in told.replies]
