"""Decision stumps: one comparison of one feature, in either direction."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.checks import check_integer
from pcqr.compiled import compiled
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Labels, Points, as_points
from pcqr.hypotheses.committees import Arrays, PartGroups, TeachesBorders
from pcqr.hypotheses.cuts import Groups, IntArray, cell_counts, group_counts, log_weights
from pcqr.privacy.noise import UNIT_ROUNDOFF, Chooser, FloatArray

Cuts = tuple[float, ...]


@dataclass(frozen=True)
class Stump(Hypothesis):
    """1[x[`feature`] > `cut`] if `above`, else its mirror 1[x[`feature`] ≤ `cut`], on tables with `features` columns.

    `cut` is ±∞ for the constants.
    """

    feature: int
    cut: float
    above: bool
    features: int

    def __post_init__(self) -> None:
        check_integer("features", self.features, least=1)
        check_integer("feature", self.feature, least=0)
        if self.feature >= self.features:
            raise ParameterError("feature", f"at most {self.features - 1}, the last column", self.feature)

    def predict(self, X: ArrayLike) -> Labels:
        points = as_points(X, self.features, owner="this stump")
        labels: Labels = ((points[:, self.feature] > self.cut) == self.above).astype(np.int8)
        return labels


@dataclass(frozen=True)
class Stumps(HypothesisClass, TeachesBorders):
    """Stumps: one comparison of one feature, x[j] > c or x[j] ≤ c, on tables of any width.

    The law is over **(feature, gap, direction) triples**: a feature whose cuts make G cells has G + 1 gaps, the two
    end gaps (the constants) included, each in two directions. A labelling that several triples produce has their
    joint probability; the log-probability of a draw is its triple's. Why this syntactic law may be used for
    relabelling, and why no two triples may be merged, is shown in proofs/stumps.md.

    Parameters
    ----------
    cuts : sequence of float, sequence of such sequences, or None, default None
        Where a feature may be cut.

        * None: at the midpoints between neighbouring distinct values, feature by feature, of the private points (the
          draw may then be used for relabelling only) or of the public ones (2η-DP, publishable).
        * `[0.5, 2.0]`: declared, the same for every feature; `[[0.5], [1.0, 2.0]]`: one list a feature. They must be
          public knowledge. The members are then the same whatever the records are, so the draw is 2η-DP and
          publishable. Cuts are stored sorted, repeats dropped.

    Raises
    ------
    ParameterError
        When `cuts` are not finite numbers.

    Examples
    --------
    >>> from pcqr.hypotheses import Stumps
    >>> X = [[38.5, 1], [39.1, 0], [36.6, 1], [36.9, 0]]  # temperature, smoker
    >>> Stumps().learn(X, [1, 1, 0, 0])
    Stump(feature=0, cut=37.7, above=True, features=2)
    >>> declared = Stumps(cuts=[[37.5], [0.5]])
    >>> declared.is_fixed
    True
    >>> declared.sample(X, [1, 1, 0, 0], inverse_temperature=10.0, entropy=0)  # seeded: NOT PRIVATE
    Stump(feature=0, cut=37.5, above=True, features=2)
    """

    cuts: Sequence[float] | Sequence[Sequence[float]] | None = None

    def __post_init__(self) -> None:
        if self.cuts is None:
            return
        if isinstance(self.cuts, Iterable) and any(isinstance(entry, Iterable) for entry in self.cuts):
            lists = tuple(_as_cuts(entry) for entry in self.cuts)
            object.__setattr__(self, "cuts", lists)
            object.__setattr__(self, "features", len(lists))
        else:
            object.__setattr__(self, "cuts", _as_cuts(self.cuts))

    @property
    def vc_dimension(self) -> int:
        """2: the VC dimension on one feature. On more features it is larger, at most `vc_bound(features)`."""
        return 2

    def vc_bound(self, features: int) -> int:
        """A bound on the VC dimension with `features` = p columns: about log₂ p + log₂ log₂ p.

        d points have at most 2p(d − 1) + 2 dichotomies (p·(d − 1) places to cut, two directions, two constants), so
        d can be shattered only if 2^d ≤ 2p(d − 1) + 2. The bound is the largest such d.
        """
        d = 1
        while 2 ** (d + 1) <= 2 * features * d + 2:
            d += 1
        return d

    @property
    def is_fixed(self) -> bool:
        """True with declared cuts."""
        return self.cuts is not None

    @property
    def log_size(self) -> float | None:
        """ln of the number of triples where that is known without a table: declared cuts, one list a feature."""
        return None if self.features is None else self.log_growth(0, self.features)

    @property
    def boundaries(self) -> int:
        """1: a stump changes its label at one cut."""
        return 1

    def log_growth(self, count: int, features: int = 1) -> float:
        """ln of the number of triples: at most 2·`features`·(`count` + 1), or as many as the declared cuts make."""
        if self.cuts is None:
            return math.log(2 * features * (count + 1))
        return math.log(2 * sum(len(self._declared(feature)) + 2 for feature in range(features)))

    def log_probability_error(
        self,
        records: int,
        inverse_temperature: float,
        *,
        features: int = 1,  # noqa: ARG002
        public: int | None = None,  # noqa: ARG002
    ) -> float:
        """2τ for the one choice, τ = `UNIT_ROUNDOFF`·η·n: a log-weight is η times an integer ≤ n, the largest is 0."""
        return 2.0 * UNIT_ROUNDOFF * inverse_temperature * records

    def learn(self, X: ArrayLike, y: ArrayLike) -> Stump:
        """The fewest mistakes. Ties go to a constant (0 before 1), then to the lowest feature, then to 1[x > c] before
        1[x ≤ c], then to the middle of the lowest run of equally good cuts.

        Constants come first because two teachers that choose the same one agree on every query, while equally good
        cuts differ between teachers. On labels made by a stump this costs nothing: there the fewest mistakes are 0,
        which a constant reaches only where all labels are equal.
        """
        points, labels = self.check_records(X, y)
        learned = self.learn_parts(points, labels, np.array([labels.size]))
        feature, (first, second) = int(learned["columns"][0]), learned["switches"][0].tolist()
        above = second == math.inf
        return Stump(feature, first if above else second, above, points.shape[1])

    def learn_parts(self, X: Points, y: Labels, ends: IntArray) -> Arrays:
        """Column by column, what is better than all before: 1[x > c] switches at c, its mirror at −∞ and at c."""
        sizes = np.diff(ends, prepend=0)
        ones = np.add.reduceat(y, ends - sizes, dtype=np.int64)
        fewest = np.minimum(ones, sizes - ones)
        columns = np.zeros(ends.size, dtype=np.int64)
        switches = np.full((ends.size, 2), np.inf)
        switches[2 * ones > sizes, 0] = -np.inf
        for feature in range(X.shape[1]):
            better, cuts, above = self._better_cuts(feature, np.ascontiguousarray(X[:, feature]), y, ends, fewest)
            columns[better] = feature
            switches[better, 0] = np.where(above, cuts, -np.inf)
            switches[better, 1] = np.where(above, np.inf, cuts)
        return {"columns": columns, "switches": switches}

    def enumerate(self, X: ArrayLike) -> Labels:
        """One row a triple: feature by feature, 1[x > c] before its mirror, cuts from left to right. Rows repeat."""
        points = self.check_points(X)
        count, features = points.shape
        unlabelled = np.zeros(count, dtype=np.int8)
        return np.stack(
            [
                Stump(feature, float(edge), above, features).predict(points)
                for feature in range(features)
                for above in (True, False)
                for edge in self._groups(feature, points, unlabelled, None).edges
            ]
        )

    def _draw(self, X: Points, y: Labels, inverse_temperature: float, public: Points | None, choose: Chooser) -> Stump:
        """One choice over all triples, in the order of `enumerate`. Of a counted feature only the mistakes are kept."""
        count, features = X.shape
        error_counts: list[IntArray] = []
        for feature in range(features):
            above = self._groups(feature, X, y, public).errors_above
            error_counts += [above, count - above]
        ends = np.cumsum([block.size for block in error_counts])
        index = choose(log_weights(np.concatenate(error_counts), inverse_temperature))
        block = int(np.searchsorted(ends, index, side="right"))
        feature, mirrored = divmod(block, 2)
        edges = self._groups(feature, X, y, public).edges
        return Stump(feature, float(edges[index - ends[block] + edges.size]), not mirrored, features)

    def _declared(self, feature: int) -> Cuts:
        return self.cuts if self.features is None else self.cuts[feature]  # type: ignore[index, return-value]

    def _groups(self, feature: int, X: Points, y: Labels, public: Points | None) -> Groups:
        """The records counted in the cells of `feature`. Declared cuts take precedence over public points."""
        values = np.ascontiguousarray(X[:, feature])
        if self.cuts is not None:
            return cell_counts(values, y, np.array(self._declared(feature), dtype=np.float64))
        return group_counts(values, y, None if public is None else public[:, feature])

    def _better_cuts(
        self, feature: int, values: FloatArray, y: Labels, ends: IntArray, fewest: IntArray
    ) -> tuple[IntArray, FloatArray, NDArray[np.bool_]]:
        """Which parts make fewer mistakes than `fewest` by a cut of this feature, by which one, and is it by 1[x > c]?

        `fewest` is brought up to date.
        """
        if self.cuts is None:
            groups = PartGroups.of(values, y, ends)
            place, above = _best_cuts(groups, groups.ranks, groups.counts - 1, fewest)
            better = np.flatnonzero(place >= 0)
            return better, groups.edges(place[:, None] + 1)[better, 0], above[better]
        declared = np.array(self._declared(feature), dtype=np.float64)
        groups = PartGroups.of(np.searchsorted(declared, values, side="left").astype(np.float64), y, ends)
        cells, cuts = groups.values.astype(np.int64), np.full(ends.size, declared.size)
        place, above = _best_cuts(groups, cells, cuts, fewest)
        better = np.flatnonzero(place >= 0)
        return better, declared[place[better]], above[better]


def _best_cuts(
    groups: PartGroups, cells: IntArray, cuts: IntArray, fewest: IntArray
) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return for each part the cut with the fewest mistakes, and whether it predicts 1[x > c] rather than its mirror.

    The cut is −1 where none makes fewer mistakes than `fewest`. `cuts` holds the number of cuts of each part, and cut c
    lies between cells c and c + 1. `cells` holds the cell of each group.
    """
    return _best_middles(groups.gains, groups.starts, groups.counts, groups.records, cells, cuts, fewest)


