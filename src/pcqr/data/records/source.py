"""A source of records: n private labelled records behind a few questions, wherever they lie.

Algorithms take a source instead of arrays. What they ask are sums over records and rows by position, so that a back end
needs no table in one piece. All answers are private. What a source promises, and who rests on it: proofs/records.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records.arrays import Labels, Points
from pcqr.data.records.counting import Block as Answers
from pcqr.data.records.counting import ConjunctionCounts, IntArray, block_rows, count_conjunctions
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.gradient_sums import GradientSums
from pcqr.data.records.predicates import Node, Predicate, counted_at_leaves, evaluate, leaves_of
from pcqr.data.schema.labels import rows_in
from pcqr.progress import tracked

if TYPE_CHECKING:
    from pcqr.data.records.in_memory import InMemory


Positions = NDArray[np.signedinteger[Any]]
T = TypeVar("T")

_MOST_ROWS = 1 << 16
_CELLS = 1 << 22
"""Numbers in a block of points: 32 megabytes of them."""


class Labelling(Protocol):
    """A function from a point to its label: row by row, each by itself."""

    def predict(self, X: Points, /) -> Labels: ...


class Records(ABC):
    """n private labelled records in a fixed order, behind questions.

    A back end gives `blocks`, `rows`, `relabelled`, `kept` and `gathered`; it may answer any other question in a better
    way of its own, as long as the answer is the same. Everything that comes back is private.

    Attributes
    ----------
    size : int
        n. Public.
    width : int
        p, the number of columns of a point. Public.
    labels : int
        C: labels are 0, …, C−1. Public.

    Examples
    --------
    >>> from pcqr.hypotheses import Thresholds
    >>> from pcqr.data.records import InMemory, Records
    >>> records = InMemory([1.0, 2.0, 3.0, 4.0], [0, 0, 1, 1])
    >>> isinstance(records, Records), records.size
    (True, 4)
    >>> records.error_counts([Thresholds().learn([1.0, 2.0], [0, 1])])  # of 1[x > 1.5]
    array([1])
    """

    size: int
    """n."""
    width: int
    """p, the number of columns of a point."""
    labels: int
    """C: labels are 0, …, C−1."""
    whole: ClassVar[int] = 1
    """What one record adds to a sum at most: counts and mistakes are in so many parts of a record."""
    class_weights: tuple[int, ...] | None = None
    """What a record of each label adds at most, in `whole`ths. Public. None: all of them `whole`."""

    @abstractmethod
    def blocks(self, rows: int) -> Iterator[tuple[Points, Labels]]:
        """Points and labels, `rows` records at a time, in order; the last block may be smaller."""

    @abstractmethod
    def rows(self, positions: Positions) -> Records:
        """The records at these positions, in this order; a position that is named twice gives its record twice."""

    @abstractmethod
    def relabelled(self, labelling: Labelling) -> Records:
        """The same points with the labels that `labelling` gives them, out of the same number of labels."""

    @abstractmethod
    def kept(self) -> Records:
        """The same records, whatever the caller does to its data from now on."""

    @abstractmethod
    def gathered(self) -> InMemory:
        """All records in memory, for what cannot be asked otherwise."""

    def part(self, positions: Positions) -> InMemory:
        """All that a teacher sees of the records at these positions."""
        return self.rows(positions).gathered()

    @property
    def is_elsewhere(self) -> bool:
        """Are the records on other machines, so that teachers are better trained there?"""
        return False

    def taught(
        self, teach: Callable[..., T], parts: Sequence[Positions], own: Sequence[Any] | None = None
    ) -> Iterator[T]:
        """What `teach` makes of all that is seen of the records at each of the `parts`, in their order.

        It is called with them and, where there are `own` arguments, with the part's. It draws nothing, and has no
        effect besides its result: it may be called elsewhere, and more than once.
        """
        for place, positions in enumerate(tracked("teachers", parts)):
            yield teach(self.part(positions), *(() if own is None else (own[place],)))

    def all_labels(self, rows: int) -> Iterator[Labels]:
        """The labels that occur, `rows` at a time, to be checked one by one."""
        for _, y in self.answers((), rows):
            yield y

    def answers(self, predicates: Sequence[Predicate], rows: int) -> Iterator[Answers]:
        """Which of the predicates hold in each record, one column each, and the labels; `rows` records at a time."""
        for X, y in self.blocks(rows):
            yield evaluate(predicates, X), y

    def label_counts(self) -> IntArray:
        """How many records have each label."""
        counts = np.zeros(self.labels, dtype=np.int64)
        for _, y in self.answers((), _MOST_ROWS):
            counts += np.bincount(y, minlength=self.labels)
        return counts

    def error_counts(self, labellings: Sequence[Labelling]) -> IntArray:
        """How many records each of `labellings` gets wrong."""
        wrong = np.zeros(len(labellings), dtype=np.int64)
        for X, y in self.blocks(self.point_rows):
            wrong += [np.count_nonzero(labelling.predict(X) != y) for labelling in labellings]
        return wrong

    def leaf_counts(self, root: Node) -> IntArray:
        """How many records of each label come to each leaf below `root`: one row a leaf, as `leaves_of` has them."""
        counts = np.zeros((len(leaves_of(root)), self.labels), dtype=np.int64)
        for X, y in self.blocks(self.point_rows):
            counts += counted_at_leaves(root, X, y, self.labels)
        return counts

    def conjunctions(self, predicates: Sequence[Predicate], depth: int) -> ConjunctionCounts:
        """How many records of each label satisfy each set of at most `depth` of the predicates."""
        blocks = self.answers(predicates, block_rows(len(predicates)))
        return count_conjunctions(blocks, len(predicates), self.labels, depth)

    def gradient_sums(self, features: FeatureMap, bound: int) -> GradientSums:
        """Sums of one integer vector a record, of norm at most `bound`, for the linear classifier."""
        return GradientSums(features, self.blocks(self.point_rows), self.size, bound, self.labels)

    def coinciding(self, shown: Points) -> int:
        """How many rows of `shown` are records. For the data holder alone, before anything is drawn."""
        found = np.zeros(shown.shape[0], dtype=np.bool_)
        for X, _ in self.blocks(self.point_rows):
            found[~found] = rows_in(shown[~found], X)
        return int(found.sum())

    def check_room(self, maps: Sequence[FeatureMap]) -> None:  # noqa: B027
        """Raise if there is no room for the sums of a linear classifier on one of `maps`. Public numbers decide.

        Asked before anything is charged. What lies in memory has no answer to give.
        """

    @property
    def point_rows(self) -> int:
        """How many records to take at a time where their points are needed: a multiple of 64, the fewer the wider."""
        return min(_MOST_ROWS, max(64, _CELLS // self.width // 64 * 64))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.size} records, {self.width} columns, {self.labels} labels)"
