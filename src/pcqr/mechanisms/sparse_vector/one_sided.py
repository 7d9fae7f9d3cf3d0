"""The calibrated form: the threshold noised once, the queries by one-sided noise. Proof: proofs/sparse_vector.md."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pcqr.checks import check_delta, check_integer, check_positive, check_probability, keep_plain
from pcqr.documents import Document
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee, rounded_up
from pcqr.mechanisms.sparse_vector.margin import Floats, Integers, cover, smallest_excess
from pcqr.mechanisms.sparse_vector.running import PROOF, RunningSparseVector
from pcqr.mechanisms.stability import laplace_tail, scale_for, smallest_threshold
from pcqr.noise import check_scale, discrete_laplace, geometric


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
