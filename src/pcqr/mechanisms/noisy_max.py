"""The noisy majority of two or more labels: every query gets an answer, and every answer is paid for.

Three forms, each a frozen set of parameters that describes one answer as an event of `pcqr.privacy.accounting` and
draws it:

* `GaussianMax`, after GNMax (Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson 2018): Gaussian noise on counts.
* `LaplaceMax`, after LNMax (Papernot, Abadi, Erlingsson, Goodfellow, Talwar 2017): Laplace noise on every count.
* `ExponentialMax` (Dwork and Feldman 2018): a label drawn with odds that the gaps between the counts decide.

One replaced record changes one teacher, which takes its vote from one label and gives it to another: one count falls by
1, another rises by 1. Votes are private: no form may put a count into an error or a log. Proof: proofs/noisy_max.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.checks import check_positive, keep_plain
from pcqr.errors import ParameterError
from pcqr.privacy.accounting import BoundedRangeEvent, DiscreteGaussianEvent, PureEvent
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import rounded_up
from pcqr.privacy.noise import (
    LARGEST_SCALE,
    UNIT_ROUNDOFF,
    check_scale,
    discrete_gaussian,
    discrete_gaussians,
    discrete_laplaces,
    weighted_choice,
)
from pcqr.serialization import Document

Counts = NDArray[np.int64]
"""The votes for each label. **Private.**"""


@dataclass(frozen=True)
class GaussianMax(Document):
    """The label with the most votes after noise: Z ~ discrete Gaussian of σ = `scale`.

    For three labels or more, argmax over y of c_y + Z_y, a Z_y for every count; among equals the label that comes
    first. The vector of counts moves by √2 in the ℓ₂ norm, so an answer is 1/σ²-zCDP.

    For two labels one draw does as well: 1 iff c₁ + Z > k/2, k the number of votes. c₁ moves by 1, so an answer is
    1/(2σ²)-zCDP. Noise of σ·√2 on both counts would cost as much, and the sign of their difference would have the same
    law but for rounding. With k odd c₁ + Z = k/2 cannot happen; with k even such a tie is a 0.
    """

    scale: float

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        keep_plain(self, floats=("scale",))
        check_scale("scale", self.scale)

    def event(self, teachers: int, labels: int) -> DiscreteGaussianEvent:  # noqa: ARG002 - as all forms
        """What one answer costs among so many `labels`, whatever the number of `teachers`."""
        return DiscreteGaussianEvent(self.scale if labels == 2 else self.scale / rounded_up(math.sqrt(2.0)))

    def decide(self, counts: Counts, entropy: Entropy) -> int:
        """One answer, with fresh noise."""
        if counts.size == 2:
            zeros, ones = counts.tolist()
            return int(2 * (ones + discrete_gaussian(self.scale, entropy)) > zeros + ones)
        return first_largest(noised(counts, discrete_gaussians(self.scale, counts.size, entropy)))


@dataclass(frozen=True)
class LaplaceMax(Document):
    """argmax over y of c_y + Z_y, Z_y ~ discrete Laplace of `scale` b = 1/γ; among equals the label that comes first.

    The vector of counts moves by 2 in the ℓ₁ norm, so an answer is 2γ-DP: not γ-DP, as for one count.
    """

    scale: float

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        keep_plain(self, floats=("scale",))
        check_scale("scale", self.scale)

    def event(self, teachers: int, labels: int) -> PureEvent:  # noqa: ARG002 - as all forms
        """What one answer costs, whatever the number of `teachers` and of `labels`."""
        return PureEvent(rounded_up(2.0 / self.scale))

    def decide(self, counts: Counts, entropy: Entropy) -> int:
        """One answer, with fresh noise."""
        return first_largest(noised(counts, discrete_laplaces(self.scale, counts.size, entropy)))


@dataclass(frozen=True)
class ExponentialMax(Document):
    """Label y with probability ∝ e^{η·c_y}, η = `inverse_temperature`. Equals are equally likely.

    One changed vote moves the *gap* between two counts by up to 2, so the loss of an answer has a range of 2η and the
    answer is 2η-DP. For ε that is weights e^{ε·c_y/2}: without the ½ one answer costs up to 2ε.
    """

    inverse_temperature: float

    def __post_init__(self) -> None:
        check_positive("inverse_temperature", self.inverse_temperature)
        keep_plain(self, floats=("inverse_temperature",))
        if not 1.0 / LARGEST_SCALE <= self.inverse_temperature <= LARGEST_SCALE:
            raise ParameterError("inverse_temperature", "a number in [2**-50, 2**50]", self.inverse_temperature)

    def event(self, teachers: int, labels: int) -> BoundedRangeEvent:
        """What one answer costs: a range of 2η, and what rounding η·gap, a gap of up to k = `teachers`, adds to it."""
        rounded = 1 if labels == 2 else 2  # of two log-weights, how many are not exactly 0
        return BoundedRangeEvent(
            rounded_up(2.0 * self.inverse_temperature * (1.0 + UNIT_ROUNDOFF * rounded * teachers))
        )

    def decide(self, counts: Counts, entropy: Entropy) -> int:
        """One answer, drawn exactly."""
        return weighted_choice(self.inverse_temperature * (counts - counts.max()), entropy)


NoisyMax = GaussianMax | LaplaceMax | ExponentialMax


def noised(counts: Counts, noise: NDArray[np.int64]) -> list[int]:
    """Return counts plus noise, as Python integers, which cannot overflow. **Private**, but for the paid answer."""
    return [count + each for count, each in zip(counts.tolist(), noise.tolist(), strict=True)]


def first_largest(values: Sequence[int]) -> int:
    """Return the place of the largest value, of equal ones the first. Makes one comparison for each later value."""
    best = 0
    for place in range(1, len(values)):
        if values[place] > values[best]:
            best = place
    return best
