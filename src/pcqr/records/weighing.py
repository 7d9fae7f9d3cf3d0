"""Records that carry integer weights: how much weight of each class satisfies a conjunction of predicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.records.arrays import Labels, Points
from pcqr.records.counting import ConjunctionCounts, IntArray, RankedSets, Words, count_size, pack
from pcqr.records.predicates import Predicate, evaluate

GRID = 31
"""G, which stands for the weight 1: all bits of a weight are in use, and counting takes a pass for each of them."""

MOST_RECORDS = (2**31 - 1) // (2 * GRID)
"""Costs are 32-bit integers."""

Weights = NDArray[np.uint8]

_BITS = GRID.bit_length()
_BLOCK = 1 << 16
"""Records packed together: the bits of a hundred predicates on a block stay in cache."""


@dataclass(frozen=True, eq=False)
class _Block:
    rows: slice
    y: Labels
    words: Words
    bounds: IntArray


class WeightedRecords:
    """Records packed into bits once, to be weighed again and again. **Private.**"""

    def __init__(self, X: Points, y: Labels, predicates: Sequence[Predicate]) -> None:
        if X.shape[0] > MOST_RECORDS:
            raise DataError("X", f"at most {MOST_RECORDS:,} rows", f"{X.shape[0]:,} rows")
        self._blocks = []
        for start in range(0, X.shape[0], _BLOCK):
            rows = slice(start, start + _BLOCK)
            self._blocks.append(_Block(rows, y[rows], *pack(evaluate(predicates, X[rows]), y[rows], 2)))

    def weigh(self, weights: Weights, offered: IntArray, depth: int) -> ConjunctionCounts:
        """The weight of each class in every conjunction of at most `depth` of the `offered` predicates.

        Bit by bit: a bit of the weights masks the records, whose conjunctions are then counted as they always are.
        """
        sets = RankedSets(offered.size, depth)
        larger = [sets.of_size(size) for size in range(depth)]
        total = np.zeros((sets.start[-1], 2), dtype=np.int32)
        for block in self._blocks:
            own = weights[block.rows]
            masks, bounds = pack((own[:, None] >> np.arange(_BITS, dtype=np.uint8) & 1).astype(np.bool_), block.y, 2)
            total[0] += np.bincount(block.y, weights=own, minlength=2).astype(np.int32)
            words = block.words[offered]
            for bit, mask in enumerate(masks):
                masked, table = words & mask, np.zeros_like(total)
                for size in range(1, depth + 1):
                    rows = slice(sets.start[size], sets.start[size + 1])
                    count_size(masked, bounds, larger[size - 1], sets.steps, table[rows])
                total += table << bit
        return ConjunctionCounts(offered.size, depth, total)

    def __repr__(self) -> str:
        return "WeightedRecords(…)"
