"""Records in parts: every sum is added up over the parts, each where it lies (proofs/parted.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pcqr.data.records.arrays import Labels, Points
from pcqr.data.records.counting import MOST_RECORDS, ConjunctionCounts, IntArray
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.gradient_sums import GradientSums, Weights, check_sums
from pcqr.data.records.in_memory import Encoded, InMemory
from pcqr.data.records.parted import engine as work
from pcqr.data.records.parted.engine import Arrays, Engine, Handle, Integers, Layout, Share, Spool
from pcqr.data.records.parted.parquet import ParquetParts, Reading, read_part
from pcqr.data.records.predicates import Node, Predicate
from pcqr.data.records.source import Labelling, Positions, Records
from pcqr.data.schema import Column, Schema
from pcqr.data.schema.labels import LabelColumn
from pcqr.data.schema.raw import Floats, RawTable, Texts
from pcqr.errors import DataError
from pcqr.progress import tracked

# ---------------------------------------------------------------------------------------------------------------------
# A linear classifier's sums over parts. The vectors of a part's records lie where the part lies (proofs/parted.md).


class PartedGradientSums(GradientSums):
    """`GradientSums` over all parts. Refers to secrets."""

    def __init__(
        self,
        engine: Engine,
        handles: Sequence[Handle],
        layout: Layout,
        features: FeatureMap,
        bound: int,
        records: int,
    ) -> None:
        check_sums(bound, records)
        self._engine, self._features, self._bound, self._classes = engine, features, bound, layout.labels
        self._handles = engine.hold(gradient_state, handles, layout, features, bound)

    def total(self, dense: Weights, cells: Weights) -> tuple[IntArray, IntArray]:
        self._check(dense, cells)
        shared = self._features, self._bound, self._classes, dense, cells
        sums, by_cell = self._engine.summed(linear_total, self._handles, *shared)
        return sums, by_cell


def gradient_state(part: Arrays, layout: Layout, features: FeatureMap, bound: int) -> Arrays:
    """What `GradientSums` keeps of the records of a part."""
    return layout.records(part).gradient_sums(features, bound).arrays()


def linear_total(
    state: Arrays, features: FeatureMap, bound: int, classes: int, dense: Weights, cells: Weights
) -> tuple[IntArray, IntArray]:
    """The sum of the vectors of a part's records at these weights."""
    return GradientSums.restored(state, features, bound, classes).total(dense, cells)


# ---------------------------------------------------------------------------------------------------------------------
# Some of the records of a parted source, which stay where they are.


T = TypeVar("T")


class Selected(Records):
    """The records of `records` at `positions`, in this order. Sums are made where they lie; what is read comes here.

    Parameters
    ----------
    records : Parted
        Where the records are.
    positions : ndarray of int
        Which of them. **Private**, as a rule: sub-samples and partitions are secret.
    """

    def __init__(self, records: Parted, positions: Positions) -> None:
        self._records, self._positions = records, positions
        self.size, self.width, self.labels = positions.size, records.width, records.labels

    def blocks(self, rows: int) -> Iterator[tuple[Points, Labels]]:
        for positions in self._cut(rows):
            held = self._records.brought(positions).gathered()
            yield held.X, held.y

    def all_labels(self, rows: int) -> Iterator[Labels]:
        for positions in self._cut(rows):
            yield self._records.labels_at(positions)

    def rows(self, positions: Positions) -> Selected:
        return Selected(self._records, self._positions[positions])

    def relabelled(self, labelling: Labelling) -> Selected:
        return Selected(self._records.relabelled(labelling), self._positions)

    def kept(self) -> Selected:
        return self  # as its records are

    def gathered(self) -> InMemory:
        return self._records.brought(self._positions).gathered()

    @property
    def is_elsewhere(self) -> bool:
        return self._records.is_elsewhere

    def taught(
        self, teach: Callable[..., T], parts: Sequence[Positions], own: Sequence[Any] | None = None
    ) -> Iterator[T]:
        return self._records.taught(teach, [self._positions[part] for part in parts], own)

    def label_counts(self) -> IntArray:
        return self._records.label_counts(self._positions)

    def error_counts(self, labellings: Sequence[Labelling]) -> IntArray:
        return self._records.error_counts(labellings, self._positions)

    def leaf_counts(self, root: Node) -> IntArray:
        return self._records.leaf_counts(root, self._positions)

    def conjunctions(self, predicates: Sequence[Predicate], depth: int) -> ConjunctionCounts:
        return self._records.conjunctions(predicates, depth, self._positions)

    def _cut(self, rows: int) -> Iterator[Positions]:
        for start in range(0, self.size, rows):
            yield self._positions[start : start + rows]


