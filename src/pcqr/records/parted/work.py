"""What is done to one part, where it lies: functions of its arrays and of what is public, which draw nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.records.arrays import Labels, Points
from pcqr.records.branching import Node
from pcqr.records.counting import Int32Array, IntArray
from pcqr.records.encoded import Encoded
from pcqr.records.parted.engine import Arrays
from pcqr.records.predicates import Predicate
from pcqr.records.source import Labelling, Positions
from pcqr.schema import Column
from pcqr.schema.overlap import rows_in
from pcqr.schema.table import CompactTable

T = TypeVar("T")
LABELS = "labels"


@dataclass(frozen=True)
class Layout:
    """What is public of every part: the declared columns, and how many labels there are."""

    columns: tuple[Column, ...]
    labels: int

    @property
    def width(self) -> int:
        """p, once the columns are encoded."""
        return sum(column.width for column in self.columns)

    @property
    def record_bytes(self) -> int:
        """What a record takes in the arrays of its part."""
        return 1 + sum(column.compact([]).itemsize for column in self.columns)

    def arrays(self, table: CompactTable, labels: Labels) -> dict[str, NDArray[np.generic]]:
        """A part, as an engine keeps it."""
        return {_name(place): entries for place, entries in enumerate(table.entries)} | {LABELS: labels}

    def records(self, part: Arrays) -> Encoded:
        """The records of a part, which were checked when it was read."""
        entries = tuple(part[_name(place)] for place in range(len(self.columns)))
        return Encoded.of_checked(CompactTable(self.columns, entries), part[LABELS], self.labels)


def _name(place: int) -> str:
    return f"column {place}"


def whole(part: Arrays) -> Arrays:
    """All of it."""
    return part


def labels_of(part: Arrays) -> Labels:
    """The labels."""
    found: Labels = part[LABELS]
    return found


def rows_at(part: Arrays, positions: Positions) -> Arrays:
    """The records at these positions within the part."""
    return {name: entries[positions] for name, entries in part.items()}


def labels_at(part: Arrays, positions: Positions) -> Labels:
    """The labels at these positions within the part."""
    found: Labels = part[LABELS][positions]
    return found


def of_rows(part: Arrays, positions: Positions, function: Callable[..., T], *shared: Any) -> T:
    """`function` of the records at these positions, instead of the whole part."""
    return function(rows_at(part, positions), *shared)


def joined(pieces: Sequence[Arrays], back: Positions) -> dict[str, NDArray[Any]]:
    """The records of several pieces, in the order of `back`."""
    return {name: np.concatenate([piece[name] for piece in pieces])[back] for name in pieces[0]}


def taught(pieces: Sequence[Arrays], own: tuple[Any, ...], layout: Layout, teach: Callable[..., T]) -> T:
    """What `teach` makes of the records of several pieces; `own` are their order and its other arguments."""
    back, *others = own
    return teach(layout.records(joined(pieces, back)).gathered(), *others)


def relabelled(part: Arrays, layout: Layout, labelling: Labelling) -> Arrays:
    """The part with other labels."""
    return {**part, LABELS: labels_of(layout.records(part).relabelled(labelling).arrays())}


def label_counts(part: Arrays, layout: Layout) -> tuple[IntArray]:
    """How many records have each label."""
    return (np.bincount(part[LABELS], minlength=layout.labels).astype(np.int64),)


def mistakes(part: Arrays, layout: Layout, labellings: Sequence[Labelling]) -> tuple[IntArray]:
    """How many records each of `labellings` gets wrong."""
    return (layout.records(part).mistakes(labellings),)


def leaf_counts(part: Arrays, layout: Layout, root: Node) -> tuple[IntArray]:
    """How many records of each label come to each leaf below `root`."""
    return (layout.records(part).leaf_counts(root),)


def conjunctions(part: Arrays, layout: Layout, predicates: Sequence[Predicate], depth: int) -> tuple[Int32Array]:
    """How many records of each label satisfy each set of at most `depth` of the predicates."""
    return (layout.records(part).conjunctions(predicates, depth).table,)


def found_in(part: Arrays, layout: Layout, shown: Points) -> NDArray[np.bool_]:
    """Which rows of `shown` are records of the part."""
    records = layout.records(part)
    found = np.zeros(shown.shape[0], dtype=np.bool_)
    for X, _ in records.blocks(records.point_rows):
        found[~found] = rows_in(shown[~found], X)
    return found
