"""Cases that begin where users do: at a raw table with a gap and a large integer, encoded by the shipped schema."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.algorithms.sspp import sspp
from pcqr.audit.exact.verify import Case
from pcqr.audit.shown import in_full
from pcqr.entropy import Entropy
from pcqr.hypotheses.base import Labels
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.plan import Context, DrawStage, account
from pcqr.records import Encoded
from pcqr.schema import Column, Schema

NUMBER = 2**53 + 1
"""A customer's number, and the first integer that is no float64."""

SCHEMA = Schema((Column("customer", "categorical", (str(NUMBER),), other=True),))
TREES = DecisionTrees(depth=1).prepared(None, SCHEMA)
PLAN = DrawStage(0.5)

RawRecord = tuple[int | None, int]
"""What the column "customer" says, if anything, and the label."""

UNIVERSE: tuple[RawRecord, ...] = tuple((customer, label) for customer in (NUMBER, 7, None) for label in (0, 1))


@dataclass(frozen=True)
class RawTable:
    """Records in a typed column, as data frames keep them: integers until one is missing, then all are floats."""

    records: tuple[RawRecord, ...]

    @property
    def columns(self) -> dict[str, NDArray[Any]]:
        values = [customer for customer, _ in self.records]
        if None in values:
            return {"customer": np.array([np.nan if value is None else value for value in values], dtype=np.float64)}
        return {"customer": np.array(values, dtype=np.int64)}

    @property
    def labels(self) -> Labels:
        return np.array([label for _, label in self.records], dtype=np.int8)

    def __str__(self) -> str:
        counted = Counter(self.records).items()
        told = (f"({'no number' if x is None else x}, {y})" + (f"×{t}" if t > 1 else "") for (x, y), t in counted)
        return f"{{{', '.join(told)}}}"


def raw_cases(*, full: bool) -> Iterator[Case]:
    crowds: list[tuple[RawRecord, ...]] = [((NUMBER, 0), (None, 1)), ((NUMBER, 1),) * 20]
    if full:
        crowds.append(((NUMBER, 1), (7, 0), (7, 0)))
    for common in crowds:
        tables = [RawTable((*common, last)) for last in UNIVERSE]
        yield raw_case(list(itertools.combinations(tables, 2)))


def raw_case(neighbours: Sequence[tuple[RawTable, RawTable]]) -> Case:
    """A published tree that asks who the customer is: the table is encoded and the tree drawn, both as shipped."""
    count = len(neighbours[0][0].records)
    name = f"Schema, then SSPP: DecisionTrees on raw tables, n = {count}, η = {PLAN.inverse_temperature:g}"
    claimed = account(PLAN, Context(TREES, count, len(SCHEMA.features)))
    return Case.once(name, claimed, neighbours, partial(published_tree, SCHEMA))


def published_tree(schema: Schema, table: RawTable, entropy: Entropy) -> str:
    return in_full(sspp(TREES, Encoded(schema.compact(table.columns), table.labels), None, PLAN, entropy))
