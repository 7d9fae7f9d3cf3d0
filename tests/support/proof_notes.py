"""Ties every proof note to the code that it speaks of, and to the machine-checked theorems that state it.

A note in `proofs/` ends with one line for each function or class that its proof covers:

    <!-- checked: pcqr.mechanisms.stability:distance_to_instability 3fa2c1d0 -->

The hash is that of the object's syntax tree without docstrings, so comments, wording and layout may change
freely, and code may not. When code did move: read the note against it, mend either, and only then run

    python tests/support/proof_notes.py --write proofs/votes.md

which replaces the hashes of the notes that are named (a new line may be written without one). It refreshes no note
that is not named: a hash says that somebody has read that note against that code. Without arguments it lists what
moved.

Where a theorem of `checked/` states a note's claim, or a part of it, the note ends with a line for the theorem, too:

    <!-- proved: checked/Votes.v:distance_moves_by_at_most_one 3fa2c1d0 -->

The hash covers all that the statement means (checked/statements.py). No Coq is needed for it. The theorems of all notes
are listed on docs/proofs.md, too: `--write docs/proofs.md` lists them anew.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import re
import sys
import textwrap
from functools import reduce
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT))  # run as a script, it finds no `mutants`

from checked import statements  # noqa: E402
from mutants.shape import shape  # noqa: E402

UNIMPORTED = "pcqr.gpu."
"""Modules that need torch, which need not be there."""
NOTES = ROOT / "proofs"
PAGE = ROOT / "docs" / "proofs.md"
"""How each claim is known."""
CHECKED = re.compile(r"<!-- checked: (?P<module>[\w.]+):(?P<name>[\w.]+)(?: (?P<digest>[0-9a-f]{8}))? -->")

PROVED = re.compile(r"<!-- proved: checked/(?P<file>\w+)\.v:(?P<theorem>[\w']+)(?: (?P<digest>[0-9a-f]{8}))? -->")


def digest(module: str, name: str) -> str:
    """Eight hex digits of the syntax tree of `module:name`; raises when there is no such object."""
    if module.startswith(UNIMPORTED):
        return _hashed(parsed(module, name))
    found: object = reduce(getattr, name.split("."), importlib.import_module(module))
    if isinstance(found, property):
        found = found.fget
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(found)))  # type: ignore[arg-type]
    return _hashed(ast.parse(source))


def _hashed(tree: ast.Module) -> str:
    return hashlib.sha256(repr(shape(tree)).encode()).hexdigest()[:8]


def parsed(module: str, name: str) -> ast.Module:
    """A function or a class of a module that is read, not imported."""
    spec = importlib.util.find_spec(module)
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError(module)
    outer: ast.Module | ast.ClassDef | ast.FunctionDef = ast.parse(Path(spec.origin).read_text(encoding="utf-8"))
    for part in name.split("."):
        inner = [node for node in outer.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == part]
        if not inner:
            raise AttributeError(f"{module} has no {name}")
        outer = inner[0]
    return ast.Module([outer], type_ignores=[]) if not isinstance(outer, ast.Module) else outer


def moved(text: str) -> list[str]:
    """What a note's `text` names whose code or statement is gone, or is not what the note was checked against."""
    code = [f"{line['module']}:{line['name']}" for line in CHECKED.finditer(text) if not _is_current(line)]
    return code + [f"{line['file']}.v:{line['theorem']}" for line in PROVED.finditer(text) if not _is_stated(line)]


def _is_current(line: re.Match[str]) -> bool:
    try:
        return line["digest"] == digest(line["module"], line["name"])
    except (ImportError, AttributeError):
        return False


def _is_stated(line: re.Match[str]) -> bool:
    try:
        return line["digest"] == statements.digest(line["file"], line["theorem"])
    except KeyError:
        return False


def refreshed(text: str) -> str:
    """`text` with every hash brought up to date."""
    text = CHECKED.sub(lambda m: f"<!-- checked: {m['module']}:{m['name']} {digest(m['module'], m['name'])} -->", text)
    return PROVED.sub(
        lambda m: f"<!-- proved: checked/{m['file']}.v:{m['theorem']} {statements.digest(m['file'], m['theorem'])} -->",
        text,
    )


ROW = re.compile(
    r"^\| (?P<notes>\[\w+\]\(\.\./proofs/[^|]*) \| (?P<claim>[^|]*) \| (?P<theorems>[^|]*) \|", re.MULTILINE
)


def listed(page: str) -> str:
    """The page of claims with the theorems that the notes of each row name."""

    def row(line: re.Match[str]) -> str:
        notes = re.findall(r"\.\./proofs/(\w+)\.md", line["notes"])
        texts = ((NOTES / f"{note}.md").read_text(encoding="utf-8") for note in notes)
        names = [f"`{found['file']}.{found['theorem']}`" for text in texts for found in PROVED.finditer(text)]
        return f"| {line['notes']} | {line['claim']} | {', '.join(names) or '—'} |"

    return ROW.sub(row, page)


def main(arguments: list[str]) -> int:
    match arguments:
        case []:
            stale = [
                (note.name, name) for note in sorted(NOTES.glob("*.md")) for name in moved(note.read_text("utf-8"))
            ]
            for where, name in stale:
                print(f"{where}: {name}")
            return 1 if stale else 0
        case ["--write", _, *_]:
            for note in map(Path, arguments[1:]):
                renewed = listed if note.name == PAGE.name and note.parent.name == "docs" else refreshed
                note.write_text(renewed(note.read_text("utf-8")), encoding="utf-8")
            return 0
        case _:
            print("usage: proof_notes.py [--write NOTE ...]", file=sys.stderr)
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
