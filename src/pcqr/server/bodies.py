"""What a request brings: its body as strict JSON, and the limits on rows."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from starlette.requests import Request

from pcqr.server.errors import Refusal

LONG = 1 << 16
"""Bytes of a body that is read in a thread: reading it would hold up everybody else."""
MANY = 256
"""Rows whose reply is written, or that a model predicts, in a thread."""


def parse_json(body: bytes | memoryview) -> Any:
    """The value of a JSON text in UTF-8. NaN, infinities and names that occur twice are no JSON here."""
    try:
        text = str(body, "utf-8")
    except UnicodeDecodeError:
        raise Refusal("not_utf8", "The body must be text in UTF-8.") from None
    try:
        return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_object)
    except (ValueError, RecursionError):  # integers too long to be read are ValueErrors, too
        raise Refusal("bad_json", "The body must be one JSON value (RFC 8259), each name in an object once.") from None


def parse_object(body: bytes | memoryview) -> dict[str, Any]:
    found = parse_json(body)
    if not isinstance(found, dict):
        raise Refusal("bad_json", "The body must be a JSON object.")
    return found


def check_rows(rows: int, most: int) -> None:
    if rows > most:
        raise Refusal("too_many_rows", f"A request may have {most:,} rows.", {"most": most})


def check_encoding(request: Request) -> None:
    """A compressed body is refused: what it would become is not known before it is there."""
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal("wrong_type", "Send the body as it is: Content-Encoding is not supported.")


def _no_constant(_: str) -> NoReturn:
    raise ValueError


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found
