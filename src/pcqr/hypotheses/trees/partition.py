"""The compiled sums over all splits of all nodes, on which a partition function spends its time.

A value is e^{−θM}·m: M, its *cost*, is an exact integer and m, its *mass*, a positive float. The kernels add, for every
node of some sets of predicates and every predicate b that the node has not decided, the product of the values of
node ∧ ¬b and node ∧ b to the node's own.

`decay[j]` is e^{−θj}, 0 in its last entry where that stands for all larger j.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.data.records.counting import ConjunctionCounts, Int32Array, IntArray, in_shares
from pcqr.progress import stage_progress

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


# ---------------------------------------------------------------------------------------------------------------------
# The partition function of decision trees, for every node that a tree of depth D can have.
#
# A node is a set of at most D literals, a literal being a predicate or its negation. With B predicates, σ the prior
# chance of a stop and L(node) the weight of a leaf there, its label drawn uniformly:
#
#     Z(node, 0) = L(node)
#     Z(node, r) = σ·L(node) + (1−σ)/B · Σ_b Z(node ∧ b, r−1)·Z(node ∧ ¬b, r−1)    r splits still allowed
#
# A predicate that the path has fixed already leaves one side empty, and Z(∅, r) = 1. So, s the number of literals,
#
#     Z(node, r) = (1−σ)/B · [ s·Z(node, r−1) + (Bσ/(1−σ))·L(node) + Σ_{b new} Z(node ∧ b, r−1)·Z(node ∧ ¬b, r−1) ].
#
# Every value is kept as e^{−θM}·m: M, the least cost of a tree below the node, is an exact integer, and m is a sum of
# positive terms, between the prior mass of the best tree and 1. Nothing is subtracted but integers, nothing overflows,
# and what underflows is negligible beside its sum (proofs/trees.md).
#
# What a leaf costs, and how the options of a node are weighed, is `MistakeLaw`.


Values = tuple[NDArray[np.signedinteger], FloatArray]
"""(M, m) of values e^{−θM}·m."""

_UNDERFLOW = 746.0  # e^−746 is 0 in float64


@dataclass(frozen=True)
class Node:
    """A conjunction: `literals` are (predicate, does it hold) in increasing order of predicates."""

    literals: tuple[tuple[int, bool], ...] = ()

    @property
    def members(self) -> tuple[int, ...]:
        return tuple(member for member, _ in self.literals)

    @property
    def signs(self) -> int:
        """Bit j is 1 when the j-th smallest predicate holds, 0 when its negation does."""
        return sum(holds << j for j, (_, holds) in enumerate(self.literals))

    def decides(self, predicate: int) -> bool:
        return predicate in self.members

    def with_literal(self, predicate: int, holds: bool) -> Node:
        return Node(tuple(sorted((*self.literals, (predicate, holds)))))


class MistakeLaw:
    """P(tree) ∝ prior(tree)·e^{−θ·cost(tree)}: the cost of a tree is its mistakes, and θ = η.

    A node stops with prior chance σ = `stop`. With C classes, N_c records of class c at the node and N = Σ N_c:
    L(node) = (1/C)·Σ_c e^{−η(N − N_c)}.
    """

    rate: float
    """θ: what a mistake takes off a log-weight."""
    decay: FloatArray
    """e^{−θj} for j = 0, 1, …, a table."""
    stop_odds: float
    """Bσ/(1−σ): the prior weight of a stop, that of each predicate being one."""
    share: float
    """(1−σ)/B."""

    def __init__(self, counts: ConjunctionCounts, inverse_temperature: float, stop: float) -> None:
        self.rate, self.decay = inverse_temperature, _decay(inverse_temperature, counts.records)
        self.stop_odds = counts.predicates * stop / (1.0 - stop)
        self.share, self._classes = (1.0 - stop) / counts.predicates, counts.classes

    def leaves(self, sums: IntArray) -> Values:
        """L of nodes where the classes have these counts (along the last axis)."""
        most = sums.max(axis=-1)
        mass = np.zeros(most.shape)
        for c in range(self._classes):  # in this order, as on every device
            mass += self.decayed(most - sums[..., c])
        return sums.sum(axis=-1) - most, mass / self._classes

    def decayed(self, gaps: NDArray[np.signedinteger]) -> FloatArray:
        """e^{−θj} for every j of `gaps`."""
        found: FloatArray = self.decay[np.minimum(gaps, self.decay.size - 1)]
        return found

    def label_costs(self, sums: IntArray) -> IntArray:
        """What a leaf costs at one node, for each label that it may have."""
        error_counts: IntArray = sums.sum() - sums
        return error_counts


class PartitionFunction:
    """Z at every node, from `counts` and `law`. A function of the private records.

    Leaves with D literals are by far the most nodes: they are not stored but summed up as they are met. Counts that
    name a device have the sums made there, bit for bit the same (proofs/gpu.md).
    """

    def __init__(self, counts: ConjunctionCounts, law: MistakeLaw) -> None:
        self.counts, self.law = counts, law
        self._levels: list[list[Values]] = [[]]
        """`_levels[r][s]`: Z(·, r) for the nodes with s literals, s + r ≤ D, indexed [rank of the set, signs]."""
        if counts.device is not None:
            self._levels += self._levels_on(counts.device)
            return
        self._sets = [counts.sets.of_size(size) for size in range(counts.depth)]
        for remaining in range(1, counts.depth + 1):
            self._levels.append([self._level(size, remaining) for size in range(counts.depth - remaining + 1)])

    def log_weights(self, node: Node, remaining: int) -> FloatArray:
        """ln of the terms of Z(`node`, `remaining`), up to a common factor: B predicates and, if σ > 0, the stop."""
        cost, mass = self._split_terms(node, remaining)
        if self.law.stop_odds > 0:
            leaf_cost, leaf_mass = self._values([node], 0)
            cost, mass = np.append(cost, leaf_cost), np.append(mass, self.law.stop_odds * leaf_mass)
        weights: FloatArray = -self.law.rate * (cost - cost.min()) + np.log(mass)
        return weights

    def label_log_weights(self, node: Node) -> FloatArray:
        """ln e^{−θ·cost} for each label of a leaf, up to a common factor."""
        costs = self.label_costs(node)
        weights: FloatArray = -self.law.rate * (costs - costs.min())
        return weights

    def least_costs(self, node: Node, remaining: int) -> IntArray:
        """For each predicate: the least cost of a tree that asks it at `node`."""
        return self._split_terms(node, remaining)[0]

    def label_costs(self, node: Node) -> IntArray:
        """For each label: the cost of a leaf that has it."""
        return self.law.label_costs(self.counts.of_nodes(_member_rows([node]))[0, node.signs])

    def _split_terms(self, node: Node, remaining: int) -> tuple[IntArray, FloatArray]:
        own_cost, own_mass = self._values([node], remaining - 1)
        cost = np.full(self.counts.predicates, own_cost, dtype=np.int64)
        mass = np.full(self.counts.predicates, own_mass)
        new = [b for b in range(self.counts.predicates) if not node.decides(b)]
        if new:
            fails, holds = (self._values([node.with_literal(b, h) for b in new], remaining - 1) for h in (False, True))
            cost[new] = fails[0] + holds[0]
            mass[new] = fails[1] * holds[1]
        return cost, mass

    def _values(self, nodes: Sequence[Node], remaining: int) -> Values:
        """Z(·, `remaining`) of `nodes`, all with the same number of literals."""
        sets, signs = _member_rows(nodes), np.array([node.signs for node in nodes])
        if remaining == 0:
            return self.law.leaves(self.counts.of_nodes(sets)[np.arange(len(nodes)), signs])
        size = sets.shape[1]
        cost, mass = self._levels[remaining][size]
        place = self.counts.sets.rows(sets) - self.counts.sets.start[size], signs
        return cost[place].astype(np.int64), mass[place]

    def _levels_on(self, device: str) -> Iterable[list[Values]]:
        from pcqr.gpu.counts import tree_levels  # noqa: PLC0415 (torch takes seconds to import, and need not be there)

        counts, law = self.counts, self.law
        with stage_progress("weighing trees on the GPU"):
            return tree_levels(
                counts.table, counts.predicates, counts.depth, law.decay, law.stop_odds, law.share, device
            )[1:]

    def _level(self, size: int, remaining: int) -> Values:
        """Z(·, `remaining`) for all nodes of `size` literals."""
        shape = self._sets[size].shape[0], 1 << size
        cost, mass = np.empty(shape, dtype=np.int32), np.empty(shape)

        def fill(low: int, high: int) -> None:
            share = slice(low, high)
            self._add_up(size, remaining, share, cost[share], mass[share])
            mass[share] *= self.law.share

        steps = shape[1] * self.counts.predicates * self.counts.classes
        in_shares(f"weighing trees of depth {remaining}", shape[0], steps, fill)
        return cost, mass

    def _add_up(self, size: int, remaining: int, share: slice, cost: Int32Array, mass: FloatArray) -> None:
        """The terms of Z at the nodes of a share of the sets: first those that do not split the node, then the rest."""
        law, sets, ranked = self.law, self._sets[size][share], self.counts.sets
        if remaining == 1:
            nodes = self.counts.of_nodes(sets)
            cost[:], leaf_mass = law.leaves(nodes)
            mass[:] = (size + law.stop_odds) * leaf_mass
            table = self.counts.table
            add_leaf_pairs(table, ranked.start, ranked.steps, sets, nodes, law.decay, cost, mass)
            return
        same, wider = self._levels[remaining - 1][size], self._levels[remaining - 1][size + 1]
        cost[:], mass[:] = same[0][share], size * same[1][share]
        if law.stop_odds > 0:
            leaf_cost, leaf_mass = law.leaves(self.counts.of_nodes(sets))
            mass += law.stop_odds * leaf_mass * law.decayed(leaf_cost - cost)
        add_pairs(*wider, ranked.steps, sets, law.decay, cost, mass)


def _member_rows(nodes: Sequence[Node]) -> IntArray:
    """The members of each of `nodes`, all of one depth, one row a node."""
    return np.array([node.members for node in nodes], dtype=np.int64).reshape(len(nodes), -1)


def _decay(rate: float, largest: int) -> FloatArray:
    """e^{−θj} for j = 0, …, `largest`, or as far as it is positive with a last entry 0 that stands for all larger j."""
    last = largest if rate else 0  # all entries would be 1
    if rate * largest > _UNDERFLOW:
        last = math.ceil(_UNDERFLOW / rate)
    table: FloatArray = np.exp(-rate * np.arange(last + 1))
    return table
