"""Sets of predicates in the order of their ranks: that of the combinatorial number system.

A set i₁ < … < i_s has the rank C(i₁, 1) + … + C(i_s, s) among the sets of its size, and a table of all sets has those
of size 0 first, then those of size 1, and so on.
"""

from __future__ import annotations

import math

import torch


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
