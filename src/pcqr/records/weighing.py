"""Records that carry integer weights: how much weight of each label satisfies a conjunction of predicates.

What a record weighs follows from its *lead*: the number of released trees for its own label minus those against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import DataError
from pcqr.records.counting import Block, ConjunctionCounts, IntArray, RankedSets, Words, count_size, pack
from pcqr.records.predicates import Predicate

GRID = 31
"""G, which stands for the weight 1: all bits of a weight are in use, and counting takes a pass for each of them."""

MOST_RECORDS = (2**31 - 1) // (2 * GRID)
"""Costs are 32-bit integers."""

Weights = NDArray[np.uint8]

_BITS = GRID.bit_length()
_BLOCK = 1 << 16
"""Records packed together: the bits of a hundred predicates on a block stay in cache."""


Path = tuple[Sequence[tuple[Predicate, bool]], int]
"""A leaf of a tree: the predicates on the way to it, each with the answer that leads there, and its vote.

The vote is 1 for label 1, −1 for label 0, 0 for neither.
"""


@dataclass(frozen=True, eq=False, repr=False)
class _Packed:
    """A block of records as bits, those of label 0 first; each label's fill up whole words."""

    records: int
    words: Words
    bounds: IntArray
    own: NDArray[np.int8]
    """For each bit −1 or 1, the vote for its record's own label; 0 for a bit that belongs to no record."""
    leads: NDArray[np.int32]

    @classmethod
    def of(cls, holds: NDArray[np.bool_], y: NDArray[np.int8]) -> _Packed:
        words, bounds = pack(holds, y, 2)
        own = np.zeros(64 * words.shape[1], dtype=np.int8)
        for label, vote in enumerate((-1, 1)):
            start = 64 * int(bounds[label])
            own[start : start + np.count_nonzero(y == label)] = vote
        return cls(y.shape[0], words, bounds, own, np.zeros(own.size, dtype=np.int32))


class WeightedRecords:
    """Records packed into bits once, to be weighed again and again. **Private.**"""

    def __init__(
        self, predicates: Sequence[Predicate], records: int, answers: Callable[[int], Iterable[Block]]
    ) -> None:
        """`answers`(r) are those of the n = `records` records, with labels 0 or 1, r of them at a time."""
        if records > MOST_RECORDS:
            raise DataError("X", f"at most {MOST_RECORDS:,} rows", f"{records:,} rows")
        self._place = {predicate: place for place, predicate in enumerate(predicates)}
        self._blocks = [_Packed.of(holds, y) for holds, y in answers(_BLOCK)]

    def weigh(self, weight_of_lead: Weights, offered: IntArray, depth: int) -> ConjunctionCounts:
        """The weight of each label in every conjunction of at most `depth` of the `offered` predicates.

        `weight_of_lead` has the weights at leads −J, …, J. Bit by bit: a bit of the weights masks the records, whose
        conjunctions are then counted as they always are.
        """
        sets = RankedSets(offered.size, depth)
        larger = [sets.of_size(size) for size in range(depth)]
        total = np.zeros((sets.start[-1], 2), dtype=np.int32)
        for block in self._blocks:
            weights = _weights(block, weight_of_lead)
            words, middle = block.words[offered], 64 * block.bounds[1]
            total[0] += [int(weights[:middle].sum()), int(weights[middle:].sum())]
            for bit in range(_BITS):
                mask = np.packbits(weights >> bit & 1, bitorder="little").view(np.uint64)
                masked, table = words & mask, np.zeros_like(total)
                for size in range(1, depth + 1):
                    rows = slice(sets.start[size], sets.start[size + 1])
                    count_size(block.records, masked, block.bounds, larger[size - 1], sets.steps, table[rows])
                total += table << bit
        return ConjunctionCounts(offered.size, depth, total)

    def follow(self, paths: Iterable[Path]) -> None:
        """Bring the leads up to date with one more tree: `paths` are all its leaves."""
        said = [(literals, vote) for literals, vote in paths if vote != 0]
        for block in self._blocks:
            for literals, vote in said:
                reached = np.full(block.words.shape[1], ~np.uint64(0))
                for predicate, holds in literals:
                    row = block.words[self._place[predicate]]
                    reached &= row if holds else ~row
                bits = np.unpackbits(reached.view(np.uint8), bitorder="little").view(np.bool_)
                block.leads[bits] += vote * block.own[bits]

    def __repr__(self) -> str:
        return "WeightedRecords(…)"


def _weights(block: _Packed, weight_of_lead: Weights) -> Weights:
    """The weight of the record of each bit; 0 where there is none."""
    return np.where(block.own != 0, weight_of_lead[weight_of_lead.size // 2 + block.leads], 0)
