"""Points on a line as sorted groups with integer counts, and the cuts between them.

A threshold can only separate points with different values, so tied values form one group; all that a
one-dimensional class ever needs of the records is how many 1s and 0s each group holds. Counts are exact integers:
they may be added and subtracted freely, and every log-weight is built from them with a single rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from pcqr.hypotheses.base import Labels
from pcqr.privacy.noise import FloatArray

IntArray = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Groups:
    """G groups in increasing order. Group g is the cell edges[g] < x ≤ edges[g+1] of the line.

    The cells cover the whole line, so a set of groups is a set of reals: a hypothesis that is scored on the counts
    predicts, at every x, what it was scored with.
    """

    cuts: FloatArray
    """The G − 1 cuts between neighbouring groups, strictly increasing."""

    ones: IntArray
    """Records labelled 1 in each group."""

    zeros: IntArray
    """Records labelled 0 in each group."""

    @property
    def count(self) -> int:
        """G."""
        return self.ones.size

    @cached_property
    def edges(self) -> FloatArray:
        """−∞, the cuts, +∞: the G + 1 places where a classifier may change its mind."""
        return np.concatenate(([-np.inf], self.cuts, [np.inf]))

    @cached_property
    def prefix_gain(self) -> IntArray:
        """S_0 = 0, …, S_G: the 1s minus the 0s of the first g groups, S_g = Σ_{i<g} (ones[i] − zeros[i]).

        Labelling groups a, …, b−1 with 1 instead of 0 saves S_b − S_a mistakes.
        """
        sums = np.zeros(self.count + 1, dtype=np.int64)
        np.cumsum(self.ones - self.zeros, out=sums[1:])
        return sums

    @cached_property
    def errors_above(self) -> IntArray:
        """Mistakes of 1[x > edges[i]], i = 0, …, G. Those of its mirror 1[x ≤ edges[i]] are n minus these."""
        return self.prefix_gain + np.int64(self.zeros.sum())


def midpoint_cuts(values: FloatArray) -> FloatArray:
    """The cuts between all neighbours of the strictly increasing `values`."""
    return midpoints(values[:-1], values[1:])


@np.errstate(under="ignore")
def midpoints(below: FloatArray, above: FloatArray) -> FloatArray:
    """Cuts c with a ≤ c < b for all a = `below` and b = `above`, a < b: 1[x > c] separates them.

    Halving before adding cannot overflow. The sum may round up to b (or below a when halves of subnormal numbers
    round); then a itself is the cut.
    """
    middle = 0.5 * below + 0.5 * above
    return np.where((below <= middle) & (middle < above), middle, below)


def group_counts(values: FloatArray, labels: Labels, public: FloatArray | None = None) -> Groups:
    """The records (`values`, `labels`) counted by group.

    With `public=None` the groups are the distinct private values, and so are the cuts between them: a function of
    private data. Otherwise the groups are the distinct values of `public`, each record is counted in the cell
    that holds it, and a group may be empty: the cuts are then public and only the counts are private.
    """
    if public is None:
        return _own_groups(values, labels)
    ordered = np.sort(public)
    return cell_counts(values, labels, midpoint_cuts(ordered[_starts(ordered)]))


def cell_counts(values: FloatArray, labels: Labels, cuts: FloatArray) -> Groups:
    """The records counted in the cells between given `cuts` (public, strictly increasing); a cell may be empty."""
    # Cell g is (cuts[g−1], cuts[g]]: g is the number of cuts strictly below x, the same test as 1[x > c].
    cell = np.searchsorted(cuts, values, side="left")
    sizes = np.bincount(cell, minlength=cuts.size + 1)
    ones = np.bincount(cell[labels == 1], minlength=cuts.size + 1)
    return Groups(cuts, ones, sizes - ones)


def log_weights(error_counts: IntArray, inverse_temperature: float) -> FloatArray:
    """−η·(mistakes − fewest mistakes), η = `inverse_temperature`.

    The largest is exactly 0, so the weighted choice subtracts nothing, and each is off by one rounding only: at
    most `UNIT_ROUNDOFF` · η · (most − fewest mistakes).
    """
    weights: FloatArray = -inverse_temperature * (error_counts - error_counts.min())
    return weights


def _own_groups(values: FloatArray, labels: Labels) -> Groups:
    order = np.argsort(values)
    ordered = values[order]
    starts = _starts(ordered)
    ones = np.add.reduceat(labels[order], starts, dtype=np.int64)
    sizes = np.diff(starts, append=values.size)
    return Groups(midpoint_cuts(ordered[starts]), ones, sizes - ones)


def _starts(ordered: FloatArray) -> IntArray:
    """Where each run of equal values begins."""
    return np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
