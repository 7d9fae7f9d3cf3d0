"""The kinds of hypotheses that a model can hold: how each is stored, read, drawn and exported.

A new kind (a linear score, a boosted sum of trees) is one more subclass of `Kind` in `KINDS`, and one more branch of
`hypothesis` in the JSON Schema beside this file. A kind that is one tree under another name needs no more than its
JSON and `as_tree`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis
from pcqr.hypotheses.stumps import Stump
from pcqr.hypotheses.thresholds import Threshold
from pcqr.hypotheses.trees.predicates import Predicate
from pcqr.hypotheses.trees.tree import DecisionTree, Leaf, Split
from pcqr.models.graph import Graph, tree_labels
from pcqr.models.picture import Caption, draw_tree
from pcqr.models.possible import without_impossible
from pcqr.models.rules import flat_rules, indented_rules
from pcqr.models.trees import describe_node, describe_question, restore_node, restore_question
from pcqr.models.vocabulary import Vocabulary

H = TypeVar("H", bound=Hypothesis)


class Kind(ABC, Generic[H]):
    """One kind of hypothesis. `name` is its name in JSON, `title` its name for people."""

    name: ClassVar[str]
    title: ClassVar[str]
    hypothesis: ClassVar[type[Hypothesis]]

    @abstractmethod
    def check(self, hypothesis: H, words: Vocabulary) -> None:
        """Raise unless the hypothesis speaks of features and labels that `words` knows."""

    @abstractmethod
    def describe(self, hypothesis: H, words: Vocabulary) -> dict[str, Any]:
        """The value of "hypothesis" in JSON."""

    @abstractmethod
    def restore(self, value: object, where: str, words: Vocabulary) -> H:
        """The hypothesis that `describe` described; errors say `where` in the document."""

    @abstractmethod
    def rules(self, hypothesis: H, words: Vocabulary, *, flat: bool) -> str: ...

    @abstractmethod
    def draw(self, hypothesis: H, words: Vocabulary, path: Path, caption: Caption) -> None: ...

    @abstractmethod
    def add_labels(self, hypothesis: H, graph: Graph) -> str:
        """Add the nodes that compute int64 labels 0, 1, … from the encoded table; return their name."""


class TreeKind(Kind[H]):
    """A hypothesis that is a tree, under whatever name.

    What people see is the same function of records with no question asked in vain; what runtimes get is the same
    function of arrays, whatever is in them.
    """

    @abstractmethod
    def as_tree(self, hypothesis: H) -> DecisionTree: ...

    def check(self, hypothesis: H, words: Vocabulary) -> None:
        tree = self.as_tree(hypothesis)
        if tree.features != len(words.features):
            raise ParameterError("hypothesis", f"one on the {len(words.features)} features of the schema", tree)
        _check_node(tree.root, words)

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

    def as_tree(self, hypothesis: DecisionTree) -> DecisionTree:
        return hypothesis

    def describe(self, hypothesis: DecisionTree, words: Vocabulary) -> dict[str, Any]:
        return describe_node(hypothesis.root, words)

    def restore(self, value: object, where: str, words: Vocabulary) -> DecisionTree:
        return DecisionTree(restore_node(value, where, words), len(words.features))


class StumpKind(TreeKind[Stump]):
    name = "stump"
    title = "decision stump"
    hypothesis = Stump

    def check(self, hypothesis: Stump, words: Vocabulary) -> None:
        super().check(hypothesis, words)
        if not 0 <= hypothesis.feature < hypothesis.features or math.isnan(hypothesis.cut):
            raise ParameterError("hypothesis", "a stump on a feature of the schema", hypothesis)

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


KINDS: tuple[Kind[Any], ...] = (DecisionTreeKind(), StumpKind(), ThresholdKind())


def kind_of(hypothesis: object) -> Kind[Any]:
    for kind in KINDS:
        if isinstance(hypothesis, kind.hypothesis):
            return kind
    raise ParameterError("hypothesis", f"a {' or '.join(kind.title for kind in KINDS)}", type(hypothesis).__name__)


def kind_named(name: object) -> Kind[Any]:
    for kind in KINDS:
        if kind.name == name:
            return kind
    raise ParameterError("model.kind", f"one of {', '.join(kind.name for kind in KINDS)}", name)


def _one_question(feature: int, cut: float, above: bool, features: int) -> DecisionTree:
    if math.isinf(cut):  # x > −∞ always holds, x > ∞ never
        return DecisionTree(Leaf(int(above == (cut < 0))), features)
    return DecisionTree(Split(Predicate(feature, cut), fails=Leaf(int(not above)), holds=Leaf(int(above))), features)


def _check_node(node: Leaf | Split, words: Vocabulary) -> None:
    if isinstance(node, Leaf):
        if not 0 <= node.label < len(words.classes):
            raise ParameterError("hypothesis", f"labels from 0 to {len(words.classes) - 1}", node.label)
        return
    if not 0 <= node.predicate.feature < len(words.features):
        raise ParameterError("hypothesis", "predicates on features of the schema", node.predicate)
    _check_node(node.fails, words)
    _check_node(node.holds, words)
