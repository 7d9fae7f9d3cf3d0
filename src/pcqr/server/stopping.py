"""Requests that could not be answered to their end: why, and what they got until then."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from pcqr.algorithms.asking import Told
from pcqr.server.askers import asker_of
from pcqr.server.errors import Refusal
from pcqr.server.facts import counts
from pcqr.server.routes import in_thread
from pcqr.server.served import ServedRelease


async def check_whole(request: Request, told: Told[Any], requested: int, served: ServedRelease) -> None:
    """Refuse what could not be answered to its end. The answers that were given, and are paid, are in the refusal."""
    if told.stopped is None:
        return
    if told.stopped == "reused":
        raise Refusal("token_reused", "This Idempotency-Key was sent before, with another request.")
    details: dict[str, Any] = {"requested": requested, "answered": said(told)}
    if told.stopped == "quota":
        asker = asker_of(request.scope)
        used = await in_thread(request, lambda: served.release.book().usage(asker.name))
        details |= {"allowance": counts(asker.allowance), "used": counts(used)}
        raise Refusal("quota_spent", "The allowance of this key is used up; the release itself goes on.", details)
    raise Refusal(
        "budget_exhausted",
        "The release has halted for ever: what it may answer is used up. Queries asked before are still answered.",
        details,
    )


def said(told: Told[Any]) -> list[dict[str, Any]]:
    """The answers of a request, as JSON has them."""
    return [{"label": each.label, "coin": each.coin, "kind": each.kind} for each in told.replies]
