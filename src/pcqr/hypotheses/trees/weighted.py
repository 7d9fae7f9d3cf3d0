"""An exact draw of a tree whose leaves may abstain, from records that carry weights.

A record has a label y ∈ {0, 1} and an integer weight w ∈ {0, …, G}, G = `GRID`; a leaf says 0, 1 or ½. With B
predicates and depth D the draw is over all B^(2^D − 1)·3^(2^D) syntactic trees, η = `inverse_temperature`:

    P(t) ∝ e^{−η·cost(t)},    cost(t) = Σᵢ (wᵢ/G)·|t(xᵢ) − yᵢ|.

The recursion is that of a published tree (partition.py) with another leaf. With W_c the weight of class c at a node,

    L(node) = (e^{−η·W₁/G} + e^{−η·W₀/G} + e^{−η·(W₀+W₁)/(2G)}) / 3        it says 0, says 1, abstains
            = e^{−2θ·min W} · (1 + q + q²) / 3,     θ = η/(2G),  q = e^{−θ·|W₀−W₁|}.

Costs are whole numbers of units 1/(2G), a wrong label 2w of them and ½ w, so that nothing is rounded on the way: a
record adds 0 to 2G units, whatever the tree (proofs/boosting.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.errors import DataError
from pcqr.hypotheses.base import Labels, Points
from pcqr.hypotheses.trees.counting import (
    ConjunctionCounts,
    Int32Array,
    IntArray,
    RankedSets,
    Words,
    count_size,
    in_shares,
    pack,
)
from pcqr.hypotheses.trees.partition import FloatArray, Node, Values, member_rows
from pcqr.hypotheses.trees.predicates import Predicate, evaluate
from pcqr.hypotheses.trees.tree import Leaf, Split
from pcqr.noise import UNIT_ROUNDOFF, Chooser

GRID = 31
"""G, which stands for the weight 1: all bits of a weight are in use, and counting takes a pass for each of them."""

ABSTAIN = 2
"""The label of a leaf that says ½."""

MOST_RECORDS = (2**31 - 1) // (2 * GRID)
"""Costs are 32-bit integers."""

MOST_LOG_TREES = 600.0
"""ln of the most trees to draw from: every mass is at least the prior of one tree, far above what underflows."""

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


def draw_tree(
    weights: ConjunctionCounts, predicates: Sequence[Predicate], inverse_temperature: float, choose: Chooser
) -> Leaf | Split:
    """A tree of depth D with the law above, without the sides that its own path rules out.

    `weights` are those of `WeightedRecords.weigh`, in the order of `predicates`; D is their depth.
    """
    function = WeightedPartition(weights, inverse_temperature)

    def grow(node: Node, remaining: int) -> Leaf | Split:
        if remaining == 0:
            return Leaf(choose(function.label_log_weights(node)))
        asked = choose(function.log_weights(node, remaining))
        if node.decides(asked):  # the other side cannot be reached
            return grow(node, remaining - 1)
        fails, holds = (grow(node.with_literal(asked, side), remaining - 1) for side in (False, True))
        return Split(predicates[asked], fails, holds)

    return grow(Node(), weights.depth)


def log_probability_error(records: int, predicates: int, depth: int, inverse_temperature: float) -> float:
    """λ = 2^(D+1)·u·(D·(4·min(ηn, 746) + 7B + 32) + 6ηn + 4000) for n = `records` and B = `predicates` offered.

    A bound on |ln p̃(t) − ln p(t)|, p̃ the law that float64 arithmetic makes `draw_tree` draw from.
    """
    exponent = inverse_temperature * records
    level = 4.0 * min(exponent, 746.0) + 7.0 * predicates + 32.0
    return 2.0 ** (depth + 1) * UNIT_ROUNDOFF * (depth * level + 6.0 * exponent + 4000.0)


class WeightedPartition:
    """Z at every node, from sums of `weights` and η = `inverse_temperature`: as `PartitionFunction`, abstaining.

    Every value is e^{−θM}·m, M the least cost below the node, an exact integer, and m a sum of positive terms.
    """

    def __init__(self, weights: ConjunctionCounts, inverse_temperature: float) -> None:
        self.weights, self.rate = weights, inverse_temperature / (2 * GRID)
        """θ = η/(2G): what a unit of cost takes off a log-weight."""
        self._sets = [weights.sets.of_size(size) for size in range(weights.depth)]
        self._levels: list[list[Values]] = [[]]
        """`_levels[r][s]`: Z(·, r) for the nodes with s literals, s + r ≤ D, indexed [rank of the set, signs]."""
        for remaining in range(1, weights.depth + 1):
            self._levels.append([self._level(size, remaining) for size in range(weights.depth - remaining + 1)])

    def log_weights(self, node: Node, remaining: int) -> FloatArray:
        """For each predicate the ln of its term of Z(`node`, `remaining`), up to a common factor."""
        count = self.weights.predicates
        own_cost, own_mass = self._values([node], remaining - 1)
        cost, mass = np.full(count, own_cost, dtype=np.int64), np.full(count, own_mass)
        new = [b for b in range(count) if not node.decides(b)]
        if new:
            fails, holds = (self._values([node.with_literal(b, h) for b in new], remaining - 1) for h in (False, True))
            cost[new] = fails[0] + holds[0]
            mass[new] = fails[1] * holds[1]
        found: FloatArray = -self.rate * (cost - cost.min()) + np.log(mass)
        return found

    def label_log_weights(self, node: Node) -> FloatArray:
        """−θ·(cost above the least) of a leaf that says 0, 1, ½."""
        zeros, ones = self.weights.of_nodes(member_rows([node]))[0, node.signs]
        costs = np.array([2 * ones, 2 * zeros, zeros + ones])
        found: FloatArray = -self.rate * (costs - costs.min())
        return found

    def _values(self, nodes: Sequence[Node], remaining: int) -> Values:
        """Z(·, `remaining`) of `nodes`, all with the same number of literals."""
        sets, signs = member_rows(nodes), np.array([node.signs for node in nodes])
        if remaining == 0:
            return self._leaves(self.weights.of_nodes(sets)[np.arange(len(nodes)), signs])
        size = sets.shape[1]
        cost, mass = self._levels[remaining][size]
        place = self.weights.sets.rows(sets) - self.weights.sets.start[size], signs
        return cost[place].astype(np.int64), mass[place]

    def _leaves(self, sums: IntArray) -> Values:
        """L of nodes with these weights W₀, W₁ (along the last axis)."""
        q = np.exp(-self.rate * np.abs(sums[..., 0] - sums[..., 1]))
        return 2 * sums.min(axis=-1), (1.0 + q + q * q) / 3.0

    def _level(self, size: int, remaining: int) -> Values:
        """Z(·, `remaining`) for all nodes of `size` literals: first the terms that do not split them, then the rest."""
        shape = self._sets[size].shape[0], 1 << size
        cost, mass = np.empty(shape, dtype=np.int32), np.empty(shape)
        ranked = self.weights.sets

        def fill(low: int, high: int) -> None:
            share = slice(low, high)
            sets = self._sets[size][share]
            if remaining == 1:
                nodes = self.weights.of_nodes(sets)
                cost[share], own = self._leaves(nodes)
                mass[share] = size * own
                _add_leaf_pairs(
                    self.weights.table, ranked.start, ranked.steps, sets, nodes, self.rate, cost[share], mass[share]
                )
            else:
                same, wider = self._levels[remaining - 1][size], self._levels[remaining - 1][size + 1]
                cost[share], mass[share] = same[0][share], size * same[1][share]
                _add_pairs(*wider, ranked.steps, sets, self.rate, cost[share], mass[share])
            mass[share] /= self.weights.predicates

        in_shares(f"weighing trees of depth {remaining}", shape[0], fill)
        return cost, mass


@compiled
def _add_leaf_pairs(  # noqa: PLR0912 (one loop nest: compiled code cannot call our helpers)
    table: Int32Array, start: IntArray, steps: IntArray, sets: Int32Array, nodes: IntArray, rate: float,
    cost: Int32Array, mass: FloatArray,
) -> None:  # fmt: skip
    """Add L(node ∧ b)·L(node ∧ ¬b), for every new b, to e^{−θM}·m of the nodes of `sets`; `nodes` are their weights."""
    size, predicates = sets.shape[1], steps.shape[0] - 1
    signs = 1 << size
    row_without_b, place_of_b = np.empty(signs, np.int64), np.empty(signs, np.int64)
    side = np.empty((signs, 2), np.int64)
    for k in range(sets.shape[0]):
        for place in range(size + 1):  # b lies between two members: its place in every subset stays the same
            for subset in range(signs):
                row, taken, before = 0, 0, 0
                for j in range(size):
                    if subset >> j & 1:
                        taken += 1
                        before += j < place
                        row += steps[sets[k, j], taken + (j >= place)]
                place_of_b[subset] = before + 1
                row_without_b[subset] = row + start[taken + 1]
            low = sets[k, place - 1] + 1 if place > 0 else 0
            high = sets[k, place] if place < size else predicates
            for b in range(low, high):
                for subset in range(signs):
                    row = row_without_b[subset] + steps[b, place_of_b[subset]]
                    side[subset, 0], side[subset, 1] = table[row, 0], table[row, 1]
                for j in range(size):
                    for subset in range(signs):
                        if not subset >> j & 1:
                            side[subset, 0] -= side[subset | 1 << j, 0]
                            side[subset, 1] -= side[subset | 1 << j, 1]
                for sign in range(signs):
                    zeros, ones = side[sign, 0], side[sign, 1]
                    other_zeros, other_ones = nodes[k, sign, 0] - zeros, nodes[k, sign, 1] - ones
                    q, p = np.exp(-rate * abs(zeros - ones)), np.exp(-rate * abs(other_zeros - other_ones))
                    value = (1.0 + q + q * q) * (1.0 + p + p * p) / 9.0
                    least = 2 * (min(zeros, ones) + min(other_zeros, other_ones))
                    gap = least - cost[k, sign]
                    if gap >= 0:
                        mass[k, sign] += value * np.exp(-rate * gap)
                    else:
                        mass[k, sign] = mass[k, sign] * np.exp(rate * gap) + value
                        cost[k, sign] = least


@compiled
def _add_pairs(
    wider_cost: Int32Array, wider_mass: FloatArray, steps: IntArray, sets: Int32Array, rate: float,
    cost: Int32Array, mass: FloatArray,
) -> None:  # fmt: skip
    """Add Z(node ∧ b, r−1)·Z(node ∧ ¬b, r−1), for every new b, to e^{−θM}·m of the nodes of `sets`."""
    size, predicates = sets.shape[1], steps.shape[0] - 1
    for k in range(sets.shape[0]):
        for place in range(size + 1):
            row_without_b = 0
            for j in range(size):
                row_without_b += steps[sets[k, j], j + 1 + (j >= place)]
            low = sets[k, place - 1] + 1 if place > 0 else 0
            high = sets[k, place] if place < size else predicates
            for b in range(low, high):
                row = row_without_b + steps[b, place + 1]
                for sign in range(1 << size):
                    fails = (sign & ((1 << place) - 1)) | (sign >> place) << (place + 1)
                    holds = fails | 1 << place
                    value = wider_mass[row, fails] * wider_mass[row, holds]
                    least = wider_cost[row, fails] + wider_cost[row, holds]
                    gap = least - cost[k, sign]
                    if gap >= 0:
                        mass[k, sign] += value * np.exp(-rate * gap)
                    else:
                        mass[k, sign] = mass[k, sign] * np.exp(rate * gap) + value
                        cost[k, sign] = least
