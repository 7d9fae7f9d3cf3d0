"""The private table that `fit` was handed, in memory or in files, until it becomes records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from pcqr.errors import DataError
from pcqr.estimators.labels import ZERO_AND_ONE, LabelArray, as_array, declared, encode_labels, label_cells
from pcqr.estimators.persons import Whose
from pcqr.estimators.tables import read_table
from pcqr.hypotheses.base import HypothesisClass, Labels
from pcqr.records import Encoded, InMemory, Narrow, ParquetTable, Records
from pcqr.records.narrow import is_narrow
from pcqr.records.parted import Parted
from pcqr.schema import Schema
from pcqr.schema.table import CompactTable

Named = tuple[LabelArray, Records, tuple[str, ...]]
"""The names of the labels, the records, and what had to be assumed public."""


class Handed:
    """A table in memory with its labels, and whose its rows are. **Private.**"""

    def __init__(self, estimator: BaseEstimator, X: Any, y: Any, schema: Schema | None, groups: Any) -> None:
        self._table, self._labels, self._whose = read_table(estimator, X, schema), label_cells(y), Whose(groups)
        self._whose.check_lengths(self._table, self._labels)
        self.size, self.width = self._whose.count(self._table), self._table.shape[1]

    def named(self, classes: Sequence[Any] | None, hypotheses: HypothesisClass) -> Named:
        """The records, once the labels have names."""
        names, labels, assumptions = encode_labels(self._labels, classes, hypotheses)
        return names, self._whose.grouped(_source(self._table, labels, names.shape[0])), assumptions


class HandedParts:
    """A table in parts, not read yet (`ParquetTable`), or read before (`Parted`)."""

    def __init__(
        self, estimator: BaseEstimator, table: ParquetTable | Parted, y: Any, schema: Schema | None, groups: Any
    ) -> None:
        if y is not None:
            raise DataError("y", "None for a table in files, which says itself where its labels are", "something else")
        if groups is not None:
            raise DataError(
                "groups", "None for a table in parts; read it into memory (pcqr.datasets.read_table) for persons", "ids"
            )
        if schema is None and isinstance(table, ParquetTable):
            raise DataError("schema", "the declared columns, or public rows that are not all numbers", "None")
        if schema is not None and isinstance(table, Parted) and table.columns != schema.columns:
            raise DataError("X", "a table that was read by this schema", "one that another schema has read")
        self._table, self._schema = table, schema
        if isinstance(table, Parted):
            self.size, self.width = table.size, table.width
        else:
            self.size, self.width = table.parts.rows, 0 if schema is None else len(schema.features)
        validate_data(estimator, np.zeros((1, self.width)), reset=True)  # the width alone, as `read_table` has it

    def named(self, classes: Sequence[Any] | None, hypotheses: HypothesisClass) -> Named:
        """The records, read and checked now. Labels without declared names are 0 and 1, or 0, 1, … of the class."""
        names: Sequence[Any] | None = None
        if classes is not None:
            names = declared(classes)
        elif hypotheses.labels > 2:
            names = range(hypotheses.labels)
        records = self._table
        if isinstance(records, ParquetTable) and self._schema is not None:
            records = records.read(self._schema, names)
        if not isinstance(records, Parted) or records.labels != (2 if names is None else len(names)):
            raise DataError("X", "a table with as many labels as there are classes", "another number")
        return as_array((0, 1) if names is None else names), records, () if names is not None else (ZERO_AND_ONE,)


def handed(estimator: BaseEstimator, X: Any, y: Any, schema: Schema | None, groups: Any) -> Handed | HandedParts:
    """What `fit` was handed."""
    if isinstance(X, ParquetTable | Parted):
        return HandedParts(estimator, X, y, schema, groups)
    return Handed(estimator, X, y, schema, groups)


def schema_of(X: Any, schema: Schema | None) -> Schema | None:
    """The schema that `fit` was given, or the table's own."""
    own = X.schema if isinstance(X, ParquetTable) else None
    if own is not None and schema is not None and own != schema:
        raise DataError("schema", "that of the table, or None", "another one")
    return own if schema is None else schema


def _source(table: NDArray[Any] | CompactTable, labels: Labels, count: int) -> Records:
    if isinstance(table, CompactTable):
        return Encoded(table, labels, count)
    return Narrow(table, labels, count) if is_narrow(table.dtype) else InMemory(table, labels, count)
