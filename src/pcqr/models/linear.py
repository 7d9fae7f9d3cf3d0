"""Linear classifiers as published models: a scorecard that people can add up by hand."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.algorithms.linear import LARGEST_WEIGHT
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Points
from pcqr.hypotheses.linear import LARGEST_ENTRY, UNIT, LinearFeatures, LinearHypothesis
from pcqr.hypotheses.trees.predicates import Predicate
from pcqr.models.canvas import Caption, write_page
from pcqr.models.graph import Graph, sign_labels, table_scores
from pcqr.models.kind import ScoredKind
from pcqr.models.panels import shapes_block
from pcqr.models.reading import read_integer, read_list, read_number, read_object
from pcqr.models.shapes import Shape, Values, column_shapes
from pcqr.models.trees import describe_predicate, restore_predicate
from pcqr.models.vocabulary import Vocabulary

QUESTION = ("feature", "above", "weight", "yes", "no")
_DIGITS = 4
"""Significant digits of the largest points in a scorecard."""


class LinearKind(ScoredKind[LinearHypothesis]):
    """Points are what a question adds to θ·φ(x) in units of `UNIT`: its weight times its coordinate of φ."""

    name = "linear"
    title = "linear classifier"
    hypothesis = LinearHypothesis
    limits = (
        "Its scores are no probabilities. `decision_function` says on which side of the boundary a record lies, and "
        "how far from it. It is a function of the published weights, so it costs nothing; nothing in it is calibrated.",
        "Its weights carry noise, all of them by about as much. Another run on the same records gives others; a small "
        "weight says nothing, and a large one nothing about causes.",
    )

    def check(self, hypothesis: LinearHypothesis, words: Vocabulary) -> None:
        check_two_labels(words)
        if hypothesis.feature_map.features != len(words.features):
            raise ParameterError(
                "hypothesis", f"one on the {len(words.features)} features of the schema", type(hypothesis).__name__
            )
        if max(map(abs, hypothesis.weights)) > LARGEST_WEIGHT:
            raise ParameterError("hypothesis", f"weights from −{LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}", "larger ones")

    def describe(self, hypothesis: LinearHypothesis, words: Vocabulary) -> dict[str, Any]:
        """Score = `unit`·`bias` + Σ `weight`·(`yes` where feature > above, else `no`) over the questions."""
        phi = hypothesis.feature_map
        entries = zip(phi.predicates, hypothesis.weights, phi.holding, phi.failing, strict=False)
        return {
            "unit": UNIT,
            "bias": hypothesis.weights[-1],
            "questions": [
                describe_predicate(predicate, words) | {"weight": weight, "yes": yes, "no": no}
                for predicate, weight, yes, no in entries
            ],
        }

    def restore(self, value: object, where: str, words: Vocabulary) -> LinearHypothesis:
        fields = read_object(value, where, ("unit", "bias", "questions"))
        if read_integer(fields["unit"], f"{where}.unit") != UNIT:
            raise ParameterError(f"{where}.unit", f"{UNIT}", fields["unit"])
        predicates: list[Predicate] = []
        weights: list[float] = []
        yes: list[int] = []
        no: list[int] = []
        for place, entry in enumerate(read_list(fields["questions"], f"{where}.questions")):
            here = f"{where}.questions[{place}]"
            question = read_object(entry, here, QUESTION)
            predicates.append(restore_predicate(question, here, words))
            weights.append(read_number(question["weight"], f"{here}.weight"))
            for values, key in ((yes, "yes"), (no, "no")):
                values.append(read_integer(question[key], f"{here}.{key}", most=LARGEST_ENTRY))
        if not predicates:
            raise ParameterError(f"{where}.questions", "at least one question", "none")
        weights.append(read_number(fields["bias"], f"{where}.bias"))
        return LinearHypothesis(
            LinearFeatures(tuple(predicates), tuple(yes), tuple(no), len(words.features)), tuple(weights)
        )

    def rules(self, hypothesis: LinearHypothesis, words: Vocabulary, *, flat: bool) -> str:
        """Column by column, the strongest first, or, if `flat`, question by question, the largest points first."""
        return _question_table(hypothesis, words) if flat else _scorecard(hypothesis, words)

    def draw(self, hypothesis: LinearHypothesis, words: Vocabulary, path: Path, caption: Caption) -> None:
        explanation = (
            "What each column adds to the score. All steps have one scale and all bars another; the steps between "
            "public cuts are drawn equally wide.",
            f"The label is {words.label(1)} where the sum is above {_signed(-hypothesis.weights[-1], 3)}, "
            f"else {words.label(0)}.",
        )
        write_page(path, caption, lambda: shapes_block(shapes_of(hypothesis, words), words, explanation))

    def add_labels(self, hypothesis: LinearHypothesis, graph: Graph) -> str:
        phi = hypothesis.feature_map
        table, constant = phi.tables(np.array(hypothesis.weights))
        return sign_labels(table_scores(phi.predicates, table, constant, graph), graph)

    def scores(self, hypothesis: LinearHypothesis, points: Points) -> NDArray[np.float64]:
        return hypothesis.decision_function(points)


def check_two_labels(words: Vocabulary) -> None:
    if len(words.classes) != 2:
        raise ParameterError("classes", "two labels, which a score decides between", f"{len(words.classes)} labels")


def shapes_of(hypothesis: LinearHypothesis, words: Vocabulary) -> tuple[Shape, ...]:
    """What each column adds, exactly: the score is the sum of the columns' points and the bias."""
    phi = hypothesis.feature_map
    asked: defaultdict[int, list[tuple[float, float, float]]] = defaultdict(list)
    for predicate, weight, yes, no in zip(phi.predicates, hypothesis.weights, phi.holding, phi.failing, strict=False):
        asked[predicate.feature].append((predicate.cut, weight * yes / UNIT, weight * no / UNIT))

    def points(values: Values) -> float:
        return math.fsum(
            yes if value > cut else no for feature, value in values.items() for cut, yes, no in asked[feature]
        )

    return column_shapes(words.schema, phi.predicates, points)


