"""Every proof note names the code it speaks of, and that code has not moved since the note was checked."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from support import proof_notes

SOURCES = Path(__file__).parents[1] / "src"
NOTES = sorted(proof_notes.NOTES.glob("*.md"))
REFRESH = "Read the note against the code, mend either, then run: python tests/support/proof_notes.py --write {}"


def test_there_are_notes() -> None:
    assert NOTES


@pytest.mark.parametrize("note", NOTES, ids=lambda note: note.stem)
def test_the_code_of_a_note_has_not_moved(note: Path) -> None:
    text = note.read_text(encoding="utf-8")
    assert proof_notes.CHECKED.search(text), f"{note.name} names no code. Add lines such as those of votes.md."
    assert text.count("checked:") == len(proof_notes.CHECKED.findall(text)), f"{note.name} has a malformed line"
    assert not (moved := proof_notes.moved(text)), (
        f"Moved since {note.name} was checked: {moved}. {REFRESH.format(f'proofs/{note.name}')}"
    )


NAMED = re.compile(
    r"""
      proofs/(\w+)\.md                                       # in a docstring
    | (?:proof=|PROOF\ =\ )"(\w+)"                           # of a guarantee, or of an entry of the registry
    | def\ proof\(self\).*\s+\"{3}[^"]*\"{3}\s+return\ "(\w+)"  # of a stage
    """,
    re.VERBOSE,
)


def test_every_note_that_the_sources_name_exists() -> None:
    sources = [path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")]
    named = {name for text in sources for names in NAMED.findall(text) for name in names if name}
    assert named >= {"plans", "linear", "sspp", "account"}
    missing = named - {note.stem for note in NOTES}
    assert not missing, f"a guarantee or a docstring names notes that are not there: {sorted(missing)}"


def test_a_change_of_code_is_noticed_and_a_change_of_words_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)

    def digest(version: str, source: str) -> str:
        (tmp_path / f"covered_{version}.py").write_text(source, encoding="utf-8")
        return proof_notes.digest(f"covered_{version}", "noise")

    plain = digest("a", "def noise(scale):\n    return 2 * scale\n")
    reworded = digest("b", 'def noise(scale):\n    """Why."""\n    # how\n    return 2*scale\n')
    altered = digest("c", "def noise(scale):\n    return scale\n")
    assert plain == reworded != altered

    note = f"<!-- checked: covered_c:noise {plain} -->\n<!-- checked: covered_a:noise -->\n"
    assert proof_notes.moved(note) == ["covered_c:noise", "covered_a:noise"]
    assert proof_notes.moved(f"<!-- checked: covered_a:gone {plain} -->") == ["covered_a:gone"]
    assert proof_notes.moved(proof_notes.refreshed(note)) == []
