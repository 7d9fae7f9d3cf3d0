"""The private table that `fit` was handed, in memory or in files, until it becomes records."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from pcqr.errors import DataError, NearUnique, ParameterError, PublicRowsCoincide
from pcqr.estimators.given import AssumePublic
from pcqr.estimators.labels import ZERO_AND_ONE, LabelArray, as_array, declared, encode_labels, label_cells
from pcqr.estimators.persons import Whose
from pcqr.estimators.tables import check_same_columns, read_table, schema_from
from pcqr.hypotheses.base import HypothesisClass, Labels, Points
from pcqr.records import Encoded, InMemory, Narrow, ParquetTable, Records
from pcqr.records.narrow import is_narrow
from pcqr.records.parted import Parted
from pcqr.schema import Schema
from pcqr.schema.cells import listed
from pcqr.schema.overlap import is_mostly_private
from pcqr.schema.table import CompactTable, column_names, has_columns

Named = tuple[LabelArray, Records, tuple[str, ...]]
"""The names of the labels, the records, and what had to be assumed public."""


class Handed:
    """A table in memory with its labels, whose its rows are and what each of them counts. **Private.**"""

    def __init__(
        self,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        schema: Schema | None,
        groups: Any,
        shares: NDArray[np.float64] | None = None,
    ) -> None:
        self._table, self._labels, self._whose = read_table(estimator, X, schema), label_cells(y), Whose(groups)
        self._whose.check_lengths(self._table, self._labels)
        if shares is not None and shares.size != self._table.shape[0]:
            raise DataError("sample_weight", "as long as X", "another number of weights")
        self._shares = shares
        self.size, self.width = self._whose.count(self._table), self._table.shape[1]

    def named(
        self,
        classes: Sequence[Any] | None,
        hypotheses: HypothesisClass,
        texts: Sequence[str] = (),  # noqa: ARG002
    ) -> Named:
        """Return the records, once the labels have names. In memory, texts are kept as they are."""
        names, labels, assumptions = encode_labels(self._labels, classes, hypotheses)
        return names, self._whose.grouped(_source(self._table, labels, names.shape[0]), self._shares), assumptions


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
            raise DataError(
                "schema",
                "given for a table in files: declared columns, one that Schema.private(table, …) buys, or `public` "
                "rows that are not all numbers (PrivateClassifier without declared predicates needs none of these)",
                "None",
            )
        if schema is not None and isinstance(table, Parted) and table.columns != schema.columns:
            raise DataError("X", "a table that was read by this schema", "one that another schema has read")
        self._table, self._schema = table, schema
        if isinstance(table, Parted):
            self.size, self.width = table.size, table.width
        else:
            self.size, self.width = table.parts.rows, 0 if schema is None else len(schema.features)
        validate_data(estimator, np.zeros((1, self.width)), reset=True)  # the width alone, as `read_table` has it

    def named(self, classes: Sequence[Any] | None, hypotheses: HypothesisClass, texts: Sequence[str] = ()) -> Named:
        """Read and check the records. Labels without declared names are 0 and 1, or 0, 1, … of the class.

        The texts of the columns `texts` are kept, so that their categories can be bought.
        """
        names: Sequence[Any] | None = None
        if classes is not None:
            names = declared(classes)
        elif hypotheses.labels > 2:
            names = range(hypotheses.labels)
        records = self._table
        if isinstance(records, ParquetTable) and self._schema is not None:
            records = records.read(self._schema, names, texts)
        if not isinstance(records, Parted) or records.labels != (2 if names is None else len(names)):
            raise DataError("X", "a table with as many labels as there are classes", "another number")
        return as_array((0, 1) if names is None else names), records, () if names is not None else (ZERO_AND_ONE,)


def handed(
    estimator: BaseEstimator,
    X: Any,
    y: Any,
    schema: Schema | None,
    groups: Any,
    shares: NDArray[np.float64] | None = None,
) -> Handed | HandedParts:
    """What `fit` was handed. `shares` say what each row counts, from 0 to 1."""
    if isinstance(X, ParquetTable | Parted):
        if shares is not None:
            raise no_weights_in_parts("sample_weight")
        return HandedParts(estimator, X, y, schema, groups)
    return Handed(estimator, X, y, schema, groups, shares)


def no_weights_in_parts(name: str) -> DataError:
    """What is said where weights are asked for a table in parts."""
    allowed = "None for a table in parts; read it into memory (pcqr.datasets.read_table) for weights"
    return DataError(name, allowed, "weights")


def schema_for(X: Any, schema: Schema | AssumePublic | None, public: Any, hypotheses: HypothesisClass) -> Schema | None:
    """Return the schema of a fit: the one that was given, the table's own, or one made of the public rows."""
    own = X.schema if isinstance(X, ParquetTable) else None
    given = _given(schema)
    if own is not None and given is not None and own != given:
        raise DataError("schema", "that of the table, or None", "another one")
    found: Schema | None = own if given is None else given
    if found is None:
        found = schema_from(public, hypotheses)
        if found is not None:
            check_same_columns(X, public)
    elif not isinstance(schema, AssumePublic):
        _check_origin(found, X)
    if found is not None:
        warn_of_near_unique(found)
    return found


