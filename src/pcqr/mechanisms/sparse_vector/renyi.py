"""Which noise scales give the Rényi form the smallest margin? A search on closed forms, good to about one per cent.

Nothing here is relied on for privacy: whatever parameters come out, their guarantee is computed from them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from pcqr.checks import check_delta, check_integer, check_positive, check_probability, keep_plain
from pcqr.mechanisms.sparse_vector.one_sided import PROOF, Floats, Integers, RunningSparseVector, cover, smallest_excess
from pcqr.privacy.accounting.renyi import renyi_epsilon
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import ROUNDING, Guarantee, positive, rounded_up
from pcqr.privacy.noise import check_scale, discrete_gaussian, sech_squared
from pcqr.serialization import Document

_POINTS, _ROUNDS = 12, 5


@dataclass(frozen=True)
class Design:
    """σ, c and j of `RenyiSparseVector`, and the share of δ that goes to labels that flip."""

    threshold_scale: float
    query_rate: float
    head_start: int
    flip_share: float


def smallest_design(epsilon: float, delta: float, unstable: int, queries: int, failure: float) -> Design:
    """The design of the smallest margin, up to the grid, that is (`epsilon`, `delta`)-DP with E = `unstable`.

    Free are c, the order α, the share of δ for flips and the share of `failure` for ρ; σ is what they leave of ε.
    The margin is that of a union bound: w + (ρ's reach) + (the reach of the noise of m = `queries` queries).
    """
    confidence = math.log(1.0 / delta)
    pure, concentrated = epsilon / (2.0 * unstable), epsilon / math.sqrt(8.0 * unstable * confidence)
    boxes = [  # of c, α − 1, both shares: logarithmic, closing in on the best point
        (max(pure, concentrated) / 8.0, 4.0 * (pure + concentrated)),
        (0.02 * confidence / epsilon, 60.0 * confidence / epsilon),
        (1e-3, 0.6),
        (0.02, 0.8),
    ]
    for _ in range(_ROUNDS):
        grids = [np.geomspace(*box, _POINTS) for box in boxes]
        c, above, flips, misses = np.ix_(*grids)
        cost = unstable_cost(c, above)
        left = epsilon - unstable * cost - conversion(above, (1.0 - flips) * delta)
        sigma = np.sqrt(0.5 * (1.0 + above) / np.maximum(left, 1e-12 * epsilon))
        head_start = np.maximum(0.0, np.floor(2.0 * _arccosh_of_exp(0.495 * cost) / c) - 2.0)  # a little spared
        reach = sigma * (_upper_quantile(flips * delta) + _upper_quantile(misses * failure))
        margin = reach + 2.0 / c * np.arccosh(np.sqrt(queries / failure / (1.0 - misses))) - head_start
        best = np.unravel_index(int(np.argmin(margin)), margin.shape)
        boxes = [
            (grid[max(0, i - 1)], grid[min(_POINTS - 1, i + 1)]) for grid, i in zip(grids, map(int, best), strict=True)
        ]
    i, j, k, _ = best
    return Design(float(sigma[i, j, k, 0]), float(grids[0][i]), int(head_start[i, j, 0, 0]), float(grids[2][k]))


def unstable_cost(c: Floats, above: Floats) -> Floats:
    """What one unstable answer costs at the orders 1 + `above`, head start aside."""
    cost: Floats = 2.0 * c - np.log1p(above * -np.expm1(-2.0 * c)) / above
    return cost


def conversion(above: Floats, delta: Floats) -> Floats:
    """What the conversion to (ε, `delta`) adds at the orders 1 + `above`."""
    added: Floats = (-np.log(delta) - above * np.log1p(1.0 / above) - np.log1p(above)) / above
    return added


def _arccosh_of_exp(exponent: Floats) -> Floats:
    found: Floats = exponent + np.log1p(np.sqrt(-np.expm1(-2.0 * exponent)))
    return found


def _upper_quantile(chances: Floats) -> Floats:
    normal = NormalDist()
    return np.array([-normal.inv_cdf(chance) for chance in chances.flat]).reshape(chances.shape)


# ---------------------------------------------------------------------------------------------------------------------
# The form for many unstable answers: noise made for Rényi accounting. Proof: proofs/sparse_vector.md.
#
# The one-sided form pays 2c for each of its E unstable answers; here what they cost together grows like c·√E. A query's
# noise keeps the geometric tail e^{−ct}, but starts so flat that ⊥ is hardly likelier on one neighbour than on the
# other where it is likely at all.


_RESERVE = 1e-9
"""Relative part of δ and of the noise scales set aside for rounding."""
_LARGEST_ARGUMENT = 300.0  # of sinh, squared


@dataclass(frozen=True)
class RenyiSparseVector(Document):
    """The calibrated sparse vector for many unstable answers: noise made for Rényi accounting.

    Stable iff d + ν > w + ρ: ρ ~ discrete Gaussian(σ) once, ν = −max(0, G − j) each time, P(G ≥ t) = sech²(ct/2). Halts
    after E unstable answers. With a distance d to instability it is (ε, δ)-DP, adaptive queries and the labels of the
    stable ones included:

        ε = min over α > 1 of  R(α) + (ln(1/slack) + α·ln(1 − 1/α) − ln(α − 1)) / (α − 1),
        R(α) = α/(2σ²) + E·max(2c − ln(1 + (α−1)(1 − e^{−2c}))/(α−1), 2·ln cosh(c(j+2)/2)),
        δ = slack + P(ρ < −w),    P(ρ < −w) ≤ P(N(0, σ²) > w).

    Neither the number of queries nor E enters w.

    Parameters
    ----------
    threshold : int
        w ≥ 0.
    threshold_scale : float
        σ, the scale of the threshold's noise.
    query_scale : float
        1/c, the scale of a query's noise.
    head_start : int
        j ≥ 0, how much of a query's noise is forgiven.
    unstable : int
        E ≥ 1, the unstable answers after which it halts (T in the paper).
    slack : float
        The δ that the conversion from Rényi divergences may spend.

    Attributes
    ----------
    guarantee : Guarantee
        What a whole run costs, however many queries there are.

    Raises
    ------
    ParameterError
        When a parameter is outside its range.

    References
    ----------
    .. [1] Y. Zhu, Y.-X. Wang. Improving sparse vector technique with Rényi differential privacy. NeurIPS 2020.

    Examples
    --------
    >>> from pcqr.mechanisms import RenyiSparseVector
    >>> vector = RenyiSparseVector.calibrate(epsilon=1.0, delta=1e-6, unstable=50, queries=300, failure=0.01)
    >>> vector.guarantee.within(1.0, 1e-6)
    True
    >>> vector.margin_needed(queries=300, failure=0.01)
    708
    """

    threshold: int
    threshold_scale: float
    query_scale: float
    head_start: int
    unstable: int
    slack: float

    queries: ClassVar[None] = None
    redraws_threshold: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_integer("threshold", self.threshold, least=0)
        check_scale("threshold_scale", self.threshold_scale)
        check_scale("query_scale", self.query_scale)
        check_integer("head_start", self.head_start, least=0)
        check_integer("unstable", self.unstable, least=1)
        check_probability("slack", self.slack)
        keep_plain(
            self,
            floats=("threshold_scale", "query_scale", "slack"),
            integers=("threshold", "head_start", "unstable"),
        )

    @classmethod
    def calibrate(cls, epsilon: float, delta: float, unstable: int, queries: int, failure: float) -> RenyiSparseVector:
        """For (`epsilon`, `delta`) and E = `unstable`, with a nearly minimal `margin_needed`(`queries`, `failure`)."""
        check_positive("epsilon", epsilon)
        check_delta(delta)
        check_integer("unstable", unstable, least=1)
        check_integer("queries", queries, least=1)
        check_probability("failure", failure)
        epsilon, delta = float(epsilon), float(delta)
        design = smallest_design(epsilon, delta * (1.0 - _RESERVE), unstable, queries, failure)
        slack, widening = delta * (1.0 - design.flip_share), _RESERVE
        while True:
            sigma, scale = design.threshold_scale * (1.0 + widening), (1.0 + widening) / design.query_rate
            threshold = max(0, math.floor(-sigma * NormalDist().inv_cdf(delta - slack)))
            while rounded_up(slack + normal_tail(threshold, sigma)) > delta:
                threshold += 1
            found = cls(threshold, sigma, scale, design.head_start, unstable, slack)
            if found.guarantee.within(epsilon, delta):
                return found
            widening *= 4.0  # the accountant may miss the best order by a little, and the search knows no rounding

    @cached_property
    def guarantee(self) -> Guarantee:
        """What a whole run costs."""
        return Guarantee(
            epsilon=renyi_epsilon(self.divergence, self.slack),
            delta=rounded_up(self.slack + normal_tail(self.threshold, self.threshold_scale)),
            proof=PROOF,
            steps=(f"sparse vector, Rényi divergences with E = {self.unstable} unstable answers",),
        )

    def divergence(self, order: float) -> float:
        """R(α) at α = `order`, rounded up: of the answers with the threshold noise, labels that flip left out."""
        shift = order / (2.0 * self.threshold_scale) / self.threshold_scale
        return rounded_up(shift + self.unstable * self.unstable_cost(order))

    def unstable_cost(self, order: float) -> float:
        """What one unstable answer adds to R(α), α = `order`, rounded up."""
        c, above = 1.0 / self.query_scale, order - 1.0
        tail = 2.0 * c * (1.0 + ROUNDING) - math.log1p(above * -math.expm1(-2.0 * c)) / above
        half = 0.5 * c * (self.head_start + 2)
        head = math.log1p(math.sinh(half) ** 2) if half < _LARGEST_ARGUMENT else 2.0 * half
        return max(tail, rounded_up(head))

    def start(self, entropy: Entropy) -> RunningSparseVector:
        """Draw the threshold's noise and begin.

        Parameters
        ----------
        entropy : Entropy
            Where all noise of the run comes from.

        Returns
        -------
        RunningSparseVector
        """
        return RunningSparseVector(self, entropy)

    def threshold_noise(self, entropy: Entropy) -> int:
        """A draw of ρ."""
        return discrete_gaussian(self.threshold_scale, entropy)

    def query_noise(self, entropy: Entropy) -> int:
        """A draw of ν."""
        return -max(0, sech_squared(self.query_scale, entropy) - self.head_start)

    def threshold_reach(self, failure: float) -> int:
        """The smallest integer r with P(ρ > r) ≤ `failure`; on the grid of `threshold_cover`."""
        check_probability("failure", failure)
        left_out = 1e-9 * failure
        z, mass = self.threshold_cover(left_out)
        above = mass[::-1].cumsum()[::-1] + left_out  # P(ρ > the point before z), at most
        return int(z[np.searchsorted(-above, -failure) - 1])

    def query_failure(self, excess: int) -> float:
        """P(ν ≤ −`excess`): the chance that a query with d = w + ρ + `excess` is not answered."""
        return float(self.query_failures(np.array(excess)))

    def margin_needed(self, queries: int, failure: float) -> int:
        """The smallest D for which `queries` = m queries with d ≥ D are all answered, but for a chance `failure`.

        The exact joint tail over ρ and the m draws of ν. (Accuracy only: no privacy figure depends on it.)
        """
        return self.threshold + smallest_excess(self, queries, failure)

    def threshold_cover(self, left_out: float) -> tuple[Integers, Floats]:
        """Points and masses that bound the law of ρ from above, but for `left_out` in each tail."""
        s = self.threshold_scale
        # The two leading terms of Σ e^{−z²/(2σ²)}, directly and after Poisson summation: each is a bound from below.
        total = max(
            1.0 + 2.0 * math.exp(-0.5 / s / s),
            math.sqrt(math.tau) * s * (1.0 + 2.0 * math.exp(-math.tau * math.pi * s * s)),
        )
        reach = math.ceil(s * math.sqrt(-2.0 * math.log(left_out)))
        return cover(s, reach, lambda z: np.exp(-0.5 * (z / s) ** 2) / total)

    def query_failures(self, excess: Integers) -> Floats:
        """P(ν ≤ −`excess`), 1 where `excess` ≤ 0."""
        decay = np.exp(-np.maximum(0, excess + self.head_start) / self.query_scale)
        fails: Floats = np.where(excess > 0, 4.0 * decay / (1.0 + decay) ** 2, 1.0)
        return fails


def normal_tail(threshold: int, scale: float) -> float:
    """P(N(0, σ²) > w) ≥ P(ρ > w), ρ ~ discrete Gaussian(σ), σ = `scale`, w = `threshold` ≥ 0. Rounded up."""
    return positive(rounded_up(0.5 * math.erfc(threshold / (scale * math.sqrt(2.0)))))
