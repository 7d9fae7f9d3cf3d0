"""A tree as text: indented for reading from the top, or one rule a leaf."""

from __future__ import annotations

from collections.abc import Iterator

from pcqr.hypotheses.trees.tree import Leaf, Split
from pcqr.models.vocabulary import Vocabulary


def indented_rules(node: Leaf | Split, words: Vocabulary) -> str:
    """ "if …:" and "else:", each leaf on a line of its own."""
    return "\n".join(_indented(node, words, ""))


def flat_rules(node: Leaf | Split, words: Vocabulary) -> str:
    """ "IF … AND … THEN label", one line a leaf. Exactly one rule applies to a record, so their order is free."""
    return "\n".join(_flat(node, words, ()))


def _indented(node: Leaf | Split, words: Vocabulary, margin: str) -> Iterator[str]:
    if isinstance(node, Leaf):
        yield f"{margin}→ {words.label(node.label)}"
        return
    yield f"{margin}if {words.condition(node.predicate, holds=True)}:"
    yield from _indented(node.holds, words, margin + "    ")
    yield f"{margin}else:  # {words.condition(node.predicate, holds=False)}"
    yield from _indented(node.fails, words, margin + "    ")


def _flat(node: Leaf | Split, words: Vocabulary, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(node, Leaf):
        condition = f"IF {' AND '.join(path)} THEN" if path else "ALWAYS"
        yield f"{condition} {words.label(node.label)}"
        return
    yield from _flat(node.holds, words, (*path, words.condition(node.predicate, holds=True)))
    yield from _flat(node.fails, words, (*path, words.condition(node.predicate, holds=False)))
