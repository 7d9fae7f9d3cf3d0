"""The stability test: release f(S) itself, without noise, where many records would have to change to change it.

Smith and Thakurta 2013 ("propose, test, release" with a distance to instability). Proof: proofs/stability.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from pcqr.checks import check_delta, check_positive, keep_plain
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee, positive, rounded_up
from pcqr.noise import discrete_laplace

V = TypeVar("V")


@dataclass(frozen=True)
class StabilityTest:
    """Release a value itself, without noise on it, where many records would have to change to change it.

    The value is released iff distance + Z > w, Z ~ discrete Laplace(`scale`), w = `threshold`; otherwise None (⊥) is.
    This is (ε, δ)-DP when the distance is an integer function of the records that moves by at most 1 between
    neighbours, and is 0 on both sides wherever the value differs between them (proofs/stability.md).

    Parameters
    ----------
    epsilon : float
        ε > 0; the noise has scale 1/ε.
    delta : float
        δ, above 0 and below 1: the most chance that a value which a neighbour would not have is let through.

    Attributes
    ----------
    scale : float
        Of the noise.
    threshold : int
        w, the smallest integer ≥ 0 with P(Z > w) ≤ δ.
    guarantee : Guarantee
        What one `release` costs: ε = 1/`scale`, δ = P(Z > w), both rounded up and within what was asked for.

    References
    ----------
    .. [1] A. Guha Thakurta, A. Smith. Differentially private feature selection via stability arguments, and the
       robustness of the lasso. COLT 2013.

    Examples
    --------
    >>> from pcqr import SeededEntropy
    >>> from pcqr.mechanisms import StabilityTest
    >>> test = StabilityTest(epsilon=1.0, delta=1e-6)
    >>> test.threshold
    13
    >>> entropy = SeededEntropy(0)  # NOT PRIVATE
    >>> test.release("label 1", distance=30, entropy=entropy), test.release("label 1", distance=3, entropy=entropy)
    ('label 1', None)
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_delta(self.delta)
        keep_plain(self, floats=("epsilon", "delta"))

    @property
    def scale(self) -> float:
        """The scale of the noise, 1/ε enlarged so far that 1/`scale` rounded up stays within ε."""
        return scale_for(self.epsilon)

    @cached_property
    def threshold(self) -> int:
        """The smallest integer w ≥ 0 with P(Z > w) ≤ δ."""
        return smallest_threshold(self.scale, self.delta)

    @property
    def guarantee(self) -> Guarantee:
        """What one `release` costs."""
        return Guarantee(
            epsilon=rounded_up(1.0 / self.scale),
            delta=laplace_tail(self.scale, self.threshold),
            proof="stability",
        )

    def release(self, value: V, distance: int, entropy: Entropy) -> V | None:
        """`value` where the noisy `distance` exceeds the threshold, else None."""
        return value if distance + discrete_laplace(self.scale, entropy) > self.threshold else None


def scale_for(epsilon: float) -> float:
    """The noise scale for a rate of `epsilon` a unit, so large that 1 / scale rounded up stays within `epsilon`."""
    return rounded_up(rounded_up(1.0 / float(epsilon)))


def laplace_tail(scale: float, threshold: int) -> float:
    """P(Z > w) for Z ~ discrete Laplace(`scale`), w = `threshold` ≥ 0: a^{w+1} / (1 + a), a = e^{−1/scale}.

    Rounded up.
    """
    return positive(rounded_up(math.exp(-(threshold + 1) / scale) / (1.0 + math.exp(-1.0 / scale))))


def smallest_threshold(scale: float, delta: float) -> int:
    """The smallest integer w ≥ 0 with `laplace_tail`(`scale`, w) ≤ `delta`.

    Solved by logarithms, then settled by the tail itself, so that no rounding decides. The start is never too large:
    the logarithm errs by less than the 10⁻¹² by which the tail is rounded up.
    """
    guess = -math.log(delta * (1.0 + math.exp(-1.0 / scale))) * scale
    threshold = max(0, math.ceil(guess) - 1)
    while laplace_tail(scale, threshold) > delta:
        threshold += 1
    return threshold
