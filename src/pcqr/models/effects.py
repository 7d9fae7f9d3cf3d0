"""What each column of a record adds to a score: one number for each case of the column that the model tells apart.

The cases of a numeric column are the gaps between its cuts, so what it adds is a piecewise constant function of it.
Functions of the model and of the schema alone: post-processing.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records.arrays import Points
from pcqr.data.records.predicates import Predicate
from pcqr.data.schema import Column, Schema
from pcqr.errors import ParameterError
from pcqr.models.vocabulary import Vocabulary, apart, printable
from pcqr.privacy.entropy import SeededEntropy
from pcqr.serialization.reading import read_count, read_list, read_number, read_object

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
    def importance(self) -> float:
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
    return tuple(sorted(found, key=lambda shape: -shape.importance))


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


# ---------------------------------------------------------------------------------------------------------------------
# Main effects: how the mean score of public rows moves as one column takes its values and all others stay as they are.
#
# A score that is no sum over columns has no scorecard. This is the part of it that can be drawn column by column; what
# columns do together is not in it. Functions of the model, of public rows and of public coins: post-processing. Where
# there are no public rows, rows are made up: each column by itself, every gap between the cuts that the model asks
# about as likely as any other.


ROWS = 256
"""Rows that the mean is taken over."""
_PLACES = 9
"""Quantiles of the rows, and of their different values, at which a number is looked at."""
_MOST_COLUMNS = 60
"""Columns that are looked at closely; of more than these, the ones that move the score of a few rows most."""
_SCREENED = 20_000
_COINS = 1 << 32

Case = float | str | None
Scores = NDArray[np.float64]
Scorer = Callable[[Points], Scores]


@dataclass(frozen=True)
class Effect:
    """What one column does to the scores.

    `at` are the cases that were looked at: the values of a number, increasing, then None where it may be missing; or
    the names of the features that categories have. `points`[k] are those of function k, one for each case.
    """

    column: Column
    at: tuple[Case, ...]
    points: tuple[tuple[float, ...], ...]

    @property
    def importance(self) -> float:
        """By how much the column moves a score, at most."""
        return max(max(row) - min(row) for row in self.points)

    def shape(self, function: int) -> Shape:
        """What it does to one of the scores, for pictures and texts."""
        values = tuple(case for case in self.at if isinstance(case, float))
        numbers = apart(values)
        told = (_described(self.column, case, numbers) for case in self.at)
        levels = (Level(*words, points) for words, points in zip(told, self.points[function], strict=True))
        return Shape(self.column, (), tuple(levels), values)


@dataclass(frozen=True)
class Effects:
    """The effects of all columns that have one, those that matter most to the rows first.

    `rows` is the number of public rows that there were, 0 where rows were made up. `tree` is what a tree beside a
    linear classifier is worth in each score: the mean score of the rows if the tree said the score's label of all of
    them, less the mean if it said another one.
    """

    rows: int
    columns: tuple[Effect, ...]
    tree: tuple[float, ...] | None = None

    def shapes(self, function: int) -> tuple[Shape, ...]:
        """What the columns do to one of the scores."""
        return tuple(each.shape(function) for each in self.columns)

    def strongest(self, function: int) -> tuple[Shape, ...]:
        """The same, those that move this score furthest first: what matters to one label need not to another."""
        return tuple(sorted(self.shapes(function), key=lambda shape: -shape.importance))

    def describe(self) -> dict[str, Any]:
        """As JSON."""
        columns = [
            {"column": each.column.name, "at": list(each.at), "points": list(map(list, each.points))}
            for each in self.columns
        ]
        beside = {} if self.tree is None else {"tree": list(self.tree)}
        return {"rows": self.rows, **beside, "columns": columns}

    @classmethod
    def restore(cls, value: object, where: str, words: Vocabulary) -> Effects:
        """What `describe` described; anything else is refused with its place."""
        has_tree = isinstance(value, dict) and "tree" in value
        fields = read_object(value, where, ("rows", "tree", "columns") if has_tree else ("rows", "columns"))
        functions = 1 if len(words.classes) == 2 else len(words.classes)
        known = {column.name: column for column in words.schema.columns}
        found = []
        for place, entry in enumerate(read_list(fields["columns"], f"{where}.columns")):
            here = f"{where}.columns[{place}]"
            told = read_object(entry, here, ("column", "at", "points"))
            column = known.pop(told["column"], None) if isinstance(told["column"], str) else None
            if column is None:
                raise ParameterError(f"{here}.column", "a column of the schema, named once", told["column"])
            at = _restored_cases(told["at"], f"{here}.at", column)
            rows = read_list(told["points"], f"{here}.points")
            points = tuple(_restored_points(row, f"{here}.points[{k}]", len(at)) for k, row in enumerate(rows))
            if len(points) != functions:
                raise ParameterError(f"{here}.points", f"{functions} lists, one for each score", f"{len(points)}")
            found.append(Effect(column, at, points))
        tree = _restored_points(fields["tree"], f"{where}.tree", functions) if has_tree else None
        return cls(read_count(fields["rows"], f"{where}.rows"), tuple(found), tree)


def main_effects(score: Scorer, schema: Schema, points: Points, *, made_up: bool = False) -> Effects:
    """The effects of all columns on the scores of the public, or `made_up`, `points`; columns without any are left out.

    Points are differences to the mean score of the rows as they are. Where there is one score a label they are also
    less their mean over labels, since what moves all scores alike decides nothing. Columns come by the mean size of
    their points over the rows: what is large for few is not what matters most.
    """
    rows = chosen_rows(points, ROWS)
    base = _means(score(rows)[None])
    found: list[tuple[float, Effect]] = []
    for column, features in _screened(score, schema, rows):
        cases = _cases(column, points[:, features])
        if len(cases) < 2:
            continue
        stacked = np.broadcast_to(rows, (len(cases), *rows.shape)).copy()
        stacked[:, :, features] = np.array([_encoded(column, case) for case in cases])[:, None, :]
        scores = score(stacked.reshape(-1, rows.shape[1]))
        means = _means(scores.reshape(len(cases), rows.shape[0], -1)) - base
        effect = Effect(column, cases, tuple(tuple(row) for row in means.T.tolist()))
        if effect.importance > 0:
            found.append((_mean_size(effect, points[:, features]), effect))
    found.sort(key=lambda entry: -entry[0])
    return Effects(0 if made_up else points.shape[0], tuple(effect for _, effect in found))


def made_up_points(schema: Schema, predicates: Iterable[Predicate]) -> Points:
    """Rows by public coins: each column by itself, every gap between its cuts, and every category, equally likely."""
    cuts: defaultdict[int, set[float]] = defaultdict(set)
    for predicate in predicates:
        cuts[predicate.feature].add(predicate.cut)
    coins = SeededEntropy(0)
    points = np.zeros((4 * ROWS, len(schema.features)))
    for column, features in columns_of(schema):
        if column.kind == "categorical":
            chosen = coins.below(len(column.features), points.shape[0])
            points[np.arange(points.shape[0]), features.start + chosen] = 1.0
            continue
        edges = _edges(column, sorted(cuts[features.start]))
        gaps = coins.below(len(edges) - 1, points.shape[0])
        share = coins.below(_COINS, points.shape[0]) / _COINS
        points[:, features.start] = (1.0 - share) * edges[gaps] + share * edges[gaps + 1]
    return points


def chosen_rows(points: Points, most: int) -> Points:
    """At most so many of the points, drawn by public coins, in their order."""
    if points.shape[0] <= most:
        return points
    return points[np.sort(SeededEntropy(0).permutation(points.shape[0])[:most])]


def columns_of(schema: Schema) -> Iterator[tuple[Column, slice]]:
    """The columns, and the places of their features in the encoded table."""
    start = 0
    for column in schema.columns:
        yield column, slice(start, start + len(column.features))
        start += len(column.features)


def _screened(score: Scorer, schema: Schema, rows: Points) -> list[tuple[Column, slice]]:
    """All columns or, of very many, those that move the scores of a few rows most when they are shuffled."""
    listed = list(columns_of(schema))
    if len(listed) <= _MOST_COLUMNS:
        return listed
    few = rows[: max(8, _SCREENED // len(listed))]
    base, moved = score(few), []
    for _, features in listed:
        shuffled = few.copy()
        shuffled[:, features] = np.roll(few[:, features], 1, axis=0)
        moved.append(float(np.abs(score(shuffled) - base).mean()))
    return [listed[place] for place in sorted(np.argsort(-np.array(moved), kind="stable")[:_MOST_COLUMNS])]


def _means(scores: Scores) -> Scores:
    """Cases × functions, from cases × rows (× functions): the mean over rows, and less that over several functions."""
    means: Scores = scores.reshape(*scores.shape[:2], -1).mean(axis=1)
    return means if means.shape[1] == 1 else means - means.mean(axis=1, keepdims=True)


def _cases(column: Column, seen: Points) -> tuple[Case, ...]:
    """The cases of the column that some row has: all categories; quantiles of numbers, and of different numbers.

    The latter since most rows may have one number, and what the others do is asked, too.
    """
    if column.kind == "categorical":
        return tuple(feature.name for place, feature in enumerate(column.features) if seen[:, place].any())
    gap = seen[:, 1] > 0 if column.missing else np.zeros(seen.shape[0], dtype=np.bool_)
    values: list[float] = []
    if not gap.all():
        present = seen[~gap, 0]
        ranks = np.linspace(0.0, 1.0, _PLACES)
        chosen = [np.quantile(each, ranks, method="nearest") for each in (present, np.unique(present))]
        values = np.unique(np.concatenate(chosen)).tolist()
    return (*values, None) if gap.any() else tuple(values)


def _mean_size(effect: Effect, seen: Points) -> float:
    """The mean of |points| over the rows, and over the functions."""
    sizes = np.abs(effect.points)
    if effect.column.kind == "categorical":
        places = [place for place, feature in enumerate(effect.column.features) if feature.name in effect.at]
        return float((seen[:, places].mean(axis=0) * sizes).sum(axis=1).mean())
    values = [case for case in effect.at if isinstance(case, float)]
    present = seen[seen[:, 1] == 0] if effect.column.missing else seen
    known = [float(np.interp(present[:, 0], values, row[: len(values)]).sum()) for row in sizes] if values else [0.0]
    gaps = (seen.shape[0] - present.shape[0]) * (sizes[:, -1] if effect.at[-1] is None else np.zeros(len(sizes)))
    return float(np.mean(np.array(known) + gaps) / seen.shape[0])


def _encoded(column: Column, case: Case) -> list[float]:
    """The features of the column in this case."""
    if isinstance(case, str):
        return [float(feature.name == case) for feature in column.features]
    if case is None:
        return [0.0 if column.filled_with is None else column.filled_with, 1.0]
    return [case, *[0.0] * (len(column.features) - 1)]


def _described(column: Column, case: Case, numbers: Mapping[float, str]) -> tuple[str, str]:
    """The case in words with the column's name, and as a name under it; `numbers` are those of numbers."""
    if case is None:
        return printable(f"{column.name} is missing"), "missing"
    if not isinstance(case, str):
        told = column.features[0].date(case) or numbers[case]
        return printable(f"{column.name} = {told}"), told
    place = [feature.name for feature in column.features].index(case)
    names = (*column.categories, *(["other"] if column.other else []), "missing")
    return printable(column.features[place].question(0.5).holds), printable(names[place])


