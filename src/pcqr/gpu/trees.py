"""The partition function of decision trees on a device: bit for bit that of `pcqr.hypotheses.trees.partition`.

A value is e^{−θM}·m: M, its *cost*, an exact integer and m, its *mass*, a positive float64. Each node has its sum over
all predicates in the order of the predicates, each product and each sum rounded by itself, and every e^{−θj} out of one
table that is handed in: the same operations in the same order as the compiled loops of the CPU. What is shared out are
nodes, which have nothing to do with each other.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray

from pcqr.gpu.ranks import Ranks

Values = tuple[NDArray[np.int32], NDArray[np.float64]]
"""(M, m), indexed [rank of the set, signs]."""
Held = tuple[torch.Tensor, torch.Tensor]

_NUMBERS = 1 << 25
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
        number = max(1, _NUMBERS // (shape[1] * self._classes))
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
