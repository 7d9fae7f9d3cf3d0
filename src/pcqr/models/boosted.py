"""Boosted trees as published models: trees that vote, read as rules with weights."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.documents.reading import read_list, read_number, read_object
from pcqr.drawing import BODY, INK
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.trees.boosted import VOTES, BoostedTrees
from pcqr.hypotheses.trees.tree import DecisionTree, Leaf, Split
from pcqr.models.canvas import Block, Caption, stacked, text_block, write_page
from pcqr.models.graph import Graph, constant_labels, sign_labels, vote_scores
from pcqr.models.kind import ScoredKind
from pcqr.models.linear import check_two_labels
from pcqr.models.panels import shapes_block, speaking_for
from pcqr.models.picture import tree_block
from pcqr.models.possible import without_impossible
from pcqr.models.rules import indented_rules, paths, predicates_of
from pcqr.models.shapes import Level, Shape, Values, column_shapes
from pcqr.models.trees import check_node, describe_node, restore_node
from pcqr.models.vocabulary import Vocabulary, number
from pcqr.plan import counted
from pcqr.records.predicates import Predicate

TREES_DRAWN = 3

Voters = Counter[Leaf | Split]
"""How often each of the trees votes."""


class BoostedKind(ScoredKind[BoostedTrees]):
    """Trees that are the same are shown once, with their weights added."""

    name = "boosted-trees"
    title = "vote of boosted trees"
    hypothesis = BoostedTrees
    limits = (
        "Its scores are no probabilities. `decision_function` says to which side the votes lean, and how far. It is a "
        "function of the published trees, so it costs nothing; nothing in it is calibrated.",
        "Its trees are random draws, each made to mend the ones before it. Another run on the same records gives other "
        "trees; which questions they ask says little about which matter, and nothing about causes.",
    )

    def check(self, hypothesis: BoostedTrees, words: Vocabulary) -> None:
        check_two_labels(words)
        if hypothesis.features != len(words.features):
            raise ParameterError(
                "hypothesis", f"one on the {len(words.features)} features of the schema", type(hypothesis).__name__
            )
        for tree in hypothesis.trees:
            check_node(tree.root, _voting(words))

    def describe(self, hypothesis: BoostedTrees, words: Vocabulary) -> dict[str, Any]:
        """The trees as they were drawn, in order; each has the weight `step`."""
        return {
            "step": hypothesis.step,
            "trees": [describe_node(tree.root, _voting(words)) for tree in hypothesis.trees],
        }

    def restore(self, value: object, where: str, words: Vocabulary) -> BoostedTrees:
        fields = read_object(value, where, ("step", "trees"))
        step, listed = read_number(fields["step"], f"{where}.step"), read_list(fields["trees"], f"{where}.trees")
        if not step > 0:
            raise ParameterError(f"{where}.step", "a number > 0", step)
        if not listed:
            raise ParameterError(f"{where}.trees", "at least one tree", "none")
        roots = (restore_node(root, f"{where}.trees[{i}]", _voting(words)) for i, root in enumerate(listed))
        return BoostedTrees(tuple(DecisionTree(root, len(words.features)) for root in roots), step, len(words.features))

    def cuts(self, hypothesis: BoostedTrees) -> Iterator[Predicate]:
        return itertools.chain.from_iterable(predicates_of(tree.root) for tree in hypothesis.trees)

    def rules(self, hypothesis: BoostedTrees, words: Vocabulary, *, flat: bool) -> str:
        """Each tree with its weight or, if `flat`, one rule for each way to a vote, the heaviest first."""
        voters = _shown(hypothesis, words)
        return _weighted_rules(hypothesis, voters, words) if flat else _weighted_trees(hypothesis, voters, words)

    def draw(self, hypothesis: BoostedTrees, words: Vocabulary, path: Path, caption: Caption) -> None:
        write_page(path, caption, lambda: _picture(hypothesis, words))

    def add_labels(self, hypothesis: BoostedTrees, graph: Graph) -> str:
        voters = Voters(tree.simplified().root for tree in hypothesis.trees)
        if all(isinstance(root, Leaf) for root in voters):
            total = sum(int(VOTES[root.label]) * times for root, times in voters.items() if isinstance(root, Leaf))
            return constant_labels(int(total > 0), graph)
        return sign_labels(vote_scores(voters, VOTES.tolist(), graph), graph)

    def scores(self, hypothesis: BoostedTrees, points: Points) -> NDArray[np.float64]:
        return hypothesis.margins(points)


def _voting(words: Vocabulary) -> Vocabulary:
    return replace(words, votes=True)


def _shown(hypothesis: BoostedTrees, words: Vocabulary) -> Voters:
    """The trees without questions asked in vain, those that vote most often first, else in the order of the draws."""
    found = Voters(without_impossible(tree, words.schema).root for tree in hypothesis.trees)
    return Voters(dict(found.most_common()))


def _decides(words: Vocabulary) -> str:
    return f"The label is {words.label(1)} where it gets more votes than {words.label(0)}, else {words.label(0)}."


def _weighted_trees(hypothesis: BoostedTrees, voters: Voters, words: Vocabulary) -> str:
    lines = [
        f"{counted(len(hypothesis.trees), 'tree')}, each with a vote of weight {number(hypothesis.step)}.",
        _decides(words),
        "Trees that are the same are written once, with their weights added. A tree may abstain.",
    ]
    for root, times in voters.items():
        lines += ["", f"weight {number(times * hypothesis.step)} ({counted(times, 'tree')}):"]
        lines += [f"    {line}" for line in indented_rules(root, _voting(words)).splitlines()]
    return "\n".join(lines)


def _weighted_rules(hypothesis: BoostedTrees, voters: Voters, words: Vocabulary) -> str:
    votes: Counter[str] = Counter()
    for root, times in voters.items():
        for conditions, label in paths(root, _voting(words)):
            votes[conditions] += times * int(VOTES[label])
    rules = [
        f"{f'IF {conditions} THEN' if conditions else 'ALWAYS'} "
        f"{number(abs(total) * hypothesis.step)} for {words.label(int(total > 0))}"
        for conditions, total in sorted(votes.items(), key=lambda entry: -abs(entry[1]))
        if total
    ]
    heading = (
        f"Every rule that applies gives its weight to its label. {_decides(words)}",
        "Rules of different trees with the same conditions are added; those that give nothing are left out.",
        "",
    )
    return "\n".join((*heading, *(rules or ["No rule gives anything."])))


def _picture(hypothesis: BoostedTrees, words: Vocabulary) -> Block:
    voters = _shown(hypothesis, words)
    explanation = (
        "How the weighted votes move with one column while every other question is answered by the toss of a coin. "
        "All steps have one scale",
        f"and all bars another; the steps between public cuts are drawn equally wide. {_decides(words)}",
    )
    trees = [root for root in voters if isinstance(root, Split)][:TREES_DRAWN]
    blocks = [shapes_block(shapes_of(hypothesis, voters, words), speaking_for(words), explanation)]
    for root in trees:
        heading = f"A tree with {voters[root]} of the {counted(len(hypothesis.trees), 'vote')}"
        blocks.append(
            stacked([text_block([heading], size=BODY, color=INK, weight="bold"), tree_block(root, _voting(words))], 6.0)
        )
    return stacked(blocks, 24.0)


def shapes_of(hypothesis: BoostedTrees, voters: Voters, words: Vocabulary) -> tuple[Shape, ...]:
    """How the margin moves with one column, while at all other questions half of the records go each way.

    A margin is no sum over columns. This is its part that is: the mean, tossing a fair coin at each question about
    another column, less the mean over the levels, so that what is left are differences.
    """

    def points(values: Values) -> float:
        return hypothesis.step * sum(times * _tossed(root, values) for root, times in voters.items())

    shapes = column_shapes(words, (asked for root in voters for asked in predicates_of(root)), points)
    return tuple(replace(shape, levels=_centred(shape.levels)) for shape in shapes)


def _tossed(node: Leaf | Split, values: Values) -> float:
    """The mean vote of the tree where the features in `values` are known and other questions are tossed."""
    if isinstance(node, Leaf):
        return float(VOTES[node.label])
    value = values.get(node.predicate.feature)
    if value is not None:
        return _tossed(node.holds if value > node.predicate.cut else node.fails, values)
    return 0.5 * (_tossed(node.holds, values) + _tossed(node.fails, values))


def _centred(levels: Iterable[Level]) -> tuple[Level, ...]:
    entries = tuple(levels)
    mean = sum(level.points for level in entries) / len(entries)
    return tuple(replace(level, points=level.points - mean) for level in entries)
