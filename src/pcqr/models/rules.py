"""A tree as text: indented for reading from the top, or one rule a leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pcqr.models.vocabulary import Vocabulary
from pcqr.records.branching import Leaf, Split
from pcqr.records.predicates import Predicate


def indented_rules(node: Leaf | Split, words: Vocabulary, verdict: Callable[[int], str] | None = None) -> str:
    """ "if …:" and "else:", each leaf on a line of its own: its `verdict`, or that of `words`."""
    return "\n".join(_indented(node, words, words.verdict if verdict is None else verdict, ""))


def flat_rules(node: Leaf | Split, words: Vocabulary) -> str:
    """Lines "IF … AND … THEN label", one a leaf. Exactly one rule applies to a record, so their order is free.

    For a simplified tree: of several cuts on one side of a feature the last is the tightest, and is the one shown.
    """
    return "\n".join(
        f"{f'IF {conditions} THEN' if conditions else 'ALWAYS'} {words.label(label)}"
        for conditions, label in paths(node, words)
    )


def paths(node: Leaf | Split, words: Vocabulary) -> Iterator[tuple[str, int]]:
    """For each leaf the conditions that lead to it, "… AND …", and its label."""
    yield from _paths(node, words, {})


def predicates_of(node: Leaf | Split) -> Iterator[Predicate]:
    """All questions of the tree."""
    if isinstance(node, Split):
        yield node.predicate
        yield from predicates_of(node.holds)
        yield from predicates_of(node.fails)


def _indented(node: Leaf | Split, words: Vocabulary, verdict: Callable[[int], str], margin: str) -> Iterator[str]:
    if isinstance(node, Leaf):
        yield f"{margin}{verdict(node.label)}"
        return
    yield f"{margin}if {words.condition(node.predicate, holds=True)}:"
    yield from _indented(node.holds, words, verdict, margin + "    ")
    yield f"{margin}else:  # {words.condition(node.predicate, holds=False)}"
    yield from _indented(node.fails, words, verdict, margin + "    ")


def _paths(node: Leaf | Split, words: Vocabulary, path: dict[tuple[int, bool], str]) -> Iterator[tuple[str, int]]:
    """`path`: the conditions that lead here, by feature and side."""
    if isinstance(node, Leaf):
        yield " AND ".join(path.values()), node.label
        return
    for child, holds in ((node.holds, True), (node.fails, False)):
        condition = words.condition(node.predicate, holds=holds)
        yield from _paths(child, words, path | {(node.predicate.feature, holds): condition})
