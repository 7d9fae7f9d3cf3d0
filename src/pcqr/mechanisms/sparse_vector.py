"""The sparse vector: many stability tests, of which only the failed ones are paid for.

Three forms, each a frozen set of parameters that states its guarantee, and that a `RunningSparseVector` runs:

* `OneSidedSparseVector`, calibrated: the threshold is noised once, the queries by one-sided noise. Pure, up to the
  chance that the threshold falls below zero. The number of queries enters no privacy figure.
* `RenyiSparseVector`, calibrated: the same with noise made for Rényi accounting, better from a few unstable answers
  on.
* `PaperSparseVector`, the form of Nandi and Bassily (after Bassily, Thakkar and Thakurta 2018), corrected: two-sided
  noise, the threshold noised afresh after each unstable answer, advanced composition.

Proof of all: proofs/sparse_vector.md. Dwork, Naor, Reingold, Rothblum, Vadhan 2009; Lyu, Su, Li 2017; Zhu, Wang 2020.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_delta, check_integer, check_positive, check_probability, keep_plain, non_reentrant
from pcqr.errors import ParameterError
from pcqr.mechanisms.stability import laplace_tail, scale_for, smallest_threshold
from pcqr.privacy.accounting.renyi import renyi_epsilon
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import ROUNDING, Guarantee, positive, rounded_up
from pcqr.privacy.noise import check_scale, discrete_gaussian, discrete_laplace, geometric, sech_squared
from pcqr.serialization import Document

# ---------------------------------------------------------------------------------------------------------------------
# How far from flipping must a query be to be answered? Accuracy only: no privacy figure depends on this part.
#
# A query with d = w + D is answered iff ν > ρ − D. Given ρ = z it fails with a chance q(D − z), q = `query_failures`,
# so that m of them are not all answered with the chance
#
#     Σ_z P(ρ = z) · g(D − z),    g(t) = 1 − (1 − q(t))^m,
#
# the exact joint tail over ρ, drawn once, and the m draws of ν. g decreases, so the sum is bounded from above when
# every z is moved upwards to the next point of a grid; the grid is the integers themselves up to a scale of `_FINE`.


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FINE = 128
PROOF = "sparse_vector"


class Noises(Protocol):
    """What the margin depends on: the laws of ρ and of ν."""

    def threshold_cover(self, left_out: float) -> tuple[Integers, Floats]:
        """Points z, ascending, and masses: a bound from above on the law of ρ, but for `left_out` in each tail."""
        ...

    def query_failures(self, excess: Integers) -> Floats:
        """P(ν ≤ −`excess`), 1 where `excess` ≤ 0."""
        ...


def smallest_excess(noises: Noises, queries: int, failure: float) -> int:
    """The smallest integer D for which `queries` = m queries with d ≥ w + D are all answered but for `failure`."""
    z, enough = _judge(noises, queries, failure)
    low, high = int(z[0]), int(z[-1]) + 1
    while not enough(high):
        low, high = high + 1, high + 2 * (high - low)
    return _least(enough, low, high)


def smaller_excess(noises: Noises, queries: int, failure: float, most: int) -> int | None:
    """`smallest_excess` if it is at most `most`, else None: to see that it is larger takes a single look."""
    z, enough = _judge(noises, queries, failure)
    return _least(enough, int(z[0]), most) if most >= z[0] and enough(most) else None


def _judge(noises: Noises, queries: int, failure: float) -> tuple[Integers, Callable[[int], bool]]:
    """The points of ρ, and whether an excess D is enough, which it is from the smallest one on."""
    check_integer("queries", queries, least=1)
    check_probability("failure", failure)
    left_out = 1e-9 * failure
    z, mass = noises.threshold_cover(left_out)

    def enough(excess: int) -> bool:
        first = int(np.searchsorted(z, excess))  # from here on every query fails
        passes = np.log1p(-np.minimum(noises.query_failures(excess - z[:first]), 1.0 - 1e-16))
        chance = float(mass[first:].sum()) - float((mass[:first] * np.expm1(queries * passes)).sum())
        return chance + 2.0 * left_out <= failure

    return z, enough


def _least(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The smallest integer from `low` to `high` that is `enough`; `high` is."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return low


def cover(scale: float, reach: int, mass: Callable[[Integers], Floats]) -> tuple[Integers, Floats]:
    """Points and masses for a law that decreases away from 0, `mass` its probabilities, on the integers within `reach`.

    A point stands for the integers from the one before it, exclusive, up to itself: each counts as the likeliest.
    """
    step = max(1, math.floor(scale / _FINE))
    points = np.arange(-reach, reach + step, step)
    likeliest = np.clip(0, points - step + 1, points)
    return points, step * mass(likeliest)


# ---------------------------------------------------------------------------------------------------------------------
# The calibrated form: the threshold noised once, the queries by one-sided noise. Proof: proofs/sparse_vector.md.


@dataclass(frozen=True)
class OneSidedSparseVector(Document):
    """The calibrated sparse vector: the threshold is noised once, the queries by one-sided noise.

    Stable iff d + ν > w + ρ: ρ ~ discrete Laplace(`threshold_scale`) once, ν = −Geometric(`query_scale`) each time.
    Halts after E unstable answers. With e₁ = 1/`threshold_scale`, e₂ = 1/`query_scale` and a distance d to instability
    (proofs/votes.md) it is (ε, δ)-DP, adaptive queries and the labels of the stable ones included:

        ε = e₁ + 2·E·e₂,    δ = P(ρ < −w) = e^{−e₁(w+1)} / (1 + e^{−e₁}).

    Parameters
    ----------
    threshold : int
        w ≥ 0.
    threshold_scale : float
        1/e₁, the scale of the threshold's noise.
    query_scale : float
        1/e₂, the scale of a query's noise.
    unstable : int
        E ≥ 1, the unstable answers after which it halts (T in the paper).

    Attributes
    ----------
    guarantee : Guarantee
        What a whole run costs, however many queries there are.

    Raises
    ------
    ParameterError
        When a parameter is outside its range.

    Examples
    --------
    >>> from pcqr.mechanisms import OneSidedSparseVector
    >>> vector = OneSidedSparseVector.calibrate(epsilon=1.0, delta=1e-6, unstable=5)
    >>> vector.threshold, round(vector.guarantee.epsilon, 6)
    (26, 1.0)
    >>> vector.margin_needed(queries=100, failure=0.01)
    211
    """

    threshold: int
    threshold_scale: float
    query_scale: float
    unstable: int

    queries: ClassVar[None] = None
    redraws_threshold: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_integer("threshold", self.threshold, least=0)
        check_scale("threshold_scale", self.threshold_scale)
        check_scale("query_scale", self.query_scale)
        check_integer("unstable", self.unstable, least=1)
        keep_plain(self, floats=("threshold_scale", "query_scale"), integers=("threshold", "unstable"))

    @classmethod
    def calibrate(
        cls, epsilon: float, delta: float, unstable: int, threshold_share: float = 0.5
    ) -> OneSidedSparseVector:
        """The parameters for (`epsilon`, `delta`) and E = `unstable`, with e₁ = `threshold_share` · ε."""
        check_positive("epsilon", epsilon)
        check_delta(delta)
        check_integer("unstable", unstable, least=1)
        check_probability("threshold_share", threshold_share)
        threshold_scale = scale_for(threshold_share * epsilon)
        return cls(
            threshold=smallest_threshold(threshold_scale, delta),
            threshold_scale=threshold_scale,
            query_scale=scale_for((1.0 - threshold_share) * epsilon / (2.0 * unstable)),
            unstable=unstable,
        )

    @property
    def guarantee(self) -> Guarantee:
        """What a whole run costs: (e₁ + 2·E·e₂, P(ρ < −w))."""
        return Guarantee(
            epsilon=rounded_up(1.0 / self.threshold_scale + 2.0 * self.unstable / self.query_scale),
            delta=laplace_tail(self.threshold_scale, self.threshold),
            proof=PROOF,
            steps=(f"sparse vector: e₁ + 2E·e₂ with E = {self.unstable} unstable answers",),
        )

    def threshold_noise(self, entropy: Entropy) -> int:
        """A draw of ρ."""
        return discrete_laplace(self.threshold_scale, entropy)

    def query_noise(self, entropy: Entropy) -> int:
        """A draw of ν."""
        return -geometric(self.query_scale, entropy)

    def margin_needed(self, queries: int, failure: float) -> int:
        """The smallest D for which `queries` = m queries with d ≥ D are all answered, but for a chance `failure`.

        The exact joint tail over ρ and the m geometric draws. (Accuracy only: no privacy figure depends on it.)
        """
        return self.threshold + smallest_excess(self, queries, failure)

    def threshold_cover(self, left_out: float) -> tuple[Integers, Floats]:
        """Points and masses that bound the law of ρ from above, but for `left_out` in each tail."""
        reach = math.ceil(-self.threshold_scale * math.log(left_out))
        peak = math.tanh(0.5 / self.threshold_scale)
        return cover(self.threshold_scale, reach, lambda z: peak * np.exp(-np.abs(z) / self.threshold_scale))

    def query_failures(self, excess: Integers) -> Floats:
        """P(ν ≤ −`excess`), 1 where `excess` ≤ 0."""
        fails: Floats = np.exp(-np.maximum(0, excess) / self.query_scale)
        return fails


# ---------------------------------------------------------------------------------------------------------------------
# One run of a sparse vector, whatever its form.


class RunningSparseVector:
    """One run of a sparse vector, of whichever form.

    The noisy threshold w + ρ is secret: whoever knows it can read distances off the answers.

    Parameters
    ----------
    parameters : SparseVector
        What is run.
    entropy : Entropy
        Where all noise of the run comes from.
    thresholds : sequence of int, default ()
        Noisy thresholds that were drawn before (`thresholds`), for a run that goes on. **Secret.**

    Attributes
    ----------
    unstable_remaining : int
        Unstable answers that are left. Public.
    queries_remaining : int or None
        Queries that are left. Public; None: any number.
    is_exhausted : bool
        Whether either is used up.

    Examples
    --------
    >>> from pcqr import SeededEntropy
    >>> from pcqr.mechanisms import OneSidedSparseVector, RunningSparseVector
    >>> vector = OneSidedSparseVector.calibrate(epsilon=1.0, delta=1e-6, unstable=2)
    >>> run = RunningSparseVector(vector, SeededEntropy(0))  # NOT PRIVATE
    >>> [run.is_stable(distance) for distance in (60, 0, 60, 0)]
    [True, False, True, False]
    >>> run.is_exhausted
    True
    """

    is_under_way = False

    def __init__(self, parameters: SparseVector, entropy: Entropy, thresholds: Sequence[int] = ()) -> None:
        self.parameters = parameters
        self.unstable_remaining = parameters.unstable
        self.queries_remaining = parameters.queries
        self._entropy = entropy
        self._thresholds = list(thresholds)
        self._threshold(self._epoch)

    @property
    def is_exhausted(self) -> bool:
        """A function of the answers alone, hence public."""
        return self.unstable_remaining <= 0 or (self.queries_remaining is not None and self.queries_remaining <= 0)

    @non_reentrant
    def is_stable(self, distance: int) -> bool:
        """Answer the query whose distance to instability is `distance`. Raises RuntimeError once halted."""
        if self.is_exhausted:
            raise RuntimeError("The sparse vector has halted: no further query may be tested.")
        if self.queries_remaining is not None:
            self.queries_remaining -= 1
        threshold = self._threshold(self._epoch)
        stable = distance + self.parameters.query_noise(self._entropy) > threshold
        if not stable:
            self.unstable_remaining -= 1  # one step: ⊥ is counted, and the next threshold, if there is one, is due
        return stable

    def thresholds(self) -> tuple[int, ...]:
        """The noisy thresholds of all epochs, those that are not due yet drawn ahead. **Secret.**

        With them, and the public counts of what is left, another run goes on where this one is.
        """
        self._threshold(self.parameters.unstable - 1 if self.parameters.redraws_threshold else 0)
        return tuple(self._thresholds)

    @property
    def _epoch(self) -> int:
        """Which threshold holds: the first, or where each ⊥ is followed by another one, that after the last ⊥."""
        return self.parameters.unstable - self.unstable_remaining if self.parameters.redraws_threshold else 0

    def _threshold(self, epoch: int) -> int:
        while len(self._thresholds) <= epoch:
            self._thresholds.append(self.parameters.threshold + self.parameters.threshold_noise(self._entropy))
        return self._thresholds[epoch]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.parameters!r}, unstable_remaining={self.unstable_remaining})"


# ---------------------------------------------------------------------------------------------------------------------
# Which noise scales give the Rényi form the smallest margin? A search on closed forms, good to about one per cent.
#
# Nothing here is relied on for privacy: whatever parameters come out, their guarantee is computed from them.


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

    def threshold_noise(self, entropy: Entropy) -> int:
        """A draw of ρ."""
        return discrete_gaussian(self.threshold_scale, entropy)

    def query_noise(self, entropy: Entropy) -> int:
        """A draw of ν."""
        return -max(0, sech_squared(self.query_scale, entropy) - self.head_start)

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


# ---------------------------------------------------------------------------------------------------------------------
# The form of Nandi and Bassily, corrected: the threshold is noised afresh after each ⊥ (proofs/sparse_vector.md).


@dataclass(frozen=True)
class PaperSparseVector(Document):
    """The sparse vector of the paper [1]_, corrected: the threshold is noised afresh after each unstable answer.

    Stable iff d + ν > w + ρ: ν ~ discrete Laplace(2λ) each time, ρ ~ discrete Laplace(λ) anew after each ⊥. Halts after
    T unstable answers or m queries. With a distance d to instability it is (ε, δ)-DP, adaptive queries and the labels
    of the stable ones included; an epoch costs ε₀ = 2/λ:

        ε = T·ε₀·tanh(ε₀/2) + ε₀·√(2T·ln(1/slack)),    δ = slack + min(T, m) · P(ν − ρ > w),

    or ε = T·ε₀ without the slack where that is smaller.

    Parameters
    ----------
    threshold : int
        w ≥ 0.
    scale : float
        λ, the scale of the threshold's noise; that of a query is 2λ.
    unstable : int
        T ≥ 1, the unstable answers after which it halts.
    queries : int
        m ≥ 1, the queries after which it halts.
    slack : float
        The δ that advanced composition over the T epochs may spend.

    Attributes
    ----------
    guarantee : Guarantee
        What a whole run costs.

    Raises
    ------
    ParameterError
        When a parameter is outside its range.

    References
    ----------
    .. [1] A. Nandi, R. Bassily. Privately answering classification queries in the agnostic PAC model. ALT 2020.
    .. [2] R. Bassily, O. Thakkar, A. Thakurta. Model-agnostic private learning. NeurIPS 2018.

    Examples
    --------
    >>> from pcqr.mechanisms import PaperSparseVector
    >>> vector = PaperSparseVector.from_paper(epsilon=1.0, delta=1e-6, unstable=5, queries=100)
    >>> vector.threshold, round(vector.scale, 2)
    (1842, 48.18)
    >>> vector.guarantee.within(1.0, 1e-6)
    True
    """

    threshold: int
    scale: float
    unstable: int
    queries: int
    slack: float

    redraws_threshold: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_integer("threshold", self.threshold, least=0)
        check_scale("scale", self.scale)
        check_scale("scale", 2.0 * self.scale)  # that of the query noise
        check_integer("unstable", self.unstable, least=1)
        check_integer("queries", self.queries, least=1)
        check_probability("slack", self.slack)
        keep_plain(self, floats=("scale", "slack"), integers=("threshold", "unstable", "queries"))

    @classmethod
    def from_paper(cls, epsilon: float, delta: float, unstable: int, queries: int) -> PaperSparseVector:
        """The paper's λ = √(32·T·ln(2/δ)) / ε and w = ⌈2λ·ln(2m/δ)⌉: (`epsilon`, `delta`)-DP for ε ≤ 8·ln(2/δ)."""
        check_positive("epsilon", epsilon)
        check_delta(delta)
        check_integer("unstable", unstable, least=1)
        check_integer("queries", queries, least=1)
        if epsilon > 8.0 * math.log(2.0 / delta):
            raise ParameterError("epsilon", f"at most 8·ln(2/δ) = {8.0 * math.log(2.0 / delta):.6g}", epsilon)
        scale = scale_for(epsilon / math.sqrt(32.0 * unstable * math.log(2.0 / delta)))
        threshold = math.ceil(2.0 * scale * math.log(2.0 * queries / delta))
        return cls(threshold=threshold, scale=scale, unstable=unstable, queries=queries, slack=delta / 2.0)

    @property
    def guarantee(self) -> Guarantee:
        """What a whole run costs."""
        epoch = 2.0 / self.scale
        pure = self.unstable * epoch
        advanced = pure * math.tanh(epoch / 2.0) + epoch * math.sqrt(-2.0 * self.unstable * math.log(self.slack))
        passing = min(self.unstable, self.queries) * self.passing_at_zero
        return Guarantee(
            epsilon=rounded_up(min(pure, advanced)),
            delta=rounded_up(passing + (self.slack if advanced < pure else 0.0)),
            proof=PROOF,
            steps=(f"sparse vector of the paper: {self.unstable} epochs of 2/λ, λ = {self.scale:.6g}",),
        )

    @cached_property
    def passing_at_zero(self) -> float:
        """P(ν − ρ > w), the chance that a query with d = 0 passes.

        With a = e^{−1/(2λ)}: a^{w+1}·(1+a)/(1+a+a²) − a^{2w+3}/((1+a²)(1+a+a²)), below ⅔·e^{−w/(2λ)}.
        """
        a = math.exp(-0.5 / self.scale)
        power = math.exp(-0.5 * (self.threshold + 1) / self.scale)
        return positive(power * (1.0 + a - a * power / (1.0 + a * a)) / (1.0 + a + a * a))

    def threshold_noise(self, entropy: Entropy) -> int:
        """A draw of ρ."""
        return discrete_laplace(self.scale, entropy)

    def query_noise(self, entropy: Entropy) -> int:
        """A draw of ν."""
        return discrete_laplace(2.0 * self.scale, entropy)


