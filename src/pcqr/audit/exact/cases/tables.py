"""Small tables and their neighbours: where to look for the worst case."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pcqr.records import InMemory
from pcqr.records.arrays import Labels, Points

Place = float | tuple[float, ...]
"""On the line, or in space."""

Record = tuple[Place, int]
"""A place and its label."""

LINE: tuple[Record, ...] = tuple((x, y) for x in (0.0, 1.0, 2.0) for y in (0, 1))
"""Every record with one of three values: left, middle, right."""


@dataclass(frozen=True)
class Table:
    """A private table, with one column or as many as its places have."""

    records: tuple[Record, ...]

    @property
    def points(self) -> Points:
        return as_points([place for place, _ in self.records])

    @property
    def labels(self) -> Labels:
        return np.array([label for _, label in self.records], dtype=np.int8)

    def source(self, labels: int = 2) -> InMemory:
        """As algorithms take it."""
        return InMemory(self.points, self.labels, labels)

    def __str__(self) -> str:
        counted = Counter(self.records).items()
        told = (f"({_told(x)}, {y})" + (f"×{times}" if times > 1 else "") for (x, y), times in counted)
        return f"{{{', '.join(told)}}}"


def as_points(places: Sequence[Place]) -> Points:
    return np.array([place if isinstance(place, tuple) else (place,) for place in places], dtype=np.float64)


def _told(place: Place) -> str:
    return " ".join(f"{x:g}" for x in place) if isinstance(place, tuple) else f"{place:g}"


Pairs = Sequence[tuple[Table, Table]]


def replacing_the_last(common: Sequence[Record], lasts: Iterable[Record] = LINE) -> list[tuple[Table, Table]]:
    """All pairs of tables that have the `common` records and one more, which differs."""
    tables = [Table((*common, last)) for last in lasts]
    return list(itertools.combinations(tables, 2))


def all_neighbours(records: int, universe: Sequence[Record] = LINE) -> list[tuple[Table, Table]]:
    """All pairs of neighbouring tables with so many records: their order counts for nothing, only coins do."""
    pairs: list[tuple[Table, Table]] = []
    for common in itertools.combinations_with_replacement(universe, records - 1):
        ordered = [Table(tuple(sorted((*common, last)))) for last in universe]
        pairs += itertools.combinations(ordered, 2)
    return pairs
