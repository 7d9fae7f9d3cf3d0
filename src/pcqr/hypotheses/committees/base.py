"""What a committee is: k teachers held as a few arrays, whose votes are counted all at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.records import Records
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
    kind : str
        What `committee_from_arrays` tells committees apart by; each subclass has its own.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.hypotheses import Stumps
    >>> from pcqr.hypotheses.committees import Committee, trained
    >>> from pcqr.records import InMemory
    >>> records = InMemory([[1.0, 7.0], [2.0, 5.0], [3.0, 6.0], [4.0, 8.0]], [0, 1, 0, 1])
    >>> committee = trained(Stumps(), records, [np.array([0, 1]), np.array([2, 3])])
    >>> isinstance(committee, Committee), committee.size, committee.labels
    (True, 2, 2)
    >>> committee.counts(np.array([[3.7, 9.0]])).tolist()  # the votes for 0 and for 1
    [[0, 2]]
    >>> sorted(committee.arrays())
    ['base', 'borders', 'columns', 'features', 'kind', 'ones', 'size', 'starts']
    """

    kind: ClassVar[str]
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


def of_width(X: Points, features: int) -> Points:
    """`X` in one piece, for kernels, which do not look where they read; refused where it has other columns."""
    if X.shape[1] != features:
        raise DataError("X", f"a table with {features} column(s), as the teachers had", f"{X.shape[1]} columns")
    return np.ascontiguousarray(X)


class TeachesWithCoins(ABC):
    """A hypothesis class whose teachers draw: each with coins of its own, which are drawn before the first is trained.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from pcqr.hypotheses import Estimators
    >>> from pcqr.hypotheses.committees import TeachesWithCoins
    >>> isinstance(Estimators(GaussianNB()), TeachesWithCoins)
    True
    """

    @abstractmethod
    def teach(self, records: Records, parts: Sequence[NDArray[np.signedinteger[Any]]], seeds: IntArray) -> Committee:
        """A teacher for each part of the records, a function of its part and of its seed alone."""


class TeachesInBulk(ABC):
    """A hypothesis class that trains many teachers in one pass. Each must be the one that `learn` gives, bit for bit.

    A subclass that has a `learn` of its own, and no `learn_parts`, is asked teacher by teacher. What a class promises
    by this is in proofs/ensemble.md.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.hypotheses.committees import TeachesInBulk
    >>> hypotheses = Thresholds()
    >>> isinstance(hypotheses, TeachesInBulk)
    True
    >>> X, y = np.array([[1.0], [2.0], [3.0], [4.0], [5.0]]), np.array([0, 1, 0, 0, 1], dtype=np.int8)
    >>> hypotheses.learn_parts(X, y, ends=np.array([2, 5]))["switches"][:, 0].tolist()  # 1[x > c] switches at c
    [1.5, 4.5]
    """

    @property
    def teaches_in_turn(self) -> bool:
        """Does each teacher take its time? Then they are trained one after the other, and progress is told of each."""
        return False

    @abstractmethod
    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        """`learn` on the rows [0, ends[0]), [ends[0], ends[1]), …: in every array one row a part.

        The records are checked and no part is empty. What a row says is a function of the rows of its part alone.
        """

    @abstractmethod
    def committee(self, teachers: Arrays, features: int) -> Committee:
        """The committee of all teachers, from the arrays of `learn_parts` with their rows joined."""
