"""Every proof note names the code it speaks of, and neither that code nor a theorem named has moved since then."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from support import proof_notes

from checked import statements

SOURCES = Path(__file__).parents[1] / "src"
NOTES = sorted(proof_notes.NOTES.glob("*.md"))
REFRESH = "Read the note against the code, mend either, then run: python tests/support/proof_notes.py --write {}"


def test_there_are_notes() -> None:
    assert NOTES


@pytest.mark.parametrize("note", NOTES, ids=lambda note: note.stem)
def test_the_code_of_a_note_has_not_moved(note: Path) -> None:
    text = note.read_text(encoding="utf-8")
    assert proof_notes.CHECKED.search(text), f"{note.name} names no code. Add lines such as those of votes.md."
    assert text.count("<!-- checked:") == len(proof_notes.CHECKED.findall(text)), f"{note.name} has a malformed line"
    assert text.count("<!-- proved:") == len(proof_notes.PROVED.findall(text)), f"{note.name} has a malformed line"
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


THEOREMS = {
    "Law": """
        Definition close (e d : R) : Prop := e <= d.
        Definition other : R := 1.
    """,
    "Votes": """
        From pcqr Require Import Law.
        Section Votes.
          Variable n : nat. (* how many *)
          Hypothesis some : (0 < n)%nat.
          Definition gap (v : nat) : nat := v - n.
          Theorem stable v : close (gap v) 0.
          Proof. now unfold gap. Qed.
        End Votes.
    """,
}


def stated(folder: Path, old: str = "", new: str = "") -> str:
    folder.mkdir()
    for name, text in THEOREMS.items():
        (folder / f"{name}.v").write_text(text.replace(old, new) if old else text, encoding="utf-8")
    return statements.digest("Votes", "stable", folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("close (gap v) 0", "close (gap v) 1"),
        ("(0 < n)%nat", "(1 < n)%nat"),
        ("v - n", "v - 2 * n"),
        ("e <= d", "e <= 2 * d"),
        ("Variable n : nat", "Variable n : Z"),
        ("Require Import Law", "Require Law"),
    ],
    ids=["statement", "hypothesis", "definition", "definition elsewhere", "variable", "import"],
)
def test_a_change_of_what_a_theorem_means_is_noticed(tmp_path: Path, old: str, new: str) -> None:
    assert stated(tmp_path / "before") != stated(tmp_path / "after", old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(* how many *)", "(* some (* nested *) words. *)"),
        ("now unfold gap", "intros"),
        ("Theorem stable v : ", "Theorem stable v\n    : "),
        ("other : R := 1", "other : R := 2"),
    ],
    ids=["comment", "proof", "layout", "another definition"],
)
def test_a_change_of_words_and_proofs_is_not(tmp_path: Path, old: str, new: str) -> None:
    assert stated(tmp_path / "before") == stated(tmp_path / "after", old, new)


def test_a_theorem_named_by_a_note_must_be_there() -> None:
    assert proof_notes.moved("<!-- proved: checked/Votes.v:gone 00000000 -->") == ["Votes.v:gone"]
    unread = "<!-- proved: checked/Votes.v:distance_nonnegative -->"
    assert proof_notes.moved(unread) == ["Votes.v:distance_nonnegative"]
    assert proof_notes.moved(proof_notes.refreshed(unread)) == []


def test_every_theorem_is_listed_with_its_assumptions() -> None:
    listed = (statements.FOLDER / "assumptions.txt").read_text(encoding="utf-8").splitlines()
    assert [line.split(":")[0] for line in listed] == statements.theorems(), "Run: python -m checked.prove --write"


def test_every_mutant_has_its_text_in_its_file_once() -> None:
    mutants = tomllib.loads((statements.FOLDER / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    counts = {m["what"]: (statements.FOLDER / m["file"]).read_text(encoding="utf-8").count(m["old"]) for m in mutants}
    assert len(counts) == len(mutants) >= 20
    assert {what: count for what, count in counts.items() if count != 1} == {}


def test_every_note_is_listed_on_the_page_of_claims() -> None:
    rows = [row["notes"] for row in proof_notes.ROW.finditer(proof_notes.PAGE.read_text(encoding="utf-8"))]
    listed = [note for row in rows for note in re.findall(r"\.\./proofs/(\w+)\.md", row)]
    assert sorted(listed) == sorted(note.stem for note in NOTES if note.stem != "README")


def test_the_page_of_claims_lists_the_theorems_that_the_notes_name() -> None:
    page = proof_notes.PAGE.read_text(encoding="utf-8")
    assert "`Votes.distance_moves_by_at_most_one`" in page
    assert page == proof_notes.listed(page), REFRESH.format("docs/proofs.md")
