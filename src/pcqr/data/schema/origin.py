"""The rows that a schema was made of, as one digest of all of them, and their nearly unique columns.

Whoever makes a schema of private rows by mistake is told so when it is used on them. A digest of the whole table says
less of a row than digests of single rows would: a guess can be tested only by somebody who knows all other rows. Hence
it recognises the very rows, in any order and in any kind of file, and no others, not even most of them.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.data.schema.cells import cells, mapped, numbers
from pcqr.data.schema.labels import mixed
from pcqr.data.schema.reading import Reading, text_of
from pcqr.data.schema.table import Table, column_names
from pcqr.errors import DataError, ParameterError

_GAP = 0x7FF8_0000_0000_0000
"""A missing cell: the bits of NaN."""


@dataclass(frozen=True)
class Origin:
    """The rows that a schema was made of: how many, their columns, one digest of all, and columns nearly unique there.

    It is in schema files, and in nothing that is published.
    """

    rows: int
    columns: tuple[str, ...]
    digest: str
    near_unique: tuple[str, ...] = ()

    @classmethod
    def of(cls, table: Table, columns: Sequence[str], near_unique: Sequence[str] = ()) -> Origin:
        """Return the origin of a schema that was made of `columns` of `table`, whose cells can be read."""
        names, hashes = tuple(sorted(columns)), row_hashes(table, sorted(columns))
        return cls(hashes.size, names, _digest(names, hashes), tuple(near_unique))

    @classmethod
    def from_dict(cls, told: object) -> Origin:
        """Return the origin that `to_dict` wrote."""
        fields = {"rows": int, "columns": list, "digest": str, "near_unique": list}
        if not isinstance(told, Mapping) or not all(isinstance(told.get(name), kind) for name, kind in fields.items()):
            raise ParameterError(
                "origin of a schema", f"a table with {', '.join(fields)}, or left out", "something else"
            )
        return cls(told["rows"], tuple(map(str, told["columns"])), told["digest"], tuple(map(str, told["near_unique"])))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields for a schema file."""
        return {
            "rows": self.rows,
            "columns": list(self.columns),
            "digest": self.digest,
            "near_unique": list(self.near_unique),
        }

    def is_of(self, rows: int, pieces: Iterable[Table]) -> bool:
        """Are these the rows? `pieces` of the table are read only if it has as many `rows`."""
        if rows != self.rows:
            return False
        try:
            hashes = [row_hashes(piece, self.columns) for piece in pieces]
        except (DataError, TypeError, KeyError):  # a column is missing, or a cell cannot be read: other rows
            return False
        return self.digest == _digest(self.columns, np.concatenate(hashes))


def row_hashes(table: Table, columns: Sequence[str]) -> NDArray[np.uint64]:
    """Return one number for each row, by what its cells mean. Raise TypeError for a cell of another type."""
    present = column_names(table, "the table")
    if any(name not in present for name in columns):
        raise KeyError
    return mixed([_hashes(table[name]) for name in columns])


def _hashes(values: Any) -> NDArray[np.uint64]:
    found = cells(values)
    if isinstance(found, np.ndarray) and found.ndim == 1 and found.dtype.kind in "biuf":
        bits = (numbers(found) + 0.0).view(np.uint64)
        return np.where(np.isnan(numbers(found)), np.uint64(_GAP), bits)
    return np.array(mapped(found, _hash), dtype=np.uint64)


def _hash(reading: Reading) -> int:
    if reading is None:
        return _GAP
    if isinstance(reading, float):
        return int(struct.unpack("=Q", struct.pack("=d", reading + 0.0))[0])
    text = (text_of(reading) or "").encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "big")


def _digest(columns: Sequence[str], hashes: NDArray[np.uint64]) -> str:
    """Return one digest of all rows, whatever their order."""
    found = hashlib.sha256("\0".join(columns).encode("utf-8", "surrogatepass"))
    found.update(np.sort(hashes).astype("<u8").tobytes())
    return found.hexdigest()
