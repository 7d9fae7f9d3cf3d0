"""A declared column as files spell it: a dict of strings, numbers and lists, in TOML or JSON."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

from pcqr.data.schema.column import Column
from pcqr.errors import ParameterError


def column_from(entry: object) -> Column:
    """The column that an entry of a file declares."""
    allowed = {field.name for field in fields(Column)}
    if not isinstance(entry, dict) or "name" not in entry or not set(entry) <= allowed:
        raise ParameterError("column of a schema", f"a table with a name and keys among {sorted(allowed)}", entry)
    return Column(**entry)


def described(column: Column) -> dict[str, Any]:
    """`column` as a dict of strings, numbers and lists. What does not apply to it is left out."""
    description: dict[str, Any] = {"name": column.name, "kind": column.kind}
    if column.categories:
        description["categories"] = list(column.categories)
    if column.bounds is not None:
        description["bounds"] = list(column.bounds)
    description |= {name: list(numbers) for name in ("cuts", "shares") if (numbers := getattr(column, name))}
    return description | {flag: True for flag in ("missing", "other") if getattr(column, flag)}


def toml(value: object) -> str:
    """JSON's strings, numbers, truth values and lists are TOML's too, but for one character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
