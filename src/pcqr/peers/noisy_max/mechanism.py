"""The noisy majority of two labels: every query gets an answer, and every answer is paid for.

Two forms, each a frozen set of parameters that describes one answer as an event of `pcqr.accounting` and draws it:

* `GaussianMax`, after GNMax (Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson 2018): a noisy count.
* `ExponentialMax` (Dwork and Feldman 2018): a label drawn with odds that the gap between the counts decides.

Votes are private: neither form may put a count into an error or a log. Proof of both: proofs/noisy_max.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcqr.accounting import BoundedRangeEvent, DiscreteGaussianEvent
from pcqr.checks import check_positive, keep_plain
from pcqr.documents import Document
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import rounded_up
from pcqr.noise import LARGEST_SCALE, UNIT_ROUNDOFF, check_scale, discrete_gaussian, weighted_choice


@dataclass(frozen=True)
class GaussianMax(Document):
    """Label 1 iff c₁ + Z > k/2, Z ~ discrete Gaussian of σ = `scale`, c₁ the votes for 1 among k teachers.

    c₁ is an integer and one changed vote moves it by 1, so an answer is 1/(2σ²)-zCDP: it is a function of c₁ + Z. With
    k odd c₁ + Z = k/2 cannot happen and neither label is preferred; with k even such a tie is a 0.
    """

    scale: float

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        keep_plain(self, floats=("scale",))
        check_scale("scale", self.scale)

    def event(self, teachers: int) -> DiscreteGaussianEvent:  # noqa: ARG002 - the signature of both forms
        """What one answer costs, whatever the number of `teachers`."""
        return DiscreteGaussianEvent(self.scale)

    def decide(self, ones: int, teachers: int, entropy: Entropy) -> int:
        """One answer, with fresh noise: c₁ = `ones`, k = `teachers`."""
        return int(2 * (ones + discrete_gaussian(self.scale, entropy)) > teachers)


@dataclass(frozen=True)
class ExponentialMax(Document):
    """Label y with probability ∝ e^{η·c_y}, η = `inverse_temperature`: odds e^{η(c₁ − c₀)} of 1 against 0.

    One changed vote moves the *gap* c₁ − c₀ by 2, so the loss of an answer has a range of 2η and the answer is
    2η-DP. For ε that is weights e^{ε·c_y/2}: without the ½ one answer costs up to 2ε.
    """

    inverse_temperature: float

    def __post_init__(self) -> None:
        check_positive("inverse_temperature", self.inverse_temperature)
        keep_plain(self, floats=("inverse_temperature",))
        if not 1.0 / LARGEST_SCALE <= self.inverse_temperature <= LARGEST_SCALE:
            raise ParameterError("inverse_temperature", "a number in [2**-50, 2**50]", self.inverse_temperature)

    def event(self, teachers: int) -> BoundedRangeEvent:
        """What one answer costs: a range of 2η, and what rounding η·gap, a gap of up to k = `teachers`, adds to it."""
        return BoundedRangeEvent(rounded_up(2.0 * self.inverse_temperature * (1.0 + UNIT_ROUNDOFF * teachers)))

    def decide(self, ones: int, teachers: int, entropy: Entropy) -> int:
        """One answer, drawn exactly: c₁ = `ones`, k = `teachers`."""
        gap = 2 * ones - teachers
        behind = -self.inverse_temperature * abs(gap)
        return weighted_choice(np.array([0.0, behind] if gap < 0 else [behind, 0.0]), entropy)


NoisyMax = GaussianMax | ExponentialMax