class Parted(Records):
    """The records of all parts, one part after the other. Memory holds what a question needs of one part at a time.

    Parameters
    ----------
    engine : Engine
        Who keeps the parts.
    handles : sequence
        What it gave for them, in the order of the records.
    sizes : sequence of int
        How many records each part has.
    layout : Layout
        What is public of every part.

    Raises
    ------
    DataError
        When there is no record, or more than can be counted.
    """

    def __init__(self, engine: Engine, handles: Sequence[Handle], sizes: Sequence[int], layout: Layout) -> None:
        self._engine, self._handles, self._layout = engine, tuple(handles), layout
        self._ends = np.cumsum(sizes, dtype=np.int64)
        self.size = int(self._ends[-1]) if len(self._ends) else 0
        self.width, self.labels = layout.width, layout.labels
        if not 1 <= self.size <= MOST_RECORDS:
            raise DataError("X", f"a table with 1 to {MOST_RECORDS:,} rows", f"{self.size:,}")

    @classmethod
    def held(
        cls,
        engine: Engine,
        make: Callable[..., Arrays],
        parts: Sequence[Any],
        sizes: Sequence[int],
        layout: Layout,
        *shared: Any,
    ) -> Parted:
        """What `make` reads of each of the `parts`, checked by it, kept by the engine."""
        engine.check_room(sum(sizes) * layout.record_bytes)
        return cls(engine, engine.hold(make, parts, *shared), sizes, layout)

    @classmethod
    def read(cls, engine: Engine, table: ParquetParts, reading: Reading, drop: Sequence[str] = ()) -> Parted:
        """The records of a table in Parquet files: every cell is read and checked now, and not again."""
        table.check_columns(reading, drop)
        return cls.held(engine, read_part, table.parts, table.sizes, reading.layout, reading)

    def read_by(self, schema: Schema) -> Parted:
        """Return the same records, read by a schema that differs only in the categories of texts. Drops the kept texts.

        The texts must have been kept. Other entries of a column without bounds, such as `cuts`, change no cell.
        """
        layout, handles = Layout(schema.columns, self.labels), self._handles
        if self._layout.texts:
            handles = self._engine.hold(work.read_by, handles, self._layout, schema.columns)
            self._engine.discard(self._handles)
        return Parted(self._engine, handles, np.diff(self._ends, prepend=0).tolist(), layout)

    def numbers(self, names: Sequence[str]) -> Iterator[Mapping[str, Floats]]:
        """Yield the cells of columns of numbers or dates, by name, part by part, with NaN for a gap."""
        return self._each(work.numbers, self._layout, tuple(names))

    def texts(self, names: Sequence[str]) -> Iterator[Mapping[str, Texts]]:
        """Yield the kept texts of columns, by name, part by part."""
        return self._each(work.texts, tuple(names))

    @property
    def columns(self) -> tuple[Column, ...]:
        """What the table's columns are declared to be."""
        return self._layout.columns

    def blocks(self, rows: int) -> Iterator[tuple[Points, Labels]]:
        for held in self._cut(rows):
            yield held.X, held.y

    def all_labels(self, rows: int) -> Iterator[Labels]:
        rest = np.empty(0, dtype=np.int8)
        for found in self._each(work.labels_of):
            rest = np.concatenate([rest, found])
            while rest.size >= rows:
                yield rest[:rows]
                rest = rest[rows:]
        if rest.size:
            yield rest

    @property
    def is_elsewhere(self) -> bool:
        return self._engine.is_elsewhere

    def rows(self, positions: Positions) -> Records:
        """The records at these positions: brought here, or left where they are if that is elsewhere."""
        wanted = np.asarray(positions)
        return Selected(self, wanted) if self.is_elsewhere else self.brought(wanted)

    def part(self, positions: Positions) -> InMemory:
        return self.brought(positions).gathered()

    def brought(self, positions: Positions) -> Encoded:
        """The records at these positions, here."""
        share = self._share(positions)
        handles = [self._handles[place] for place in share.places]
        found = list(self._engine.each(work.rows_at, handles, own=share.taken))
        return self._layout.records(work.joined(found, share.own[0]))

    def labels_at(self, positions: Positions) -> Labels:
        """The labels at these positions."""
        share = self._share(positions)
        handles = [self._handles[place] for place in share.places]
        labels = list(self._engine.each(work.labels_at, handles, own=share.taken))
        found: Labels = np.concatenate(labels)[share.own[0]]
        return found

    def taught(
        self, teach: Callable[..., T], parts: Sequence[Positions], own: Sequence[Any] | None = None
    ) -> Iterator[T]:
        """Where the records lie: of a teacher's records each part gives its own, and what was learned comes back."""
        shares = [self._share(part, *(() if own is None else (own[place],))) for place, part in enumerate(parts)]
        found = self._engine.across(work.rows_at, work.taught, self._handles, shares, self._layout, teach)
        for _ in tracked("teachers", parts):
            yield next(found)

    def relabelled(self, labelling: Labelling) -> Parted:
        handles = self._engine.hold(work.relabelled, self._handles, self._layout, labelling)
        return Parted(self._engine, handles, np.diff(self._ends, prepend=0).tolist(), self._layout)

    def kept(self) -> Parted:
        return self  # what the engine keeps is nobody else's

    def gathered(self) -> InMemory:
        X, start = np.empty((self.size, self.width)), 0
        y = np.empty(self.size, dtype=np.int8)
        for block, labels in self.blocks(self.point_rows):
            X[start : start + labels.size], y[start : start + labels.size] = block, labels
            start += labels.size
        return InMemory.of_checked(X, y, self.labels)

    def label_counts(self, positions: Positions | None = None) -> IntArray:
        (counts,) = self._summed(positions, work.label_counts, self._layout)
        return counts.astype(np.int64)

    def error_counts(self, labellings: Sequence[Labelling], positions: Positions | None = None) -> IntArray:
        (wrong,) = self._summed(positions, work.error_counts, self._layout, tuple(labellings))
        return wrong.astype(np.int64)

    def leaf_counts(self, root: Node, positions: Positions | None = None) -> IntArray:
        (counts,) = self._summed(positions, work.leaf_counts, self._layout, root)
        return counts.astype(np.int64)

    def conjunctions(
        self, predicates: Sequence[Predicate], depth: int, positions: Positions | None = None
    ) -> ConjunctionCounts:
        asked = tuple(predicates)
        (table,) = self._summed(positions, work.conjunctions, self._layout, asked, depth)
        return ConjunctionCounts(len(asked), depth, table.astype(np.int32, copy=False))

    def gradient_sums(self, features: FeatureMap, bound: int) -> GradientSums:
        return PartedGradientSums(self._engine, self._handles, self._layout, features, bound, self.size)

    def check_room(self, maps: Sequence[FeatureMap]) -> None:
        kept = max(map(GradientSums.record_bytes, maps), default=0)
        self._engine.check_room(self.size * (self._layout.bytes_read_again + kept))

    def coinciding(self, shown: Points) -> int:
        found = np.zeros(shown.shape[0], dtype=np.bool_)
        for there in self._each(work.found_in, self._layout, shown):
            found |= there
        return int(found.sum())

    def _summed(self, positions: Positions | None, function: Callable[..., Integers], *shared: Any) -> Integers:
        """A sum over all records, or over those at `positions`."""
        if positions is None:
            return self._engine.summed(function, self._handles, *shared)
        share = self._share(positions)
        handles = [self._handles[place] for place in share.places]
        return self._engine.summed(work.of_rows, handles, function, *shared, own=share.taken)

    def _share(self, positions: Positions, *own: Any) -> Share:
        """Which parts have the records at these positions, at which of their own, and how they come back into order."""
        wanted = np.asarray(positions, dtype=np.intp)
        if not wanted.size:  # somebody has to say what none of its records look like
            return Share([0], [wanted], (wanted, *own))
        wanted = np.where(wanted < 0, wanted + self.size, wanted)
        owners = np.searchsorted(self._ends, wanted, side="right")
        order = np.argsort(owners, kind="stable")
        asked, counts = np.unique(owners, return_counts=True)
        starts = np.concatenate([[0], self._ends])[asked]
        inside = np.split(wanted[order] - np.repeat(starts, counts), np.cumsum(counts)[:-1])
        return Share(asked.tolist(), inside, (np.argsort(order, kind="stable"), *own))

    def _each(self, function: Callable[..., T], *shared: Any) -> Iterator[T]:
        return self._engine.each(function, self._handles, *shared)

    def _cut(self, rows: int) -> Iterator[InMemory]:
        """`rows` records at a time, across the ends of parts."""
        waiting: list[InMemory] = []
        missing = rows
        for part in self._each(work.whole):
            records, start = self._layout.records(part), 0
            while start < records.size:
                stop = min(start + missing, records.size)
                waiting.append(records.rows(np.arange(start, stop)).gathered())
                missing -= stop - start
                start = stop
                if not missing:
                    yield self._joined(waiting)
                    waiting, missing = [], rows
        if waiting:
            yield self._joined(waiting)

    def _joined(self, pieces: Sequence[InMemory]) -> InMemory:
        if len(pieces) == 1:
            return pieces[0]
        X, y = (np.concatenate(each) for each in zip(*((piece.X, piece.y) for piece in pieces), strict=True))
        return InMemory.of_checked(X, y, self.labels)


