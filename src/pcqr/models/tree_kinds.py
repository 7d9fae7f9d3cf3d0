"""Kinds that are one tree, under whatever name."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.stumps import Stump
from pcqr.hypotheses.thresholds import Threshold
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.models.canvas import Caption
from pcqr.models.effects import Effects
from pcqr.models.graph import Graph, tree_labels, tree_probabilities
from pcqr.models.kind import ONE_DRAW, SHARES_AT_LEAVES, H, Kind, ScoredKind
from pcqr.models.picture import draw_tree
from pcqr.models.possible import without_impossible
from pcqr.models.rules import flat_rules, indented_rules, predicates_of
from pcqr.models.trees import check_node, describe_node, describe_question, restore_node, restore_question
from pcqr.models.vocabulary import Vocabulary
from pcqr.records.branching import Leaf, Split
from pcqr.records.predicates import Predicate
from pcqr.schema import Schema


class TreeKind(Kind[H]):
    """A hypothesis that is a tree, under whatever name.

    What people see is the same function of records with no question asked in vain; what runtimes get is the same
    function of arrays, whatever is in them.
    """

    version = 1
    limits = ONE_DRAW

    @abstractmethod
    def as_tree(self, hypothesis: H) -> DecisionTree: ...

    def check(self, hypothesis: H, words: Vocabulary) -> None:
        tree = self.as_tree(hypothesis)
        if tree.features != len(words.features):
            raise ParameterError("hypothesis", f"one on the {len(words.features)} features of the schema", tree)
        check_node(tree.root, words)

    def cuts(self, hypothesis: H) -> Iterator[Predicate]:
        return predicates_of(self.as_tree(hypothesis).root)

    def rules(self, hypothesis: H, words: Vocabulary, *, flat: bool) -> str:
        return (flat_rules if flat else indented_rules)(self._shown(hypothesis, words), words)

    def draw(self, hypothesis: H, words: Vocabulary, path: Path, caption: Caption) -> None:
        draw_tree(self._shown(hypothesis, words), words, path, caption)

    def add_labels(self, hypothesis: H, graph: Graph) -> str:
        return tree_labels(self.as_tree(hypothesis).simplified().root, graph)

    def _shown(self, hypothesis: H, words: Vocabulary) -> Leaf | Split:
        return without_impossible(self.as_tree(hypothesis), words.schema).root


class DecisionTreeKind(TreeKind[DecisionTree]):
    name = "decision-tree"
    title = "decision tree"
    hypothesis = DecisionTree

    def holds(self, hypothesis: object) -> bool:
        return isinstance(hypothesis, DecisionTree) and not hypothesis.has_shares

    def as_tree(self, hypothesis: DecisionTree) -> DecisionTree:
        return hypothesis

    def describe(self, hypothesis: DecisionTree, words: Vocabulary) -> dict[str, Any]:
        return describe_node(hypothesis.root, words)

    def restore(self, value: object, where: str, words: Vocabulary) -> DecisionTree:
        return DecisionTree(restore_node(value, where, words), len(words.features))


class ScoredTreeKind(DecisionTreeKind, ScoredKind[DecisionTree]):
    """A decision tree with a probability of each label at its leaves."""

    version = 5
    limits = SHARES_AT_LEAVES

    def holds(self, hypothesis: object) -> bool:
        return isinstance(hypothesis, DecisionTree) and hypothesis.has_shares

    def restore(self, value: object, where: str, words: Vocabulary) -> DecisionTree:
        return DecisionTree(restore_node(value, where, words, has_shares=True), len(words.features))

    def add_labels(self, hypothesis: DecisionTree, graph: Graph) -> str:
        return tree_probabilities(hypothesis.root, graph)

    def scores(self, hypothesis: DecisionTree, points: Points) -> NDArray[np.float64]:
        return hypothesis.decision_function(points)

    def probabilities(self, hypothesis: DecisionTree, points: Points) -> NDArray[np.float64]:
        return hypothesis.predict_proba(points)

    def effects(self, hypothesis: DecisionTree, schema: Schema, points: Points | None) -> Effects | None:  # noqa: ARG002
        return None


class StumpKind(TreeKind[Stump]):
    name = "stump"
    title = "decision stump"
    hypothesis = Stump

    def as_tree(self, hypothesis: Stump) -> DecisionTree:
        return _one_question(hypothesis.feature, hypothesis.cut, hypothesis.above, hypothesis.features)

    def describe(self, hypothesis: Stump, words: Vocabulary) -> dict[str, Any]:
        return describe_question(hypothesis.feature, hypothesis.cut, int(hypothesis.above), words)

    def restore(self, value: object, where: str, words: Vocabulary) -> Stump:
        feature, cut, above = restore_question(value, where, words)
        return Stump(feature, cut, above, len(words.features))


class ThresholdKind(TreeKind[Threshold]):
    name = "threshold"
    title = "threshold"
    hypothesis = Threshold

    def as_tree(self, hypothesis: Threshold) -> DecisionTree:
        return _one_question(0, hypothesis.cut, hypothesis.up, 1)

    def describe(self, hypothesis: Threshold, words: Vocabulary) -> dict[str, Any]:
        return describe_question(0, hypothesis.cut, int(hypothesis.up), words)

    def restore(self, value: object, where: str, words: Vocabulary) -> Threshold:
        _, cut, up = restore_question(value, where, words)
        return Threshold(cut, up)


def _one_question(feature: int, cut: float, above: bool, features: int) -> DecisionTree:
    if math.isinf(cut):  # x > −∞ always holds, x > ∞ never
        return DecisionTree(Leaf(int(above == (cut < 0))), features)
    return DecisionTree(Split(Predicate(feature, cut), fails=Leaf(int(not above)), holds=Leaf(int(above))), features)
