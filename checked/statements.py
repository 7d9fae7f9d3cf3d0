"""Read the theorems of `checked/*.v` without Coq: their names, and a hash of everything that a statement means.

The hash of a theorem covers four things. Its statement, from `Theorem name` to the final period. The variables and
hypotheses of the sections around it. Every definition, of its file and of those that it requires, whose name occurs in
one of these texts, and so on. And of each of these files the imports, scopes and notations.

Comments and layout do not count, nor do proofs. Names are compared as words: where two definitions share a name, both
are covered. So a hash may change although the meaning did not, but not the other way round.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent

_SENTENCE = re.compile(r".*?\.(?=\s|$)", re.DOTALL)
_WORD = re.compile(r"[^\W\d][\w']*")
_ATTRIBUTES = re.compile(r"^(?:#\[[^\]]*\]\s*)?(?:Local |Global |Polymorphic |Program )*")
_REQUIRED = re.compile(r"^From pcqr Require (?:Import |Export )?(.*)\.$")
_SCENE = (
    "From",
    "Require",
    "Import",
    "Export",
    "Open",
    "Close",
    "Notation",
    "Infix",
    "Arguments",
    "Coercion",
    "Set",
    "Unset",
)
_SUPPOSED = ("Variable", "Variables", "Hypothesis", "Hypotheses", "Context", "Let")
_DEFINED = (
    "Definition",
    "Fixpoint",
    "Inductive",
    "CoInductive",
    "Record",
    "Structure",
    "Class",
    "Instance",
    "Function",
    "Let",
)
_STATED = ("Theorem", "Lemma", "Corollary", "Proposition", "Fact", "Remark", "Example")
_END_OF_PROOF = ("Qed.", "Defined.", "Admitted.", "Abort.")


@dataclass(frozen=True)
class Piece:
    """A definition or a theorem: its text, and what its sections suppose."""

    text: str
    supposed: tuple[str, ...]


@dataclass
class File:
    """What a file of theorems holds. Every text is folded: one space where there was any."""

    required: list[str] = field(default_factory=list)
    scene: list[str] = field(default_factory=list)
    definitions: dict[str, list[Piece]] = field(default_factory=dict)
    theorems: dict[str, Piece] = field(default_factory=dict)
    """Those that open with `Theorem`: lemmas are steps on the way."""


def without_comments(text: str) -> str:
    """Return a Coq file's text with every comment, nested ones too, replaced by a space."""
    kept, depth, i = [], 0, 0
    while i < len(text):
        if text.startswith("(*", i):
            depth, i = depth + 1, i + 2
        elif depth and text.startswith("*)", i):
            depth, i = depth - 1, i + 2
            kept.append(" ")
        else:
            if not depth:
                kept.append(text[i])
            i += 1
    return "".join(kept)


def sentences(text: str) -> list[str]:
    """Return the sentences of a Coq file, without comments, white space folded."""
    return [" ".join(found.split()) for found in _SENTENCE.findall(without_comments(text))]


def read(text: str) -> File:
    """Return the definitions and theorems of a Coq file."""
    found, parts = File(), iter(sentences(text))
    open_sections: list[list[str]] = [[]]
    for part in parts:
        sentence = _ATTRIBUTES.sub("", part)
        first = sentence.split()[0].rstrip(".")
        if first == "Section":
            open_sections.append([])
        elif first == "End":
            open_sections.pop()
        supposed = tuple(text for section in open_sections for text in section)
        if first in _SUPPOSED:
            open_sections[-1].append(sentence)
        if first in _SCENE:
            found.scene.append(sentence)
            if required := _REQUIRED.match(sentence):
                found.required += required[1].split()
        elif first in _DEFINED:
            whole = sentence if ":=" in sentence or first in ("Inductive", "Record") else _with_proof(sentence, parts)
            for name in _names(whole):
                found.definitions.setdefault(name, []).append(Piece(whole, supposed))
        elif first in _STATED:
            proof = _with_proof("", parts)
            name = _WORD.findall(sentence)[1]
            if first == "Theorem":
                found.theorems[name] = Piece(sentence, supposed)
            elif proof.endswith("Defined."):
                found.definitions.setdefault(name, []).append(Piece(sentence + proof, supposed))
    return found


def _with_proof(sentence: str, parts: Iterator[str]) -> str:
    texts = [sentence]
    for part in parts:
        texts.append(part)
        if part.endswith(_END_OF_PROOF):
            break
    return " ".join(texts)


def _names(definition: str) -> list[str]:
    """The names that a definition makes: its own, those of its constructors and of its fields."""
    words = _WORD.findall(definition)
    names = [words[1]]
    if words[0] == "Fixpoint":
        names += re.findall(r"\bwith\s+([^\W\d][\w']*)\s+[({:]", definition)
    elif words[0] in ("Inductive", "CoInductive", "Record", "Structure", "Class"):
        names += re.findall(r"(?:\||:=|\{|;|\bwith)\s*([^\W\d][\w']*)", definition)
    return names


@cache
def files(folder: Path = FOLDER) -> dict[str, File]:
    """Return every file of the folder by its name without `.v`."""
    return {path.stem: read(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.v"))}


def _reachable(name: str, of: dict[str, File]) -> list[str]:
    """The file and all that it requires, itself first."""
    order = [name]
    for file in order:
        order += [other for other in of[file].required if other in of and other not in order]
    return order


def digest(file: str, theorem: str, folder: Path = FOLDER) -> str:
    """Return eight hex digits of all that a theorem's statement means. Raise KeyError if there is no such theorem."""
    of = files(folder)
    stated = of[file].theorems[theorem]
    visible = _reachable(file, of)
    texts, queue = {stated.text}, [stated]
    for piece in queue:
        for text in (piece.text, *piece.supposed):
            texts.add(text)
            for word in dict.fromkeys(_WORD.findall(text)):
                for name in visible:
                    for definition in of[name].definitions.get(word, ()):
                        if definition.text not in texts:
                            texts.add(definition.text)
                            queue.append(definition)
    scenes = [f"{name}: {' '.join(of[name].scene)}" for name in visible]
    return hashlib.sha256("\n".join([stated.text, *sorted(texts), *sorted(scenes)]).encode()).hexdigest()[:8]


def theorems(folder: Path = FOLDER) -> list[str]:
    """Return the theorems as `File.name`, in the order of the files' names and of the files."""
    return [f"{name}.{theorem}" for name, file in files(folder).items() for theorem in file.theorems]
