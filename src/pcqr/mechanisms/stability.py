"""From counts of votes to a label and to how far that label is from changing (proofs/votes.md).

Counts are private: neither function may put one into an error message or a log.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from pcqr.checks import check_delta, check_positive, keep_plain
from pcqr.errors import DataError
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee, positive, rounded_up
from pcqr.privacy.noise import discrete_laplace


def plurality(counts: ArrayLike) -> int:
    """The label with the most votes; among equals the one that comes first.

    Parameters
    ----------
    counts : array-like of int, shape (C,)
        The votes for each of the labels 0, …, C−1. **Private.**

    Returns
    -------
    int
        The label. As private as the votes are.

    Raises
    ------
    DataError
        When `counts` is no vector of integers for at least two labels.

    Examples
    --------
    >>> from pcqr.mechanisms import plurality
    >>> plurality([40, 61]), plurality([30, 30, 10])
    (1, 0)
    """
    votes = _checked(counts)
    return votes.index(max(votes))


def distance_to_instability(counts: ArrayLike) -> int:
    """The number of teachers that may change their vote, arbitrarily, before `plurality` can change.

    d = min over labels j ≠ top of ⌊g_j / 2⌋ where top comes before j, else ⌈g_j / 2⌉ − 1, with
    g_j = counts[top] − counts[j]. For two labels and an odd number of votes this is (|c₁ − c₀| − 1) / 2.

    Changing one vote moves d by at most 1, and where that changes the plurality d is 0 before and after.

    Parameters
    ----------
    counts : array-like of int, shape (C,)
        The votes for each of the labels 0, …, C−1. **Private.**

    Returns
    -------
    int
        d ≥ 0. As private as the votes are.

    Raises
    ------
    DataError
        When `counts` is no vector of integers for at least two labels.

    Examples
    --------
    Ten of the 61 may turn to the other label, and it still loses, by 50 to 51; the eleventh decides.

    >>> from pcqr.mechanisms import distance_to_instability
    >>> distance_to_instability([40, 61])
    10
    >>> distance_to_instability([50, 51]), distance_to_instability([51, 50])
    (0, 0)
    """
    votes = _checked(counts)
    top = votes.index(max(votes))
    # j before top needs only a tie to win: one vote less. Then g_j ≥ 1, so the numerator stays ≥ 0.
    return min((votes[top] - of_j - (j < top)) // 2 for j, of_j in enumerate(votes) if j != top)


def _checked(counts: ArrayLike) -> list[int]:
    votes = np.asarray(counts)
    if votes.ndim != 1 or votes.size < 2 or votes.dtype.kind not in "iu":
        raise DataError("counts", "a vector of integers for at least two labels", f"{votes.dtype} {votes.shape}")
    return votes.tolist()  # type: ignore[no-any-return]  # Python's integers: a few of them are faster than an array


# ---------------------------------------------------------------------------------------------------------------------
# The stability test: release f(S) itself, without noise, where many records would have to change to change it.
#
# Smith and Thakurta 2013 ("propose, test, release" with a distance to instability). Proof: proofs/stability.md.


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
