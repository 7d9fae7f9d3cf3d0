"""How many records of each class satisfy a conjunction of predicates, for every set of at most D of them.

A set i₁ < … < i_s of predicates has the rank C(i₁, 1) + C(i₂, 2) + … + C(i_s, s) among the sets of its size (the
combinatorial number system): its row in a table. Counts are sums over records, hence additive: records are taken in
blocks, in any order and anywhere, and the tables added up. They are private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import available, compiled
from pcqr.data.records.arrays import Labels
from pcqr.errors import DataError
from pcqr.progress import tracked

IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
BoolArray = NDArray[np.bool_]
Words = NDArray[np.uint64]
Block = tuple[BoolArray, Labels]

MOST_RECORDS = 2**31 - 1
"""Counts are 32-bit integers: at depth 4 they are most of the memory that a draw takes."""

_BLOCK = 1 << 16
_BLOCK_CELLS = 30_000_000
"""Records a block: the bits of 150 predicates on a block fill about a megabyte, which stays in cache."""

_LEAST_STEPS = 1_000_000
"""Steps, a word of 64 records or a sum each, that are worth a thread of their own: to start one takes as long."""


class RankedSets:
    """The sets of at most `depth` of the predicates 0, …, `predicates`−1, in the order of their ranks."""

    def __init__(self, predicates: int, depth: int) -> None:
        self.predicates, self.depth = predicates, depth
        self.steps = np.array([[math.comb(i, j) for j in range(depth + 2)] for i in range(predicates + 1)])
        """`steps[i, j]` = C(i, j): what i adds to a set's rank as its j-th smallest member."""
        self.start = np.cumsum([0, *(math.comb(predicates, size) for size in range(depth + 1))])
        """Where the sets of each size begin in one table of all sets; the last entry is the number of its rows."""

    def of_size(self, size: int) -> Int32Array:
        """All sets of `size`, members in increasing order: row r has rank r."""
        sets = np.zeros((1, 0), dtype=np.int32)
        for width in range(1, size + 1):
            # Those with the largest member i are i joined to the first C(i, width − 1) smaller sets.
            below = [math.comb(i, width - 1) for i in range(self.predicates)]
            largest = np.repeat(np.arange(self.predicates, dtype=np.int32), below)
            rest = np.concatenate([sets[:count] for count in below])
            sets = np.column_stack((rest, largest))
        return np.ascontiguousarray(sets)

    def rows(self, sets: NDArray[np.signedinteger]) -> IntArray:
        """The row, in one table of all sets, of each row of `sets` (all of one size)."""
        size = sets.shape[1]
        rows: IntArray = self.start[size] + self.steps[sets, np.arange(1, size + 1)].sum(axis=1)
        return rows


@dataclass(frozen=True, eq=False)
class ConjunctionCounts:
    """`table[row, c]`: the records of class c in which every predicate of the set with that row holds.

    Where `device` is named, trees are weighed there, too: the same numbers (proofs/gpu.md).
    """

    predicates: int
    depth: int
    table: Int32Array
    device: str | None = None

    @cached_property
    def sets(self) -> RankedSets:
        return RankedSets(self.predicates, self.depth)

    @property
    def classes(self) -> int:
        return int(self.table.shape[1])

    @property
    def records(self) -> int:
        return int(self.table[0].sum(dtype=np.int64))

    def __add__(self, other: ConjunctionCounts) -> ConjunctionCounts:
        """The counts of two sets of records together."""
        if (self.predicates, self.depth, self.classes) != (other.predicates, other.depth, other.classes):
            raise DataError("counts", "of the same number of predicates, depth and classes", "counts of another shape")
        _check_records(self.records + other.records)
        return replace(self, table=self.table + other.table)

    def of_nodes(self, sets: NDArray[np.signedinteger]) -> IntArray:
        """`[k, signs, c]`: the records of class c at each node that the predicates of `sets[k]` make.

        Bit j of `signs` is 1 where the j-th smallest predicate holds and 0 where it fails. Each predicate in turn
        splits "whatever it says" into "holds" and the rest, by subtraction of exact integers.
        """
        size = sets.shape[1]
        found = np.empty((sets.shape[0], 1 << size, self.classes), dtype=np.int64)
        for subset in range(1 << size):
            members = [j for j in range(size) if subset >> j & 1]
            found[:, subset] = self.table[self.sets.rows(sets[:, members])]
        for j in range(size):
            for subset in range(1 << size):
                if not subset >> j & 1:
                    found[:, subset] -= found[:, subset | 1 << j]
        return found

    def __repr__(self) -> str:
        return f"ConjunctionCounts({self.predicates} predicates, depth {self.depth})"


def count_conjunctions(blocks: Iterable[Block], predicates: int, classes: int, depth: int) -> ConjunctionCounts:
    """Count every set of at most `depth` predicates over all `blocks`.

    A block has one row a record: which predicates hold, and the label, 0 … `classes`−1.
    """
    sets = RankedSets(predicates, depth)
    table = np.zeros((sets.start[-1], classes), dtype=np.int32)
    larger = [sets.of_size(size) for size in range(depth)]
    counted = 0
    for holds, y in blocks:
        counted += y.shape[0]
        _check_records(counted)
        words, bounds = pack(holds, y, classes)
        table[0] += np.bincount(y, minlength=classes).astype(np.int32)
        for size in range(1, depth + 1):
            rows = slice(sets.start[size], sets.start[size + 1])
            count_size(y.shape[0], words, bounds, larger[size - 1], sets.steps, table[rows])
    return ConjunctionCounts(predicates, depth, table)


