"""A tree as text: indented for reading from the top, or one rule a leaf."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from pcqr.models.vocabulary import Vocabulary
from pcqr.records.branching import Leaf, Split
from pcqr.records.predicates import Predicate


def indented_rules(node: Leaf | Split, words: Vocabulary, verdict: Callable[[int], str] | None = None) -> str:
    """ "if …:" and "else:", each leaf on a line of its own: its `verdict`, or that of `words`, and its probability."""
    return "\n".join(_indented(node, words, words.verdict if verdict is None else verdict, ""))


def flat_rules(node: Leaf | Split, words: Vocabulary) -> str:
    """Lines "IF … AND … THEN label", one a leaf. Exactly one rule applies to a record, so their order is free.

    For a simplified tree: of several cuts on one side of a feature the last is the tightest, and is the one shown.
    """
    return "\n".join(
        f"{f'IF {conditions} THEN' if conditions else 'ALWAYS'} {words.label(leaf.label)}{_share(leaf, words)}"
        for conditions, leaf in _paths(node, words, {})
    )


def predicates_of(node: Leaf | Split) -> Iterator[Predicate]:
    """All questions of the tree."""
    if isinstance(node, Split):
        yield node.predicate
        yield from predicates_of(node.holds)
        yield from predicates_of(node.fails)


def _share(leaf: Leaf, words: Vocabulary) -> str:
    return "" if leaf.shares is None else f" (probability {words.share(leaf)})"


def _indented(node: Leaf | Split, words: Vocabulary, verdict: Callable[[int], str], margin: str) -> Iterator[str]:
    if isinstance(node, Leaf):
        yield f"{margin}{verdict(node.label)}{_share(node, words)}"
        return
    yield f"{margin}if {words.condition(node.predicate, holds=True)}:"
    yield from _indented(node.holds, words, verdict, margin + "    ")
    yield f"{margin}else:  # {words.condition(node.predicate, holds=False)}"
    yield from _indented(node.fails, words, verdict, margin + "    ")


def _paths(node: Leaf | Split, words: Vocabulary, path: dict[tuple[int, bool], str]) -> Iterator[tuple[str, Leaf]]:
    """Each leaf with the conditions that lead to it, "… AND …". `path`: those that lead here, by feature and side."""
    if isinstance(node, Leaf):
        yield " AND ".join(path.values()), node
        return
    for child, holds in ((node.holds, True), (node.fails, False)):
        condition = words.condition(node.predicate, holds=holds)
        yield from _paths(child, words, path | {(node.predicate.feature, holds): condition})
