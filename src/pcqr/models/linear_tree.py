"""The tree beside a linear classifier: what it is worth in the score, and how it is read aloud."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.models.effects import ROWS, Effects, chosen_rows
from pcqr.models.possible import without_impossible
from pcqr.models.rules import indented_rules, predicates_of
from pcqr.models.scorecard import signed
from pcqr.models.trees import check_node
from pcqr.models.vocabulary import Vocabulary
from pcqr.plan import counted
from pcqr.records.branching import Leaf, Split
from pcqr.records.feature_map import label_predicates
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import PredicateVectors

_DECIMALS = 3


def check_tree(linear: LinearClassifier, words: Vocabulary) -> None:
    """Raise unless the last questions, and no others, are about the tree beside the linear classifier."""
    features = linear.feature_map
    if words.effects is not None and (words.effects.tree is None) != (features.tree is None):
        raise ParameterError(
            "effects.tree", "numbers for a linear classifier with a tree, and for no other", words.effects.tree
        )
    if features.tree is None:
        return
    check_node(features.tree, words)
    ferned = () if features.ferns is None else features.ferns.predicates
    asked = features.dense.predicates if isinstance(features.dense, PredicateVectors) else ()
    about_tree = label_predicates(features.features, len(words.classes))
    others = (*ferned, *asked[: -len(about_tree)])
    if asked[-len(about_tree) :] != about_tree or asked_of_columns(linear, others) != others:
        raise ParameterError(
            "hypothesis", "a tree that the last questions are about, and no others", "another linear classifier"
        )


def asked_of_columns(linear: LinearClassifier, predicates: Iterable[Predicate]) -> tuple[Predicate, ...]:
    """Those that are about columns of the points, not about what the tree says."""
    return tuple(predicate for predicate in predicates if predicate.feature < linear.feature_map.features)


def tree_worth(linear: LinearClassifier, points: Points) -> tuple[float, ...] | None:
    """Return the gain of each mean score when the tree gives its label to all points, and not another one.

    With two labels there is one score, that of the second label. None where there is no tree.
    """
    if linear.feature_map.tree is None:
        return None
    rows, question = chosen_rows(points, ROWS), linear.feature_map.tree.predicate

    def scores(label: int) -> NDArray[np.float64]:
        always = Split(question, fails=Leaf(label), holds=Leaf(label))
        said = replace(linear, feature_map=replace(linear.feature_map, tree=always))
        found: NDArray[np.float64] = np.atleast_1d(said.decision_function(rows).mean(axis=0))
        return found

    means = np.array([scores(label) for label in range(linear.classes)])  # by what the tree says, by score
    if linear.classes == 2:
        return (float(means[1, 0] - means[0, 0]),)
    others = (means.sum(axis=0) - means.diagonal()) / (linear.classes - 1)
    return tuple((means.diagonal() - others).tolist())


def tree_lines(linear: LinearClassifier, words: Vocabulary, effects: Effects) -> list[str]:
    """What it is worth, and all that it asks; nothing where there is no tree. An empty line comes last."""
    tree = linear.feature_map.tree
    if tree is None:
        return []

    def says(label: int) -> str:
        return f"the tree says {words.label(label)}"

    root = without_impossible(DecisionTree(tree, linear.feature_map.features), words.schema).root
    return [f"It asks the tree first. {_worth(words, effects)}", "", indented_rules(root, words, says), ""]


def tree_in_words(linear: LinearClassifier, words: Vocabulary, effects: Effects) -> list[str]:
    """The same in one line, for a picture of the columns."""
    tree = linear.feature_map.tree
    if tree is None:
        return []
    size = counted(len(list(predicates_of(tree))), "question")
    return [f"A tree of {size} is asked first. {_worth(words, effects)}"]


def _worth(words: Vocabulary, effects: Effects) -> str:
    if effects.tree is None:
        raise AssertionError("The effects of a linear classifier with a tree say what the tree is worth.")
    rows = counted(effects.rows, "public row") if effects.rows else "rows that are made up"
    if len(words.classes) == 2:
        says, worth = f"That it says {words.label(1)} and not {words.label(0)}", signed(effects.tree[0], _DECIMALS)
        return f"{says} is worth {worth} in the score, on average over {rows}."
    each = (f"{words.label(label)} {signed(worth, _DECIMALS)}" for label, worth in enumerate(effects.tree))
    return f"Its label gains in the score, on average over {rows}: {', '.join(each)}."
