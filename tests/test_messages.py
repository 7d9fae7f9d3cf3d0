"""What users read carries its remedy itself: nobody who installed a wheel has docs/ or proofs/."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from support.command_lines import COMMANDS
from support.published import MODEL

SOURCE = Path(__file__).parents[1] / "src"
MODULES = sorted(SOURCE.rglob("*.py"))
SHIPPED = sorted(path for path in SOURCE.rglob("*") if path.suffix in (".json", ".js", ".html", ".toml"))
FOLDERS = ("docs/", "proofs/")
OF_A_PAGE = {"pcqr/registry/lookup.py": {"](../proofs/"}}
"""Links of docs/glossary.md, which is made there and nowhere shown."""


def literals(source: str) -> Iterator[str]:
    """The strings of a module, pieces of f-strings included, but for docstrings and other strings that nobody uses."""
    tree = ast.parse(source)
    unused = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in unused:
            yield node.value


def cites(text: str) -> bool:
    return any(folder in text for folder in FOLDERS)


def test_no_message_sends_its_reader_to_a_page_that_is_not_installed() -> None:
    found = {
        module.relative_to(SOURCE).as_posix(): {text for text in literals(module.read_text("utf-8")) if cites(text)}
        for module in MODULES
    }
    assert {module: texts for module, texts in found.items() if texts} == OF_A_PAGE


def test_nor_does_another_file_that_is_shipped() -> None:
    assert [path.name for path in SHIPPED if cites(path.read_text(encoding="utf-8"))] == []


def test_a_citation_is_noticed() -> None:
    source = '"""See docs/a.md."""\nraise E("docs/b.md")\nraise E(f"{x} proofs/c.md")\nx = 1\n"""docs/d.md"""\n'
    assert [text for text in literals(source) if cites(text)] == ["docs/b.md", " proofs/c.md"]


def helps(command: Any) -> Iterator[str]:
    """The help of a command, of its options and of the commands in it."""
    yield command.help or ""
    for option in command.params:
        yield getattr(option, "help", None) or ""
    for inner in getattr(command, "commands", {}).values():
        yield from helps(inner)


def test_help_and_cards_and_the_servers_own_description_do_not_either() -> None:
    texts = [*helps(COMMANDS), MODEL.card()]
    assert len(texts) > 200
    assert [text for text in texts if cites(text)] == []
