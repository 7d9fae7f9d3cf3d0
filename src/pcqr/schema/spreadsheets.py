"""Cells of CSV files that no spreadsheet runs as a formula, and their meaning."""

from __future__ import annotations

import re
from typing import Any

_RUN = "=+\\-@\\t\\r\\n＝＋－＠"
"""Beginnings of a text that some spreadsheet takes for a formula, as a class of a regular expression."""
_WOULD_RUN = re.compile(f"'*[{_RUN}]")
_ESCAPED = re.compile(f"'+[{_RUN}]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def escaped(value: Any) -> Any:
    """Return a CSV cell that no spreadsheet runs: an apostrophe before a text that begins like a formula.

    A text that begins with apostrophes and then like a formula gets one more, so that `unescaped` is the inverse.
    Numbers stay as they are.
    """
    is_run = isinstance(value, str) and _WOULD_RUN.match(value) and not _NUMBER.fullmatch(value)
    return f"'{value}" if is_run else value


def unescaped(cell: str) -> str:
    """Return the text that `escaped` has made this cell from. Other cells are returned as they are."""
    return cell[1:] if cell[:1] == "'" and _ESCAPED.match(cell) else cell