@compiled
def _best_middles(
    gains: IntArray,
    starts: IntArray,
    counts: IntArray,
    records: IntArray,
    cells: IntArray,
    cuts: IntArray,
    fewest: IntArray,
) -> tuple[IntArray, NDArray[np.bool_]]:
    """The middle of the first run of the best cuts.

    All cuts between two neighbouring groups are equally good: with S_g the gain of the groups below, S_g mistakes more
    than there are 0s by 1[x > c], S_g fewer than there are 1s by its mirror. So the first runs of cuts with the
    smallest and with the largest S_g are kept.
    """
    places = np.full(counts.size, -1)
    is_above = np.zeros(counts.size, np.bool_)
    for part in range(counts.size):
        count, gain, cell = counts[part], gains[starts[part] + part :], cells[starts[part] :]
        low = high = low_end = high_end = low_start = high_start = end = 0
        for g in range(count + 1):
            start, end = end, cell[g] if g < count else cuts[part]
            if start == end:
                continue
            if low_end == 0 or gain[g] < low:
                low, low_start, low_end = gain[g], start, end
            elif gain[g] == low and low_end == start:
                low_end = end
            if high_end == 0 or gain[g] > high:
                high, high_start, high_end = gain[g], start, end
            elif gain[g] == high and high_end == start:
                high_end = end
        zeros = (records[part] - gain[count]) // 2
        above, below = zeros + low, records[part] - zeros - high
        if end > 0 and min(above, below) < fewest[part]:
            fewest[part] = min(above, below)
            is_above[part] = above <= below
            first, last = (low_start, low_end) if above <= below else (high_start, high_end)
            places[part] = first + (last - first - 1) // 2
    return places, is_above


def _as_cuts(cuts: object) -> Cuts:
    try:
        values = np.asarray(cuts, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array(np.nan)
    if values.ndim != 1 or not np.isfinite(values).all():
        raise ParameterError("cuts", "None, a list of finite numbers, or one such list for each feature", cuts)
    return tuple(np.unique(values).tolist())
