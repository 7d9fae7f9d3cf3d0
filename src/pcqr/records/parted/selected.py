"""Some of the records of a parted source, which stay where they are."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pcqr.records.arrays import Labels, Points
from pcqr.records.branching import Node
from pcqr.records.counting import ConjunctionCounts, IntArray
from pcqr.records.in_memory import InMemory
from pcqr.records.predicates import Predicate
from pcqr.records.source import Labelling, Positions, Records

if TYPE_CHECKING:
    from pcqr.records.parted.source import Parted

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

    def mistakes(self, labellings: Sequence[Labelling]) -> IntArray:
        return self._records.mistakes(labellings, self._positions)

    def leaf_counts(self, root: Node) -> IntArray:
        return self._records.leaf_counts(root, self._positions)

    def conjunctions(self, predicates: Sequence[Predicate], depth: int) -> ConjunctionCounts:
        return self._records.conjunctions(predicates, depth, self._positions)

    def _cut(self, rows: int) -> Iterator[Positions]:
        for start in range(0, self.size, rows):
            yield self._positions[start : start + rows]
