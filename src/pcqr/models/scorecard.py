"""Linear functions as text that people can add up by hand: one number a line for each function.

Points are what a question adds to θ·φ(x) in units of `UNIT`: its weight times its coordinate of φ.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from pcqr.hypotheses.linear import LinearHypothesis
from pcqr.models.shapes import Shape, Values, column_shapes
from pcqr.models.vocabulary import Vocabulary, printable
from pcqr.records.features import UNIT

_DIGITS = 4
"""Significant digits of the largest points."""

Line = tuple[tuple[float, ...], str]
"""The points of each function, and what they are for."""


def shapes_of(member: LinearHypothesis, words: Vocabulary) -> tuple[Shape, ...]:
    """What each column adds, exactly: θ·φ is the sum of the columns' points and the bias."""
    phi = member.feature_map
    asked: defaultdict[int, list[tuple[float, float, float]]] = defaultdict(list)
    for predicate, weight, yes, no in zip(phi.predicates, member.weights, phi.holding, phi.failing, strict=False):
        asked[predicate.feature].append((predicate.cut, weight * yes / UNIT, weight * no / UNIT))

    def points(values: Values) -> float:
        return math.fsum(
            yes if value > cut else no for feature, value in values.items() for cut, yes, no in asked[feature]
        )

    return column_shapes(words, phi.predicates, points)


def scorecard(members: Sequence[LinearHypothesis], words: Vocabulary) -> str:
    """Column by column, the strongest first; `members` have one feature map."""
    by_column: defaultdict[str, list[Shape]] = defaultdict(list)
    for member in members:
        for shape in shapes_of(member, words):
            by_column[shape.column.name].append(shape)
    parts: list[tuple[str, list[Line]]] = []
    for name, shapes in sorted(by_column.items(), key=lambda entry: -max(shape.strength for shape in entry[1])):
        levels = zip(*(shape.levels for shape in shapes), strict=True)
        lines = [(tuple(level.points for level in same), same[0].words) for same in levels]
        if len(members) == 1 and not shapes[0].is_numeric:
            lines.sort(key=lambda line: -line[0][0])
        parts.append((printable(name), lines))
    start = tuple(member.weights[-1] for member in members)
    return _text("add one line of each column", start, parts, words)


def question_table(members: Sequence[LinearHypothesis], words: Vocabulary) -> str:
    """Question by question, the largest points first; `members` have one feature map."""
    phi = members[0].feature_map
    weights = np.array([member.weights for member in members])
    gains = (weights[:, :-1] * (np.array(phi.holding) - np.array(phi.failing)) / UNIT).T
    start = tuple(math.fsum([*(row[:-1] * np.array(phi.failing) / UNIT), row[-1]]) for row in weights)
    order = np.argsort(-np.abs(gains).max(axis=1), kind="stable")
    asked = [(tuple(gains[j].tolist()), words.condition(phi.predicates[j], holds=True)) for j in order]
    return _text("add the points of every line that is true", start, [("", asked)], words)


def signed(points: float, decimals: int) -> str:
    return f"{points:+.{decimals}f}".replace("-", "−")


def _text(task: str, start: tuple[float, ...], parts: list[tuple[str, list[Line]]], words: Vocabulary) -> str:
    decimals = _decimals([*start, *(value for _, lines in parts for points, _ in lines for value in points)])
    rounding = f"Points are rounded to {decimals} decimals here; model.json has all digits."
    if len(start) == 1:
        decides = f"The label is {words.label(1)} where the sum is above 0, else {words.label(0)}."
        text = [f"Start with {signed(start[0], decimals)} and {task}. {decides}", rounding]
    else:
        names = [words.label(label) for label in range(len(start))]
        text = [
            f"For each label, start with its points and {task}. The label with the largest sum wins, "
            "the first of equals.",
            rounding,
            "",
        ]
        text += _aligned([(start, "to start with")], decimals, names)
    for name, lines in parts:
        text += ["", *filter(None, [name]), *_aligned(lines, decimals, [] if len(start) == 1 else names)]
    return "\n".join(text)


def _aligned(lines: list[Line], decimals: int, names: Sequence[str]) -> list[str]:
    """Under one heading a line, of the label names, where there are any."""
    rows = [(tuple(signed(value, decimals) for value in points), text) for points, text in lines]
    if names:
        rows.insert(0, (tuple(names), ""))
    widths = [max(map(len, column)) for column in zip(*(cells for cells, _ in rows), strict=True)]
    return [
        f"    {'  '.join(f'{cell:>{width}}' for cell, width in zip(cells, widths, strict=True))}  {text}".rstrip()
        for cells, text in rows
    ]


def _decimals(points: Iterable[float]) -> int:
    """So many that the largest of `points` has `_DIGITS` significant digits."""
    largest = max(map(abs, points))
    return max(0, _DIGITS - 1 - math.floor(math.log10(largest))) if largest > 0 else 0
