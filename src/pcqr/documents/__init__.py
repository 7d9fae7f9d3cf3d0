"""Values as JSON that says what it is, is read strictly and stays readable (docs/documents.md)."""

from pcqr.documents.document import FORMAT, VERSION, Document
from pcqr.documents.table import register, tags

__all__ = ["FORMAT", "VERSION", "Document", "register", "tags"]
