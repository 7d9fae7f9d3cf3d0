"""What a committee is: k teachers held as a few arrays, whose votes are counted all at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.records.arrays import Labels, Points

Arrays = dict[str, NDArray[Any]]
IntArray = NDArray[np.int64]


class Committee(ABC):
    """k teachers, each with one vote on every point. Everything about it is private: votes, arrays, the lot.

    Attributes
    ----------
    size : int
        k.
    labels : int
        C: a vote is for one of 0, …, C−1.
    """

    kind: ClassVar[str]
    """What `from_arrays` tells committees apart by; each subclass has its own."""

    size: int
    labels: int = 2

    @abstractmethod
    def counts(self, X: Points) -> IntArray:
        """For each row of `X`, which are checked points, the votes for each label, in columns: k in every row."""

    @abstractmethod
    def arrays(self) -> Arrays:
        """All that there is to know of the committee, without pickled objects. **Private.**"""

    @classmethod
    @abstractmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Self:
        """The committee that gave `arrays`; a `DataError` that quotes none of them where no committee did."""

    @staticmethod
    def checked(arrays: Mapping[str, NDArray[Any]], **wanted: tuple[str, int]) -> None:
        """Refuse arrays without the `wanted` names, kinds of numbers (numpy's letters) and dimensions."""
        for name, (letters, dimensions) in wanted.items():
            found = arrays.get(name)
            if not isinstance(found, np.ndarray) or found.dtype.kind not in letters or found.ndim != dimensions:
                raise DataError("arrays", f"those of a committee, with {name!r} among them", "others")


class TeachesInBulk(ABC):
    """A hypothesis class that trains many teachers in one pass. Each must be the one that `learn` gives, bit for bit.

    A subclass that learns in a way of its own is asked teacher by teacher (`pcqr.hypotheses.committees.training`).
    """

    @abstractmethod
    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        """`learn` on the rows [0, ends[0]), [ends[0], ends[1]), …: in every array one row a part.

        The records are checked and no part is empty. What a row says is a function of the rows of its part alone.
        """

    @abstractmethod
    def committee(self, teachers: Arrays, features: int) -> Committee:
        """The committee of all teachers, from the arrays of `learn_parts` with their rows joined."""
