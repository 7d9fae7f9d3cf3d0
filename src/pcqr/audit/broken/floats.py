"""Laplace noise in floating point. The private datum is a distance to instability, published with noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pcqr.audit.broken.base import Bug, bug
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.noise import discrete_laplace

EPSILON = 1.0


@dataclass(frozen=True)
class FloatLaplace:
    """distance + Laplace(1/ε), by the textbook's inverse distribution function, in float64.

    On the reals this is ε-DP. In float64 the sum 1 + z has no digits below 2⁻⁵³, while 0 + z has those of a small z:
    the last digit tells the two apart.
    """

    epsilon: float

    def __call__(self, distance: int, entropy: Entropy) -> str:
        uniform = (int(entropy.words(1)[0]) >> 11) * 2.0**-53 - 0.5
        if uniform == -0.5:  # the textbook's logarithm of 0
            return "infinite"
        noise = -math.copysign(math.log1p(-2.0 * abs(uniform)), uniform) / self.epsilon
        return fingerprint(float(distance) + noise)


@dataclass(frozen=True)
class IntegerLaplace:
    """distance + discrete Laplace(1/ε): the sum of integers has no last digit to speak of."""

    epsilon: float

    def __call__(self, distance: int, entropy: Entropy) -> str:
        return fingerprint(float(distance + discrete_laplace(1.0 / self.epsilon, entropy)))


def fingerprint(value: float) -> str:
    """What an attacker looks at: has the value a binary digit beyond 2⁻⁵³, and else, which integer is it near?"""
    if not (value * 2.0**53).is_integer():
        return "finer than 2^-53"
    return f"about {max(-9, min(9, round(value)))}"


BUGS: Sequence[Bug] = (
    bug(
        "float Laplace",
        "Textbook Laplace noise in float64: some sums are possible on one neighbour alone.",
        source="Mironov 2012",
        caught_by="statistical",
        claim=Guarantee(EPSILON),
        broken=FloatLaplace(EPSILON),
        correct=IntegerLaplace(EPSILON),
        neighbours=(0, 1),
    ),
)
