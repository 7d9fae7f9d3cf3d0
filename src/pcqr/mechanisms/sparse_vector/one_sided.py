"""How far from flipping must a query be to be answered? Accuracy only: no privacy figure depends on this module.

A query with d = w + D is answered iff ν > ρ − D. Given ρ = z it fails with a chance q(D − z), q = `query_failures`, so
that m of them are not all answered with the chance

    Σ_z P(ρ = z) · g(D − z),    g(t) = 1 − (1 − q(t))^m,

the exact joint tail over ρ, drawn once, and the m draws of ν. g decreases, so the sum is bounded from above when every
z is moved upwards to the next point of a grid; the grid is the integers themselves up to a scale of `_FINE`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_delta, check_integer, check_positive, check_probability, keep_plain, non_reentrant
from pcqr.mechanisms.stability import laplace_tail, scale_for, smallest_threshold
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee, rounded_up
from pcqr.privacy.noise import check_scale, discrete_laplace, geometric
from pcqr.serialization import Document

if TYPE_CHECKING:
    from pcqr.mechanisms.sparse_vector import SparseVector


Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FINE = 128


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
        return discrete_laplace(self.threshold_scale, entropy)

    def query_noise(self, entropy: Entropy) -> int:
        """A draw of ν."""
        return -geometric(self.query_scale, entropy)

    def threshold_reach(self, failure: float) -> int:
        """The smallest integer r with P(ρ > r) ≤ `failure`."""
        check_probability("failure", failure)
        a = math.exp(-1.0 / self.threshold_scale)
        if failure * (1.0 + a) <= a:  # P(ρ > r) = a^{r+1} / (1 + a) for r ≥ 0
            return math.ceil(-self.threshold_scale * math.log(failure * (1.0 + a))) - 1
        return math.ceil(self.threshold_scale * math.log((1.0 - failure) * (1.0 + a)))  # and 1 − a^{−r} / (1 + a) below

    def query_failure(self, excess: int) -> float:
        """P(ν ≤ −`excess`): the chance that a query with d = w + ρ + `excess` is not answered."""
        return float(self.query_failures(np.array(excess)))

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


PROOF = "sparse_vector"


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
    >>> run = RunningSparseVector(vector, SeededEntropy(0))  # NOT PRIVATE; the same as vector.start(…)
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
