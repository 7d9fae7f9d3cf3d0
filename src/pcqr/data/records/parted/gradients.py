"""A linear classifier's sums over parts. The vectors of a part's records lie where the part lies (proofs/parted.md)."""

from __future__ import annotations

from collections.abc import Sequence

from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.gradient_kernels import Integers, Weights
from pcqr.data.records.gradient_sums import GradientSums, check_sums
from pcqr.data.records.parted.engine import Arrays, Engine, Handle, Layout


class PartedGradientSums(GradientSums):
    """`GradientSums` over all parts. Refers to secrets."""

    def __init__(
        self,
        engine: Engine,
        handles: Sequence[Handle],
        layout: Layout,
        features: FeatureMap,
        bound: int,
        records: int,
    ) -> None:
        check_sums(bound, records)
        self._engine, self._features, self._bound, self._classes = engine, features, bound, layout.labels
        self._handles = engine.hold(gradient_state, handles, layout, features, bound)

    def total(self, dense: Weights, cells: Weights) -> tuple[Integers, Integers]:
        self._check(dense, cells)
        shared = self._features, self._bound, self._classes, dense, cells
        sums, by_cell = self._engine.summed(linear_total, self._handles, *shared)
        return sums, by_cell


def gradient_state(part: Arrays, layout: Layout, features: FeatureMap, bound: int) -> Arrays:
    """What `GradientSums` keeps of the records of a part."""
    return layout.records(part).gradient_sums(features, bound).arrays()


def linear_total(
    state: Arrays, features: FeatureMap, bound: int, classes: int, dense: Weights, cells: Weights
) -> tuple[Integers, Integers]:
    """The sum of the vectors of a part's records at these weights."""
    return GradientSums.restored(state, features, bound, classes).total(dense, cells)
