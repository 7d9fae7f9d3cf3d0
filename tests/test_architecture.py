"""The map in docs/architecture.md is the territory: its rooms are there, its walks are real, and none of them grows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import grimp
import pytest
from support.walks import WALKS, first_and_again

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "pcqr"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
NEEDS_NO_IMPORT = ("(handed in)", "(inherited)")
"""Marks a step to an object that came as an argument, or to a method of a base class."""
MOST_WORDS, MOST_FILES = 800, 15


@dataclass(frozen=True)
class Step:
    """One line of a walk: how far it is indented, the module, the name in it, the words beside it."""

    depth: int
    module: str
    name: str
    words: str


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)
    assert found, title
    return found[1]


def walks() -> dict[str, list[Step]]:
    """The walks of the page by their titles: indented lines `folder/file.py Name.of_it  words`."""
    line = re.compile(r"^ {4}( *)(\S+)\.py (\S+)(?:  +(.*))?$", flags=re.M)
    parts = re.split(r"^### (.*)$", section("Three walks"), flags=re.M)[1:]
    return {
        title: [
            Step(len(indent) // 2, "pcqr." + path.replace("/", "."), name, words or "")
            for indent, path, name, words in line.findall(text)
        ]
        for title, text in zip(parts[::2], parts[1::2], strict=True)
    }


DRAWN = walks()


@cache
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("pcqr", cache_dir=None, exclude_type_checking_imports=True)


def imports(importer: str, imported: str) -> bool:
    """Does one module import the other, directly or through the packages around it, which pass names on?"""
    if importer == imported or imported in graph().find_modules_directly_imported_by(importer):
        return True
    packages = {imported.rsplit(".", depth)[0] for depth in range(1, imported.count("."))}
    through = packages & graph().find_modules_directly_imported_by(importer)
    return any(imports(package, imported) for package in through)


def callers(steps: list[Step]) -> list[tuple[Step, Step]]:
    """(caller, called) for every step but the first of a walk."""
    pairs, path = [], list[Step]()
    for step in steps:
        del path[step.depth :]
        if path:
            pairs.append((path[-1], step))
        path.append(step)
    return pairs


def test_the_page_is_short_and_has_three_short_walks() -> None:
    assert sum(bool(re.search(r"[a-z]", word)) for word in PAGE.split()) <= MOST_WORDS
    assert len(DRAWN) == 3
    for steps in DRAWN.values():
        assert len(steps) >= 8
        assert len({step.module for step in steps}) <= MOST_FILES


@pytest.mark.parametrize("title", DRAWN)
def test_every_step_of_a_walk_is_there_and_its_caller_imports_it(title: str) -> None:
    for step in DRAWN[title]:
        found: Any = import_module(step.module)
        for part in step.name.split("."):
            found = getattr(found, part)
        assert getattr(found, "__module__", step.module) == step.module, step
    for caller, called in callers(DRAWN[title]):
        assert called.words.startswith(NEEDS_NO_IMPORT) or imports(caller.module, called.module), (caller, called)


def test_the_tree_has_a_line_for_every_room() -> None:
    rooms = re.findall(r"^ {4}([a-z]+)/? {2,}\S", section("The tree"), flags=re.M)
    found = {path.relative_to(SOURCE).parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")}
    assert sorted(rooms) == sorted(found - {"__init__", "__main__"})


@pytest.mark.parametrize("name", WALKS)
def test_no_walk_grows_past_what_the_page_says(name: str) -> None:
    """Traced in a process of its own, the first time."""
    row = re.search(rf"^\| {re.escape(name)} \| (\d+) / (\d+) / (\d+) \|$", PAGE, flags=re.M)
    assert row, name
    traced = first_and_again(name)[0]
    assert all(found <= int(most) for found, most in zip(traced, row.groups(), strict=True)), (traced, row[0])