def _scorecard(hypothesis: LinearHypothesis, words: Vocabulary) -> str:
    shapes, bias = shapes_of(hypothesis, words), hypothesis.weights[-1]
    decimals = _decimals([bias, *(level.points for shape in shapes for level in shape.levels)])
    lines = [
        f"Start with {_signed(bias, decimals)} and add one line of each column. {_decides(words)}",
        _rounding(decimals),
    ]
    for shape in shapes:
        levels = shape.levels if shape.is_numeric else sorted(shape.levels, key=lambda level: -level.points)
        lines += ["", shape.column.name if shape.column.name.isprintable() else repr(shape.column.name)[1:-1]]
        lines += _aligned([(level.points, level.words) for level in levels], decimals)
    return "\n".join(lines)


def _question_table(hypothesis: LinearHypothesis, words: Vocabulary) -> str:
    phi = hypothesis.feature_map
    weights = np.array(hypothesis.weights)
    gains = weights[:-1] * (np.array(phi.holding) - np.array(phi.failing)) / UNIT
    start = math.fsum([*(weights[:-1] * np.array(phi.failing) / UNIT), weights[-1]])
    decimals = _decimals([start, *gains])
    order = np.argsort(-np.abs(gains), kind="stable")
    asked = [(float(gains[j]), words.condition(phi.predicates[j], holds=True)) for j in order]
    heading = f"Start with {_signed(start, decimals)} and add the points of every line that is true. {_decides(words)}"
    return "\n".join([heading, _rounding(decimals), "", *_aligned(asked, decimals)])


def _decides(words: Vocabulary) -> str:
    return f"The label is {words.label(1)} where the sum is above 0, else {words.label(0)}."


def _rounding(decimals: int) -> str:
    return f"Points are rounded to {decimals} decimals here; model.json has all digits."


def _aligned(entries: list[tuple[float, str]], decimals: int) -> list[str]:
    shown = [(_signed(points, decimals), text) for points, text in entries]
    width = max(len(points) for points, _ in shown)
    return [f"    {points:>{width}}  {text}" for points, text in shown]


def _decimals(points: list[float]) -> int:
    """So many that the largest of `points` has `_DIGITS` significant digits."""
    largest = max(map(abs, points))
    return max(0, _DIGITS - 1 - math.floor(math.log10(largest))) if largest > 0 else 0


def _signed(points: float, decimals: int) -> str:
    return f"{points:+.{decimals}f}".replace("-", "−")
