"""Stab: the private release of one value by its distance to instability (Smith and Thakurta 2013; Algorithm Stab).

`stab` is the paper's 𝒜_stab on a single query of a teacher ensemble: one test, one answer, no sparse vector.
"""

from __future__ import annotations

from pcqr.algorithms.ensemble import Teachers
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Points
from pcqr.mechanisms.stability import StabilityTest
from pcqr.mechanisms.votes import distance_to_instability, plurality


def stab(teachers: Teachers, x: Points, epsilon: float, delta: float, entropy: Entropy) -> tuple[int | None, Guarantee]:
    """The label with the most votes of `teachers` at the one-row table `x`, or None for ⊥: (`epsilon`, `delta`)-DP.

    Precondition: replacing one record changes at most one teacher, so the distance moves by at most 1
    (proofs/votes.md). Guarantee: proofs/stability.md.
    """
    test = StabilityTest(epsilon, delta)
    counts = teachers.counts(x)[0]
    label = test.release(plurality(counts), distance_to_instability(counts), entropy)
    return label, test.guarantee.drawn_with(private_entropy=entropy.is_private)
