"""The fewest mistakes of all trees of a depth, without weighing any: whole numbers alone.

A leaf has the label of most records at its node; c(node) are the others. The fewest with r more splits on every path:

    F(node, 0) = c(node)
    F(node, r) = min_b F(node ∧ b, r−1) + F(node ∧ ¬b, r−1)        over the predicates b that the node has not decided

Nothing is lost by leaving out the others: instead of asking one again, a tree may ask a new one and go on in the same
way on both its sides. Sets of predicates are met once each, the largest first: F at the nodes of a set, in pairs, are
the splits at the nodes of all sets that have one predicate less.
"""

from __future__ import annotations

import numpy as np

from pcqr.compiled import compiled
from pcqr.records.counting import ConjunctionCounts, Int32Array, IntArray, RankedSets

_LANES = 64
"""Sets that are met together: the compiler takes several of them in one instruction."""


def fewest_mistakes(counts: ConjunctionCounts) -> int:
    """Those of the best of all trees, exactly. Private: a replaced record moves it by at most 1."""
    depth = min(counts.depth, counts.predicates)  # a deeper tree could only ask again
    fewest = _after_one_split(counts, depth - 1)
    for size in range(depth - 1, 0, -1):
        wider, ranks = fewest, _ranks_of_subsets(counts.sets, size)
        fewest = _none_yet(counts.sets, size - 1)
        _pair_nodes(wider, ranks, fewest)
    return int(fewest[0, 0])


def _after_one_split(counts: ConjunctionCounts, size: int) -> Int32Array:
    """F(node, 1) at the nodes of all sets of `size`, indexed [rank of the set, signs]."""
    ranked, ranks = counts.sets, _ranks_of_subsets(counts.sets, size)
    nodes = np.empty((1 << size, counts.classes, ranks.shape[1]), dtype=np.int32)
    for subset in range(1 << size):
        nodes[subset] = counts.table[ranked.start[subset.bit_count()] + ranks[subset]].T
    for j in range(size):
        for subset in range(1 << size):
            if not subset >> j & 1:
                nodes[subset] -= nodes[subset | 1 << j]
    fewest, by_last = _none_yet(ranked, size), np.ascontiguousarray(_none_yet(ranked, size).T)
    _pair_leaves(counts.table, ranked.start, ranked.steps, ranks, nodes, _LANES, fewest, by_last)
    return np.minimum(fewest, by_last.T, out=fewest)


def _none_yet(ranked: RankedSets, size: int) -> Int32Array:
    return np.full((int(ranked.steps[-1, size]), 1 << size), np.iinfo(np.int32).max, dtype=np.int32)


def _ranks_of_subsets(ranked: RankedSets, size: int) -> Int32Array:
    """`[subset, k]`: the rank, among sets of its own size, of that subset of set k of `size`."""
    sets = ranked.of_size(size)
    ranks = np.zeros((1 << size, sets.shape[0]), dtype=np.int32)
    for j in range(size):
        for subset in range(1 << j):
            ranks[subset | 1 << j] = ranks[subset] + ranked.steps[sets[:, j], subset.bit_count() + 1]
    return ranks


@compiled
def _pair_leaves(
    table: Int32Array, start: IntArray, steps: IntArray, ranks: Int32Array, nodes: Int32Array, lanes: int,
    fewest: Int32Array, by_last: Int32Array,
) -> None:  # fmt: skip
    """Join to every set of `ranks` every predicate `last` beyond its members, and pair the leaves of the set so made.

    `nodes` are the counts of the nodes of the sets, [signs, class, set]. Pairs that differ in `last` go to `by_last`,
    [signs, set], where they lie side by side, all others to `fewest`, [set, signs].
    """
    signs, classes, predicates = ranks.shape[0], nodes.shape[1], steps.shape[0] - 1
    half, size = signs >> 1, 0
    while 1 << size < signs:
        size += 1
    held = np.zeros((signs, classes, lanes), np.int32)
    holds, fails, both = np.zeros((3, signs, lanes), np.int32)
    for last in range(size, predicates):
        for first in range(0, steps[last, size], lanes):
            here = min(lanes, steps[last, size] - first)
            _count_holding(table, start, steps, ranks, last, first, here, size, held)
            for sign in range(signs):
                _count_mistakes(nodes, held, sign, first, here, holds, fails)
                for k in range(here):
                    split = holds[sign, k] + fails[sign, k]
                    by_last[sign, first + k] = min(by_last[sign, first + k], split)
            for j in range(size):
                for sign in range(half):
                    one = (sign & ((1 << j) - 1)) | (sign >> j) << (j + 1)
                    other = one | 1 << j
                    for k in range(lanes):
                        both[sign, k] = fails[one, k] + fails[other, k]
                        both[sign + half, k] = holds[one, k] + holds[other, k]
                for k in range(here):
                    row = ranks[(signs - 1) ^ (1 << j), first + k] + steps[last, size]
                    for sign in range(signs):
                        fewest[row, sign] = min(fewest[row, sign], both[sign, k])


@compiled
def _count_holding(
    table: Int32Array, start: IntArray, steps: IntArray, ranks: Int32Array, last: int, first: int, here: int,
    size: int, held: Int32Array,
) -> None:  # fmt: skip
    """The counts of node ∧ `last` at the nodes of `here` sets, by subtraction of one literal after the other."""
    signs, classes, lanes = held.shape
    for subset in range(signs):
        members = 0
        for j in range(size):
            members += subset >> j & 1
        base = start[members + 1] + steps[last, members + 1]
        for k in range(here):
            for c in range(classes):
                held[subset, c, k] = table[base + ranks[subset, first + k], c]
    for j in range(size):
        for subset in range(signs):
            if not subset >> j & 1:
                for c in range(classes):
                    for k in range(lanes):
                        held[subset, c, k] -= held[subset | 1 << j, c, k]


@compiled
def _count_mistakes(
    nodes: Int32Array, held: Int32Array, sign: int, first: int, here: int, holds: Int32Array, fails: Int32Array
) -> None:
    """Those of leaves at node ∧ `last` and node ∧ ¬`last`: all records but the most of one label."""
    for k in range(here):
        total, most, other_total, other_most = 0, 0, 0, 0
        for c in range(held.shape[1]):
            counted = held[sign, c, k]
            rest = nodes[sign, c, first + k] - counted
            total, most = total + counted, max(most, counted)
            other_total, other_most = other_total + rest, max(other_most, rest)
        holds[sign, k], fails[sign, k] = total - most, other_total - other_most


@compiled
def _pair_nodes(wider: Int32Array, ranks: Int32Array, fewest: Int32Array) -> None:
    """The same for all sets of `ranks`, F at whose nodes is known: `wider`, [set, signs]."""
    signs, j = ranks.shape[0], 0
    while 1 << j < signs:
        for k in range(ranks.shape[1]):
            row = ranks[(signs - 1) ^ (1 << j), k]
            for sign in range(signs >> 1):
                one = (sign & ((1 << j) - 1)) | (sign >> j) << (j + 1)
                fewest[row, sign] = min(fewest[row, sign], wider[k, one] + wider[k, one | 1 << j])
        j += 1
