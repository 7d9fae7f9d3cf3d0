"""Small tables and their neighbours: where to look for the worst case."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.audit.exact.events import in_full
from pcqr.audit.exact.verify import Case
from pcqr.data.records import Encoded, InMemory
from pcqr.data.records.arrays import Labels, Points
from pcqr.data.schema import Column, Schema
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.histogram import NoisyHistogram
from pcqr.models import PublishedModel
from pcqr.models.scoring import Binning, Bins, noisy_histogram
from pcqr.privacy.composition import Context, account
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp

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
        told = (f"({_described(x)}, {y})" + (f"×{times}" if times > 1 else "") for (x, y), times in counted)
        return f"{{{', '.join(told)}}}"


def as_points(places: Sequence[Place]) -> Points:
    return np.array([place if isinstance(place, tuple) else (place,) for place in places], dtype=np.float64)


def _described(place: Place) -> str:
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


# ---------------------------------------------------------------------------------------------------------------------
# Cases that begin where users do: at a raw table with a gap and a large integer, encoded by the shipped schema.


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


# ---------------------------------------------------------------------------------------------------------------------
# A model scored on private records: its noisy histogram, as far as a few marks tell of every count.


MARKS = (0, 2)
"""A count that moves by 1 between them is told apart best by what lies beyond: noise falls off evenly there."""
NO_CLASS = 2
"""The label of a record whose label is none of the two classes."""
MODEL = PublishedModel(Thresholds().learn([0.0, 1.0], [0, 1]), (0, 1), Schema((Column("x"),)), Guarantee(0.0))


@dataclass(frozen=True)
class Cut:
    """Two bins, on either side of a cut."""

    at: float
    count: int = 2

    def places(self, X: Points) -> NDArray[np.int64]:
        return (X[:, 0] > self.at).astype(np.int64)


@dataclass(frozen=True)
class Scored:
    """Between which marks each noisy count lies. `binning` None: the cut is the median of the records' own values."""

    noise: NoisyHistogram
    binning: Binning | None

    def __call__(self, table: Table, entropy: Entropy) -> str:
        binning = Cut(float(np.median(table.points))) if self.binning is None else self.binning
        shown = noisy_histogram(table.source(NO_CLASS + 1), binning, self.noise, entropy)
        return "".join(_between(count) for count in shown)


def _between(count: int) -> str:
    for mark, told in zip(MARKS, "-·", strict=True):
        if count <= mark:
            return told
    return "+"


def score_cases(*, full: bool) -> Iterator[Case]:
    common: tuple[Record, ...] = ((0.0, 0), (1.0, 1))
    places: tuple[Place, ...] = (0.0, 1.0)
    lasts: list[Record] = [(x, label) for x in places for label in range(NO_CLASS + 1)]
    pairs: Pairs = replacing_the_last(common, lasts if full else lasts[:4])
    for scale in (1.0, 8.0) if full else (2.0,):
        noise = NoisyHistogram(scale)
        name = f"Score: n = {len(common) + 1}, 2 labels and no label, 2 bins, s = {scale:g}"
        yield Case.once(name, noise.guarantee, pairs, Scored(noise, Bins(MODEL, 2)))
