"""Records whose counts and sums are made on a GPU: the same integers as on the CPU (proofs/gpu.md)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records.arrays import Labels, Points
from pcqr.data.records.counting import Block, ConjunctionCounts, block_rows
from pcqr.data.records.feature_map import FeatureMap, Ferns
from pcqr.data.records.gradient_sums import (
    GRID,
    GradientSums,
    Integers,
    Weights,
    cell_length,
    check_sums,
    gradient_table,
    weight_table,
)
from pcqr.data.records.in_memory import InMemory
from pcqr.data.records.predicates import Predicate
from pcqr.data.records.source import Labelling, Positions, Records
from pcqr.data.records.vectors import LARGEST_COORDINATE, LARGEST_ENTRY, UNIT, ColumnVectors, PredicateVectors
from pcqr.errors import DataError, ParameterError


class OnDevice(Records):
    """`records`, with conjunctions counted and the linear classifier's vectors summed up on a device, by torch.

    All other questions are `records`' own.

    Parameters
    ----------
    records : Records
        Where the records are.
    device : str
        The device, by the name that torch has for it.

    Raises
    ------
    ParameterError
        When a record has parts, as a person has: sums on a device give every row the same weight.
    """

    def __init__(self, records: Records, device: str) -> None:
        if records.whole != 1:
            raise ParameterError("records", "records that count one each", "persons, whose rows have weights")
        self._records, self._device = records, device
        self.size, self.width, self.labels = records.size, records.width, records.labels

    def blocks(self, rows: int) -> Iterator[tuple[Points, Labels]]:
        return self._records.blocks(rows)

    def rows(self, positions: Positions) -> OnDevice:
        return OnDevice(self._records.rows(positions), self._device)

    def relabelled(self, labelling: Labelling) -> OnDevice:
        return OnDevice(self._records.relabelled(labelling), self._device)

    def kept(self) -> OnDevice:
        return OnDevice(self._records.kept(), self._device)

    def gathered(self) -> InMemory:
        return self._records.gathered()

    def answers(self, predicates: Sequence[Predicate], rows: int) -> Iterator[Block]:
        return self._records.answers(predicates, rows)

    def conjunctions(self, predicates: Sequence[Predicate], depth: int) -> ConjunctionCounts:
        from pcqr.gpu.counts import count_conjunctions  # noqa: PLC0415 (torch takes seconds to import)

        blocks = self.answers(predicates, block_rows(len(predicates)))
        table = count_conjunctions(blocks, len(predicates), self.labels, depth, self._device)
        return ConjunctionCounts(len(predicates), depth, table, self._device)

    def gradient_sums(self, features: FeatureMap, bound: int) -> GradientSums:
        return DeviceGradientSums(features, self.blocks(self.point_rows), self.size, bound, self.labels, self._device)


class DeviceGradientSums(GradientSums):
    """`GradientSums` on a device. Holds only secrets."""

    def __init__(
        self,
        features: FeatureMap,
        blocks: Iterable[tuple[Points, Labels]],
        records: int,
        bound: int,
        classes: int,
        device: str,
    ) -> None:
        import torch  # noqa: PLC0415

        from pcqr.gpu.linear import GradientSums as Sums  # noqa: PLC0415

        check_sums(bound, records)
        self._features, self._classes = features, classes
        vectors = torch.empty((records, features.size), dtype=torch.int16, device=device)
        cells = torch.empty((features.count, records), dtype=torch.int16, device=device)
        labels = np.empty(records, dtype=np.int8)
        start = 0
        for X, y in blocks:
            rows = slice(start, start + y.size)
            labels[rows], seen = y, features.seen(X)
            if features.dense is not None:
                vectors[rows] = _vectors(features.dense, seen, device)
            if features.ferns is not None:
                cells[:, rows] = _cells(features.ferns, seen, device)
            start += y.size
        if start != records:
            raise DataError("X", f"{records:,} rows", f"{start:,} rows")
        self._sums = Sums(
            vectors,
            cells,
            labels,
            share=features.share,
            bound=bound,
            cell_length=cell_length(features.count, features.share, bound),
            classes=classes,
            depth=features.depth,
            table=gradient_table() if self.blocks == 1 else weight_table(),
        )

    def total(self, dense: Weights, cells: Weights) -> tuple[Integers, Integers]:
        import torch  # noqa: PLC0415

        self._check(dense, cells)
        weights = np.concatenate([dense, cells.reshape(self.blocks, -1)], axis=1)
        found = self._sums.total(torch.as_tensor(weights, device=self._sums.device)).cpu().numpy()
        size = self._features.size
        return np.ascontiguousarray(found[:, :size]), np.ascontiguousarray(found[:, size:]).reshape(cells.shape)

    def descent(self, start: NDArray[np.float64], rate: float, momentum: float, largest: float) -> Any:
        """`pcqr.gpu.linear.Descent` on these sums, from the weights `start`: they stay on the device."""
        from pcqr.gpu.linear import Descent  # noqa: PLC0415

        return Descent(self._sums, start, rate, momentum, GRID, largest)


def _vectors(dense: PredicateVectors | ColumnVectors, X: Points, device: str) -> Any:
    """`dense.vectors(X)`: those of predicates, of which there are many, made on the device."""
    import torch  # noqa: PLC0415

    from pcqr.gpu.linear import predicate_vectors  # noqa: PLC0415

    if isinstance(dense, ColumnVectors):
        return torch.as_tensor(dense.vectors(X), device=device)
    directions = dense.directions
    return predicate_vectors(
        X,
        *_asked(dense.predicates),
        (np.array(dense.holding), np.array(dense.failing)),
        UNIT,
        None if directions is None else (np.array(directions.matrix), directions.shift),
        LARGEST_ENTRY if directions is None else LARGEST_COORDINATE,
        device,
    )


def _cells(ferns: Ferns, X: Points, device: str) -> Any:
    """`ferns.cells(X)`."""
    from pcqr.gpu.linear import fern_cells  # noqa: PLC0415

    return fern_cells(X, *_asked(ferns.predicates), ferns.depth, device)


def _asked(predicates: Sequence[Predicate]) -> tuple[Integers, NDArray[np.float64]]:
    """The columns and the cuts."""
    columns = np.array([predicate.feature for predicate in predicates])
    return columns, np.array([predicate.cut for predicate in predicates])
