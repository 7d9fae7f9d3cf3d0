"""The feature map of the head: a dense vector and the cells of ferns, each with its share of the squared norm.

φ(x) = (√a·v(x)/‖v(x)‖, √((1−a)/L)·one-hot cells of L ferns),   a = share/256,   ‖φ‖ ≤ 1
"""

from __future__ import annotations

from dataclasses import dataclass

from pcqr.checks import check_integer, keep_plain
from pcqr.documents import Document
from pcqr.errors import ParameterError
from pcqr.records.ferns import Ferns
from pcqr.records.vectors import ColumnVectors, PredicateVectors

WHOLE_SHARE = 256


@dataclass(frozen=True)
class HeadFeatures(Document):
    """`share`/256 of the squared norm are the `dense` vector's, the rest is the `ferns`'. Public.

    A share of 256 has no ferns, a share of 0 no dense vector.
    """

    dense: PredicateVectors | ColumnVectors | None
    ferns: Ferns | None
    share: int

    def __post_init__(self) -> None:
        check_integer("share", self.share, least=0, most=WHOLE_SHARE)
        keep_plain(self, integers=("share",))
        if (self.dense is None) != (self.share == 0) or (self.ferns is None) != (self.share == WHOLE_SHARE):
            raise ParameterError(
                "share", "0 without a dense vector, 256 without ferns, between them with both", self.share
            )
        if self.dense is not None and self.ferns is not None and self.dense.features != self.ferns.features:
            raise ParameterError(
                "ferns", f"on the {self.dense.features} columns of the dense vector", self.ferns.features
            )

    @property
    def features(self) -> int:
        """The number of columns of the points."""
        return next(part.features for part in (self.dense, self.ferns) if part is not None)

    @property
    def size(self) -> int:
        """p, the length of the dense vector."""
        return 0 if self.dense is None else self.dense.size

    @property
    def count(self) -> int:
        """L, the number of ferns."""
        return 0 if self.ferns is None else self.ferns.count

    @property
    def depth(self) -> int:
        """d: a fern has 2^d cells."""
        return 0 if self.ferns is None else self.ferns.depth

    @property
    def coordinates(self) -> int:
        """p + L·2^d: so many numbers are in a sum, for each block of weights."""
        return self.size + (self.count << self.depth)
