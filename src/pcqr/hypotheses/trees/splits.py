"""The compiled sums over all splits of all nodes, on which a partition function spends its time.

A value is e^{−θM}·m: M, its *cost*, is an exact integer and m, its *mass*, a positive float. The kernels add, for every
node of some sets of predicates and every predicate b that the node has not decided, the product of the values of
node ∧ ¬b and node ∧ b to the node's own.

`decay[j]` is e^{−θj}, 0 in its last entry where that stands for all larger j.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.records.counting import Int32Array, IntArray

FloatArray = NDArray[np.float64]


@compiled
def add_pairs(
    wider_cost: Int32Array, wider_mass: FloatArray, steps: IntArray, sets: Int32Array,
    decay: FloatArray, cost: Int32Array, mass: FloatArray,
) -> None:  # fmt: skip
    """Add the pairs whose values are stored: `wider_cost`, `wider_mass`, of all nodes with one literal more."""
    size, predicates, last = sets.shape[1], steps.shape[0] - 1, decay.size - 1
    for k in range(sets.shape[0]):
        for place in range(size + 1):
            row_without_b = 0
            for j in range(size):
                row_without_b += steps[sets[k, j], j + 1 + (j >= place)]
            # The predicates that come after `place` members: joined to the set, they have that place.
            low = sets[k, place - 1] + 1 if place > 0 else 0
            high = sets[k, place] if place < size else predicates
            for sign in range(1 << size):
                fails = (sign & ((1 << place) - 1)) | (sign >> place) << (place + 1)
                holds = fails | 1 << place
                least, total = np.int64(cost[k, sign]), mass[k, sign]
                for b in range(low, high):
                    row = row_without_b + steps[b, place + 1]
                    value = wider_mass[row, fails] * wider_mass[row, holds]
                    gap = wider_cost[row, fails] + wider_cost[row, holds] - least
                    if gap >= 0:  # the cost of a sum is the smaller one
                        total += value * decay[min(gap, last)]
                    else:
                        total = total * decay[min(-gap, last)] + value
                        least += gap
                cost[k, sign], mass[k, sign] = least, total


def add_leaf_pairs(
    table: Int32Array, start: IntArray, steps: IntArray, sets: Int32Array, nodes: IntArray,
    decay: FloatArray, cost: Int32Array, mass: FloatArray,
) -> None:  # fmt: skip
    """Add pairs of leaves, which are far too many to be stored: from the counts `table` of all sets of predicates.

    `nodes` are the counts of the nodes of `sets`.
    """
    if table.shape[1] == 2:
        more = np.empty((1 << sets.shape[1], steps.shape[0] - 1), dtype=np.int32)
        _add_leaf_pairs_of_two(table, start, steps, sets, nodes, decay, more, cost, mass)
    else:
        _add_leaf_pairs(table, start, steps, sets, nodes, decay, cost, mass)


@compiled
def _add_leaf_pairs_of_two(  # noqa: PLR0912 (a kernel in a kernel takes longer to compile than to write out)
    table: Int32Array, start: IntArray, steps: IntArray, sets: Int32Array, nodes: IntArray,
    decay: FloatArray, more: Int32Array, cost: Int32Array, mass: FloatArray,
) -> None:  # fmt: skip
    """`_add_leaf_pairs` for two classes, where a leaf's value follows from how many more 0s than 1s there are.

    `more` is working memory: `more[sign, b]` = N₀ − N₁ at node ∧ b. With M = N₀ + N₁ a leaf has (M − |N₀ − N₁|)/2
    mistakes and the value (1 + e^{−θ|N₀ − N₁|})/2. Innermost indices are unsigned: one that may be negative would have
    to be looked at before each use.
    """
    size, predicates, last = sets.shape[1], steps.shape[0] - 1, decay.size - 1
    signs = 1 << size
    for k in range(sets.shape[0]):
        for place in range(size + 1):
            low = np.uint64(sets[k, place - 1] + 1 if place > 0 else 0)
            high = np.uint64(sets[k, place] if place < size else predicates)
            for subset in range(signs):
                row, taken, place_of_b = 0, 0, 1
                for j in range(size):
                    if subset >> j & 1:
                        taken += 1
                        place_of_b += j < place
                        row += steps[sets[k, j], taken + (j >= place)]
                row += start[taken + 1]
                for b in range(low, high):
                    found = np.uint64(row + steps[b, place_of_b])
                    more[subset, b] = table[found, 0] - table[found, 1]
            for j in range(size):  # one literal after the other
                for subset in range(signs):
                    if not subset >> j & 1:
                        for b in range(low, high):
                            more[subset, b] -= more[subset | 1 << j, b]
            for sign in range(signs):
                records, whole = nodes[k, sign, 0] + nodes[k, sign, 1], nodes[k, sign, 0] - nodes[k, sign, 1]
                least, total = np.int64(cost[k, sign]), mass[k, sign]
                for b in range(low, high):
                    one, other = abs(more[sign, b]), abs(whole - more[sign, b])
                    value = (1.0 + decay[np.uint64(min(one, last))]) * (
                        (1.0 + decay[np.uint64(min(other, last))]) / 4.0
                    )
                    gap = ((records - one - other) >> 1) - least
                    if gap >= 0:
                        total += value * decay[np.uint64(min(gap, last))]
                    else:
                        total = total * decay[np.uint64(min(-gap, last))] + value
                        least += gap
                cost[k, sign], mass[k, sign] = least, total


@compiled
def _add_leaf_pairs(
    table: Int32Array, start: IntArray, steps: IntArray, sets: Int32Array, nodes: IntArray,
    decay: FloatArray, cost: Int32Array, mass: FloatArray,
) -> None:  # fmt: skip
    """`add_leaf_pairs` for any number of classes."""
    size, predicates, signs = sets.shape[1], steps.shape[0] - 1, 1 << sets.shape[1]
    classes = table.shape[1]
    row_without_b, place_of_b = np.empty(signs, np.int64), np.empty(signs, np.int64)
    holding = np.empty((signs, classes), np.int64)
    for k in range(sets.shape[0]):
        for place in range(size + 1):
            _locate(sets, k, place, start, steps, row_without_b, place_of_b)
            low, high = _between(sets, k, place, predicates)
            for b in range(low, high):
                _count_holding(table, steps, b, row_without_b, place_of_b, size, classes, holding)
                for sign in range(signs):
                    least, value = _labelled_leaves(nodes, holding, k, sign, decay)
                    cost[k, sign], mass[k, sign] = _sum(cost[k, sign], mass[k, sign], least, value, decay)


@compiled
def _between(sets: Int32Array, k: int, place: int, predicates: int) -> tuple[int, int]:
    """The range of the predicates that come after `place` members of `sets[k]`: joined to it, they have that place."""
    low = sets[k, place - 1] + 1 if place > 0 else 0
    high = sets[k, place] if place < sets.shape[1] else predicates
    return low, high


@compiled
def _locate(
    sets: Int32Array,
    k: int,
    place: int,
    start: IntArray,
    steps: IntArray,
    row_without_b: IntArray,
    place_of_b: IntArray,
) -> None:
    """For every subset of `sets[k]`: where the row of subset ∪ {b} begins, and which place b has in it."""
    for subset in range(row_without_b.size):
        row, taken, before = 0, 0, 0
        for j in range(sets.shape[1]):
            if subset >> j & 1:
                taken += 1
                before += j < place
                row += steps[sets[k, j], taken + (j >= place)]
        place_of_b[subset] = before + 1
        row_without_b[subset] = row + start[taken + 1]


@compiled
def _count_holding(
    table: Int32Array,
    steps: IntArray,
    b: int,
    row_without_b: IntArray,
    place_of_b: IntArray,
    size: int,
    classes: int,
    holding: IntArray,
) -> None:
    """`holding[sign, c]`: the counts of node ∧ b, by subtraction of one literal after the other."""
    signs = row_without_b.size
    for subset in range(signs):
        row = row_without_b[subset] + steps[b, place_of_b[subset]]
        for c in range(classes):
            holding[subset, c] = table[row, c]
    for j in range(size):
        for subset in range(signs):
            if not subset >> j & 1:
                for c in range(classes):
                    holding[subset, c] -= holding[subset | 1 << j, c]


@compiled
def _labelled_leaves(nodes: IntArray, holding: IntArray, k: int, sign: int, decay: FloatArray) -> tuple[int, float]:
    """L(node ∧ b)·L(node ∧ ¬b): leaves of one of C labels, whose costs are mistakes."""
    classes, total, most, other_most = holding.shape[1], 0, 0, 0
    for c in range(classes):
        total += nodes[k, sign, c]
        most = max(most, holding[sign, c])
        other_most = max(other_most, nodes[k, sign, c] - holding[sign, c])
    value, other = 0.0, 0.0
    for c in range(classes):
        value += _decayed(most - holding[sign, c], decay)
        other += _decayed(other_most - nodes[k, sign, c] + holding[sign, c], decay)
    return total - most - other_most, value * (other / (classes * classes))


@compiled
def _sum(cost: int, mass: float, other_cost: int, other_mass: float, decay: FloatArray) -> tuple[int, float]:
    """e^{−θ·cost}·mass + e^{−θ·other_cost}·other_mass: its cost is the smaller one."""
    gap = other_cost - cost
    if gap >= 0:
        return cost, mass + other_mass * _decayed(gap, decay)
    return other_cost, mass * _decayed(-gap, decay) + other_mass


@compiled
def _decayed(gap: int, decay: FloatArray) -> float:
    """e^{−θ·gap}."""
    return float(decay[min(gap, decay.size - 1)])
