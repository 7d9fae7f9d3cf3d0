"""A schema of a private table, released by itself. Proof: proofs/predicates.md."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pcqr.checks import check_delta, check_positive
from pcqr.data.records import ParquetTable
from pcqr.data.records.counting import IntArray
from pcqr.data.records.parted.parquet import RawParquet
from pcqr.data.records.user_level import one_row_each
from pcqr.data.schema import Schema
from pcqr.data.schema.raw import RawColumn, RawInMemory, RawKind, RawTable
from pcqr.durable.account import AccountLike
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.privacy.composition import Context
from pcqr.privacy.entropy import Entropy, resolve_entropy
from pcqr.privacy.guarantee import Guarantee, warn_if_weak
from pcqr.releases.base.contributions import BOUNDED, Groups, unit_numbers
from pcqr.releases.base.fitting import account_for
from pcqr.releases.classifier.plan import PredicatesStage
from pcqr.releases.classifier.predicates import check_columns, plan_private_schema
from pcqr.releases.classifier.predicates import private_schema as drawn_schema


def private_schema(
    X: Any,
    epsilon: float,
    delta: float,
    *,
    types: Mapping[str, RawKind] | None = None,
    drop: Collection[str] = (),
    groups: Any = None,
    account: AccountLike | None = None,
    entropy: Entropy | int | None = None,
) -> Schema:
    """Do what `Schema.private` says."""
    release = SchemaRelease(epsilon, delta)
    if isinstance(groups, Groups) and groups.rows != 1:
        raise ParameterError("groups.rows", "1 for a private schema, which uses one row of each person", groups.rows)
    ids = groups.ids if isinstance(groups, Groups) else groups
    table, unit_ids = raw_table(X, types or {}, drop), None if groups is None else unit_numbers(ids)
    return release.run(table, unit_ids, account=account, entropy=entropy)


@np.errstate(all="ignore")
def raw_table(X: Any, types: Mapping[str, RawKind], drop: Collection[str]) -> RawTable:
    """Return the private table as columns of known kinds. Files are not read yet."""
    if isinstance(X, ParquetTable):
        return RawParquet(X.parts, types, (X.label, *X.drop, *drop))
    return RawInMemory(X, types, drop)


def size_of(table: RawTable, unit_ids: IntArray | None) -> int:
    """Return n, which is public: the number of persons if `unit_ids` says whose each row is, otherwise of records."""
    if unit_ids is None:
        return table.size
    if not isinstance(table, RawInMemory):
        allowed = "None for a table in parts; read it into memory (pcqr.datasets.read_table) for persons"
        raise DataError("groups", allowed, "ids")
    if unit_ids.size != table.size:
        raise DataError("groups", "as long as X", "another number of rows")
    return 1 + int(unit_ids.max())


@dataclass
class SchemaRelease:
    """What will be done to release a schema: public things alone, until it is run.

    `has_spent` says whether ε was spent. None: the run was interrupted while it charged an account.
    """

    epsilon: float
    delta: float
    has_spent: bool | None = False

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_delta(self.delta)

    def plan(self, columns: Sequence[RawColumn], records: int) -> tuple[PredicatesStage, Guarantee]:
        """Return the stage for a table of these columns and n = `records`, and what is promised to it."""
        numeric = sum(column.is_number for column in columns)
        categorical = sum(column.kind == "categorical" for column in columns)
        stage, guarantee = plan_private_schema(records, numeric, categorical, self.epsilon, self.delta)
        bought = stage.words(Context(Thresholds(), records, 1))
        return stage, replace(guarantee, steps=(bought, *guarantee.steps))

    @np.errstate(all="ignore")  # whether a float underflows depends on the records
    def run(
        self,
        table: RawTable,
        unit_ids: IntArray | None = None,
        *,
        account: AccountLike | None = None,
        entropy: Entropy | int | None = None,
        before_charge: Callable[[], object] = lambda: None,
    ) -> Schema:
        """Check all cells, call `before_charge`, charge, draw.

        `unit_ids` gives the number (0, …, N−1) of the person of each row, where a record is a person.
        """
        source = resolve_entropy(entropy)
        charged = account_for(account, source)
        records = size_of(table, unit_ids)
        stage, guarantee = self.plan(table.columns, records)
        check_columns(table.columns)
        if unit_ids is not None:
            guarantee = guarantee.at_user_level(BOUNDED["one row"])
        guarantee = guarantee.drawn_with(private_entropy=source.is_private).assuming(*table.assumptions)
        warn_if_weak(guarantee, records)
        table.check()
        before_charge()
        charge = None
        if charged is not None:
            self.has_spent = None
            charge = charged.id_of(charged.charge(guarantee, "Schema.private", records=records))
        self.has_spent = True
        if unit_ids is not None and isinstance(table, RawInMemory):  # `size_of` refuses other tables
            table = table.rows(one_row_each(unit_ids, source))
        schema = drawn_schema(table, stage, source)
        return replace(
            schema,
            guarantee=guarantee.charged(to_account=charged is not None),
            charge=charge,
        )
