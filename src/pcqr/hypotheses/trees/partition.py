"""The partition function of decision trees, for every node that a tree of depth D can have.

A node is a set of at most D literals, a literal being a predicate or its negation. With B predicates, C classes and
the node's class counts N_c, N = Σ N_c:

    L(node)    = (1/C)·Σ_c e^{−η(N − N_c)}                                       a leaf, its label drawn uniformly
    Z(node, 0) = L(node)
    Z(node, r) = σ·L(node) + (1−σ)/B · Σ_b Z(node ∧ b, r−1)·Z(node ∧ ¬b, r−1)    r splits still allowed

Every value is kept as e^{−ηM}·m: M, the fewest mistakes below the node, is an exact integer, and m a sum of positive
terms the largest of which is scaled to order one. Nothing is subtracted but integer counts, nothing overflows, and what
underflows is below 10⁻³⁰⁰ of its sum (proofs/trees.md). A predicate that the path has fixed already leaves one side
empty: Z(∅, r) = 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.hypotheses.trees.counting import ConjunctionCounts, IntArray, binomials, in_shares

FloatArray = NDArray[np.float64]
_UNDERFLOW = 746.0  # e^−746 is 0 in float64


@dataclass(frozen=True)
class Level:
    """Z(·, r) for all nodes of one size s: e^{−η·`mistakes`}·`mass`, both indexed [rank of the set, signs].

    Bit j of `signs` is 1 when the j-th smallest predicate of the set holds, 0 when its negation does.
    """

    mistakes: IntArray
    mass: FloatArray


class PartitionFunction:
    """`levels[r][s]`: Z(·, r) for all nodes with s literals, s + r ≤ D. A function of the private records.

    Leaves with D literals are by far the most nodes: they are not stored but summed up as they are met.
    """

    def __init__(self, counts: ConjunctionCounts, inverse_temperature: float, stop: float) -> None:
        self.predicates, self.depth, self.classes = counts.predicates, counts.depth, counts.classes
        self.inverse_temperature, self.stop = inverse_temperature, stop
        self._ranks = binomials(self.predicates, self.depth)
        self._counts = np.concatenate(counts.tables)
        self._start = np.cumsum([0, *(table.shape[0] for table in counts.tables)]).astype(np.int64)
        self._decay = _decay(inverse_temperature, counts.records)
        self.levels = [[self._leaves(size) for size in range(self.depth)]]
        for remaining in range(1, self.depth + 1):
            sizes = range(self.depth - remaining + 1)
            self.levels.append([self._splits(size, remaining) for size in sizes])

    def log_weights(self, node: Node, remaining: int) -> FloatArray:
        """ln of the terms that make up Z(`node`, `remaining`), up to a common factor."""
        mistakes, mass = self.split_terms(node, remaining)
        excess = (mistakes - mistakes.min()).astype(np.float64)
        weights: FloatArray = -self.inverse_temperature * excess + np.log(mass)
        return weights

    def split_terms(self, node: Node, remaining: int) -> tuple[IntArray, FloatArray]:
        """(M, m) of the terms e^{−ηM}·m of Z(`node`, `remaining`): B predicates and, if σ > 0, the stop as the last."""
        terms = [self._split_term(node, b, remaining) for b in range(self.predicates)]
        if self.stop > 0:
            mistakes, mass = self._leaf(node)
            terms.append((mistakes, mass * self.predicates * self.stop / (1.0 - self.stop)))
        return np.array([m for m, _ in terms], dtype=np.int64), np.array([m for _, m in terms])

    def class_counts(self, node: Node) -> IntArray:
        """N_c of `node`, by inclusion and exclusion on integers."""
        total = np.zeros(self.classes, dtype=np.int64)
        negated = [member for member, holds in node.literals if not holds]
        held = [member for member, holds in node.literals if holds]
        for chosen in itertools.chain.from_iterable(
            itertools.combinations(negated, size) for size in range(len(negated) + 1)
        ):
            members = sorted(held + list(chosen))
            row = self._counts[self._start[len(members)] + self._rank(members)]
            total += -row if len(chosen) % 2 else row
        return total

    def _split_term(self, node: Node, predicate: int, remaining: int) -> tuple[int, float]:
        if node.decides(predicate):
            return self._value(node, remaining - 1)
        sides = [self._value(node.with_literal(predicate, holds), remaining - 1) for holds in (False, True)]
        return sides[0][0] + sides[1][0], sides[0][1] * sides[1][1]

    def _value(self, node: Node, remaining: int) -> tuple[int, float]:
        """(M, m) with Z(`node`, `remaining`) = e^{−ηM}·m."""
        if remaining == 0:
            return self._leaf(node)
        level = self.levels[remaining][len(node.literals)]
        place = self._rank([member for member, _ in node.literals]), node.signs
        return int(level.mistakes[place]), float(level.mass[place])

    def _leaf(self, node: Node) -> tuple[int, float]:
        counts = self.class_counts(node)
        most = int(counts.max())
        mass = float(np.exp(-self.inverse_temperature * (most - counts)).sum()) / self.classes
        return int(counts.sum()) - most, mass

    def _rank(self, members: list[int]) -> int:
        return int(sum(self._ranks[member, j + 1] for j, member in enumerate(members)))

    def _leaves(self, size: int) -> Level:
        return self._filled(size, partial(_leaf_level, self._counts, self._start, size, self._ranks, self._decay))

    def _splits(self, size: int, remaining: int) -> Level:
        leaf = self.levels[0][size]
        if remaining == 1:
            first = partial(_first_level, self._counts, self._start, leaf.mistakes, leaf.mass)
            return self._filled(size, partial(first, size, self.predicates, self.stop, self._ranks, self._decay))
        same, wider = self.levels[remaining - 1][size], self.levels[remaining - 1][size + 1]
        above = partial(_next_level, same.mistakes, same.mass, wider.mistakes, wider.mass, leaf.mistakes, leaf.mass)
        return self._filled(size, partial(above, size, self.predicates, self.stop, self._ranks, self._decay))

    def _filled(self, size: int, fill: Callable[..., None]) -> Level:
        shape = math.comb(self.predicates, size), 1 << size
        level = Level(np.empty(shape, dtype=np.int64), np.empty(shape))
        in_shares(shape[0], partial(fill, level.mistakes, level.mass))
        return level


@dataclass(frozen=True)
class Node:
    """A conjunction: `literals` are (predicate, does it hold) in increasing order of predicates."""

    literals: tuple[tuple[int, bool], ...] = ()

    @property
    def signs(self) -> int:
        return sum(holds << j for j, (_, holds) in enumerate(self.literals))

    def decides(self, predicate: int) -> bool:
        return any(member == predicate for member, _ in self.literals)

    def with_literal(self, predicate: int, holds: bool) -> Node:
        return Node(tuple(sorted((*self.literals, (predicate, holds)))))


def _decay(inverse_temperature: float, records: int) -> FloatArray:
    """e^{−ηj} for j = 0, 1, … as far as it is positive, with a last entry that stands for all larger j."""
    reach = records + 1
    if inverse_temperature > 0:
        reach = min(reach, math.ceil(_UNDERFLOW / inverse_temperature))
    return np.exp(-inverse_temperature * np.arange(reach + 1, dtype=np.float64))


@compiled
def _leaf_level(  # noqa: PLR0912 (one loop nest: compiled code cannot call our helpers)
    counts: IntArray, start: IntArray, size: int, ranks: IntArray, decay: FloatArray,
    mistakes: IntArray, mass: FloatArray, low: int, high: int,
) -> None:  # fmt: skip
    """L(node) for the nodes of `size` literals whose sets rank in [low, high)."""
    classes, signs, last = counts.shape[1], 1 << size, decay.size - 1
    member = np.empty(size + 1, np.int64)
    member[size] = ranks.shape[0] - 1
    rest = low
    for j in range(size - 1, -1, -1):
        member[j] = j
        while ranks[member[j] + 1, j + 1] <= rest:
            member[j] += 1
        rest -= ranks[member[j], j + 1]
    held = np.empty((signs, classes), np.int64)
    for rank in range(low, high):
        for subset in range(signs):
            row, taken = np.int64(0), 0
            for j in range(size):
                if subset >> j & 1:
                    taken += 1
                    row += ranks[member[j], taken]
            held[subset] = counts[start[taken] + row]
        for j in range(size):
            for subset in range(signs):
                if not subset >> j & 1:
                    held[subset] -= held[subset | 1 << j]
        for sign in range(signs):
            total, most = np.int64(0), np.int64(0)
            for c in range(classes):
                total += held[sign, c]
                most = max(most, held[sign, c])
            value = 0.0
            for c in range(classes):
                value += decay[min(most - held[sign, c], last)]
            mistakes[rank, sign], mass[rank, sign] = total - most, value / classes
        j = 0
        while j < size - 1 and member[j] + 1 == member[j + 1]:
            member[j] = j
            j += 1
        member[j] += 1


@compiled
def _first_level(  # noqa: PLR0912, PLR0915 (one loop nest: compiled code cannot call our helpers)
    counts: IntArray, start: IntArray, leaf_mistakes: IntArray, leaf_mass: FloatArray,
    size: int, predicates: int, stop: float, ranks: IntArray, decay: FloatArray,
    mistakes: IntArray, mass: FloatArray, low: int, high: int,
) -> None:  # fmt: skip
    """Z(node, 1) for the nodes of `size` literals whose sets rank in [low, high): one split, then two leaves."""
    classes, signs, last = counts.shape[1], 1 << size, decay.size - 1
    member = np.empty(size + 1, np.int64)
    member[size] = predicates
    rest = low
    for j in range(size - 1, -1, -1):
        member[j] = j
        while ranks[member[j] + 1, j + 1] <= rest:
            member[j] += 1
        rest -= ranks[member[j], j + 1]
    node = np.empty((signs, classes), np.int64)
    side = np.empty((signs, classes), np.int64)
    for rank in range(low, high):
        for subset in range(signs):
            row, taken = np.int64(0), 0
            for j in range(size):
                if subset >> j & 1:
                    taken += 1
                    row += ranks[member[j], taken]
            node[subset] = counts[start[taken] + row]
        for j in range(size):
            for subset in range(signs):
                if not subset >> j & 1:
                    node[subset] -= node[subset | 1 << j]
        for sign in range(signs):  # the terms in which a predicate of the node comes again
            mistakes[rank, sign], mass[rank, sign] = leaf_mistakes[rank, sign], size * leaf_mass[rank, sign]
        place = 0
        for b in range(predicates):
            if place < size and member[place] == b:
                place += 1
                continue
            for subset in range(signs):
                row, taken = np.int64(0), 0
                for j in range(place):
                    if subset >> j & 1:
                        taken += 1
                        row += ranks[member[j], taken]
                taken += 1
                row += ranks[b, taken]
                for j in range(place, size):
                    if subset >> j & 1:
                        taken += 1
                        row += ranks[member[j], taken]
                row += start[taken]
                for c in range(classes):
                    side[subset, c] = counts[row, c]
            for j in range(size):
                for subset in range(signs):
                    if not subset >> j & 1:
                        for c in range(classes):
                            side[subset, c] -= side[subset | 1 << j, c]
            for sign in range(signs):
                total, most, other_most = np.int64(0), np.int64(0), np.int64(0)
                for c in range(classes):
                    total += node[sign, c]
                    most = max(most, side[sign, c])
                    other_most = max(other_most, node[sign, c] - side[sign, c])
                value, other = 0.0, 0.0
                for c in range(classes):
                    value += decay[min(most - side[sign, c], last)]
                    other += decay[min(other_most - node[sign, c] + side[sign, c], last)]
                value *= other / (classes * classes)
                wrong = total - most - other_most
                gap = wrong - mistakes[rank, sign]
                if gap >= 0:
                    mass[rank, sign] += value * decay[min(gap, last)]
                else:
                    mass[rank, sign] = mass[rank, sign] * decay[min(-gap, last)] + value
                    mistakes[rank, sign] = wrong
        for sign in range(signs):
            split = mass[rank, sign] * (1.0 - stop) / predicates
            if stop > 0:
                gap = leaf_mistakes[rank, sign] - mistakes[rank, sign]
                split += stop * leaf_mass[rank, sign] * decay[min(gap, last)]
            mass[rank, sign] = split
        j = 0
        while j < size - 1 and member[j] + 1 == member[j + 1]:
            member[j] = j
            j += 1
        member[j] += 1


@compiled
def _next_level(  # noqa: PLR0912 (as above)
    same_mistakes: IntArray, same_mass: FloatArray, wider_mistakes: IntArray, wider_mass: FloatArray,
    leaf_mistakes: IntArray, leaf_mass: FloatArray,
    size: int, predicates: int, stop: float, ranks: IntArray, decay: FloatArray,
    mistakes: IntArray, mass: FloatArray, low: int, high: int,
) -> None:  # fmt: skip
    """Z(node, r) for the nodes of `size` literals whose sets rank in [low, high), from Z(·, r−1)."""
    signs, last = 1 << size, decay.size - 1
    member = np.empty(size + 1, np.int64)
    member[size] = predicates
    rest = low
    for j in range(size - 1, -1, -1):
        member[j] = j
        while ranks[member[j] + 1, j + 1] <= rest:
            member[j] += 1
        rest -= ranks[member[j], j + 1]
    for rank in range(low, high):
        for sign in range(signs):
            mistakes[rank, sign], mass[rank, sign] = same_mistakes[rank, sign], size * same_mass[rank, sign]
        place = 0
        for b in range(predicates):
            if place < size and member[place] == b:
                place += 1
                continue
            row = ranks[b, place + 1]
            for j in range(place):
                row += ranks[member[j], j + 1]
            for j in range(place, size):
                row += ranks[member[j], j + 2]
            for sign in range(signs):
                fails = (sign & ((1 << place) - 1)) | (sign >> place) << (place + 1)
                holds = fails | 1 << place
                value = wider_mass[row, fails] * wider_mass[row, holds]
                wrong = wider_mistakes[row, fails] + wider_mistakes[row, holds]
                gap = wrong - mistakes[rank, sign]
                if gap >= 0:
                    mass[rank, sign] += value * decay[min(gap, last)]
                else:
                    mass[rank, sign] = mass[rank, sign] * decay[min(-gap, last)] + value
                    mistakes[rank, sign] = wrong
        for sign in range(signs):
            split = mass[rank, sign] * (1.0 - stop) / predicates
            if stop > 0:
                gap = leaf_mistakes[rank, sign] - mistakes[rank, sign]
                split += stop * leaf_mass[rank, sign] * decay[min(gap, last)]
            mass[rank, sign] = split
        j = 0
        while j < size - 1 and member[j] + 1 == member[j + 1]:
            member[j] = j
            j += 1
        member[j] += 1
