"""A name that begins with an underscore is its module's own: nobody else may use it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted(path for room in ("src", "benchmarks") for path in (ROOT / room).rglob("*.py"))


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__") and name != "_"


def own_names(tree: ast.Module) -> set[str]:
    """What the module itself defines: functions, methods, classes, assigned names and attributes."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Attribute(attr=name, ctx=ast.Store(), value=ast.Name(id="self")):
                found.add(name)
    return found


def foreign_names(tree: ast.Module) -> list[str]:
    """Private names of other modules that this one imports, or reads off what is neither `self` nor its own."""
    own, found = own_names(tree), []
    for node in ast.walk(tree):
        match node:
            case ast.ImportFrom(names=names):
                found += [name.name for name in names if is_private(name.name)]
            case ast.Attribute(attr=name, value=value) if is_private(name) and name not in own:
                if not (isinstance(value, ast.Name) and value.id in ("self", "cls")) and "super()" not in ast.unparse(
                    value
                ):
                    found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_reaches_into_another(path: Path) -> None:
    assert not foreign_names(ast.parse(path.read_text(encoding="utf-8")))


def test_the_test_can_fail() -> None:
    reaching = (
        "from pcqr.plan import _secret\nclass A:\n    def f(self, b):\n        self._c = b._d\n        return b._c\n"
    )
    assert foreign_names(ast.parse(reaching)) == ["_secret", "b._d"]
