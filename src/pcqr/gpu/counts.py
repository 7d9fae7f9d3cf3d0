"""Counts of conjunctions, votes of large ensembles and the partition function of trees on a device, by torch."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np
import torch
from numpy.typing import NDArray

# ---------------------------------------------------------------------------------------------------------------------
# Sets of predicates in the order of their ranks: that of the combinatorial number system.
#
# A set i₁ < … < i_s has the rank C(i₁, 1) + … + C(i_s, s) among the sets of its size, and a table of all sets has those
# of size 0 first, then those of size 1, and so on.


class Ranks:
    """The sets of at most `depth` of the predicates 0, …, `predicates`−1, on a device."""

    def __init__(self, predicates: int, depth: int, device: str) -> None:
        self.predicates, self.depth, self.device = predicates, depth, device
        binomials = [[math.comb(i, j) for j in range(depth + 2)] for i in range(predicates + 1)]
        self.steps = torch.tensor(binomials, dtype=torch.int64, device=device)
        """`steps[i, j]` = C(i, j): what i adds to a set's rank as its j-th smallest member."""
        self.start = [0]
        """Where the sets of each size begin in one table of all sets; the last entry is the number of its rows."""
        for size in range(depth + 1):
            self.start.append(self.start[-1] + math.comb(predicates, size))

    @property
    def rows(self) -> int:
        return self.start[-1]

    def members(self, size: int) -> torch.Tensor:
        """`[j, r]`: the j-th smallest member of the set of `size` with rank r."""
        found = torch.zeros((0, 1), dtype=torch.int64, device=self.device)
        for width in range(1, size + 1):
            below = [
                math.comb(i, width - 1) for i in range(self.predicates)
            ]  # sets that a largest member i is joined to
            repeats = torch.tensor(below, device=self.device)
            largest = torch.repeat_interleave(torch.arange(self.predicates, device=self.device), repeats)
            rest = torch.cat([found[:, :count] for count in below], dim=1)
            found = torch.cat([rest, largest[None]])
        return found

    def of_subset(self, members: torch.Tensor, subset: int) -> torch.Tensor:
        """The rows, in one table of all sets, of those of `members` that `subset` has: bit j is the j-th smallest."""
        chosen = [j for j in range(members.shape[0]) if subset >> j & 1]
        row = torch.full((members.shape[1],), self.start[len(chosen)], dtype=torch.int64, device=self.device)
        for place, j in enumerate(chosen, start=1):
            row += self.steps[members[j], place]
        return row


# ---------------------------------------------------------------------------------------------------------------------
# How many records of each class satisfy a conjunction of predicates: products of matrices of zeros and ones.
#
# Records are taken in blocks of at most 2¹¹ of one class. Every entry of a product of two such blocks is a number of
# records, and so is every partial sum on the way: an integer of at most 2¹¹, which 16 bits hold exactly. So the counts
# are exact however a library adds up, and whatever it has been told about precision. Blocks are added up as integers.


MOST_RECORDS = 2**31 - 1
BLOCK = 1 << 11
"""Records a product: the largest count that float16 has, with all smaller ones."""
_NUMBERS = 1 << 27
"""Entries of the conjunctions that are held at a time."""


def count_conjunctions(
    blocks: Iterable[tuple[NDArray[np.bool_], NDArray[np.int8]]], predicates: int, classes: int, depth: int, device: str
) -> NDArray[np.int32]:
    """`[row, c]`: the records of class c in which every predicate of the set with that row holds (`Ranks`).

    A block has one row a record: which predicates hold, and the label, 0 … `classes`−1.
    """
    ranks = Ranks(predicates, depth, device)
    table = torch.zeros((classes, ranks.rows), dtype=torch.int32, device=device)
    counted = 0
    for holds, labels in blocks:
        counted += len(labels)
        if counted > MOST_RECORDS:
            raise ValueError(f"at most {MOST_RECORDS:,} records")
        on_device = torch.as_tensor(np.ascontiguousarray(holds), device=device)
        label = torch.as_tensor(labels, device=device)
        for c in range(classes):
            _add_class(on_device[label == c], ranks, table[c])
    found: NDArray[np.int32] = np.ascontiguousarray(table.T.contiguous().cpu().numpy())
    return found


