"""The partition function of decision trees, for every node that a tree of depth D can have.

A node is a set of at most D literals, a literal being a predicate or its negation. With B predicates, C classes and
the node's class counts N_c, N = Σ N_c:

    L(node)    = (1/C)·Σ_c e^{−η(N − N_c)}                                       a leaf, its label drawn uniformly
    Z(node, 0) = L(node)
    Z(node, r) = σ·L(node) + (1−σ)/B · Σ_b Z(node ∧ b, r−1)·Z(node ∧ ¬b, r−1)    r splits still allowed

A predicate that the path has fixed already leaves one side empty, and Z(∅, r) = 1. So, s the number of literals,

    Z(node, r) = (1−σ)/B · [ s·Z(node, r−1) + (Bσ/(1−σ))·L(node) + Σ_{b new} Z(node ∧ b, r−1)·Z(node ∧ ¬b, r−1) ].

Every value is kept as e^{−ηM}·m: M, the fewest mistakes below the node, is an exact integer, and m is a sum of positive
terms, between the prior mass of the best tree and 1. Nothing is subtracted but integer counts, nothing overflows, and
what underflows is negligible beside its sum (proofs/trees.md).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.hypotheses.trees.counting import ConjunctionCounts, Int32Array, IntArray, in_shares

FloatArray = NDArray[np.float64]
Values = tuple[NDArray[np.signedinteger], FloatArray]
"""(M, m) of values e^{−ηM}·m."""

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


class PartitionFunction:
    """Z at every node, from `counts`, η = `inverse_temperature` and σ = `stop`. A function of the private records.

    Leaves with D literals are by far the most nodes: they are not stored but summed up as they are met.
    """

    def __init__(self, counts: ConjunctionCounts, inverse_temperature: float, stop: float) -> None:
        self.counts, self.inverse_temperature = counts, inverse_temperature
        self.stop_odds = counts.predicates * stop / (1.0 - stop)
        """Bσ/(1−σ): the prior weight of a stop, that of each predicate being one."""
        self._sets = [counts.sets.of_size(size) for size in range(counts.depth)]
        self._decay = _decay(inverse_temperature, counts.records)
        self._levels: list[list[Values]] = [[]]
        """`_levels[r][s]`: Z(·, r) for the nodes with s literals, s + r ≤ D, indexed [rank of the set, signs]."""
        scale = (1.0 - stop) / counts.predicates
        for remaining in range(1, counts.depth + 1):
            sizes = range(counts.depth - remaining + 1)
            self._levels.append([self._level(size, remaining, scale) for size in sizes])

    def log_weights(self, node: Node, remaining: int) -> FloatArray:
        """ln of the terms of Z(`node`, `remaining`), up to a common factor: B predicates and, if σ > 0, the stop."""
        mistakes, mass = self._split_terms(node, remaining)
        if self.stop_odds > 0:
            leaf_mistakes, leaf_mass = self._values([node], 0)
            mistakes, mass = np.append(mistakes, leaf_mistakes), np.append(mass, self.stop_odds * leaf_mass)
        weights: FloatArray = -self.inverse_temperature * (mistakes - mistakes.min()) + np.log(mass)
        return weights

    def label_log_weights(self, node: Node) -> FloatArray:
        """ln e^{−η(N − N_c)} for each class c, up to a common factor."""
        counts = self.class_counts(node)
        weights: FloatArray = -self.inverse_temperature * (counts.max() - counts)
        return weights

    def fewest_mistakes(self, node: Node, remaining: int) -> IntArray:
        """For each predicate: the fewest mistakes of a tree that asks it at `node`."""
        return self._split_terms(node, remaining)[0]

    def class_counts(self, node: Node) -> IntArray:
        found: IntArray = self.counts.of_nodes(member_rows([node]))[0, node.signs]
        return found

    def _split_terms(self, node: Node, remaining: int) -> tuple[IntArray, FloatArray]:
        own_mistakes, own_mass = self._values([node], remaining - 1)
        mistakes = np.full(self.counts.predicates, own_mistakes, dtype=np.int64)
        mass = np.full(self.counts.predicates, own_mass)
        new = [b for b in range(self.counts.predicates) if not node.decides(b)]
        if new:
            fails, holds = (self._values([node.with_literal(b, h) for b in new], remaining - 1) for h in (False, True))
            mistakes[new] = fails[0] + holds[0]
            mass[new] = fails[1] * holds[1]
        return mistakes, mass

    def _values(self, nodes: Sequence[Node], remaining: int) -> Values:
        """Z(·, `remaining`) of `nodes`, all with the same number of literals."""
        sets, signs = member_rows(nodes), np.array([node.signs for node in nodes])
        if remaining == 0:
            return self._leaves(self.counts.of_nodes(sets)[np.arange(len(nodes)), signs])
        size = sets.shape[1]
        mistakes, mass = self._levels[remaining][size]
        place = self.counts.sets.rows(sets) - self.counts.sets.start[size], signs
        return mistakes[place].astype(np.int64), mass[place]

    def _leaves(self, counts: IntArray) -> Values:
        """L of nodes with these class counts (along the last axis)."""
        most = counts.max(axis=-1, keepdims=True)
        mass = np.exp(-self.inverse_temperature * (most - counts)).sum(axis=-1) / self.counts.classes
        return counts.sum(axis=-1) - most[..., 0], mass

    def _level(self, size: int, remaining: int, scale: float) -> Values:
        """Z(·, `remaining`) for all nodes of `size` literals."""
        shape = self._sets[size].shape[0], 1 << size
        mistakes, mass = np.empty(shape, dtype=np.int32), np.empty(shape)

        def fill(low: int, high: int) -> None:
            share = slice(low, high)
            self._add_up(size, remaining, share, mistakes[share], mass[share])
            mass[share] *= scale

        in_shares(f"weighing trees of depth {remaining}", shape[0], fill)
        return mistakes, mass

    def _add_up(self, size: int, remaining: int, share: slice, mistakes: Int32Array, mass: FloatArray) -> None:
        """The terms of Z at the nodes of a share of the sets: first those that do not split the node, then the rest."""
        sets, ranked = self._sets[size][share], self.counts.sets
        if remaining == 1:
            nodes = self.counts.of_nodes(sets)
            mistakes[:], leaf_mass = self._leaves(nodes)
            mass[:] = (size + self.stop_odds) * leaf_mass
            _add_leaf_pairs(self.counts.table, ranked.start, ranked.steps, sets, nodes, self._decay, mistakes, mass)
            return
        same, wider = self._levels[remaining - 1][size], self._levels[remaining - 1][size + 1]
        mistakes[:], mass[:] = same[0][share], size * same[1][share]
        if self.stop_odds > 0:
            leaf_mistakes, leaf_mass = self._leaves(self.counts.of_nodes(sets))
            mass += self.stop_odds * leaf_mass * np.exp(-self.inverse_temperature * (leaf_mistakes - mistakes))
        _add_pairs(*wider, ranked.steps, sets, self._decay, mistakes, mass)


def member_rows(nodes: Sequence[Node]) -> IntArray:
    """The members of each of `nodes`, all of one depth, one row a node."""
    return np.array([node.members for node in nodes], dtype=np.int64).reshape(len(nodes), -1)


def _decay(inverse_temperature: float, records: int) -> FloatArray:
    """e^{−ηj} for j = 0, …, n, or as far as it is positive with a last entry 0 that stands for all larger j."""
    last = records
    if inverse_temperature * records > _UNDERFLOW:
        last = math.ceil(_UNDERFLOW / inverse_temperature)
    table: FloatArray = np.exp(-inverse_temperature * np.arange(last + 1))
    return table


@compiled
def _add_leaf_pairs(  # noqa: PLR0912 (one loop nest: compiled code cannot call our helpers)
    table: Int32Array, start: IntArray, steps: IntArray, sets: Int32Array, nodes: IntArray, decay: FloatArray,
    mistakes: Int32Array, mass: FloatArray,
) -> None:  # fmt: skip
    """Add L(node ∧ b)·L(node ∧ ¬b), for every new b, to e^{−ηM}·m of the nodes of `sets`; `nodes` are their counts."""
    size, predicates, last = sets.shape[1], steps.shape[0] - 1, decay.size - 1
    classes, signs = table.shape[1], 1 << size
    row_without_b, place_of_b = np.empty(signs, np.int64), np.empty(signs, np.int64)
    side = np.empty((signs, classes), np.int64)
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
                    for c in range(classes):
                        side[subset, c] = table[row, c]
                for j in range(size):
                    for subset in range(signs):
                        if not subset >> j & 1:
                            for c in range(classes):
                                side[subset, c] -= side[subset | 1 << j, c]
                for sign in range(signs):
                    total, most, other_most = 0, 0, 0
                    for c in range(classes):
                        total += nodes[k, sign, c]
                        most = max(most, side[sign, c])
                        other_most = max(other_most, nodes[k, sign, c] - side[sign, c])
                    value, other = 0.0, 0.0
                    for c in range(classes):
                        value += decay[min(most - side[sign, c], last)]
                        other += decay[min(other_most - nodes[k, sign, c] + side[sign, c], last)]
                    value *= other / (classes * classes)
                    wrong = total - most - other_most
                    gap = wrong - mistakes[k, sign]
                    if gap >= 0:
                        mass[k, sign] += value * decay[min(gap, last)]
                    else:
                        mass[k, sign] = mass[k, sign] * decay[min(-gap, last)] + value
                        mistakes[k, sign] = wrong


@compiled
def _add_pairs(
    wider_mistakes: Int32Array, wider_mass: FloatArray, steps: IntArray, sets: Int32Array, decay: FloatArray,
    mistakes: Int32Array, mass: FloatArray,
) -> None:  # fmt: skip
    """Add Z(node ∧ b, r−1)·Z(node ∧ ¬b, r−1), for every new b, to e^{−ηM}·m of the nodes of `sets`."""
    size, predicates, last = sets.shape[1], steps.shape[0] - 1, decay.size - 1
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
                    wrong = wider_mistakes[row, fails] + wider_mistakes[row, holds]
                    gap = wrong - mistakes[k, sign]
                    if gap >= 0:
                        mass[k, sign] += value * decay[min(gap, last)]
                    else:
                        mass[k, sign] = mass[k, sign] * decay[min(-gap, last)] + value
                        mistakes[k, sign] = wrong
