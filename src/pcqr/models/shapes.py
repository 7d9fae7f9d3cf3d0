"""What each column of a record adds to a score: one number for each case of the column that the model tells apart.

The cases of a numeric column are the gaps between its cuts, so what it adds is a piecewise constant function of it.
Functions of the model and of the schema alone: post-processing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from pcqr.models.vocabulary import Vocabulary, printable
from pcqr.records.predicates import Predicate
from pcqr.schema import Column

Values = Mapping[int, float]
"""The features of one column, by their place in the encoded table, and their values."""

_MOST_NAMED = 3
"""Categories that no question is about are one level; so many are named, more are "anything else"."""


@dataclass(frozen=True)
class Level:
    """One case of a column: in `words` with its name, as a `name` under it, and the `points` that it adds."""

    words: str
    name: str
    points: float


@dataclass(frozen=True)
class Shape:
    """What a column adds. The first len(`cuts`) + 1 levels of a numeric column lie between its `cuts`, in order.

    With `values`, the first levels of a numeric column are those at its values, on a curve.
    """

    column: Column
    cuts: tuple[float, ...]
    levels: tuple[Level, ...]
    values: tuple[float, ...] = ()

    @property
    def strength(self) -> float:
        """By how much the column can move the score."""
        points = [level.points for level in self.levels]
        return max(points) - min(points)

    @property
    def is_numeric(self) -> bool:
        """Is it a number or a date, cut into steps?"""
        return self.column.kind != "categorical"


def column_shapes(
    words: Vocabulary, predicates: Iterable[Predicate], points: Callable[[Values], float]
) -> tuple[Shape, ...]:
    """A shape for each column that `predicates` ask about, the strongest first.

    `points` says what the model adds where the features of one column have the given values.
    """
    asked: defaultdict[int, set[float]] = defaultdict(set)
    for predicate in predicates:
        asked[predicate.feature].add(predicate.cut)
    found, start = [], 0
    for column in words.schema.columns:
        features = range(start, start + len(column.features))
        start = features.stop
        if asked.keys().isdisjoint(features):
            continue
        cuts: tuple[float, ...] = ()
        if column.kind != "categorical":
            cuts = _telling_cuts(column, asked.get(features[0], ()))
            shown = [words.cut(Predicate(features[0], cut)) for cut in cuts]
            gap_is_asked = features[-1] in asked and column.missing
            cases = _numbers(column, features, dict(zip(cuts, shown, strict=True)), gap_is_asked=gap_is_asked)
        else:
            cases = _categories(column, features, asked)
        levels = tuple(Level(printable(told), printable(name), points(values)) for told, name, values in cases)
        found.append(Shape(column, cuts, levels))
    return tuple(sorted(found, key=lambda shape: -shape.strength))


def _telling_cuts(column: Column, cuts: Iterable[float]) -> tuple[float, ...]:
    """Those that a number within the column's bounds can lie on both sides of."""
    low, high = column.limits or (-math.inf, math.inf)
    return tuple(sorted(cut for cut in cuts if low <= cut < high))


def _numbers(
    column: Column, features: range, cuts: Mapping[float, str], *, gap_is_asked: bool
) -> Iterator[tuple[str, str, Values]]:
    name, present = column.name, dict.fromkeys(features[1:], 0.0)
    shown = list(cuts.values())
    if not cuts:
        yield (
            f"{name}, whatever it is",
            "any",
            {features[0]: 0.0 if column.limits is None else column.limits[0], **present},
        )
    for place, cut in enumerate(cuts):
        words = f"{shown[place - 1]} < {name} ≤ {shown[place]}" if place else f"{name} ≤ {shown[place]}"
        yield words, f"≤ {shown[place]}", {features[0]: cut, **present}
    if cuts:
        yield (
            f"{name} > {shown[-1]}",
            f"> {shown[-1]}",
            {
                features[0]: math.nextafter(max(cuts), math.inf),
                **present,
            },
        )
    if column.filled_with is not None and gap_is_asked:  # else a missing number is just the constant it counts as
        yield f"{name} is missing", "missing", {features[0]: column.filled_with, features[1]: 1.0}


def _categories(column: Column, features: range, asked: Mapping[int, set[float]]) -> Iterator[tuple[str, str, Values]]:
    names = (*column.categories, *(["other"] if column.other else []), "missing")
    rest = [place for place, feature in enumerate(features) if feature not in asked]
    for place, feature in enumerate(column.features):
        if feature.asks is None:
            raise AssertionError("The features of a categorical column are indicators.")
        values = {other: float(other == features[place]) for other in features}
        if place not in rest or len(rest) == 1:
            yield feature.asks.holds, names[place], values
        elif place == rest[0]:  # all of them answer every question alike
            named = [names[i] for i in rest] if len(rest) <= _MOST_NAMED else ["anything else"]
            shown = " or ".join(filter(None, (", ".join(named[:-1]), named[-1])))
            yield f"{column.name} is {shown}", shown, values
