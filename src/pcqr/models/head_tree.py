"""The tree beside a head: what it is worth in the score, and how it is read aloud."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.head import Head
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.models.effects import ROWS, Effects, chosen_rows
from pcqr.models.head_json import SAYS_1
from pcqr.models.possible import without_impossible
from pcqr.models.rules import indented_rules, predicates_of
from pcqr.models.scorecard import signed
from pcqr.models.trees import check_node
from pcqr.models.vocabulary import Vocabulary
from pcqr.plan import counted
from pcqr.records.branching import Leaf, Split
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import PredicateVectors

_DECIMALS = 3


def check_tree(head: Head, words: Vocabulary) -> None:
    """Raise unless a tree beside the head is asked about as files have it: by the last question, and by no other."""
    features = head.feature_map
    if words.effects is not None and (words.effects.tree is None) != (features.tree is None):
        raise ParameterError("effects.tree", "a number for a head with a tree, and for no other", words.effects.tree)
    if features.tree is None:
        return
    if len(words.classes) != 2:
        raise ParameterError("hypothesis", "a head without a tree, for more than two labels", "one with a tree")
    check_node(features.tree, words)
    ferned = () if features.ferns is None else features.ferns.predicates
    *asked, last = features.dense.predicates if isinstance(features.dense, PredicateVectors) else (None,)
    others = (*ferned, *filter(None, asked))
    if last != Predicate(features.features, SAYS_1) or asked_of_columns(head, others) != others:
        raise ParameterError("hypothesis", "a tree that the last question is about, and no other", "another head")


def asked_of_columns(head: Head, predicates: Iterable[Predicate]) -> tuple[Predicate, ...]:
    """Those that are about columns of the points, not about what the tree says."""
    return tuple(predicate for predicate in predicates if predicate.feature < head.feature_map.features)


def tree_worth(head: Head, points: Points) -> float | None:
    """By how much the mean score is higher were the tree to say 1 of all points than were it to say 0.

    None where there is no tree.
    """
    if head.feature_map.tree is None:
        return None
    rows, question = chosen_rows(points, ROWS), head.feature_map.tree.predicate

    def mean(label: int) -> float:
        always = Split(question, fails=Leaf(label), holds=Leaf(label))
        said = replace(head, feature_map=replace(head.feature_map, tree=always))
        return float(said.decision_function(rows).mean())

    return mean(1) - mean(0)


def tree_lines(head: Head, words: Vocabulary, effects: Effects) -> list[str]:
    """What it is worth, and all that it asks; nothing where there is no tree. An empty line comes last."""
    tree = head.feature_map.tree
    if tree is None:
        return []

    def says(label: int) -> str:
        return f"the tree says {words.label(label)}"

    root = without_impossible(DecisionTree(tree, head.feature_map.features), words.schema).root
    return [f"It asks the tree first. {_worth(words, effects)}", "", indented_rules(root, words, says), ""]


def tree_in_words(head: Head, words: Vocabulary, effects: Effects) -> list[str]:
    """The same in one line, for a picture of the columns."""
    tree = head.feature_map.tree
    if tree is None:
        return []
    size = counted(len(list(predicates_of(tree))), "question")
    return [f"A tree of {size} is asked first. {_worth(words, effects)}"]


def _worth(words: Vocabulary, effects: Effects) -> str:
    if effects.tree is None:
        raise AssertionError("The effects of a head with a tree say what the tree is worth.")
    rows = counted(effects.rows, "public row") if effects.rows else "rows that are made up"
    says = f"That it says {words.label(1)} and not {words.label(0)}"
    return f"{says} is worth {signed(effects.tree, _DECIMALS)} in the score, on average over {rows}."
