"""The trees of many parts of the records at once, up to depth 3: each the one that `DecisionTrees.learn` grows.

For a set R of records let right(R, r) be the most of them that a tree of depth r gets right:

    right(R, 0) = max_c (records of class c in R)
    right(R, r) = max_b right(R ∧ b, r−1) + right(R ∧ ¬b, r−1)

The tree asks the first b that attains it, then goes on with either side; a leaf has the first most frequent label. A
predicate that the path has asked already leaves one side empty, which no row reaches: it needs no rule of its own.

Two levels follow from the counts of pairs, N_c(b ∧ e), by subtraction of integers; a third one counts the pairs anew on
the side of each first question on which it holds. Nothing is skipped: the steps taken depend on sizes alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.records.arrays import Labels, Points
from pcqr.records.counting import Int32Array, IntArray, Words
from pcqr.records.predicates import Predicate

DEEPEST_AT_ONCE = 3

FloatArray = NDArray[np.float64]


def grown(
    X: Points, y: Labels, starts: IntArray, size: int, predicates: Sequence[Predicate], labels: int, depth: int
) -> tuple[Int32Array, Labels]:
    """What the tree of each part asks and says: 2^depth − 1 places in `predicates`, 2^depth labels.

    A part has the `size` rows from one of `starts` on. The children of question i are 2i + 1, where it fails, and
    2i + 2, where it holds; the leaves follow the questions. `depth` is 1, 2 or 3.
    """
    columns = np.array([predicate.feature for predicate in predicates], dtype=np.int64)
    cuts = np.array([predicate.cut for predicate in predicates], dtype=np.float64)
    words = np.empty((size // 64 + labels, columns.size), dtype=np.uint64)
    asked = np.zeros((starts.size, (1 << depth) - 1), dtype=np.int32)
    said = np.zeros((starts.size, 1 << depth), dtype=np.int8)
    kernel = (_grow_to_depth_1, _grow_to_depth_2, _grow_to_depth_3)[depth - 1]
    kernel(X, y, starts, size, columns, cuts, labels, words, asked, said)
    return asked, said


@compiled
def _grow_to_depth_1(
    X: Points, y: Labels, starts: IntArray, size: int, columns: IntArray, cuts: FloatArray, labels: int, words: Words,
    asked: Int32Array, said: Labels,
) -> None:  # fmt: skip
    """One question a tree: from the counts of each predicate."""
    bounds, total = np.empty(labels + 1, np.int64), np.empty(labels, np.int32)
    holding, most = np.empty((labels, columns.size), np.int32), np.empty((2, columns.size), np.int32)
    for j in range(starts.size):
        _pack(X, y, starts[j], starts[j] + size, columns, cuts, words, bounds, total)
        _count_singles(words, bounds, holding)
        _ask_last(holding, total, most, asked[j], said[j], 0)


@compiled
def _grow_to_depth_2(
    X: Points, y: Labels, starts: IntArray, size: int, columns: IntArray, cuts: FloatArray, labels: int, words: Words,
    asked: Int32Array, said: Labels,
) -> None:  # fmt: skip
    """Two questions a path: from the counts of pairs."""
    bounds, total = np.empty(labels + 1, np.int64), np.empty((2, labels), np.int32)
    singles, most = np.empty((2, labels, columns.size), np.int32), np.empty((2, columns.size), np.int32)
    pairs = np.empty((labels, columns.size, columns.size), np.int32)
    for j in range(starts.size):
        _pack(X, y, starts[j], starts[j] + size, columns, cuts, words, bounds, total[0])
        _count_pairs(words, bounds, pairs, singles[0])
        first, _ = _best_of_two(pairs, singles, total, most)
        asked[j, 0] = first
        for holds in range(2):
            _take_side(pairs, singles, total, first, holds)
            _ask_last(singles[1], total[1], most, asked[j], said[j], 1 + holds)


@compiled
def _grow_to_depth_3(
    X: Points, y: Labels, starts: IntArray, size: int, columns: IntArray, cuts: FloatArray, labels: int, words: Words,
    asked: Int32Array, said: Labels,
) -> None:  # fmt: skip
    """Three questions a path: from the counts of pairs on both sides of every first question."""
    bounds, total = np.empty(labels + 1, np.int64), np.empty((3, labels), np.int32)
    singles, most = np.empty((3, labels, columns.size), np.int32), np.empty((2, columns.size), np.int32)
    pairs = np.empty((2, labels, columns.size, columns.size), np.int32)
    kept = np.empty_like(words)
    for j in range(starts.size):
        _pack(X, y, starts[j], starts[j] + size, columns, cuts, words, bounds, total[0])
        _count_pairs(words, bounds, pairs[0], singles[0])
        best, first = -1, 0
        for turn in range(columns.size + 1):  # every first question, then the best one again to grow what is below it
            growing = turn == columns.size
            b, right = first if growing else turn, 0
            for side in range(2):
                holds = 1 - side  # the other side follows from this one
                if holds:
                    _keep(words, bounds, b, kept)
                    _count_pairs(kept, bounds, pairs[1], singles[1])
                    for c in range(labels):
                        total[1, c] = singles[0, c, b]
                else:
                    _take_rest(pairs, singles, total)
                second, gained = _best_of_two(pairs[1], singles[1:], total[1:], most)
                right += gained
                if growing:
                    asked[j, 0], asked[j, 1 + holds] = first, second
                    for below in range(2):
                        _take_side(pairs[1], singles[1:], total[1:], second, below)
                        _ask_last(singles[2], total[2], most, asked[j], said[j], 3 + 2 * holds + below)
            if right > best:
                best, first = right, b


@compiled
def _keep(words: Words, bounds: IntArray, b: int, kept: Words) -> None:
    """`kept`: the bits of the records in which b holds."""
    for t in range(bounds[-1]):
        row, into, answer = words[t], kept[t], words[t, b]
        for e in range(row.size):
            into[e] = row[e] & answer


@compiled
def _take_rest(pairs: Int32Array, singles: Int32Array, total: Int32Array) -> None:
    """Second entries: what the first ones count and the second ones did not."""
    for c in range(total.shape[1]):
        total[1, c] = total[0, c] - total[1, c]
        for b in range(singles.shape[2]):
            singles[1, c, b] = singles[0, c, b] - singles[1, c, b]
            whole, rest = pairs[0, c, b], pairs[1, c, b]
            for e in range(whole.size):
                rest[e] = whole[e] - rest[e]


@compiled
def _pack(
    X: Points, y: Labels, first: int, end: int, columns: IntArray, cuts: FloatArray, words: Words, bounds: IntArray,
    total: Int32Array,
) -> None:  # fmt: skip
    """One column of bits a predicate: the answers of the records of class c in the words bounds[c] … bounds[c+1]−1."""
    total[:] = 0
    for i in range(first, end):
        total[y[i]] += 1
    bounds[0] = 0
    for c in range(total.size):
        bounds[c + 1] = bounds[c] + (total[c] + 63) // 64
    words[: bounds[total.size]] = 0
    total[:] = 0
    for i in range(first, end):
        place = total[y[i]]
        total[y[i]] += 1
        row, bit = words[bounds[y[i]] + place // 64], np.uint64(place % 64)
        for b in range(columns.size):
            row[b] |= np.uint64(X[i, columns[b]] > cuts[b]) << bit


@compiled
def _count_singles(words: Words, bounds: IntArray, singles: Int32Array) -> None:
    """`singles[c, b]`: the records of class c in which b holds."""
    singles[:] = 0
    for c in range(singles.shape[0]):
        into = singles[c]
        for t in range(bounds[c], bounds[c + 1]):
            row = words[t]
            for b in range(row.size):
                into[b] += _ones(row[b])


@compiled
def _count_pairs(words: Words, bounds: IntArray, pairs: Int32Array, singles: Int32Array) -> None:
    """`pairs[c, b, e]`: the records of class c in which b and e hold; `singles[c, b]` is that for e = b."""
    pairs[:] = 0
    for c in range(pairs.shape[0]):
        for t in range(bounds[c], bounds[c + 1]):
            row = words[t]
            for b in range(row.size):
                into, answer = pairs[c, b], row[b]
                for e in range(b + 1):
                    into[e] += _ones(row[e] & answer)
        for b in range(pairs.shape[1]):
            singles[c, b] = pairs[c, b, b]
            for e in range(b):
                pairs[c, e, b] = pairs[c, b, e]


@compiled
def _ones(x: np.uint64) -> np.int32:
    """How many bits of x are 1."""
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int32((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@compiled
def _best_of_two(pairs: Int32Array, singles: Int32Array, total: Int32Array, most: Int32Array) -> tuple[int, int]:
    """The first question of the best tree of depth 2, and how many records that gets right.

    Of the node `singles[0]` and `total[0]` are counts; their second entries are for those of its sides.
    """
    best, first = -1, 0
    for b in range(pairs.shape[1]):
        right = 0
        for holds in range(2):
            _take_side(pairs, singles, total, b, holds)
            right += _most_right(singles[1], total[1], most)
        if right > best:
            best, first = right, b
    return first, best


@compiled
def _take_side(pairs: Int32Array, singles: Int32Array, total: Int32Array, b: int, holds: int) -> None:
    """`singles[1]` and `total[1]`: the counts of the side of a node on which b holds, or fails."""
    for c in range(total.shape[1]):
        joint, whole, into = pairs[c, b], singles[0, c], singles[1, c]
        if holds:
            total[1, c] = whole[b]
            for e in range(whole.size):
                into[e] = joint[e]
        else:
            total[1, c] = total[0, c] - whole[b]
            for e in range(whole.size):
                into[e] = whole[e] - joint[e]


@compiled
def _most_right(holding: Int32Array, total: Int32Array, most: Int32Array) -> int:
    """What the best tree of depth 1 gets right; `most[0, b] + most[1, b]` is what one that asks b does."""
    most[:] = 0
    fails, holds = most[0], most[1]
    for c in range(total.size):
        row, whole = holding[c], total[c]
        for b in range(row.size):
            holds[b] = max(holds[b], row[b])
            fails[b] = max(fails[b], np.int32(whole - row[b]))
    right = np.int32(0)
    for b in range(fails.size):
        right = max(right, np.int32(fails[b] + holds[b]))
    return int(right)


@compiled
def _ask_last(
    holding: Int32Array, total: Int32Array, most: Int32Array, asked: Int32Array, said: Labels, node: int
) -> None:
    """Write the best tree of depth 1 at `node`: its question, and the labels of its two leaves."""
    right, b = _most_right(holding, total, most), 0
    while most[0, b] + most[1, b] < right:
        b += 1
    asked[node] = b
    leaf = 2 * node + 1 - asked.size
    for holds in range(2):
        label, largest = 0, -1
        for c in range(total.size):
            count = holding[c, b] if holds else total[c] - holding[c, b]
            if count > largest:
                label, largest = c, count
        said[leaf + holds] = label
