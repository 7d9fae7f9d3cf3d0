"""Values as JSON that says what it is, is read strictly and stays readable (docs/serialization.md)."""

from __future__ import annotations

from pcqr.serialization.codec import Document
from pcqr.serialization.reading import register, tags

__all__ = ["Document", "register", "tags"]
