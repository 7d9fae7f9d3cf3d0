"""How the house is kept: what begins with an underscore stays in its module, and no module grows beyond one sitting."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "src").rglob("*.py"))
BENCHMARKS = sorted((ROOT / "benchmarks").rglob("*.py"))
MOST_LINES = 800


def is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def is_own(value: ast.expr) -> bool:
    """self, cls, or super(): what an object keeps to itself is its own."""
    match value:
        case ast.Name(id="self" | "cls") | ast.Call(func=ast.Name(id="super")):
            return True
    return False


def defined_names(tree: ast.Module) -> set[str]:
    """Everything that a module defines anywhere: functions, classes, variables, fields, attributes that it assigns."""
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.Name(id=name, ctx=ast.Store()):
                found.add(name)
            case ast.Attribute(value=value, attr=name, ctx=ast.Store()) if is_own(value):
                found.add(name)
    return found


def trespasses(source: str) -> list[str]:
    """Where a module reaches for private names of others: `x._name`, `getattr(x, "_name")`, `import _name`."""
    tree = ast.parse(source)
    own = defined_names(tree)
    found = []
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(value=value, attr=name) if is_private(name) and not is_own(value) and name not in own:
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
            case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[value, ast.Constant(value=str(name)), *_]) if (
                is_private(name) and not is_own(value) and name not in own
            ):
                found.append(f"line {node.lineno}: {ast.unparse(node)}")
            case ast.ImportFrom(module=module, names=names):
                taken = [alias.name for alias in names if is_private(alias.name)]
                found += [f"line {node.lineno}: from {module} import {name}" for name in taken]
    return sorted(found, key=lambda where: int(where.split()[1].rstrip(":")))


def test_no_module_uses_the_private_names_of_another() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): trespasses(path.read_text(encoding="utf-8")) for path in MODULES + BENCHMARKS
    }
    assert {name: places for name, places in found.items() if places} == {}


def test_modules_are_short() -> None:
    lengths = {
        path.relative_to(ROOT / "src").as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in MODULES
    }
    assert {name: lines for name, lines in lengths.items() if lines > MOST_LINES} == {}


def test_a_trespass_is_seen_and_what_is_ones_own_is_not() -> None:
    foreign = "from pcqr.x import _shifted\nimport pcqr.x as x\nx._decay(1)\nplan.stage._left\ngetattr(x, '_y')\n"
    assert trespasses(foreign) == [
        "line 1: from pcqr.x import _shifted",
        "line 3: x._decay",
        "line 4: plan.stage._left",
        "line 5: getattr(x, '_y')",
    ]
    own = (
        "class A:\n    _kind: str\n    def __init__(self, other: 'A') -> None:\n"
        "        self._left, super()._right, self.__dict__ = other._left, other._kind, other.__dict__\n"
    )
    assert trespasses(own) == []
