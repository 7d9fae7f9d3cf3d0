"""Sums over public questions as text that people can add up by hand: one number a line for each function."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pcqr.data.records.predicates import Predicate
from pcqr.models.effects import Shape, Values, column_shapes
from pcqr.models.vocabulary import Vocabulary, printable

_DIGITS = 4
"""Significant digits of the largest points."""

Line = tuple[tuple[float, ...], str]
"""The points of each function, and what they are for."""
Part = tuple[str, list[Line]]
"""A heading, and what is under it."""


@dataclass(frozen=True)
class Sum:
    """One function: `start`, and for each of `predicates` the points `yes` where it holds and `no` where it fails."""

    predicates: tuple[Predicate, ...]
    yes: tuple[float, ...]
    no: tuple[float, ...]
    start: float


def shapes_of(function: Sum, words: Vocabulary) -> tuple[Shape, ...]:
    """What each column adds, exactly: the function is the sum of the columns' points and its start."""
    asked: defaultdict[int, list[tuple[float, float, float]]] = defaultdict(list)
    for predicate, yes, no in zip(function.predicates, function.yes, function.no, strict=True):
        asked[predicate.feature].append((predicate.cut, yes, no))

    def points(values: Values) -> float:
        return math.fsum(
            yes if value > cut else no for feature, value in values.items() for cut, yes, no in asked[feature]
        )

    return column_shapes(words, function.predicates, points)


def scorecard(functions: Sequence[Sum], words: Vocabulary) -> str:
    """Column by column, the strongest first; `functions` have the same predicates."""
    start = tuple(function.start for function in functions)
    parts = _by_column([shapes_of(function, words) for function in functions])
    parts.sort(key=lambda part: -_parameter(part))
    return _text("add one line of each column", start, parts, words)


def question_table(functions: Sequence[Sum], words: Vocabulary) -> str:
    """Question by question, the largest points first; `functions` have the same predicates."""
    predicates = functions[0].predicates
    gains = np.array([np.subtract(function.yes, function.no) for function in functions]).T
    start = tuple(math.fsum([*function.no, function.start]) for function in functions)
    order = np.argsort(-np.abs(gains).max(axis=1), kind="stable")
    asked = [(tuple(gains[j].tolist()), words.condition(predicates[j], holds=True)) for j in order]
    return _text("add the points of every line that is true", start, [("", asked)], words)


def effect_table(shapes: Sequence[Sequence[Shape]], words: Vocabulary) -> str:
    """What each column does on average to each of the functions, in their order, under no heading."""
    parts = _by_column(shapes)
    names = [] if len(shapes) == 1 else [words.label(label) for label in range(len(shapes))]
    return "\n".join(_lines(parts, _decimals(_points(parts)), names)[1:])


def signed(points: float, decimals: int) -> str:
    return f"{points:+.{decimals}f}".replace("-", "−")


def _by_column(shapes: Sequence[Sequence[Shape]]) -> list[Part]:
    """The levels of each column, with the points by each of the functions, which have the same columns."""
    same_column: defaultdict[str, list[Shape]] = defaultdict(list)
    for of_function in shapes:
        for shape in of_function:
            same_column[shape.column.name].append(shape)
    parts: list[Part] = []
    for name, same in same_column.items():
        levels = zip(*(shape.levels for shape in same), strict=True)
        lines = [(tuple(level.points for level in equal), equal[0].words) for equal in levels]
        if len(shapes) == 1 and not same[0].is_numeric:
            lines.sort(key=lambda line: -line[0][0])
        parts.append((printable(name), lines))
    return parts


def _parameter(part: Part) -> float:
    """By how much its lines can move one of the functions, at most."""
    points = np.array([points for points, _ in part[1]])
    return float((points.max(axis=0) - points.min(axis=0)).max())


def _text(task: str, start: tuple[float, ...], parts: list[Part], words: Vocabulary) -> str:
    decimals = _decimals([*start, *_points(parts)])
    rounding = f"Points are rounded to {decimals} decimals here; model.json has all digits."
    if len(start) == 1:
        decides = f"The label is {words.label(1)} where the sum is above 0, else {words.label(0)}."
        text = [f"Start with {signed(start[0], decimals)} and {task}. {decides}", rounding]
        return "\n".join([*text, *_lines(parts, decimals, [])])
    names = [words.label(label) for label in range(len(start))]
    text = [
        f"For each label, start with its points and {task}. The label with the largest sum wins, the first of equals.",
        rounding,
        "",
        *_aligned([(start, "to start with")], decimals, names),
    ]
    return "\n".join([*text, *_lines(parts, decimals, names)])


def _lines(parts: list[Part], decimals: int, names: Sequence[str]) -> list[str]:
    """Each part after an empty line."""
    return [
        line for heading, lines in parts for line in ("", *filter(None, [heading]), *_aligned(lines, decimals, names))
    ]


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


def _points(parts: list[Part]) -> list[float]:
    return [value for _, lines in parts for points, _ in lines for value in points]


def _decimals(points: Iterable[float]) -> int:
    """So many that the largest of `points` has `_DIGITS` significant digits."""
    largest = max(map(abs, points), default=0.0)
    return max(0, _DIGITS - 1 - math.floor(math.log10(largest))) if largest > 0 else 0