def schema_known(schema: Any, public: Any, hypotheses: HypothesisClass) -> Schema | None:
    """Return the schema of a plan, for which there is no private table."""
    given = _given(schema)
    return schema_from(public, hypotheses) if given is None else given


def _given(schema: Any) -> Schema | None:
    found = schema.rows if isinstance(schema, AssumePublic) else schema
    if found is not None and not isinstance(found, Schema):
        raise ParameterError("schema", "a Schema, AssumePublic(schema) or None", type(found).__name__)
    return found


def _check_origin(schema: Schema, X: Any) -> None:
    """Refuse a schema that was made of the private rows: its categories and bounds are theirs."""
    origin = schema.origin
    if origin is None or isinstance(X, CompactTable | Parted) or not (isinstance(X, ParquetTable) or has_columns(X)):
        return
    if isinstance(X, ParquetTable):
        is_private = origin.is_of(X.parts.rows, X.parts.tables(origin.columns))
    else:
        first = next(iter(column_names(X, "X")), None)
        is_private = first is not None and origin.is_of(len(X[first]), [X])
    if is_private:
        raise DataError(
            "schema",
            "made of public rows, or declared without a look at the records (should these rows be public: "
            "schema=pcqr.AssumePublic(schema))",
            "one that was made of the very rows of X",
        )


def warn_of_near_unique(schema: Schema) -> None:
    """Warn of columns that are nearly unique in the public rows, from the schema alone."""
    if schema.near_unique:
        names = listed(schema.near_unique)
        warnings.warn(
            f"Hardly any value occurs twice in the public rows of {names}: an identifier or free text, which says "
            "nothing of other records. Leave it out: schema.without(…), `pcqr schema … --drop …`, or declare what its "
            "values mean.",
            NearUnique,
            stacklevel=5,  # errstate and fit stand between
        )


def check_public(shown: Points, private: Records) -> None:
    """Refuse rows called public of which more than half are private ones; warn, without a figure, where any is."""
    coinciding = private.coinciding(shown)
    if is_mostly_private(coinciding, shown):
        raise DataError(
            "public",
            "rows that are free to be shown, not private ones (should they be public and coincide because few "
            "different rows are possible: pcqr.AssumePublic(rows))",
            "rows of which more than half are rows of X",
        )
    if coinciding:
        warnings.warn(
            "Some of the public rows are equal to private records. Make sure that they did not come from them. For the "
            "data holder: that this warning appears depends on the private records.",
            PublicRowsCoincide,
            stacklevel=4,
        )


def _source(table: NDArray[Any] | CompactTable, labels: Labels, count: int) -> Records:
    if isinstance(table, CompactTable):
        return Encoded(table, labels, count)
    return Narrow(table, labels, count) if is_narrow(table.dtype) else InMemory(table, labels, count)
