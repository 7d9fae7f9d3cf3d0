"""The JSON of predicates and trees: features and labels by their names, so that the file can be read by itself."""

from __future__ import annotations

import math
import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records.predicates import Leaf, Predicate, Split
from pcqr.data.schema import Column, Schema
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.stumps import Stump
from pcqr.hypotheses.thresholds import Threshold
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.models.card import flat_rules, indented_rules, predicates_of
from pcqr.models.effects import Effects
from pcqr.models.graph import Graph, tree_labels, tree_probabilities
from pcqr.models.kind import ONE_DRAW, SHARES_AT_LEAVES, H, Kind, ScoredKind
from pcqr.models.pictures import Caption, draw_tree
from pcqr.models.vocabulary import Vocabulary
from pcqr.serialization.reading import read_list, read_number, read_object

# ---------------------------------------------------------------------------------------------------------------------
# A tree without branches that no record can take, given what the schema says about encoded rows.
#
# A categorical column has exactly one indicator at 1, a number lies within its bounds, and a missing number is the
# public constant it counts as. So after "job = clerk" nobody is a nurse, and where age is missing it is not above 40.


Range = tuple[float, float]
"""Lowest and highest value, both possible."""

Case = tuple[Range, ...]
"""One way in which a column can be encoded: a range for each of its features."""


def without_impossible(tree: DecisionTree, schema: Schema) -> DecisionTree:
    """A tree that gives every row that `schema` can encode the label that `tree` gives it. Post-processing.

    On arrays that are no encoding, such as rows with two categories of one column, the two may differ.
    """
    places = [(column, place) for column, owner in enumerate(schema.columns) for place in range(len(owner.features))]
    cases_of = {column: _cases(owner) for column, owner in enumerate(schema.columns)}
    return DecisionTree(_pruned(tree.simplified().root, places, cases_of), tree.features).simplified()


def _cases(column: Column) -> tuple[Case, ...]:
    if column.kind == "categorical":
        count = len(column.features)
        return tuple(tuple((float(i == one),) * 2 for i in range(count)) for one in range(count))
    present = column.limits or (-sys.float_info.max, sys.float_info.max)
    if column.filled_with is None:
        return ((present,),)
    constant = column.filled_with
    return ((present, (0.0, 0.0)), ((constant, constant), (1.0, 1.0)))


def _pruned(
    node: Leaf | Split, places: list[tuple[int, int]], cases_of: Mapping[int, tuple[Case, ...]]
) -> Leaf | Split:
    """`node` without the questions that all cases left on its path answer alike.

    `places`: for each feature its column and its place there. `cases_of`: what each column can still be.
    """
    if isinstance(node, Leaf):
        return node
    column, place = places[node.predicate.feature]
    cut = node.predicate.cut
    above = _narrowed(cases_of[column], place, (math.nextafter(cut, math.inf), math.inf))
    below = _narrowed(cases_of[column], place, (-math.inf, cut))
    if not below:
        return _pruned(node.holds, places, cases_of)
    if not above:
        return _pruned(node.fails, places, cases_of)
    return Split(
        node.predicate,
        fails=_pruned(node.fails, places, {**cases_of, column: below}),
        holds=_pruned(node.holds, places, {**cases_of, column: above}),
    )


def _narrowed(cases: tuple[Case, ...], place: int, allowed: Range) -> tuple[Case, ...]:
    """The `cases` in which the feature at `place` can lie in `allowed`, with what is left of its range."""
    narrowed = []
    for case in cases:
        low, high = max(case[place][0], allowed[0]), min(case[place][1], allowed[1])
        if low <= high:
            narrowed.append((*case[:place], (low, high), *case[place + 1 :]))
    return tuple(narrowed)


# ---------------------------------------------------------------------------------------------------------------------
# The JSON of predicates and trees: features and labels by their names, so that the file can be read by itself.


DEEPEST_READ = 64
"""No tree of pcqr comes near it; a file that does is refused before Python's recursion limit is."""

PROBABILITIES = "probabilities"
NODE = ("feature", "above", "then", "else")
_INFINITIES = {"infinity": math.inf, "-infinity": -math.inf}


def describe_node(node: Leaf | Split, words: Vocabulary) -> dict[str, Any]:
    """{"label": …}, or {"feature": …, "above": …, "then": node, "else": node}: x[feature] > above goes to `then`.

    A leaf with shares has them as "probabilities", in the order of the labels.
    """
    if isinstance(node, Leaf):
        described = {"label": words.classes[node.label]}
        return described if node.shares is None else described | {PROBABILITIES: list(node.shares)}
    return describe_predicate(node.predicate, words) | {
        "then": describe_node(node.holds, words),
        "else": describe_node(node.fails, words),
    }


def restore_node(
    value: object, where: str, words: Vocabulary, deepest: int = DEEPEST_READ, *, has_shares: bool = False
) -> Leaf | Split:
    """What `describe_node` described; anything else is refused with its place."""
    if deepest < 0:
        raise ParameterError("model.hypothesis", f"at most {DEEPEST_READ} deep", "a deeper one")
    if isinstance(value, dict) and "label" in value:
        entries = read_object(value, where, ("label", PROBABILITIES) if has_shares else ("label",))
        name = entries["label"]
        label = None if isinstance(name, dict | list) else words.label_of(name)
        if label is None:
            raise ParameterError(f"{where}.label", f"one of the classes {list(words.classes)}", name)
        return (
            _with_shares(label, entries[PROBABILITIES], f"{where}.{PROBABILITIES}", words)
            if has_shares
            else Leaf(label)
        )
    fields = read_object(value, where, NODE)
    return Split(
        restore_predicate({key: fields[key] for key in ("feature", "above")}, where, words),
        holds=restore_node(fields["then"], f"{where}.then", words, deepest - 1, has_shares=has_shares),
        fails=restore_node(fields["else"], f"{where}.else", words, deepest - 1, has_shares=has_shares),
    )