class RawParted(RawTable):
    """The columns of records in parts, by their kinds. **Private.**

    Parameters
    ----------
    records : Parted
        Records that were read by these kinds, with the texts kept.
    table : RawTable
        The same table. Its columns, and what is assumed public of them, are used.
    """

    def __init__(self, records: Parted, table: RawTable) -> None:
        self._records, self.size = records, records.size
        self.columns, self.assumptions = table.columns, table.assumptions

    def numbers(self, names: Sequence[str]) -> Iterator[Mapping[str, Floats]]:
        return self._records.numbers(names)

    def texts(self, names: Sequence[str]) -> Iterator[Mapping[str, Texts]]:
        return self._records.texts(names)

    def check(self) -> None:
        """Do nothing: every cell was read when the records were made."""


# ---------------------------------------------------------------------------------------------------------------------
# A private table in Parquet files, for `fit`.


@dataclass(frozen=True)
class ParquetTable:
    """A private table that need not fit into memory: `fit(ParquetTable(…))`, without `y`.

    It is read part by part, each cell once, and kept in compact form by an engine; the release is the same, to the
    last bit, as that of the same table in memory (docs/scaling.md).

    Parameters
    ----------
    path : str or Path
        A `.parquet` file, or a folder: all such files in it and in the folders within it, in the order of their paths.
        Needs the extra `data`.
    label : str
        The column of the labels. Their names are the estimator's `classes`, or 0 and 1.
    schema : Schema or None, default None
        The declared columns. None: the `schema` of `fit`, or one made of its public rows. `PrivateClassifier` needs
        neither: the types of the files tell the kinds of the columns, and it buys the rest.
    drop : sequence of str, default ()
        Columns to leave out.
    engine : Engine or None, default None
        Who keeps the parts. None: `Spool()`, scratch files on this machine. `pcqr.data.records.Cluster(…)`: workers of
        a Dask cluster.

    Raises
    ------
    ParameterError
        When there is no such file or folder.
    DataError
        When a file is no Parquet file, the files have different columns, or there is no row.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from pcqr import PrivateClassifier, Schema
    >>> from pcqr.datasets import write_table
    >>> from pcqr.data.records import ParquetTable
    >>> from pcqr.data.schema import Column
    >>> rng = np.random.default_rng(0)
    >>> ages = rng.integers(18, 90, 2_000)
    >>> classifier = PrivateClassifier(epsilon=1.0, method="tree", entropy=0)  # seeded: NOT PRIVATE
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for part in range(2):
    ...         rows = ages[part::2]
    ...         write_table(f"{folder}/{part}.parquet", {"age": rows, "ill": (rows > 60).astype(int)})
    ...     table = ParquetTable(folder, label="ill", schema=Schema((Column("age", bounds=(18, 90)),)))
    ...     classifier = classifier.fit(table)
    >>> classifier.predict({"age": [20, 85]})
    array([0, 1])
    """

    path: str | Path
    label: str
    schema: Schema | None = None
    drop: Sequence[str] = ()
    engine: Engine | None = field(default=None, repr=False)

    @cached_property
    def parts(self) -> ParquetParts:
        """What the footers of the files say."""
        return ParquetParts.of(self.path)

    def read(self, schema: Schema, names: Sequence[Any] | None, texts: Sequence[str] = ()) -> Parted:
        """Return the records, with labels of these names (None: 0 and 1). Checks every cell.

        Keeps the texts of the columns `texts`, too (`Parted.read_by`).
        """
        label = LabelColumn(self.label, None if names is None else tuple(names))
        engine = Spool() if self.engine is None else self.engine
        reading = Reading(str(self.path), schema.columns, label, tuple(texts))
        return Parted.read(engine, self.parts, reading, self.drop)
