"""Linear classifiers as published models: a scorecard for sums over questions, main effects for all others.

What a tree beside a linear classifier says moves with many columns at once, so that one is no sum over them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.models.canvas import Block, Caption, write_page
from pcqr.models.effects import Effects, made_up_points, main_effects
from pcqr.models.graph import Graph
from pcqr.models.kind import ScoredKind
from pcqr.models.linear_graph import linear_labels
from pcqr.models.linear_json import describe_linear, restore_linear
from pcqr.models.linear_tree import asked_of_columns, check_tree, tree_in_words, tree_lines, tree_worth
from pcqr.models.panels import labels_block, shapes_block, speaking_for
from pcqr.models.rules import predicates_of
from pcqr.models.scorecard import Sum, effect_table, question_table, scorecard, shapes_of, signed
from pcqr.models.shapes import Shape
from pcqr.models.vocabulary import Vocabulary
from pcqr.plan import counted
from pcqr.records.directions import USUAL_NORM
from pcqr.records.predicates import Predicate
from pcqr.records.vectors import UNIT, ColumnVectors, PredicateVectors
from pcqr.schema import Schema

_TREE_DRAWN = "The tree beside it is one random draw: which questions it asks says little about which matter."


class LinearKind(ScoredKind[LinearClassifier]):
    """Over questions, without ferns or a tree: a scorecard. Else: main effects, which are a part of it and not all."""

    version = 4
    name = "linear"
    title = "private linear classifier"
    hypothesis = LinearClassifier
    limits = (
        "Its probabilities follow from its noisy scores alone, so they cost nothing. They were not calibrated on the "
        "private records. Check them against labelled rows of your own.",
        "Its weights carry noise, all of them by about as much. Another run on the same records gives others; a small "
        "effect says nothing, and a large one nothing about causes.",
    )

    def check(self, hypothesis: LinearClassifier, words: Vocabulary) -> None:
        if len(words.classes) != hypothesis.classes:
            raise ParameterError("classes", f"{hypothesis.classes} labels", len(words.classes))
        if hypothesis.feature_map.features != len(words.features):
            raise ParameterError(
                "hypothesis", f"one on the {len(words.features)} features of the schema", "a LinearClassifier"
            )
        check_tree(hypothesis, words)

    def limits_of(self, hypothesis: LinearClassifier) -> tuple[str, ...]:
        return self.limits if hypothesis.feature_map.tree is None else (*self.limits, _TREE_DRAWN)

    def describe(self, hypothesis: LinearClassifier, words: Vocabulary) -> dict[str, Any]:
        return describe_linear(hypothesis, words)

    def restore(self, value: object, where: str, words: Vocabulary) -> LinearClassifier:
        return restore_linear(value, where, words)

    def cuts(self, hypothesis: LinearClassifier) -> tuple[Predicate, ...]:
        """Those of the scorecard, or of the tree, where there is one."""
        dense, tree = hypothesis.feature_map.dense, hypothesis.feature_map.tree
        if tree is not None:
            return tuple(predicates_of(tree))
        return dense.predicates if _is_sum(hypothesis) and isinstance(dense, PredicateVectors) else ()

    def aloud(self, hypothesis: LinearClassifier, words: Vocabulary, *, flat: bool = False) -> str:
        """Main effects, which are the same either way, are computed once."""
        if _is_sum(hypothesis):
            return super().aloud(hypothesis, words, flat=flat)
        return super().aloud(hypothesis, replace(words, effects=self._effects(hypothesis, words)))

    def rules(self, hypothesis: LinearClassifier, words: Vocabulary, *, flat: bool) -> str:
        """A scorecard or, if `flat`, the questions by size; else the main effects, either way."""
        if _is_sum(hypothesis):
            return (question_table if flat else scorecard)(sums_of(hypothesis), words)
        effects = self._effects(hypothesis, words)
        shapes = [effects.shapes(function) for function in range(hypothesis.blocks)]
        beside = tree_lines(hypothesis, words, effects)
        return "\n".join([_no_rules(hypothesis), *beside, *_explained(effects, words), "", effect_table(shapes, words)])

    def draw(self, hypothesis: LinearClassifier, words: Vocabulary, path: Path, caption: Caption) -> None:
        write_page(path, caption, lambda: self._picture(hypothesis, words))

    def add_labels(self, hypothesis: LinearClassifier, graph: Graph) -> str:
        return linear_labels(hypothesis, graph)

    def scores(self, hypothesis: LinearClassifier, points: Points) -> NDArray[np.float64]:
        return hypothesis.decision_function(points)

    def probabilities(self, hypothesis: LinearClassifier, points: Points) -> NDArray[np.float64]:
        return hypothesis.predict_proba(points)

    def effects(self, hypothesis: LinearClassifier, schema: Schema, points: Points | None) -> Effects | None:
        if _is_sum(hypothesis):
            return None
        made_up = points is None or points.shape[0] == 0
        rows = _made_up(hypothesis, schema) if points is None or made_up else points
        found = main_effects(hypothesis.decision_function, schema, rows, made_up=made_up)
        return replace(found, tree=tree_worth(hypothesis, rows))

    def _effects(self, hypothesis: LinearClassifier, words: Vocabulary) -> Effects:
        found = words.effects or self.effects(hypothesis, words.schema, None)
        if found is None:
            raise AssertionError("A sum is read as a scorecard.")
        return found

    def _picture(self, hypothesis: LinearClassifier, words: Vocabulary) -> Block:
        if _is_sum(hypothesis):
            return _scorecard_picture(sums_of(hypothesis), words)
        effects = self._effects(hypothesis, words)
        explanation = (
            *tree_in_words(hypothesis, words, effects),
            *_explained(effects, words),
            "All curves have one scale and all bars another; the values of a number are drawn equally far apart. "
            "What columns do together is not drawn.",
        )
        if hypothesis.classes == 2:
            return shapes_block(effects.shapes(0), speaking_for(words), explanation)
        return labels_block(effects.strongest, words, explanation)


def sums_of(linear: LinearClassifier) -> list[Sum]:
    """The blocks of a linear classifier over questions without ferns, each as a sum: v·θ in units of the usual ‖v‖.

    v = ψ·D/2^shift is linear in the answers ψ but for rounding down, which takes half a unit from each of its
    coordinates on average, and for the cut at 16 bits, which hardly anything meets. So the weight of an answer is
    (D·θ)/2^shift, and a sum is the model's up to rounding.
    """
    dense = linear.feature_map.dense
    if not isinstance(dense, PredicateVectors):
        raise AssertionError("Only questions are on a scorecard.")
    holding, failing = np.array(dense.holding), np.array(dense.failing)
    found = []
    for block in np.array(linear.weights):
        weights, lost, unit = block, 0.0, float(UNIT)
        if dense.directions is not None:
            weights = dense.directions.matrix @ block * 2.0**-dense.directions.shift
            lost, unit = 0.5 * float(block.sum()), float(USUAL_NORM)
        yes, no = (tuple((weights[:-1] * entries / unit).tolist()) for entries in (holding, failing))
        found.append(Sum(dense.predicates, yes, no, (UNIT * float(weights[-1]) - lost) / unit))
    return found


def _is_sum(linear: LinearClassifier) -> bool:
    features = linear.feature_map
    return features.tree is None and features.ferns is None and isinstance(features.dense, PredicateVectors)


def _no_rules(linear: LinearClassifier) -> str:
    """What it is, where it is no list of rules."""
    dense, ferns, tree = linear.feature_map.dense, linear.feature_map.ferns, linear.feature_map.tree
    parts = []
    if isinstance(dense, PredicateVectors):
        parts.append(counted(len(asked_of_columns(linear, dense.predicates)), "question"))
    elif isinstance(dense, ColumnVectors):
        parts.append(counted(dense.features, "column"))
    if ferns is not None:
        parts.append(f"{counted(ferns.count, 'fern')} of {ferns.depth} questions each")
    if tree is not None:
        parts.append("what a tree says")
    made = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
    return f"This is no list of rules: a score is made of {made}, and all of them enter."


def _explained(effects: Effects, words: Vocabulary) -> list[str]:
    of_label = "" if len(words.classes) == 2 else " of a label"
    rows = f"{counted(effects.rows, 'public row')}" if effects.rows else "rows that are made up, each column by itself,"
    decides = (
        f"Above 0 speaks for {words.label(1)}, below for {words.label(0)}."
        if len(words.classes) == 2
        else "The label with the largest score wins; points are less their mean over labels."
    )
    moves = "" if effects.tree is None else " What the tree says may change with it."
    return [
        f"How the mean score{of_label} of {rows} moves as one column takes each value and the others stay as they are."
        f"{moves}",
        decides,
    ]


def _scorecard_picture(sums: Sequence[Sum], words: Vocabulary) -> Block:
    scale = "All steps have one scale and all bars another; the steps between public cuts are drawn equally wide."
    if len(sums) == 1:
        decides = (
            f"The label is {words.label(1)} where the sum is above {signed(-sums[0].start, 3)}, else {words.label(0)}."
        )
        explanation = (f"What each column adds to the score. {scale}", decides)
        return shapes_block(shapes_of(sums[0], words), speaking_for(words), explanation)
    starts = [f"The score of {words.label(k)} starts with {signed(each.start, 3)}." for k, each in enumerate(sums)]

    def shapes(label: int) -> Sequence[Shape]:
        return shapes_of(sums[label], words)

    explanation = (f"What each column adds to the score of a label; the label with the largest score wins. {scale}", "")
    return labels_block(shapes, words, explanation[:1], starts)


def _made_up(linear: LinearClassifier, schema: Schema) -> Points:
    """Rows by public coins, from the cuts of the model, or from where the columns of its dense part are."""
    dense, ferns, tree = linear.feature_map.dense, linear.feature_map.ferns, linear.feature_map.tree
    predicates = [*(() if ferns is None else ferns.predicates), *(() if tree is None else predicates_of(tree))]
    if isinstance(dense, PredicateVectors):
        predicates += dense.predicates
    elif isinstance(dense, ColumnVectors):
        places = enumerate(zip(dense.centres, dense.scales, strict=True))
        predicates += [
            Predicate(place, centre + step * UNIT / scale)
            for place, (centre, scale) in places
            if scale > 0
            for step in (-1.5, -0.5, 0.5, 1.5)
        ]
    return made_up_points(schema, asked_of_columns(linear, predicates))
