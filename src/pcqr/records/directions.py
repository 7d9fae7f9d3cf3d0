"""Public directions: an integer matrix through which the vectors of records are seen (proofs/linear.md).

Public rows say which combinations of coordinates vary much and which little. Under noise a linear classifier learns
more if the former weigh less (partial whitening) and what hardly varies is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_integer, keep_plain
from pcqr.documents import Document
from pcqr.documents.packing import packed, unpacked
from pcqr.errors import ParameterError
from pcqr.records.eigenvectors import eigenvectors

MOST_COORDINATES = 1 << 16
"""p, the length of a vector, and the number of rows of a matrix of directions: what 64 bits and float64 hold."""
LARGEST_COORDINATE = (1 << 15) - 1
"""No coordinate of a vector is larger: it is a 16-bit integer whose negative is one too."""
USUAL_NORM = 1 << 14
"""The root mean square of ‖v‖ over the public rows is at most this, and more than half of it.

Coordinates then have ten bits or so, and the integer Λ by which a vector is stretched to the bound M = 2²⁴ as well.
"""
_LARGEST_DIRECTION = 1 << 13
_LEAST_SINGULAR_VALUE = 1e-3
_MOST_PUBLIC, _NORMAL_GRID, _BASIS_GRID = 1 << 20, 1 << 16, 1 << 20
"""Products of 2²⁰ public rows with entries of 2¹⁶ are below 2⁵³, and so are those of 2¹⁶ rows with entries of 2²⁰."""
_MOST_SHIFT = 63

Vectors = NDArray[np.int16]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Directions(Document):
    """u ↦ ⌊u·D/2^`shift`⌋, cut to ±`LARGEST_COORDINATE`. D has `rows` × `columns` integers of 16 bits, `packed`."""

    rows: int
    columns: int
    shift: int
    packed: str

    def __post_init__(self) -> None:
        for name in ("rows", "columns"):
            check_integer(name, getattr(self, name), least=1, most=MOST_COORDINATES)
        check_integer("shift", self.shift, least=0, most=_MOST_SHIFT)
        keep_plain(self, integers=("rows", "columns", "shift"))
        if int(np.abs(self.matrix.astype(np.int32)).max()) > LARGEST_COORDINATE:
            raise ParameterError("packed", f"integers of at most {LARGEST_COORDINATE}", "a larger one")

    @classmethod
    def of(cls, matrix: NDArray[np.int16], shift: int) -> Directions:
        """The matrix itself, packed."""
        rows, columns = matrix.shape
        return cls(rows, columns, shift, packed(matrix.astype(np.int16)))

    @classmethod
    def whitening(cls, public: Floats, power: float, most: int | None = None) -> Directions:
        """The principal directions of the `public` integer vectors, one a row, each taken as long as any other.

        Each is divided by its singular value to the `power`: 0 leaves lengths as they are, 1 would make all directions
        equally long. Those that hardly vary are left out, and the last ones if there are more than `most`.
        """
        rows = public[:_MOST_PUBLIC]
        norms = np.maximum(np.sqrt((rows * rows).sum(axis=1, keepdims=True)), 1.0)
        # Whole numbers, so that the library's products are exact, and the directions a function of the public rows.
        normal = np.rint(rows / norms * _NORMAL_GRID)
        is_wide = normal.shape[1] > normal.shape[0]
        squares, basis = eigenvectors(normal @ normal.T if is_wide else normal.T @ normal)  # the smaller of the two
        values = np.sqrt(np.maximum(squares, 0.0))
        if values[0] == 0.0:
            raise ParameterError("public", "vectors that are not all zero", "zeros alone")
        count = min(int((values >= _LEAST_SINGULAR_VALUE * values[0]).sum()), values.size if most is None else most)
        values, basis = values[:count], basis[:, :count]
        found = (normal.T @ np.rint(basis * _BASIS_GRID) / values if is_wide else basis) * values**-power
        found *= np.sign(found[np.abs(found).argmax(axis=0), np.arange(count)])
        matrix = np.rint(found * (_LARGEST_DIRECTION / np.abs(found).max()))
        seen = public @ matrix
        squared_norm = float((seen * seen).sum(axis=1).mean())
        shift = next(shift for shift in range(_MOST_SHIFT) if squared_norm <= float(USUAL_NORM << shift) ** 2)
        return cls.of(matrix.astype(np.int16), shift)

    def __eq__(self, other: object) -> bool:
        """The same numbers: their text may differ, by the library that packed them."""
        return isinstance(other, Directions) and self._numbers == other._numbers

    def __hash__(self) -> int:
        return hash(self._numbers)

    @property
    def _numbers(self) -> tuple[int, int, bytes]:
        return self.columns, self.shift, self.matrix.tobytes()

    @cached_property
    def matrix(self) -> NDArray[np.int16]:
        """D. Nobody can write to it."""
        return unpacked(self.packed, np.int16, (self.rows, self.columns), "packed")

    def seen(self, vectors: Floats) -> Vectors:
        """Integer vectors of at most 2¹⁵, one a row and held as floats, as they are seen through D.

        Every sum of products is an integer below 2⁴⁶, so the product is exact and the same in any order of adding up.
        """
        return cut(np.floor(vectors @ self._factors * 2.0**-self.shift), LARGEST_COORDINATE)

    @cached_property
    def _factors(self) -> Floats:
        return self.matrix.astype(np.float64)


def cut(numbers: Floats, most: int) -> Vectors:
    """Whole numbers held as floats, cut to ±`most`."""
    return np.clip(numbers, -most, most).astype(np.int16)
