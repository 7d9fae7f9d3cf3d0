"""The map in docs/architecture.md is the territory: its rooms are the layers, every step of its ways is a real one."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import grimp
import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
HANDED_IN = "(handed in)"
"""Marks a step to an object that the caller was given, so that it need not import its module."""


@dataclass(frozen=True)
class Step:
    """One line of a way: how far it is indented, the module, the name in it, the words beside it."""

    depth: int
    module: str
    name: str
    words: str


def section(title: str) -> str:
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)
    assert found, title
    return found[1]


def ways() -> dict[str, list[Step]]:
    """The ways of the page by their titles: indented lines `folder/file.py Name.of_it  words`."""
    line = re.compile(r"^ {4}( *)(\S+)\.py (\S+)(?:  +(.*))?$", flags=re.M)
    found = {}
    for title in re.findall(r"^### (.*)$", section("Ways to follow with a finger"), flags=re.M):
        text = re.split(r"^#", PAGE.split(f"### {title}\n")[1], maxsplit=1, flags=re.M)[0]
        found[title] = [
            Step(len(indent) // 2, "pcqr." + path.replace("/", "."), name, words or "")
            for indent, path, name, words in line.findall(text)
        ]
    return found


WAYS = ways()


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
    """(caller, called) for every step but the first of a way."""
    pairs, path = [], list[Step]()
    for step in steps:
        del path[step.depth :]
        if path:
            pairs.append((path[-1], step))
        path.append(step)
    return pairs


def test_there_are_ways_from_a_query_to_its_answer_and_from_fit_to_noise() -> None:
    assert len(WAYS) >= 3
    assert all(len(steps) >= 8 for steps in WAYS.values())
    for steps in WAYS.values():
        assert steps[0].module.startswith("pcqr.estimators.")
        assert any(step.module.startswith("pcqr.privacy.noise.") for step in steps)
        assert any(step.module == "pcqr.privacy.entropy" for step in steps)


@pytest.mark.parametrize("title", WAYS)
def test_every_step_of_a_way_exists(title: str) -> None:
    for step in WAYS[title]:
        found: Any = import_module(step.module)
        for part in step.name.split("."):
            found = getattr(found, part)
        assert getattr(found, "__module__", step.module) == step.module, step


@pytest.mark.parametrize("title", WAYS)
def test_every_step_of_a_way_is_an_import(title: str) -> None:
    """A caller imports what it calls; what it was handed in, the estimators import and hand in."""
    estimators = [name for name in graph().modules if name.startswith("pcqr.estimators.")]
    for caller, called in callers(WAYS[title]):
        if HANDED_IN in called.words:
            assert graph().find_shortest_chains(importer=estimators[0].rsplit(".", 1)[0], imported=called.module)
        else:
            assert imports(caller.module, called.module), (caller, called)


def test_the_rooms_are_the_layers_in_their_order() -> None:
    rooms = re.findall(r"^ {4}([a-z]+)/? {2,}\S", section("Rooms"), flags=re.M)
    with (ROOT / "pyproject.toml").open("rb") as file:
        contracts = tomllib.load(file)["tool"]["importlinter"]["contracts"]
    layers = [layer.removeprefix("pcqr.") for contract in contracts for layer in contract["layers"]]
    assert rooms == layers


def test_every_module_is_in_a_room_of_the_map() -> None:
    rooms = set(re.findall(r"^ {4}([a-z]+)/? {2,}\S", section("Rooms"), flags=re.M))
    found = {path.relative_to(SOURCE / "pcqr").parts[0].removesuffix(".py") for path in SOURCE.rglob("*.py")}
    assert found - {"__init__", "__main__"} == rooms
