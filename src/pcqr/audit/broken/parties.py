"""A published student with noise for less than a party can do to it. The private data are votes on public points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.exact.sums import HalfSpace
from pcqr.entropy import Entropy
from pcqr.noise import discrete_gaussians
from pcqr.peers.parties.algorithm import parties_guarantee
from pcqr.peers.parties.plan import PartiesStage
from pcqr.peers.parties.student import whole_weights

Votes = tuple[int, ...]
"""For label 1, on each public point."""


@dataclass(frozen=True)
class NoisyStudent:
    """The shipped student of votes on points that all have φ = 1, with the noise of `plan`: beyond `plane` or not?"""

    plan: PartiesStage
    plane: HalfSpace

    def __call__(self, votes: Votes, entropy: Entropy) -> str:
        ones = np.array(votes, dtype=np.int64)
        counts = np.stack([self.plan.parties - ones, ones], axis=1)
        whole = whole_weights(np.ones((ones.size, 1)), counts, self.plan).reshape(-1)
        noisy = whole + discrete_gaussians(self.plan.scale, whole.size, entropy)
        return "beyond" if self.plane.holds(list(noisy)) else "not beyond"


PARTIES, POINTS = 10, 4
NOISE = 4.0
DRAFT = PartiesStage(
    PARTIES, PARTIES, POINTS, coordinates=1, penalty=2.0, curvature=1.0, steps=20, scale=1.0, grid=2**10
)
PLAN = replace(DRAFT, scale=NOISE * DRAFT.sensitivity)
CLAIM = parties_guarantee(PLAN, 1e-6)
AS_IF_ONE_POINT = replace(PLAN, scale=PLAN.scale / POINTS)
FIRST, SECOND = (6,) * POINTS, (5,) * POINTS
"""One party changes its mind about every point."""


def _at_its_worst(plan: PartiesStage) -> NoisyStudent:
    """With the plane beyond which a weight speaks for the first neighbour by the ε that is to be found.

    With a quarter of the noise that is about four times the claim. The second neighbour's weight is 0, or nearly.
    """
    shift = DRAFT.sensitivity
    loss = CLAIM.epsilon * PLAN.scale / plan.scale
    return NoisyStudent(plan, HalfSpace((1,), math.floor(plan.scale**2 * loss / shift + shift / 2.0)))


BUGS: Sequence[Bug] = (
    bug(
        "one party, one point",
        "The noise of a student of soft votes is divided by the number of public points, as if a party could move one "
        "of them; a record can change its party's votes on all of them.",
        source="the sensitivity 1/(λPM) that a careless reading of Hamm, Cao and Belkin 2016 gives",
        claim=CLAIM,
        broken=_at_its_worst(AS_IF_ONE_POINT),
        correct=_at_its_worst(PLAN),
        neighbours=(FIRST, SECOND),
    ),
)