def _restored_cases(value: object, where: str, column: Column) -> tuple[Case, ...]:
    listed = read_list(value, where)
    if column.kind == "categorical":
        names = [feature.name for feature in column.features]
        if len(set(map(str, listed))) != len(listed) or not all(case in names for case in listed):
            raise ParameterError(where, "names of the column's features, each once", f"{len(listed)} entries")
        return tuple(listed)
    numbers = listed[:-1] if listed and listed[-1] is None and column.missing else listed
    values = tuple(read_number(case, f"{where}[{place}]") for place, case in enumerate(numbers))
    if any(low >= high for low, high in itertools.pairwise(values)):
        raise ParameterError(where, "increasing numbers", "others")
    return values if numbers is listed else (*values, None)


def _restored_points(value: object, where: str, count: int) -> tuple[float, ...]:
    listed = read_list(value, where)
    if len(listed) != count or not listed:
        raise ParameterError(where, "one number for each case", f"{len(listed)} numbers")
    return tuple(read_number(point, f"{where}[{place}]") for place, point in enumerate(listed))


def _edges(column: Column, cuts: Sequence[float]) -> Points:
    """The ends of the gaps that a number is drawn from: bounds and cuts; where there are none, a little beyond."""
    low, high = column.limits or (min(cuts, default=0.0), max(cuts, default=0.0))
    spread = (max(cuts) - min(cuts)) / 10.0 if len(cuts) > 1 else 1.0
    if column.limits is None:
        low, high = low - spread, high + spread
    return np.array([low, *(cut for cut in cuts if low < cut < high), high])
