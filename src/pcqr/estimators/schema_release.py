"""A schema of a private table, released by itself. Proof: proofs/predicates.md."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pcqr.algorithms.predicates import check_table
from pcqr.algorithms.predicates import private_schema as drawn_schema
from pcqr.checks import check_delta, check_positive
from pcqr.entropy import Entropy, resolve_entropy
from pcqr.errors import ParameterError
from pcqr.estimators.base import account_for
from pcqr.guarantee import Guarantee, warn_if_weak
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.plan import Context, PredicatesStage
from pcqr.planning.predicates import plan_private_schema
from pcqr.records import ParquetTable
from pcqr.records.parted.parquet import RawParquet
from pcqr.release.account import AccountLike
from pcqr.schema import Schema
from pcqr.schema.raw import RawColumn, RawInMemory, RawKind, RawTable


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
    if groups is not None:
        raise ParameterError("groups", "None for a private schema, which is proved for single records alone", "ids")
    return release.run(raw_table(X, types or {}, drop), account=account, entropy=entropy)


@np.errstate(all="ignore")
def raw_table(X: Any, types: Mapping[str, RawKind], drop: Collection[str]) -> RawTable:
    """Return the private table as columns of known kinds. Files are not read yet."""
    if isinstance(X, ParquetTable):
        return RawParquet(X.parts, types, (X.label, *X.drop, *drop))
    return RawInMemory(X, types, drop)


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
        *,
        account: AccountLike | None = None,
        entropy: Entropy | int | None = None,
        before_charge: Callable[[], object] = lambda: None,
    ) -> Schema:
        """Check all cells, call `before_charge`, charge, draw."""
        source = resolve_entropy(entropy)
        charged = account_for(account, source)
        stage, guarantee = self.plan(table.columns, table.size)
        check_table(table, stage)
        guarantee = guarantee.drawn_with(private_entropy=source.is_private).assuming(*table.assumptions)
        warn_if_weak(guarantee, table.size)
        table.check()
        before_charge()
        charge = None
        if charged is not None:
            self.has_spent = None
            charge = charged.id_of(charged.charge(guarantee, "Schema.private", records=table.size))
        self.has_spent = True
        schema = drawn_schema(table, stage, source)
        return replace(
            schema,
            guarantee=guarantee.charged(to_account=charged is not None),
            charge=charge,
        )
