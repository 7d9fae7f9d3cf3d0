"""What an auditor sees of a published hypothesis: all of it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any


def in_full(published: Any) -> str:
    """Return every field of `published`, a hypothesis of pcqr, as a text.

    Its `repr` will not do: that of a tree is short, and two trees may share it.
    """
    parts = (f"{field.name}={getattr(published, field.name)!r}" for field in fields(published))
    return f"{type(published).__name__}({', '.join(parts)})"
