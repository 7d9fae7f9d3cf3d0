"""What a request brings: its body as strict JSON, and the limits on rows."""

from __future__ import annotations

import json
import json.scanner
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np
from starlette.requests import Request

from pcqr.server.errors import Refusal

LONG = 1 << 16
"""Bytes of a body that is read in a thread: reading it would hold up everybody else."""
MANY = 256
"""Rows whose reply is written, or that a model predicts, in a thread."""
PATIENT = 1 << 20
"""Bytes of JSON from which on Python itself parses it: the quick parser lets no other thread run before its end."""
IN_JSON, IN_CSV = b"[{,", b",;\t|\n\r"
"""What comes before, or after, each value."""
_SPARE = 4
"""Times as many of them as the rows need: nested tensors have two a value, and texts may hold some."""


def parse_json(body: bytes | memoryview) -> Any:
    """The value of a JSON text in UTF-8. NaN, infinities and names that occur twice are no JSON here."""
    try:
        text = str(body, "utf-8")
    except UnicodeDecodeError:
        raise Refusal("not_utf8", "The body must be text in UTF-8.") from None
    try:
        return (_patient() if len(body) >= PATIENT else _QUICK).decode(text)
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


def check_values(body: bytes | memoryview, marks: bytes, rows: int, columns: int) -> None:
    """Refuse a body with more values than so many rows can have, before any of them is made: each takes memory."""
    if len(body) < LONG:
        return
    signs = np.frombuffer(body, dtype=np.uint8)
    found = sum(int(np.count_nonzero(signs == mark)) for mark in marks)
    if found > _SPARE * rows * (columns + 1) + LONG:
        words = f"The body has more values than {rows:,} rows can have, the most of a request."
        raise Refusal("too_many_rows", words, {"most": rows})


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


_QUICK = json.JSONDecoder(parse_constant=_no_constant, object_pairs_hook=_object)


def _patient() -> json.JSONDecoder:
    """Reads the same, in Python: several times slower, while others are answered."""
    found = json.JSONDecoder(
        parse_constant=_no_constant,
        object_pairs_hook=_object,
        parse_int=_of_ascii(int),
        parse_float=_of_ascii(float),
    )
    found.scan_once = json.scanner.py_make_scanner(found)  # type: ignore[attr-defined]
    return found


def _of_ascii(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Python's scanner takes the digits of any script."""

    def checked(text: str) -> Any:
        if not text.isascii():
            raise ValueError
        return read(text)

    return checked