def count_size(
    records: int, words: Words, bounds: IntArray, larger: Int32Array, steps: IntArray, table: Int32Array
) -> None:
    """Add to `table` the counts of all sets of one size, in order of rank; `larger`: all sets one smaller.

    `records` are those of the block. The length of `words` depends on how many have each label: it decides nothing.
    """

    def count_share(low: int, high: int) -> None:
        conjunction = np.full((larger.shape[1] + 1, words.shape[1]), ~np.uint64(0))
        occupied = np.ones(len(conjunction), dtype=np.bool_)
        _count_sets(words, bounds, larger[low:high], steps, conjunction, occupied, table)

    # Shares have different larger members: no two of them write to the same row.
    in_shares(
        f"counting sets of {larger.shape[1] + 1} predicates",
        larger.shape[0],
        words.shape[0] * (records // 64 + 1),
        count_share,
    )


def in_shares(stage: str, total: int, steps: int, work: Callable[[int, int], None]) -> None:
    """Call `work`(low, high) for consecutive shares of range(`total`), in threads: the kernels hold no lock.

    `steps` is about what one of `total` takes, from public numbers alone: little work is done here and at once. So it
    is where one thread alone may work: to hand work to another and wait for it costs a third of the time where every
    core has a process of its own.
    """
    threads = available()
    shares = min(total, total * steps // _LEAST_STEPS, 8 * threads)
    if shares < 2 or threads == 1:
        work(0, total)
        return
    edges = np.linspace(0, total, shares + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(threads) as pool:
        for job in tracked(stage, [pool.submit(work, low, high) for low, high in pairwise(edges)]):
            job.result()


def pack(holds: BoolArray, y: Labels, classes: int) -> tuple[Words, IntArray]:
    """One row of bits for each predicate, the records of class c in the words bounds[c] … bounds[c+1]−1."""
    segments, bounds = [], [0]
    for label in range(classes):
        rows = holds[y == label]
        length = -(-rows.shape[0] // 64)
        padded = np.zeros((holds.shape[1], 64 * length), dtype=np.bool_)
        padded[:, : rows.shape[0]] = rows.T
        bits = np.ascontiguousarray(np.packbits(padded, axis=1, bitorder="little"))
        segments.append(bits.view(np.uint64))
        bounds.append(bounds[-1] + length)
    return np.ascontiguousarray(np.concatenate(segments, axis=1)), np.array(bounds, dtype=np.int64)


def block_rows(predicates: int) -> int:
    """Records counted at a time: a multiple of 64, the fewer the more predicates."""
    return int(min(_BLOCK, max(64, _BLOCK_CELLS // predicates // 64 * 64)))


def _check_records(records: int) -> None:
    if records > MOST_RECORDS:
        raise DataError("X", f"at most {MOST_RECORDS:,} rows", f"{records:,} rows")


@compiled
def _count_sets(
    words: Words, bounds: IntArray, larger: Int32Array, steps: IntArray,
    conjunction: Words, occupied: BoolArray, table: Int32Array,
) -> None:  # fmt: skip
    """Add to `table` the counts of all sets {i} ∪ L, L a row of `larger` and i below its members.

    Rows of `larger` come in the order of their ranks, so neighbours mostly share all but the smallest members: the
    conjunctions of L's j-th to last members are kept for every j, and a step recomputes only what changed. For i it is
    then one AND and one population count a word (the arithmetic below is compiled to that instruction). Slices, not
    offsets: only an index that is seen to be non-negative lets the compiler use wide registers.

    `conjunction` is working memory, all bits of its last row set, and `occupied` says which rows of it have any.
    """
    predicates, width = words.shape[0], larger.shape[1]
    one, two, four, top_byte = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
    m1, m2 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
    m4, ones = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
    for k in range(larger.shape[0]):
        changed = width - 1
        while k > 0 and changed >= 0 and larger[k, changed] == larger[k - 1, changed]:
            changed -= 1
        for j in range(changed, -1, -1):
            held = np.uint64(0)
            if occupied[j + 1]:
                kept, rest, added = conjunction[j], conjunction[j + 1], words[larger[k, j]]
                for t in range(kept.size):
                    v = rest[t] & added[t]
                    kept[t] = v
                    held |= v
            occupied[j] = held != np.uint64(0)
        if not occupied[0]:
            continue
        row = 0
        for j in range(width):
            row += steps[larger[k, j], j + 2]
        for i in range(larger[k, 0] if width else predicates):
            for c in range(bounds.size - 1):
                those, these = conjunction[0, bounds[c] : bounds[c + 1]], words[i, bounds[c] : bounds[c + 1]]
                total = np.int64(0)
                for t in range(these.size):
                    x = those[t] & these[t]
                    x = x - ((x >> one) & m1)
                    x = (x & m2) + ((x >> two) & m2)
                    x = (x + (x >> four)) & m4
                    total += np.int64((x * ones) >> top_byte)
                table[row + i, c] += total
