"""Every page stays true: the links, the names and the files that it mentions exist."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from support import proof_notes

from pcqr import registry

ROOT = Path(__file__).parents[1]
HISTORY = "CHANGELOG.md"
"""Speaks of names that are gone."""
PAGES = sorted(
    (
        *ROOT.glob("*.md"),
        *(ROOT / "docs").glob("*.md"),
        *(ROOT / "proofs").glob("*.md"),
        *(ROOT / "checked").glob("*.md"),
    )
)
NAME = re.compile(r"(?<![\w./-])pcqr(?:\.[A-Za-z_]\w*)+(?![\w/])")
FILE = re.compile(r"(?<![\w./])(?:src|tests|docs|proofs|benchmarks|mutants|checked)/[\w./-]*\w")
LINK = re.compile(r"\]\((?!https?:)([^)\s]+)\)")
ENDINGS = (".json", ".toml", ".md", ".py", ".csv")


def _exists(name: str) -> bool:
    """Is a dotted name a module, something in one, or a declared field of a class in one?"""
    parts = name.split(".")
    if name.startswith(proof_notes.UNIMPORTED):
        module, inside = ".".join(parts[:3]), ".".join(parts[3:])
        return find_spec(module) is not None and (not inside or _is_written(module, inside))
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for part in parts[length:]:
            declared = {
                field for owner in getattr(found, "__mro__", ()) for field in vars(owner).get("__annotations__", ())
            }
            if not hasattr(found, part):
                return part in declared and part == parts[-1]
            found = getattr(found, part)
        return True
    return False


def _is_written(module: str, name: str) -> bool:
    try:
        return bool(proof_notes.parsed(module, name))
    except AttributeError:
        return False


def _anchors(page: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def _missing(page: Path) -> Iterator[str]:
    """The links, names and files that a page mentions and that are not there."""
    text = page.read_text(encoding="utf-8")
    for link in LINK.findall(text):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in _anchors(target)):
            yield link
    if page.name != HISTORY:
        names = {name for name in NAME.findall(text) if not name.endswith(ENDINGS)}
        yield from (name for name in names if not _exists(name))
        yield from (file for file in FILE.findall(text) if not (ROOT / file).exists())


def test_what_a_page_mentions_is_there() -> None:
    assert [f"{page.name}: {missing}" for page in PAGES for missing in _missing(page)] == []


def test_what_is_gone_is_noticed() -> None:
    assert _exists("pcqr.releases.subsample.plan.VoteStage.teachers")
    assert not _exists("pcqr.names")
    assert _exists("pcqr.gpu.linear.GradientSums.total")
    assert not _exists("pcqr.gpu.linears")
    assert not _exists("pcqr.gpu.linear.total")
    assert not _exists("pcqr.releases.subsample.plan.VotePlan")
    assert not _exists("pcqr.releases.subsample.plan.VoteStage.voters")
    assert FILE.findall("see tests/test_pages.py, not xtests/y.py") == ["tests/test_pages.py"]


def test_the_page_on_guarantees_has_a_row_for_every_estimator() -> None:
    page = (ROOT / "docs" / "guarantee.md").read_text(encoding="utf-8")
    rows = page.split("\n## What each estimator promises\n")[1].split("\n## ")[0]
    named = {algorithm.estimator.split(":")[1] for algorithm in registry.algorithms()}
    assert named == set(re.findall(r"^\| `(\w+)` \|", rows, re.MULTILINE))


SPENDS = re.compile(r"pcqr[ \"']+(?:publish|fit|answer|score) +(?:-|…)")


def _commands(text: str) -> list[str]:
    """The lines of code blocks, fenced or indented, in which a command that spends is written out with options."""
    lines, is_fenced = [], False
    for line in text.replace("\\\n", " ").splitlines():
        is_fenced ^= line.startswith("```")
        if (is_fenced or line.startswith("    ")) and SPENDS.search(line):
            lines.append(line)
    return lines


def test_a_command_that_spends_names_its_account_or_says_that_there_is_none() -> None:
    pages = [page for page in PAGES if page.name != HISTORY]
    commands = [f"{page.name}: {line}" for page in pages for line in _commands(page.read_text(encoding="utf-8"))]
    assert [line for line in commands if not re.search(r"--(?:no-)?account\b|--dry-run", line)] == []


def test_the_commands_of_pages_are_found() -> None:
    assert _commands(
        "`pcqr fit --x`\n    pcqr fit --x\n```console\n$ pcqr publish \\\n --y\npcqr account create\n```\n"
    ) == [
        "    pcqr fit --x",
        "$ pcqr publish   --y",
    ]
