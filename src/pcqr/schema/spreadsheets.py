"""Lines of CSV files, whose cells no spreadsheet runs as a formula, and the meaning of such cells."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

_RUN = "=+\\-@\\t\\r\\n＝＋－＠"
"""Beginnings of a text that some spreadsheet takes for a formula, as a class of a regular expression."""
_WOULD_RUN = re.compile(f"'* *[{_RUN}]")  # some programs take off spaces in front
_ESCAPED = re.compile(f"'+ *[{_RUN}]")
_QUOTED = re.compile('[",;\\t|\\r\\n]|^[ \\ufeff]')
"""In a cell: what ends one for some reader. In front of it: what a reader of pcqr passes over."""
_NUMBER = re.compile(r" *[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)


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


def csv_line(cells: Iterable[Any]) -> str:
    """Return a line of a CSV file, without its end: the cells `escaped`, None as an empty one.

    Python's own writer leaves a cell with a single carriage return bare, and then refuses to read it.
    """
    texts = ["" if cell is None else str(escaped(cell)) for cell in cells]
    return ",".join(map(_quoted, texts)) if texts != [""] else '""'  # an empty line would be no row


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