def _add_class(holds: torch.Tensor, ranks: Ranks, counts: torch.Tensor) -> None:
    """Add the records of one class to `counts`, one for each set."""
    counts[0] += holds.shape[0]
    for size in range(1, min(ranks.depth, ranks.predicates) + 1):
        low = size // 2
        widest = max(math.comb(ranks.predicates, low), math.comb(ranks.predicates, size - low - 1))
        for bits in _blocks(holds, max(1, _NUMBERS // (widest * BLOCK))):
            _add_size(bits, ranks, low, size - low, counts)


def _blocks(holds: torch.Tensor, together: int) -> Iterator[torch.Tensor]:
    """`[block, predicate, record]`: some blocks of records at a time; the last one is filled up with zeros."""
    kind = torch.float16 if holds.is_cuda else torch.float32
    for start in range(0, holds.shape[0], together * BLOCK):
        rows = holds[start : start + together * BLOCK]
        number = -(-rows.shape[0] // BLOCK)
        padded = torch.zeros((number * BLOCK, rows.shape[1]), dtype=kind, device=holds.device)
        padded[: rows.shape[0]] = rows.to(kind)
        yield padded.view(number, BLOCK, -1).transpose(1, 2).contiguous()


def _add_size(bits: torch.Tensor, ranks: Ranks, low: int, high: int, counts: torch.Tensor) -> None:
    """Add the counts of all sets of `low` + `high` predicates to theirs.

    A set is its `low` smallest members, its next one i, and `high` − 1 larger ones. For each i the first two parts are
    the first C(i, low) sets of `low` predicates by rank; the last is one of the first C(B−1−i, high−1) sets by rank
    where predicates are numbered from the other end.
    """
    predicates, size = ranks.predicates, low + high
    smaller = _conjunctions(bits, ranks.members(low))
    mirrored = predicates - 1 - ranks.members(high - 1)
    larger = _conjunctions(bits, mirrored)
    above = torch.zeros(mirrored.shape[1], dtype=torch.int64, device=bits.device)
    for j in range(high - 1):  # what was the j-th smallest is the j-th largest: of the places in the whole set
        above += ranks.steps[mirrored[j], size - j]
    for i in range(low, predicates - high + 1):
        below, beyond = math.comb(i, low), math.comb(predicates - 1 - i, high - 1)
        joined = larger[:, :beyond] * bits[:, i : i + 1]
        products = torch.bmm(joined, smaller[:, :below].transpose(1, 2))
        first = above[:beyond] + (ranks.start[size] + math.comb(i, low + 1))
        rows = first[:, None] + torch.arange(below, device=bits.device)
        counts[rows] += products.sum(dim=0, dtype=torch.int32)


def _conjunctions(bits: torch.Tensor, members: torch.Tensor) -> torch.Tensor:
    """`[block, set, record]`: 1 where every member of the set holds."""
    found = torch.ones((bits.shape[0], members.shape[1], bits.shape[2]), dtype=bits.dtype, device=bits.device)
    for each in members:
        found *= bits[:, each]
    return found


# ---------------------------------------------------------------------------------------------------------------------
# The votes of large ensembles as products of matrices: the same integers as on the CPU (proofs/gpu.md).


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_BLOCK = 1 << 11
"""Leaves that one tree out of many has its vote in: counts of at most so many are exact in 16 bits."""
_VOTES_AT_ONCE = 1 << 26
_UNIT_ROUNDOFF = 2.0**-53
_LEAST = 2.0**-1070
"""More than a product loses below the normal range."""


def tree_votes(
    X: Floats, columns: NDArray[np.int32], cuts: Floats, leaves: NDArray[np.int8], labels: int, device: str
) -> Integers:
    """For each row of `X` the votes of k full trees of depth D, in heap order, for each of the labels.

    A product counts how many of the answers on the way to a leaf are as the leaf wants them: D of them at one leaf of
    each tree. Another one counts the leaves that are reached, label by label.
    """
    kind = torch.float16 if torch.device(device).type == "cuda" else torch.float32
    size, ends = leaves.shape
    depth = ends.bit_length() - 1
    asked, which = np.unique(np.stack([columns.ravel().astype(np.float64), cuts.ravel()]), axis=1, return_inverse=True)
    which = which.reshape(columns.shape)
    points = torch.as_tensor(np.ascontiguousarray(X), device=device)
    answers = points[:, torch.as_tensor(asked[0].astype(np.int64), device=device)] > torch.as_tensor(
        asked[1], device=device
    )
    # Each question and its negation: a right answer on the way to a leaf counts one.
    signed = torch.cat([answers.to(kind), 1 - answers.to(kind)], dim=1)
    counts = torch.zeros((X.shape[0], labels), dtype=torch.int64, device=device)
    for start in range(0, size, max(1, _BLOCK // ends)):
        trees = slice(start, start + max(1, _BLOCK // ends))
        wanted = _wanted(which[trees], depth, asked.shape[1])
        said = np.equal.outer(leaves[trees].ravel(), np.arange(labels))
        on_device = torch.as_tensor(wanted, device=device).to(kind), torch.as_tensor(said, device=device).to(kind)
        for low in range(0, X.shape[0], _VOTES_AT_ONCE // _BLOCK):
            rows = slice(low, low + _VOTES_AT_ONCE // _BLOCK)
            is_reached = signed[rows] @ on_device[0] == depth
            counts[rows] += (is_reached.to(kind) @ on_device[1]).to(torch.int64)
    found: Integers = counts.cpu().numpy()
    return found


def _wanted(which: Integers, depth: int, questions: int) -> NDArray[np.int8]:
    """`[question or its negation, leaf]`: how often the way to the leaf asks for it."""
    size, ends = which.shape[0], 1 << depth
    wanted = np.zeros((2 * questions, size * ends), dtype=np.int8)
    leaf = np.arange(size * ends)
    tree, end = np.divmod(leaf, ends)
    place = np.zeros_like(leaf)
    for level in range(depth):
        holds = end >> (depth - 1 - level) & 1
        np.add.at(wanted, (which[tree, place] + np.where(holds, 0, questions), leaf), 1)
        place = 2 * place + 1 + holds
    return wanted


def linear_votes(X: Floats, weights: Floats, biases: Floats, labels: int, device: str) -> Integers:
    """Count for each row of `X` the votes of k linear classifiers with R scores each.

    `weights` has the shape (k, R, p), `biases` (k, R). One product of matrices gives each score up to rounding, another
    one a bound on the rounding error. Only where this bound leaves open which score is the largest are the scores
    computed again, in the order of the columns, as on the CPU.
    """
    size, rows, features = weights.shape
    points = torch.as_tensor(np.ascontiguousarray(X), device=device)
    flat = torch.as_tensor(np.ascontiguousarray(weights.reshape(-1, features).T), device=device)
    bias = torch.as_tensor(biases.ravel(), device=device)
    counts = torch.zeros((X.shape[0], labels), dtype=torch.int64, device=device)
    slack, least = 4.0 * (features + 4) * _UNIT_ROUNDOFF, 4.0 * (features + 4) * _LEAST
    block = max(1, _VOTES_AT_ONCE // flat.shape[1])
    for low in range(0, X.shape[0], block):
        some = points[low : low + block]
        scores = (some @ flat + bias).view(-1, size, rows)
        bounds = ((some.abs() @ flat.abs() + bias.abs()) * slack + least).view(-1, size, rows).amax(dim=2)
        said, lead = _said(scores)
        i, teacher = torch.nonzero(~(lead > 2.0 * bounds), as_tuple=True)
        said[i, teacher] = _said(_in_order(some, flat, bias, i, teacher, rows))[0]
        for label in range(labels):
            counts[low : low + block, label] = (said == label).sum(dim=1)
    found: Integers = counts.cpu().numpy()
    return found


def _said(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The first of the largest scores, and how far it is ahead; of one score, 1 where it is above 0."""
    if scores.shape[-1] == 1:
        return (scores[..., 0] > 0.0).to(torch.int64), scores[..., 0].abs()
    top = scores.topk(2, dim=-1).values
    # The first of the largest as the CPU finds it: only a larger one takes its place, so nothing beats a first NaN.
    said = torch.zeros(scores.shape[:-1], dtype=torch.int64, device=scores.device)
    best = scores[..., 0].clone()
    for label in range(1, scores.shape[-1]):
        is_larger = scores[..., label] > best
        said[is_larger], best = label, torch.where(is_larger, scores[..., label], best)
    return said, top[..., 0] - top[..., 1]


def _in_order(
    points: torch.Tensor, flat: torch.Tensor, bias: torch.Tensor, i: torch.Tensor, teacher: torch.Tensor, rows: int
) -> torch.Tensor:
    """Scores of some rows by some teachers, column after column; columns in which a row is 0 are passed over."""
    places = teacher[:, None] * rows + torch.arange(rows, device=points.device)
    scores = bias[places]
    for j in range(points.shape[1]):
        value = points[i, j][:, None]
        scores = torch.where(value != 0.0, scores + value * flat[j][places], scores)
    return scores


# ---------------------------------------------------------------------------------------------------------------------
# The partition function of decision trees on a device: bit for bit that of `pcqr.hypotheses.trees.partition`.
#
# A value is e^{−θM}·m: M, its *cost*, an exact integer and m, its *mass*, a positive float64. Each node has its sum
# over all predicates in the order of the predicates, each product and each sum rounded by itself, and every e^{−θj}
# out of one table that is handed in: the same operations in the same order as the compiled loops of the CPU. What is
# shared out are nodes, which have nothing to do with each other.


Values = tuple[NDArray[np.int32], NDArray[np.float64]]
"""(M, m), indexed [rank of the set, signs]."""
Held = tuple[torch.Tensor, torch.Tensor]

_SUMS_AT_ONCE = 1 << 25
"""Counts of nodes that are held at a time."""


def tree_levels(
    table: NDArray[np.int32], predicates: int, depth: int, decay: NDArray[np.float64], stop_odds: float, share: float,
    device: str,
) -> list[list[Values]]:  # fmt: skip
    """`[r][s]`: Z(·, r) for the nodes with s literals, s + r ≤ `depth`; nothing for r = 0.

    Parameters
    ----------
    table : array of shape (sets, classes)
        The counts of all sets of at most `depth` of the `predicates`, in the order of `Ranks`.
    decay : array
        e^{−θj} for j = 0, 1, …; the last entry stands for all larger j.
    stop_odds, share : float
        Bσ/(1−σ) and (1−σ)/B.
    """
    weighed = _Weighed(table, Ranks(predicates, depth, device), decay, stop_odds, share)
    held: list[list[Held]] = [[]]
    for remaining in range(1, depth + 1):
        held.append([weighed.level(size, remaining, held) for size in range(depth - remaining + 1)])
    return [[(cost.cpu().numpy(), mass.cpu().numpy()) for cost, mass in level] for level in held]


class _Weighed:
    def __init__(
        self, table: NDArray[np.int32], ranks: Ranks, decay: NDArray[np.float64], stop_odds: float, share: float
    ) -> None:
        self._ranks, self._stop_odds, self._share = ranks, stop_odds, share
        self._table = torch.as_tensor(table, device=ranks.device).T.contiguous()
        self._decay = torch.as_tensor(decay, device=ranks.device)
        self._classes = table.shape[1]
        # Of a number of Python's, CUDA would take the reciprocal, and multiply: another rounding.
        self._number = torch.tensor(float(self._classes), dtype=torch.float64, device=ranks.device)
        self._squared = self._number * self._number

    def level(self, size: int, remaining: int, held: list[list[Held]]) -> Held:
        """Z(·, `remaining`) for all nodes of `size` literals, from those of fewer splits."""
        members = self._ranks.members(size)
        shape = members.shape[1], 1 << size
        cost = torch.empty(shape, dtype=torch.int32, device=members.device)
        mass = torch.empty(shape, dtype=torch.float64, device=members.device)
        number = max(1, _SUMS_AT_ONCE // (shape[1] * self._classes))
        for start in range(0, shape[0], number):
            rows = slice(start, start + number)
            if remaining == 1:
                found = self._over_leaves(members[:, rows])
            else:
                same, wider = held[remaining - 1][size], held[remaining - 1][size + 1]
                found = self._over_stored(members[:, rows], (same[0][rows].T, same[1][rows].T), wider)
            cost[rows], mass[rows] = found[0].T, found[1].T * self._share
        return cost, mass

    def _over_leaves(self, members: torch.Tensor) -> Held:
        """Sums over pairs of leaves, which are not stored: from the counts."""
        size = members.shape[0]
        nodes = self._nodes([self._ranks.of_subset(members, subset) for subset in range(1 << size)])
        cost, mass = self._leaves(nodes)
        mass = mass * (size + self._stop_odds)
        total = nodes.sum(dim=1, dtype=torch.int32)
        for _, is_asked, joined in self._splits(members):
            holding = self._nodes([joined(subset) for subset in range(1 << size)])
            most, value = self._labelled(holding)
            torch.sub(nodes, holding, out=holding)
            other_most, other = self._labelled(holding)
            least = total - most - other_most
            value *= other / self._squared
            cost, mass = self._sum(cost, mass, least, value, is_asked)
        return cost, mass

    def _over_stored(self, members: torch.Tensor, same: Held, wider: Held) -> Held:
        """Sums over pairs whose values are `wider`: of all nodes with one literal more. `same`: with a split less."""
        size = members.shape[0]
        cost, mass = same[0].contiguous(), size * same[1]
        if self._stop_odds > 0:
            rows = [self._ranks.of_subset(members, subset) for subset in range(1 << size)]
            leaf_cost, leaf_mass = self._leaves(self._nodes(rows))
            mass = mass + self._stop_odds * leaf_mass * self._decayed(leaf_cost - cost)
        signs = torch.arange(1 << size, device=members.device)[:, None]
        costs, masses = wider[0].view(-1), wider[1].view(-1)
        for b, is_asked, joined in self._splits(members):
            place = (members < b).sum(dim=0)
            bit = torch.bitwise_left_shift(torch.ones_like(place), place)
            first = (joined((1 << size) - 1) - self._ranks.start[size + 1]) << (size + 1)
            fails = first + ((signs & (bit - 1)) | (torch.bitwise_right_shift(signs, place) << 1) * bit)
            fails.masked_fill_(is_asked, 0)
            holds = (fails + bit).masked_fill_(is_asked, 0)
            cost, mass = self._sum(cost, mass, costs[fails] + costs[holds], masses[fails] * masses[holds], is_asked)
        return cost, mass

    def _splits(self, members: torch.Tensor) -> Iterator[tuple[int, torch.Tensor, _Joined]]:
        """Every predicate b in turn, which of the sets have it already, and the rows of their subsets with b joined."""
        size = members.shape[0]
        places = [[self._ranks.steps[members[j], t] for t in range(size + 2)] for j in range(size)]
        for b in range(self._ranks.predicates if size < self._ranks.predicates else 0):
            yield b, (members == b).any(dim=0), _Joined(self._ranks, members, places, b)

    def _nodes(self, rows: list[torch.Tensor]) -> torch.Tensor:
        """`[signs, c, k]`: the counts of nodes, by subtraction of one literal after the other, out of those of sets."""
        found = torch.stack([self._table[:, row] for row in rows])
        for j in range(len(rows).bit_length() - 1):
            halves = found.view(-1, 2, 1 << j, *found.shape[1:])
            halves[:, 0] -= halves[:, 1]
        return found

    def _leaves(self, nodes: torch.Tensor) -> Held:
        """L of nodes with these counts."""
        most, mass = self._labelled(nodes)
        return nodes.sum(dim=1, dtype=torch.int32) - most, mass / self._number

    def _labelled(self, counts: torch.Tensor) -> Held:
        """The largest count of a class, and Σ_c e^{−θ(largest − N_c)}, class by class."""
        most = counts.amax(dim=1)
        mass = self._decayed(most - counts[:, 0])
        for c in range(1, self._classes):
            mass += self._decayed(most - counts[:, c])
        return most, mass

    def _sum(
        self, cost: torch.Tensor, mass: torch.Tensor, other_cost: torch.Tensor, other_mass: torch.Tensor,
        is_asked: torch.Tensor,
    ) -> Held:  # fmt: skip
        """e^{−θ·cost}·mass + e^{−θ·other_cost}·other_mass; what `is_asked` stays as it is."""
        gap = other_cost - cost
        is_less = gap < 0
        decay = self._decayed(gap.abs())
        kept, added = torch.where(is_less, other_mass, mass), torch.where(is_less, mass, other_mass)
        added *= decay
        kept += added
        return torch.where(is_asked, cost, torch.minimum(cost, other_cost)), torch.where(is_asked, mass, kept)

    def _decayed(self, gap: torch.Tensor) -> torch.Tensor:
        """e^{−θ·gap}."""
        last = self._decay.shape[0] - 1
        found: torch.Tensor = self._decay.index_select(0, gap.clamp(max=last).view(-1)).view(gap.shape)
        return found


class _Joined:
    """The rows of subset ∪ {b} for subsets of many sets, in one table of all sets; 0 for sets that have b."""

    def __init__(self, ranks: Ranks, members: torch.Tensor, places: list[list[torch.Tensor]], b: int) -> None:
        self._ranks, self._places, self._b = ranks, places, b
        self._is_below, self._is_asked = members < b, (members == b).any(dim=0)

    def __call__(self, subset: int) -> torch.Tensor:
        chosen = [j for j in range(len(self._places)) if subset >> j & 1]
        before = torch.ones(self._is_asked.shape, dtype=torch.int64, device=self._is_asked.device)
        row = torch.full_like(before, self._ranks.start[len(chosen) + 1])
        for place, j in enumerate(chosen, start=1):
            row += torch.where(self._is_below[j], self._places[j][place], self._places[j][place + 1])
            before += self._is_below[j]
        row += self._ranks.steps[self._b][before]
        return row.masked_fill_(self._is_asked, 0)
