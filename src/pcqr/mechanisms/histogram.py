"""Counts of records in public cells, with noise on every cell. Proof: proofs/score.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, expm1
from typing import Self

from pcqr.checks import check_positive, keep_plain
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee, rounded_up
from pcqr.privacy.noise import IntegerArray, check_scale, discrete_laplaces


@dataclass(frozen=True)
class NoisyHistogram:
    """Counts with independent noise, P(Z = z) ∝ e^{−|z|/s} on every cell: (2/s)-DP, pure, and 1/s²-zCDP.

    A replaced record leaves one cell and enters another, so that two counts move by 1. Cells are public, and each
    record is in one of them.

    Parameters
    ----------
    scale : float
        s.

    Attributes
    ----------
    guarantee : Guarantee
        ε = 2/s and ρ = 1/s², rounded up.
    variance : float
        That of the noise on one cell.

    Raises
    ------
    ParameterError
        When the scale is not in (0, 2⁵⁰].

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import SeededEntropy
    >>> from pcqr.mechanisms import NoisyHistogram
    >>> histogram = NoisyHistogram.calibrate(epsilon=1.0)
    >>> print(histogram.guarantee)
    pure differential privacy with ε = 1 under 'replace one record'
    >>> histogram.release(np.array([120, 80, 0]), SeededEntropy(0))  # seeded: NOT PRIVATE
    [122, 80, -2]
    """

    scale: float

    def __post_init__(self) -> None:
        check_positive("scale", self.scale)
        keep_plain(self, floats=("scale",))
        check_scale("scale", self.scale)

    @classmethod
    def calibrate(cls, epsilon: float) -> Self:
        """Return the noise whose stated ε is just below `epsilon`."""
        check_positive("epsilon", epsilon)
        return cls(rounded_up(rounded_up(2.0 / float(epsilon))))

    @property
    def guarantee(self) -> Guarantee:
        """What one release costs."""
        return Guarantee(rounded_up(2.0 / self.scale), proof="score", rho=rounded_up(self.scale**-2))

    @property
    def variance(self) -> float:
        """2a/(1 − a)², a = e^{−1/s}."""
        return 2.0 * exp(-1.0 / self.scale) / expm1(-1.0 / self.scale) ** 2

    def release(self, counts: IntegerArray | Sequence[int], entropy: Entropy) -> list[int]:
        """All noisy counts, in Python's integers: they cannot overflow."""
        held = [int(count) for count in counts]
        noise = discrete_laplaces(self.scale, len(held), entropy)
        return [count + each for count, each in zip(held, noise.tolist(), strict=True)]
