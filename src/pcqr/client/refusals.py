"""What a server refuses, as what a local release would raise, or as a `ServiceError` with a remedy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pcqr.client.errors import BadReply, NotAdmitted, NotConfirmed, QuotaSpent, ServiceError, quoted
from pcqr.client.replies import Given, believing, cost_of, given_of, usage_of
from pcqr.client.wire import Reply
from pcqr.errors import BudgetExhausted, DataError, PcqrError
from pcqr.plan import Answer, Usage

MIDWAY = ("budget_exhausted", "quota_spent")
"""Codes of refusals in whose details the rows are that were answered before."""
_MORE_KEYS = (
    "The data holder makes keys (pcqr keys create NAME); set yours as PCQR_KEY, or say where it is (--key, key=…)"
)


def refusal(
    reply: Reply,
    place: str,
    now: Callable[[], tuple[Usage, Usage]] | None = None,
    start: int = 0,
    rows: int = 0,
    given: Sequence[Answer[Any]] = (),
) -> PcqrError:
    """The error for a `reply` that is no answer.

    `rows` from `start` on were asked for and got none; those before them are `given`. Where labels were asked for,
    `now` says what is spent and left.
    """
    code, details = _code(reply), _details(reply)
    said = quoted(str(reply.content.get("error", ""))).rstrip(".") if isinstance(reply.content, dict) else ""
    told: dict[str, Any] = {"status": reply.status, "code": code}
    match code:
        case "budget_exhausted" if now is not None:
            spent, left = now()
            return BudgetExhausted(spent=spent, requested=rows, left=left, answers=given)
        case "quota_spent" | "would_exhaust" if now is not None:
            with believing(place):
                if code == "quota_spent":
                    used, allowance = (usage_of(details.get(name), name) for name in ("used", "allowance"))
                    found: PcqrError = QuotaSpent(place, used=used, allowance=allowance, requested=rows, answers=given)
                else:
                    found = NotConfirmed(place, cost_of(details.get("cost")))
            return found
        case "bad_value" | "too_many_rows" | "too_large":
            return DataError(_where(details, start), "what the server takes", f"something else: {said}")
        case "missing_key" | "wrong_key" | "not_allowed":
            return NotAdmitted(place, f"does not let us in: {said}", _MORE_KEYS, **told)
        case "":
            reason = f"replied with status {reply.status} as no pcqr server does"
            return BadReply(place, reason, "Is that the address of a pcqr server?", status=reply.status)
    return ServiceError(place, f"refused: {said} ({code})", "The data holder can tell more.", **told)


def answered_before(reply: Reply, rows: int, classes: Sequence[Any]) -> tuple[Given, ...]:
    """Of a batch of so many rows that was refused midway, those that were answered."""
    if _code(reply) not in MIDWAY:
        return ()
    return given_of(_details(reply).get("answered", []), "details.answered", classes)[: rows - 1]


def _code(reply: Reply) -> str:
    code = reply.content.get("code") if isinstance(reply.content, dict) else None
    return code if isinstance(code, str) and code.isascii() and code.isprintable() and len(code) < 40 else ""


def _details(reply: Reply) -> dict[str, Any]:
    details = reply.content.get("details") if isinstance(reply.content, dict) else None
    return details if isinstance(details, dict) else {}


def _where(details: dict[str, Any], start: int) -> str:
    """The cell that was refused, as far as the server says; rows count from 0, as arrays do."""
    column, row = details.get("column"), details.get("row")
    named = f"column {quoted(column)!r}" if isinstance(column, str) else "X"
    return f"{named}, row {start + row}," if type(row) is int and 0 <= row < 2**31 else named