def _with_shares(label: int, value: object, where: str, words: Vocabulary) -> Leaf:
    listed = read_list(value, where)
    shares = tuple(read_number(share, f"{where}[{place}]") for place, share in enumerate(listed))
    if len(shares) != len(words.classes):
        raise ParameterError(where, f"a number for each of {len(words.classes)} labels", f"{len(shares)} numbers")
    try:
        return Leaf(label, shares)
    except ParameterError as error:
        raise ParameterError(where, error.allowed, error.received) from None


def describe_predicate(predicate: Predicate, words: Vocabulary) -> dict[str, Any]:
    return {"feature": words.features[predicate.feature].name, "above": predicate.cut}


def restore_predicate(fields: dict[str, Any], where: str, words: Vocabulary) -> Predicate:
    return Predicate(read_feature(fields["feature"], where, words), read_number(fields["above"], f"{where}.above"))


def describe_stump(feature: int, cut: float, above: int, words: Vocabulary) -> dict[str, Any]:
    """A tree with one question and the labels `above` and 1 − `above`. An infinite cut makes it a constant."""
    return {
        "feature": words.features[feature].name,
        "above": written_cut(cut),
        "then": describe_node(Leaf(above), words),
        "else": describe_node(Leaf(1 - above), words),
    }


def restore_stump(value: object, where: str, words: Vocabulary) -> tuple[int, float, bool]:
    """(feature, cut, is the label above the cut 1?)"""
    fields = read_object(value, where, NODE)
    then, otherwise = (restore_node(fields[side], f"{where}.{side}", words) for side in ("then", "else"))
    if {then, otherwise} != {Leaf(0), Leaf(1)} or len(words.classes) != 2:
        raise ParameterError(where, "one question with two different labels of two", "another tree")
    cut = read_cut(fields["above"], f"{where}.above")
    return read_feature(fields["feature"], where, words), cut, then == Leaf(1)


def written_cut(cut: float) -> float | str:
    """`cut` in JSON, which has no infinities: they are words."""
    return cut if math.isfinite(cut) else ("infinity" if cut > 0 else "-infinity")


def read_cut(value: object, where: str) -> float:
    """What `written_cut` wrote."""
    infinite = _INFINITIES.get(value) if isinstance(value, str) else None
    return read_number(value, where) if infinite is None else infinite


def read_feature(name: object, where: str, words: Vocabulary) -> int:
    feature = words.feature_of(name)
    if feature is None:
        raise ParameterError(f"{where}.feature", "the name of a feature of the schema", name)
    return feature


def check_node(node: Leaf | Split, words: Vocabulary) -> None:
    """Raise unless all features and labels under `node` are among those that `words` knows."""
    if isinstance(node, Leaf):
        if not 0 <= node.label < len(words.classes):
            raise ParameterError("hypothesis", f"labels from 0 to {len(words.classes) - 1}", node.label)
        if node.shares is not None and len(node.shares) != len(words.classes):
            raise ParameterError("hypothesis", f"shares of {len(words.classes)} labels", f"{len(node.shares)} shares")
        return
    if not 0 <= node.predicate.feature < len(words.features):
        raise ParameterError("hypothesis", "predicates on features of the schema", node.predicate)
    check_node(node.fails, words)
    check_node(node.holds, words)


# ---------------------------------------------------------------------------------------------------------------------
# Kinds that are one tree, under whatever name.


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
        return _stump_tree(hypothesis.feature, hypothesis.cut, hypothesis.above, hypothesis.features)

    def describe(self, hypothesis: Stump, words: Vocabulary) -> dict[str, Any]:
        return describe_stump(hypothesis.feature, hypothesis.cut, int(hypothesis.above), words)

    def restore(self, value: object, where: str, words: Vocabulary) -> Stump:
        feature, cut, above = restore_stump(value, where, words)
        return Stump(feature, cut, above, len(words.features))


class ThresholdKind(TreeKind[Threshold]):
    name = "threshold"
    title = "threshold"
    hypothesis = Threshold

    def as_tree(self, hypothesis: Threshold) -> DecisionTree:
        return _stump_tree(0, hypothesis.cut, hypothesis.up, 1)

    def describe(self, hypothesis: Threshold, words: Vocabulary) -> dict[str, Any]:
        return describe_stump(0, hypothesis.cut, int(hypothesis.up), words)

    def restore(self, value: object, where: str, words: Vocabulary) -> Threshold:
        _, cut, up = restore_stump(value, where, words)
        return Threshold(cut, up)


def _stump_tree(feature: int, cut: float, above: bool, features: int) -> DecisionTree:
    if math.isinf(cut):  # x > −∞ always holds, x > ∞ never
        return DecisionTree(Leaf(int(above == (cut < 0))), features)
    return DecisionTree(Split(Predicate(feature, cut), fails=Leaf(int(not above)), holds=Leaf(int(above))), features)
