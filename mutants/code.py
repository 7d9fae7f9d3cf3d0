"""One hash of the code around a change and of the test that caught it: a result holds as long as the hash does.

A stored verdict holds for the code as it stands while this hash is what it was. Docstrings, comments, layout and code
elsewhere do not move it.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache

from mutants.patterns import Change
from mutants.selection import ROOT
from mutants.shape import shape

Function = ast.FunctionDef | ast.AsyncFunctionDef


def fingerprint(change: Change, caught_by: str | None) -> str | None:
    """Return the hash as eight hex digits, None if the test `caught_by` is gone. A survivor rests on the code alone."""
    found: list[ast.stmt] = _around(change)
    if caught_by is not None and "::" in caught_by:  # else it broke the import of a test
        test = _test(caught_by)
        if test is None:
            return None
        found = [*found, test]
    return hashlib.sha256(repr(shape(found)).encode()).hexdigest()[:8]


def _around(change: Change) -> list[ast.stmt]:
    """The function or method in which the change lies, else those statements of its class or module that it touches."""
    last = change.line + change.old.count("\n")

    def touched(body: list[ast.stmt]) -> list[ast.stmt]:
        return [node for node in body if _first_line(node) <= last and (node.end_lineno or 0) >= change.line]

    found = touched(_parsed(f"src/{change.path}").body)
    while len(found) == 1 and isinstance(found[0], ast.ClassDef) and (inner := touched(found[0].body)):
        found = inner
    return found


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, Function | ast.ClassDef) else []
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])


def _test(name: str) -> Function | None:
    """The function of the test `name`, as pytest calls it: file::test[parameters], or with a class between them."""
    path, *_, function = name.split("[", maxsplit=1)[0].split(" (signal", maxsplit=1)[0].split("::")
    if not (ROOT / path).is_file():
        return None
    tests = (node for node in ast.walk(_parsed(path)) if isinstance(node, Function) and node.name == function)
    return next(tests, None)


@cache
def _parsed(path: str) -> ast.Module:
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))
