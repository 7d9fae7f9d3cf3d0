"""How many records of each class satisfy a conjunction of predicates, for every set of at most D of them.

A set i₁ < … < i_s of predicates has the rank C(i₁, 1) + C(i₂, 2) + … + C(i_s, s) among the sets of its size (the
combinatorial number system), which is its row in a table. Counts are sums over records, hence additive: records are
taken in blocks, in any order and anywhere, and the tables added up. They are private.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.errors import DataError
from pcqr.hypotheses.base import Labels

IntArray = NDArray[np.int64]
Words = NDArray[np.uint64]

_BLOCK = 1 << 16
"""Records a block: the bits of 150 predicates on a block fill about a megabyte, which stays in cache."""
_THREADS = 2
_SHARES = 16


@dataclass(frozen=True)
class ConjunctionCounts:
    """`tables[s][rank, c]`: the records of class c in which all s predicates of the set with that rank hold."""

    predicates: int
    tables: tuple[IntArray, ...]

    @property
    def depth(self) -> int:
        return len(self.tables) - 1

    @property
    def classes(self) -> int:
        return int(self.tables[0].shape[1])

    @property
    def records(self) -> int:
        return int(self.tables[0].sum())

    def __add__(self, other: Self) -> ConjunctionCounts:
        """The counts of two sets of records together."""
        if (self.predicates, self.depth, self.classes) != (other.predicates, other.depth, other.classes):
            raise DataError("counts", "of the same predicates, depth and classes", "counts of another shape")
        return ConjunctionCounts(self.predicates, tuple(a + b for a, b in zip(self.tables, other.tables, strict=True)))

    def __repr__(self) -> str:
        return f"ConjunctionCounts({self.predicates} predicates, depth {self.depth})"


def count_conjunctions(holds: NDArray[np.bool_], y: Labels, classes: int, depth: int) -> ConjunctionCounts:
    """Counts for every set of at most `depth` columns of `holds` (records × predicates); labels are 0 … classes−1."""
    records, predicates = holds.shape
    tables = [np.zeros((math.comb(predicates, size), classes), dtype=np.int64) for size in range(depth + 1)]
    tables[0][0] = np.bincount(y, minlength=classes)
    ranks = binomials(predicates, depth)
    for start in range(0, records, _BLOCK):
        words, bounds = pack(holds[start : start + _BLOCK], y[start : start + _BLOCK], classes)
        for size in range(1, depth + 1):
            # A share is a range of the sets' larger members: no two shares write to the same row.
            in_shares(
                math.comb(predicates, size - 1),
                partial(_count_sets, words, bounds, size, ranks, tables[size]),
            )
    return ConjunctionCounts(predicates, tuple(tables))


def in_shares(total: int, work: Callable[[int, int], None]) -> None:
    """Call `work`(low, high) for consecutive shares of range(`total`), in threads: the kernels hold no lock."""
    edges = np.linspace(0, total, min(total, _SHARES) + 1).astype(np.int64).tolist()
    with ThreadPoolExecutor(_THREADS) as pool:
        for job in [pool.submit(work, low, high) for low, high in pairwise(edges)]:
            job.result()


def binomials(predicates: int, depth: int) -> IntArray:
    """`[i, j]` = C(i, j) for i ≤ predicates, j ≤ depth + 1: the steps of a set's rank."""
    return np.array([[math.comb(i, j) for j in range(depth + 2)] for i in range(predicates + 1)], dtype=np.int64)


def pack(holds: NDArray[np.bool_], y: Labels, classes: int) -> tuple[Words, IntArray]:
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


@compiled
def _count_sets(
    words: Words, bounds: IntArray, size: int, ranks: IntArray, table: IntArray, low: int, high: int
) -> None:
    """Add to `table` the counts of all sets of `size` predicates whose larger size−1 members rank in [low, high).

    The larger members go through their sets in the order of their ranks, and the conjunctions of i_j, …, i_size are
    kept for every j, so that one step recomputes only what changed. For the smallest member i₁ it is then one AND and
    one population count a word (the arithmetic below is compiled to that instruction).
    """
    predicates, length = words.shape
    one, two, four, top_byte = np.uint64(1), np.uint64(2), np.uint64(4), np.uint64(56)
    m1, m2 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
    m4, ones = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
    larger = size - 1
    member = np.empty(size, np.int64)
    member[larger] = predicates
    rest = low
    for j in range(larger - 1, -1, -1):
        member[j] = j
        while ranks[member[j] + 1, j + 1] <= rest:
            member[j] += 1
        rest -= ranks[member[j], j + 1]
    conjunction = np.empty((size, length), np.uint64)
    conjunction[larger] = ~np.uint64(0)
    holds_somewhere = np.ones(size, np.bool_)
    changed = larger - 1
    for _ in range(low, high):
        for j in range(changed, -1, -1):
            held = np.uint64(0)
            if holds_somewhere[j + 1]:
                for t in range(length):
                    v = conjunction[j + 1, t] & words[member[j], t]
                    conjunction[j, t] = v
                    held |= v
            holds_somewhere[j] = held != np.uint64(0)
        if holds_somewhere[0]:
            row = np.int64(0)
            for j in range(larger):
                row += ranks[member[j], j + 2]
            for i in range(member[0]):
                for c in range(bounds.size - 1):
                    total = np.int64(0)
                    for t in range(bounds[c], bounds[c + 1]):
                        x = conjunction[0, t] & words[i, t]
                        x = x - ((x >> one) & m1)
                        x = (x & m2) + ((x >> two) & m2)
                        x = (x + (x >> four)) & m4
                        total += np.int64((x * ones) >> top_byte)
                    table[row + i, c] += total
        changed = 0
        while changed < larger - 1 and member[changed] + 1 == member[changed + 1]:
            member[changed] = changed
            changed += 1
        member[changed] += 1
