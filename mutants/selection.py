"""Which changes are made: a fixed sample of those by pattern and every named one.

`named.toml` lists changes by hand, each with its reason: what a hurried edit or a dishonest one would do.
`explained.toml` lists what is left out, function by function, and why what no test notices does no harm.
"""

from __future__ import annotations

import ast
import hashlib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from mutants.patterns import Change, changes

HERE = Path(__file__).parent
ROOT = HERE.parent
SOURCES = ROOT / "src"
SHARES = {
    "privacy": 74,
    "data": 20,
    "mechanisms": 40,
    "hypotheses": 40,
    "releases": 58,
    "durable": 0,
}
"""How many changes by pattern are made in a room: more where private numbers are nearest, not where most lines are."""
ROOMS = tuple(SHARES)
ONLY_NAMED = (
    *("pcqr/releases/*/plan.py", "pcqr/releases/protocol/stages.py", "pcqr/privacy/composition.py"),
    *("pcqr/releases/*/planning.py", "pcqr/releases/classifier/rule.py", "pcqr/releases/classifier/feature_maps.py"),
    *("pcqr/data/schema/*", "pcqr/privacy/unit.py"),
)
"""Where only named changes are made: most of a plan are fields and their checks, planning decides accuracy alone, and
what reads cells has tests of its own."""


@dataclass(frozen=True)
class Explanations:
    """Why survivors do no harm, by their names, and which functions are left out: pairs of a path and a pattern.

    `equivalent` changes alter no figure, no draw and no refusal; they are no mistakes that a test could find.
    """

    survivors: dict[str, str]
    equivalent: dict[str, str]
    left_out: tuple[tuple[str, str], ...]

    @classmethod
    def read(cls, path: Path = HERE / "explained.toml") -> Explanations:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
        survivors, equivalent = (
            {entry["name"]: entry["why"] for entry in table.get(kind, [])} for kind in ("survivor", "equivalent")
        )
        left_out = tuple((entry["path"], entry["function"]) for entry in table.get("left_out", []))
        return cls(survivors, equivalent, left_out)

    def of(self, name: str) -> str | None:
        return self.survivors.get(name) or self.equivalent.get(name)

    def leave_out(self, change: Change) -> bool:
        return any(change.path == path and fnmatchcase(change.function, name) for path, name in self.left_out)


def by_pattern(explanations: Explanations) -> list[Change]:
    """Every change by pattern to the rooms that privacy rests on, less the functions that are left out."""
    files = sorted(path for room in ROOMS for path in _files(room))
    found = [
        change
        for path in files
        if not any(fnmatchcase(path.relative_to(SOURCES).as_posix(), pattern) for pattern in ONLY_NAMED)
        for change in changes(path.relative_to(SOURCES).as_posix(), path.read_text(encoding="utf-8"))
    ]
    return [change for change in found if not explanations.leave_out(change)]


def _files(room: str) -> list[Path]:
    place = SOURCES / "pcqr" / room
    return list(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]


def sample(candidates: list[Change]) -> list[Change]:
    """Each room's share of `candidates`: those of the lowest hash.

    The hash is of the change alone, so an edit elsewhere moves no other change into the sample or out of it.
    """
    drawn = {room: sorted((change for change in candidates if change.room == room), key=_lot) for room in ROOMS}
    return in_order(change for room in ROOMS for change in drawn[room][: SHARES[room]])


def _lot(change: Change) -> str:
    return hashlib.sha256(f"lot {change.name}".encode()).hexdigest()


def in_order(chosen: Iterable[Change]) -> list[Change]:
    """File by file, so that compiled kernels are compiled anew only where their file changes."""
    return sorted(chosen, key=lambda change: (ROOMS.index(change.room), change.path, change.start, change.name))


def named(path: Path = HERE / "named.toml") -> list[Change]:
    """The changes listed by hand. Raises ValueError where one no longer fits the code: it must then be rewritten."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["change"]
    misfits = [entry for entry in entries if (SOURCES / entry["path"]).read_text("utf-8").count(entry["old"]) != 1]
    if misfits:
        raise ValueError("not there, or more than once:\n" + "\n".join(f"{e['path']}: {e['old']!r}" for e in misfits))
    return in_order(_named(**entry) for entry in entries)


def _named(path: str, old: str, new: str, why: str) -> Change:
    source = (SOURCES / path).read_text(encoding="utf-8")
    before = source[: source.index(old)]
    change = Change(path, "", "named", before.count("\n") + 1, len(before.encode()), old, new, why=why)
    ast.parse(change.applied_to(source.encode()))
    return change
