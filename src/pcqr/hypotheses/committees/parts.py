"""Many parts of the records on a line, each as sorted groups with counts: what `Groups` is for one of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcqr.compiled import compiled
from pcqr.hypotheses.cuts import IntArray, midpoints
from pcqr.noise import FloatArray
from pcqr.records.arrays import Labels


@dataclass(frozen=True, eq=False, repr=False)
class PartGroups:
    """Part j has the n_j records from `starts[j]` on, and G_j = `counts[j]` groups of equal values. **Private.**

    Each part has room for as many groups as it has records, so that the size of every array is public.
    """

    values: FloatArray
    """What the records of each group have in common, increasing; those of part j begin at `starts[j]`."""

    gains: IntArray
    """S_0, …, S_G as in `Groups.prefix_gain`; those of part j begin at `starts[j]` + j."""

    counts: IntArray
    starts: IntArray

    @classmethod
    def of(cls, values: FloatArray, labels: Labels, ends: IntArray) -> PartGroups:
        """The parts are the rows [0, ends[0]), [ends[0], ends[1]), …; none is empty.

        All values are sorted at once, and each record then falls to its own part: O(n log n), however many parts.
        """
        sizes = np.diff(ends, prepend=0)
        starts, part_of = ends - sizes, np.repeat(np.arange(ends.size), sizes)
        return cls(*_grouped(values, labels, np.argsort(values), part_of, starts), starts)

    @property
    def records(self) -> IntArray:
        """n_j."""
        return np.diff(self.starts, append=self.values.size)

    @property
    def ranks(self) -> IntArray:
        """0, …, G_j − 1 for the groups of each part, where `values` has them."""
        return np.arange(self.values.size) - np.repeat(self.starts, self.records)

    @property
    def balances(self) -> IntArray:
        """S_G: the 1s minus the 0s of each part."""
        balances: IntArray = self.gains[self.starts + np.arange(self.starts.size) + self.counts]
        return balances

    def edges(self, places: IntArray) -> FloatArray:
        """In row j the edges of part j (`Groups.edges`) at `places[j]`: −∞ at 0, +∞ at G_j, else a cut."""
        groups = self.counts[:, None]
        above = self.starts[:, None] + np.clip(places, 0, groups - 1)
        below = np.maximum(above - 1, 0)  # of another part, or of none, only where the place is 0
        cuts = midpoints(self.values[below], self.values[above])
        return np.where(places == 0, -np.inf, np.where(places == groups, np.inf, cuts))


@compiled
def _grouped(
    values: FloatArray, labels: Labels, order: IntArray, part_of: IntArray, starts: IntArray
) -> tuple[FloatArray, IntArray, IntArray]:
    """Records in increasing `order`: each opens a group of its part, or joins the last one."""
    groups = np.zeros(values.size)
    gains = np.zeros(values.size + starts.size, np.int64)
    counts = np.zeros(starts.size, np.int64)
    for record in order:
        part = part_of[record]
        start, count = starts[part], counts[part]
        if count == 0 or groups[start + count - 1] != values[record]:
            groups[start + count] = values[record]
            gains[start + part + count + 1] = gains[start + part + count]
            count += 1
            counts[part] = count
        gains[start + part + count] += 2 * labels[record] - 1
    return groups, gains, counts
