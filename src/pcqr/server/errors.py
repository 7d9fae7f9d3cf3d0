"""What a request is refused with: one JSON shape, a stable code and its status for every refusal (docs/service.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pcqr.errors import DataError, LedgerError, PcqrError

STATUS: Mapping[str, int] = {
    "bad_http": 400,
    "bad_json": 400,
    "bad_tensor": 400,
    "bad_value": 400,
    "not_utf8": 400,
    "missing_key": 401,
    "wrong_key": 401,
    "not_allowed": 403,
    "quota_spent": 403,
    "wrong_origin": 403,
    "unknown_model": 404,
    "unknown_path": 404,
    "wrong_method": 405,
    "too_slow": 408,
    "token_reused": 409,
    "would_exhaust": 409,
    "budget_exhausted": 410,
    "too_large": 413,
    "too_many_rows": 413,
    "wrong_type": 415,
    "wrong_host": 421,
    "internal": 500,
    "closing": 503,
    "ledger_closed": 503,
    "overloaded": 503,
}
"""Every code. What has a code keeps it, and its status, for ever."""

RETRY_AFTER = "1"
"""Seconds after which a 503 may be tried again."""
_LATER = ("closing", "ledger_closed", "overloaded")


class Refusal(Exception):
    """A request that gets no answer: its code, a plain sentence, and what a program may want to know beside it.

    `details` hold what the asker sent or may see: public values. `cause` is for the log of the server alone.
    """

    def __init__(
        self,
        code: str,
        message: str,
        details: Mapping[str, Any] | None = None,
        *,
        cause: LedgerError | None = None,
    ) -> None:
        self.code = code
        self.status = STATUS[code]
        self.message = message
        self.details = dict(details or {})
        self.cause = cause
        self.headers: dict[str, str] = {"Retry-After": RETRY_AFTER} if code in _LATER else {}
        super().__init__(message)

    @property
    def body(self) -> bytes:
        """The JSON object of every refusal; `error` is what clients of the inference protocol show."""
        told = {"error": self.message, "code": self.code, "status": self.status, "details": self.details}
        return json.dumps(told).encode()


def refusal(error: Exception) -> Refusal:
    """How an error is told. What pcqr does not raise on purpose is told as `internal`, without a word of it."""
    match error:
        case Refusal():
            return error
        case DataError():
            return Refusal("bad_value", str(error))
        case LedgerError():
            words = "The log of this release cannot be written now. Nothing was answered."
            return Refusal("ledger_closed", words, cause=error)
        case PcqrError() if isinstance(error, ValueError):
            return Refusal("bad_value", str(error))
    return Refusal("internal", "The server failed. Its log has more.")
