"""Records in the columns of a table, encoded by a schema when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.records.arrays import Labels, Points, as_labels
from pcqr.records.counting import Block
from pcqr.records.in_memory import InMemory
from pcqr.records.predicates import Predicate
from pcqr.records.source import Labelling, Positions, Records
from pcqr.schema import Column
from pcqr.schema.table import CompactTable


class Encoded(Records):
    """The rows of a table with the labels `y`; the encoded matrix is never there in one piece, unless it is gathered.

    Parameters
    ----------
    table : CompactTable
        The table, read by a schema: `schema.compact(table)`.
    y : array-like of shape (n,)
        The labels of its rows, integers 0, …, C−1.
    labels : int, default 2
        C.

    Raises
    ------
    DataError
        When the table has no row, or `y` has not one of the C labels for each of them.

    Examples
    --------
    >>> from pcqr import Schema
    >>> from pcqr.records import Encoded
    >>> from pcqr.schema import Column
    >>> schema = Schema((Column("age", bounds=(18, 90)), Column("job", "categorical", ["nurse", "cook"])))
    >>> records = Encoded(schema.compact({"age": [25, 61, 44], "job": ["cook", "nurse", "cook"]}), [0, 1, 1])
    >>> records
    Encoded(3 records, 4 columns, 2 labels)
    >>> records.rows([2, 0]).gathered().X
    array([[44.,  0.,  1.,  0.],
           [25.,  0.,  1.,  0.]])
    """

    def __init__(self, table: CompactTable, y: Any, labels: int = 2) -> None:
        found = as_labels(y, labels)
        if len(table) == 0:
            raise DataError("X", "a table with at least one row", "none")
        if found.shape[0] != len(table):
            raise DataError("y", f"one label for each of the {len(table)} rows of X", f"{found.shape[0]} labels")
        self._hold(table, found, labels)

    @classmethod
    def of_checked(cls, table: CompactTable, y: Labels, labels: int) -> Encoded:
        """What is made of checked records. It is not judged again: a refusal now would depend on what they say."""
        made = cls.__new__(cls)
        made._hold(table, y, labels)
        return made

    def with_table(self, table: CompactTable) -> Encoded:
        """Return the records of the same rows, read by another schema."""
        return Encoded.of_checked(table, self._y, self.labels)

    @property
    def columns(self) -> tuple[Column, ...]:
        """What the table's columns are declared to be."""
        return self._table.columns

    def arrays(self) -> dict[str, NDArray[Any]]:
        """The entries of every column, and the labels. **Private.**"""
        entries = {f"column {place}": entries for place, entries in enumerate(self._table.entries)}
        return entries | {"labels": self._y}

    def blocks(self, rows: int) -> Iterator[tuple[Points, Labels]]:
        for table, y in self._cut(rows):
            yield table.encoded(), y

    def answers(self, predicates: Sequence[Predicate], rows: int) -> Iterator[Block]:
        asked: dict[int, list[int]] = {}
        for place, predicate in enumerate(predicates):
            asked.setdefault(predicate.feature, []).append(place)
        for table, y in self._cut(rows):
            holds = np.empty((len(table), len(predicates)), dtype=np.bool_)
            for feature, places in asked.items():
                values = table.feature(feature)
                for place in places:
                    holds[:, place] = values > predicates[place].cut
            yield holds, y

    def rows(self, positions: Positions) -> Encoded:
        return self._with(self._table.rows(positions), self._y[positions])

    def relabelled(self, labelling: Labelling) -> Encoded:
        found = np.concatenate([labelling.predict(X) for X, _ in self.blocks(self.point_rows)])
        return self._with(self._table, found)

    def kept(self) -> Encoded:
        return self  # the labels are a copy, and nobody can write to a compact table

    def gathered(self) -> InMemory:
        return InMemory.of_checked(self._table.encoded(), self._y.copy(), self.labels)

    def _cut(self, rows: int) -> Iterator[tuple[CompactTable, Labels]]:
        for start in range(0, self.size, rows):
            block = slice(start, start + rows)
            yield self._table.rows(block), self._y[block]

    def _with(self, table: CompactTable, y: Labels) -> Encoded:
        return self.of_checked(table, y, self.labels)

    def _hold(self, table: CompactTable, y: Labels, labels: int) -> None:
        self._table, self._y, self.labels = table, y, labels
        self.size, self.width = table.shape