CalibratedSparseVector = OneSidedSparseVector | RenyiSparseVector
SparseVector = CalibratedSparseVector | PaperSparseVector


# ---------------------------------------------------------------------------------------------------------------------
# The one-sided form of the smallest margin.


_NEARBY = np.linspace(0.8, 1.4, 21)
_SHARES = np.geomspace(0.005, 0.9, 200)
_MISSES = np.geomspace(0.02, 0.9, 24)


def best_one_sided(epsilon: float, delta: float, unstable: int, queries: int, failure: float) -> OneSidedSparseVector:
    """The one-sided form whose share of ε for the threshold needs the smallest margin.

    The share is first found by a union bound, ln(1/δ)/e₁ + ln(1/β')/e₁ + ln(m/(β − β'))/e₂, and then by exact margins
    around it.
    """
    check_positive("epsilon", epsilon)
    check_delta(delta)
    check_integer("unstable", unstable, least=1)
    check_integer("queries", queries, least=1)
    check_probability("failure", failure)
    share, miss = np.ix_(_SHARES, _MISSES)
    bound = np.log(1.0 / delta / failure / miss) / share
    bound = bound + 2.0 * unstable * np.log(queries / failure / (1.0 - miss)) / (1.0 - share)
    start = float(_SHARES[np.unravel_index(int(np.argmin(bound)), bound.shape)[0]])
    best, *others = (
        OneSidedSparseVector.calibrate(epsilon, delta, unstable, float(share))
        for share in start * _NEARBY
        if share < 1.0
    )
    margin = best.margin_needed(queries, failure)
    for other in others:
        excess = smaller_excess(other, queries, failure, margin - 1 - other.threshold)
        if excess is not None:
            best, margin = other, other.threshold + excess
    return best
