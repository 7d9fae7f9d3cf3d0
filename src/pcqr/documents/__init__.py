"""Values as JSON that says what it is, is read strictly and stays readable (docs/documents.md)."""

from pcqr.documents.document import Document
from pcqr.documents.table import register, tags

__all__ = ["Document", "register", "tags"]
