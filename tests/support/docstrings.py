"""Docstrings as numpydoc lays them out: a summary, then sections whose titles are underlined."""

from __future__ import annotations

import inspect
import re

_TITLE = re.compile(r"^(?P<title>[A-Z][A-Za-z ]+)\n-{3,}$", flags=re.MULTILINE)
_ENTRY = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*) : (?P<type>\S.*)$", flags=re.MULTILINE)


def sections(docstring: str | None) -> dict[str, str]:
    """The text of each section by its title; that before the first one has the title ''."""
    text = inspect.cleandoc(docstring or "")
    found = list(_TITLE.finditer(text))
    titles = [("", 0), *((title["title"], title.end()) for title in found)]
    ends = [*(title.start() for title in found), len(text)]
    return {title: text[start:end].strip("\n") for (title, start), end in zip(titles, ends, strict=True)}


def entries(section: str) -> dict[str, str]:
    """What a section such as Parameters explains, with types: `name : type` at the margin, or `one, other : type`."""
    found = [(names.split(", "), kind) for names, kind in _ENTRY.findall(section)]
    return {name.lstrip("*"): kind for names, kind in found for name in names}
