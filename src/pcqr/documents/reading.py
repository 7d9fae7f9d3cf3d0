"""Strict reading of JSON values: what is missing, unknown or of another type is refused, and the error says where."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

from pcqr.errors import ParameterError


def parse(text: object, name: str) -> Any:
    """`text` as JSON as RFC 8259 has it: no NaN, no infinities, no key twice in an object, no half characters.

    `name` is what errors call it.
    """
    if not isinstance(text, str):
        raise ParameterError(name, "the text of a JSON document", type(text).__name__)
    try:
        document = json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_without_repeats)
        check_unicode(json.dumps(document, ensure_ascii=False), name)
    except json.JSONDecodeError as error:
        raise ParameterError(name, "a JSON document", f"text that breaks off at {error}") from None
    except _Unwanted as error:
        raise ParameterError(name, f"a JSON document {error.allowed}", error.received) from None
    except ParameterError:
        raise
    except ValueError:  # Python converts no more than a few thousand digits
        raise ParameterError(name, "a JSON document with numbers of sensible length", "a longer one") from None
    except RecursionError:
        raise ParameterError(name, "a JSON document of sensible depth", "one nested too deeply") from None
    return document


def check_unicode(text: str, name: str) -> None:
    """Refuse halves of surrogate pairs, which no encoding of Unicode can hold."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ParameterError(name, "a JSON document of Unicode text", "half of a surrogate pair") from None


def read_object(value: object, where: str, keys: Iterable[str]) -> dict[str, Any]:
    """`value`, an object with exactly these `keys`."""
    needed = tuple(keys)
    if not isinstance(value, dict):
        raise ParameterError(where, f"an object with the keys {', '.join(needed)}", shown(value))
    if missing := [key for key in needed if key not in value]:
        raise ParameterError(where, f"an object with the keys {', '.join(needed)}", f"one without {missing[0]}")
    if unknown := sorted(set(value) - set(needed)):
        raise ParameterError(where, f"an object with the keys {', '.join(needed)} alone", f"also {unknown[0]}")
    return value


def read_list(value: object, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise ParameterError(where, "a list", shown(value))
    return value


def read_text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ParameterError(where, "a text", shown(value))
    return value


def read_flag(value: object, where: str) -> bool:
    if not isinstance(value, bool):
        raise ParameterError(where, "true or false", shown(value))
    return value


def read_number(value: object, where: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ParameterError(where, "a number", shown(value))
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ParameterError(where, "a number that float64 can hold", shown(value))
    return number


def read_setting(value: object, where: str) -> float:
    """A finite number, an integer where it is written as one."""
    return value if type(value) is int and abs(value) < 2**63 else read_number(value, where)


def read_count(value: object, where: str) -> int:
    """An integer from 0 to 2⁶³ − 1."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**63:
        raise ParameterError(where, "an integer ≥ 0 of 64 bits", shown(value))
    return value


def read_integer(value: object, where: str, *, most: int = 2**31) -> int:
    """An integer from −`most` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int) or not -most <= value <= most:
        raise ParameterError(where, f"an integer from −{most} to {most}", shown(value))
    return value


def shown(value: object) -> object:
    """Scalars as they are; of anything larger its type."""
    if isinstance(value, str | int | float | None):
        return value
    return "a list" if isinstance(value, list) else "an object"


class _Unwanted(Exception):
    """JSON that Python reads and RFC 8259 does not have."""

    def __init__(self, allowed: str, received: str) -> None:
        self.allowed = allowed
        self.received = received
        super().__init__(allowed)


def _refuse_constant(name: str) -> None:
    raise _Unwanted("with finite numbers", name)


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Unwanted("whose keys are different", f"{max(names, key=names.count)} twice")
    return found
