"""The column of a table that holds the labels, whose names are public: each label read by itself (proofs/table.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.schema.cells import Cells, mapped
from pcqr.schema.column import Column, Entries
from pcqr.schema.reading import read, text_of


@dataclass(frozen=True)
class LabelColumn:
    """The column `name`, with the declared `names` of the labels; None: they are 0 and 1.

    Names that were not declared are never read off the records: they would be published without being paid for.
    """

    name: str
    names: tuple[Any, ...] | None = None

    @property
    def count(self) -> int:
        """C."""
        return 2 if self.names is None else len(self.names)

    @cached_property
    def column(self) -> Column:
        """The column as cells are read by it."""
        return Column(self.name) if self.names is None else Column(self.name, "categorical", self.names)

    def places(self, read: Callable[[Column], Entries]) -> NDArray[np.int8] | None:
        """0, 1, … for each cell, which `read` makes entries of; None where a cell is no label."""
        try:
            entries = read(self.column)
        except DataError:
            return None
        is_label = np.isin(entries, (0.0, 1.0)) if self.names is None else entries < len(self.names)
        return entries.astype(np.int8) if is_label.all() else None


def places_among(names: Iterable[Any], labels: Cells) -> NDArray[np.int64]:
    """Return the place of each of the `labels` among `names`, −1 for none of them. No error quotes a label."""
    place = {text_of(read(name)): place for place, name in enumerate(names)}
    try:
        return np.array(mapped(labels, lambda reading: place.get(text_of(reading), -1)), dtype=np.int64)
    except TypeError:
        raise DataError("y", "numbers, truth values or texts", "labels of another type") from None
