"""Random ferns: public predicates asked together, whose answers are cells (Özuysal, Fua and Lepetit 2007).

A fern of depth d asks d predicates, and a record lies in exactly one of its 2^d cells.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer, keep_plain
from pcqr.documents import Document
from pcqr.entropy import SeededEntropy
from pcqr.errors import ParameterError
from pcqr.records.arrays import Points
from pcqr.records.gradient_kernels import fill_cells
from pcqr.records.predicates import Predicate, check_predicates
from pcqr.schema import Schema

MOST_FERNS = 1 << 16
MOST_DEPTH = 16
_EVEN = 64
"""What an indicator weighs that holds for half of all rows."""
_NUMBER_WEIGHS = 2 * _EVEN
_GUESSED_SHARE = 0.1
"""Of the rows where an indicator holds, if nothing is public but a schema."""
_CUT_BITS = 53
_BLOCK = 1 << 12
"""Rows a block: a column of them, and their cells, stay in the innermost cache."""

Cells = NDArray[np.uint16]


@dataclass(frozen=True)
class Ferns(Document):
    """The first `depth` of `predicates` are the first fern, the next ones the second, and so on. Public.

    `features` is the number of columns of the points.
    """

    predicates: tuple[Predicate, ...]
    depth: int
    features: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "predicates", tuple(self.predicates))
        check_integer("depth", self.depth, least=1, most=MOST_DEPTH)
        check_integer("features", self.features, least=1)
        check_predicates(self.predicates, self.features)
        keep_plain(self, integers=("depth", "features"))
        if len(self.predicates) % self.depth or self.count > MOST_FERNS:
            allowed = f"{self.depth} for each of at most {MOST_FERNS:,} ferns"
            raise ParameterError("predicates", allowed, f"{len(self.predicates)} predicates")

    @classmethod
    def of(cls, source: Points | Schema, columns: Sequence[int], count: int, depth: int, seed: int) -> Ferns:
        """`count` ferns by public coins: the same `seed`, the same ferns.

        Each predicate takes one of `columns` at random and cuts it at its value in a random row of the public points,
        or, where `source` is a schema, anywhere between the bounds. An indicator, a column of two values, is cut
        between them; one that holds for a share m of the rows tells 4m(1−m) as much as an even one, and is as much
        less likely. A number is twice as likely as an even indicator.
        """
        check_integer("count", count, least=1, most=MOST_FERNS)
        check_integer("depth", depth, least=1, most=MOST_DEPTH)
        ranges = {column: _range(source, column) for column in sorted(set(columns))}
        ends = np.cumsum([weight for _, _, weight in ranges.values()], dtype=np.int64)
        if not ends.any():
            raise ParameterError("columns", "at least one column that varies", columns)
        coins, points = SeededEntropy(seed), None if isinstance(source, Schema) else source
        chosen = np.array(list(ranges))[np.searchsorted(ends, coins.below(int(ends[-1]), size=count * depth), "right")]
        places = coins.below(1 << _CUT_BITS if points is None else len(points), size=count * depth)
        found = []
        for column, place in zip(chosen.tolist(), places.tolist(), strict=True):
            low, high, weight = ranges[column]
            if weight == _NUMBER_WEIGHS and points is not None:
                found.append(Predicate(column, float(points[place, column])))
            else:
                share = place / (1 << _CUT_BITS) if weight == _NUMBER_WEIGHS else 0.5
                found.append(Predicate(column, (1.0 - share) * low + share * high))
        features = len(source.features) if isinstance(source, Schema) else source.shape[1]
        return cls(tuple(found), depth, features)

    @property
    def count(self) -> int:
        """L."""
        return len(self.predicates) // self.depth

    def cells(self, X: Points) -> Cells:
        """`[l, i]`: the cell of row i in fern l. The answer to a fern's first predicate is the most significant bit."""
        found = np.empty((self.count, X.shape[0]), dtype=np.uint16)
        used, places = np.unique([predicate.feature for predicate in self.predicates], return_inverse=True)
        cuts = np.array([predicate.cut for predicate in self.predicates])
        for start in range(0, X.shape[0], _BLOCK):
            columns = np.ascontiguousarray(X[start : start + _BLOCK, used].T)
            fill_cells(columns, places, cuts, self.depth, start, found)
        return found


def _range(source: Points | Schema, column: int) -> tuple[float, float, int]:
    """The least and the largest public value of a column, and what it weighs: nothing if they are one."""
    if isinstance(source, Schema):
        feature = source.features[column]
        if feature.is_indicator:
            return 0.0, 1.0, _indicator_weighs(_GUESSED_SHARE)
        if feature.bounds is None:
            raise ParameterError("columns", "indicators, and numbers with bounds in the schema", feature.name)
        return *feature.bounds, _NUMBER_WEIGHS
    values, rows = np.unique(source[:, column], return_counts=True)
    weight = _indicator_weighs(float(rows[-1] / rows.sum())) if values.size == 2 else _NUMBER_WEIGHS
    return float(values[0]), float(values[-1]), weight if values.size > 1 else 0


def _indicator_weighs(share: float) -> int:
    return math.ceil(4.0 * share * (1.0 - share) * _EVEN)
