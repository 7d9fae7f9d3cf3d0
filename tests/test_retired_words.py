"""Words of our own are gone from the code: one word for one thing, and the field's where it has one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from typer.main import get_command

from pcqr.cli.main import app

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "pcqr"
RETIRED = frozenset(
    (  # noqa: SIM905
        "head headstage head_stage descend contest counted_case careful evidence strength concentration persons "
        "hearing whose heard hears mistakes slopes way ways desk door gate book told turn turns alone sieve given "
        "known handed rehearse rehearsal longest_way surelypublic surely_public documents drawing canvas panels "
        "zoo halted has_halted is_halted left"
    ).split()
)
"""Compared with whole identifiers, underscores at their ends and capitals aside."""
GEOMETRY = {
    "hypotheses/halfspaces.py": {"head", "turns"},
    "hypotheses/rectangles.py": {"left"},
    "hypotheses/growth.py": {"left"},
    "models/regions.py": {"head", "left"},
    "models/pictures.py": {"left"},
}
"""Where a line has a tail and a head, and a box a left side."""


def _named(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Every class, function, parameter and declared field, with its line."""
    for node in ast.walk(tree):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield node.lineno, name
                if not isinstance(node, ast.ClassDef):
                    arguments = node.args
                    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                        yield each.lineno, each.arg
                else:
                    for part in node.body:
                        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name):
                            yield part.lineno, part.target.id


def retired(text: str, allowed: frozenset[str] | set[str] = frozenset()) -> list[str]:
    """Return the retired identifiers that a module defines, with their lines."""
    found = ((line, name) for line, name in _named(ast.parse(text)) if name.strip("_").lower() in RETIRED - allowed)
    return [f"{line}: {name}" for line, name in sorted(found)]


def test_a_retired_word_is_noticed() -> None:
    text = "class Gate:\n    left: int\n    def _told(self, book, *, way): ...\n    def known_rows(self): ...\n"
    assert retired(text) == ["1: Gate", "2: left", "3: _told", "3: book", "3: way"]


def test_no_module_is_called_by_a_retired_word() -> None:
    names = (path.stem if path.stem != "__init__" else path.parent.name for path in SOURCE.rglob("*.py"))
    assert sorted(RETIRED & set(names)) == []
    assert not (SOURCE / "durable" / "ledger" / "points.py").exists()


def test_no_class_function_parameter_or_field_is_called_by_a_retired_word() -> None:
    found = {}
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if names := retired(path.read_text(encoding="utf-8"), GEOMETRY.get(name, set())):
            found[name] = names
    assert found == {}


def _options(command: object, path: str = "pcqr") -> Iterator[tuple[str, str]]:
    for option in getattr(command, "params", []):
        yield from ((path, name) for name in option.opts)
    for name, below in getattr(command, "commands", {}).items():
        yield from _options(below, f"{path} {name}")


def test_no_option_is_called_by_a_retired_word() -> None:
    options = list(_options(get_command(app)))
    assert len(options) > 100
    assert [found for found in options if found[1].lstrip("-").replace("-", "_") in RETIRED | {"person"}] == []


def test_the_glossary_has_none_as_an_entry() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    entries = {name.strip(" `*").lower() for name in re.findall(r"^\| *([^|]+?) *\|", text, flags=re.MULTILINE)}
    assert len(entries) > 50
    assert sorted(entries & RETIRED) == []
