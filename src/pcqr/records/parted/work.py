"""What is done to one part, where it lies: functions of its arrays and of what is public, which draw nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
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
from pcqr.schema.raw import Floats, Texts
from pcqr.schema.table import CompactTable

T = TypeVar("T")
LABELS, _COLUMN = "labels", "column "
_ROWS, _TEXTS, _ENDS, _KINDS = "rows of", "texts of", "ends of", "kinds of"
"""Arrays of a column of texts: which text each row has, all texts in UTF-8, where each ends, and which are texts."""
_TEXT, _GAP, _NONE = 0, 1, 2
_PLACE = np.dtype(np.int32)
"""A part has fewer rows than this."""


@dataclass(frozen=True)
class Layout:
    """What is public about every part: the declared columns, and the number of labels.

    A part has the texts of the columns `texts`, too, so that another schema can read them.
    """

    columns: tuple[Column, ...]
    labels: int
    texts: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """p, once the columns are encoded."""
        return sum(column.width for column in self.columns)

    @property
    def record_bytes(self) -> int:
        """Bytes of a record in the arrays of its part. Texts come on top: each is there once in a part."""
        return 1 + sum(column.compact([]).itemsize for column in self.columns) + _PLACE.itemsize * len(self.texts)

    @property
    def bytes_read_again(self) -> int:
        """Bytes of a record that come on top where another schema reads the texts."""
        return replace(self, texts=()).record_bytes if self.texts else 0

    def arrays(
        self, table: CompactTable, labels: Labels, texts: Mapping[str, Texts] | None = None
    ) -> dict[str, NDArray[np.generic]]:
        """A part, as an engine keeps it."""
        found = {_name(place): entries for place, entries in enumerate(table.entries)} | {LABELS: labels}
        for name, held in (texts or {}).items():
            found |= _packed(name, held)
        return found

    def records(self, part: Arrays) -> Encoded:
        """The records of a part, which were checked when it was read."""
        entries = tuple(part[_name(place)] for place in range(len(self.columns)))
        return Encoded.of_checked(CompactTable(self.columns, entries), part[LABELS], self.labels)

    def places(self, names: Collection[str]) -> list[int]:
        """Return the positions of the columns of these names."""
        return [place for place, column in enumerate(self.columns) if column.name in names]


def _name(place: int) -> str:
    return f"{_COLUMN}{place}"


def _packed(name: str, held: Texts) -> dict[str, NDArray[np.generic]]:
    """Return texts as arrays, since engines keep only arrays."""
    encoded = [b"" if text is None else text.encode() for text in held.texts]
    return {
        f"{_ROWS} {name}": held.places.astype(_PLACE),
        f"{_TEXTS} {name}": np.frombuffer(b"".join(encoded), dtype=np.uint8),
        f"{_ENDS} {name}": np.cumsum([len(each) for each in encoded], dtype=np.int64),
        f"{_KINDS} {name}": np.array(
            [_TEXT if text is not None else _GAP if is_gap else _NONE for text, is_gap in zip(*held[::2], strict=True)],
            dtype=np.uint8,
        ),
    }


def _unpacked(part: Arrays, name: str) -> Texts:
    content, ends, kinds = (
        part[f"{_TEXTS} {name}"].tobytes(),
        part[f"{_ENDS} {name}"].tolist(),
        part[f"{_KINDS} {name}"],
    )
    spans = zip([0, *ends], ends, kinds.tolist(), strict=False)
    texts = [content[start:end].decode() if kind == _TEXT else None for start, end, kind in spans]
    return Texts(texts, part[f"{_ROWS} {name}"], (kinds == _GAP).tolist())


def whole(part: Arrays) -> Arrays:
    """All of it."""
    return part


def labels_of(part: Arrays) -> Labels:
    """The labels."""
    found: Labels = part[LABELS]
    return found


def rows_at(part: Arrays, positions: Positions) -> Arrays:
    """Return the records at these positions within the part, without their texts."""
    return {name: part[name][positions] for name in part if name == LABELS or name.startswith(_COLUMN)}


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


def numbers(part: Arrays, layout: Layout, names: Collection[str]) -> dict[str, Floats]:
    """Return the cells of columns of numbers or dates, by name, with NaN for a gap."""
    return {layout.columns[place].name: part[_name(place)] for place in layout.places(names)}


def texts(part: Arrays, names: Collection[str]) -> dict[str, Texts]:
    """Return the kept texts of columns, by name."""
    return {name: _unpacked(part, name) for name in names}


def read_by(part: Arrays, layout: Layout, columns: Sequence[Column]) -> Arrays:
    """Return the part as read by columns that differ only in the categories of texts. Leaves out the texts."""
    found = {LABELS: part[LABELS]}
    for place, column in enumerate(columns):
        is_text = column.name in layout.texts
        found[_name(place)] = _unpacked(part, column.name).read_by(column) if is_text else part[_name(place)]
    return found


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
