"""Sparse vectors that claim the guarantee of `OneSidedSparseVector` and get one thing wrong.

Most are the published variants that Lyu, Su and Li 2017 took apart, turned round: in their paper the costly answer is
"above the threshold", here it is ⊥. The private data are the queries' distances to instability.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.statistical.runs import STABLE, UNSTABLE, SparseVectorRun
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, RunningSparseVector, SparseVector
from pcqr.privacy.entropy import Entropy

LYU_SU_LI = "Lyu, Su and Li 2017"
EPSILON, DELTA = 1.0, 1e-6

ONE = OneSidedSparseVector.calibrate(EPSILON, DELTA, unstable=1)
FOUR = OneSidedSparseVector.calibrate(EPSILON, DELTA, unstable=4)
CHEAP_THRESHOLD = OneSidedSparseVector.calibrate(EPSILON, DELTA, unstable=1, threshold_share=0.2)
"""Most of its ε pays for ⊥, so that one ⊥ too many weighs the most."""

Distances = tuple[int, ...]


def opposed(parameters: SparseVector, stable: int, unstable: int) -> tuple[Distances, Distances]:
    """Queries at the threshold, `stable` of them one step nearer to ⊥ on the second neighbour, then the reverse.

    The event that all of the former pass and all of the latter fail makes both kinds of noise work against the claim.
    """
    low, high = parameters.threshold, parameters.threshold + 1
    return (high,) * stable + (low,) * unstable, (low,) * stable + (high,) * unstable


@dataclass(frozen=True)
class FixedQueryNoise(OneSidedSparseVector):
    """The same noise for every query."""

    noise: int = 0

    def query_noise(self, entropy: Entropy) -> int:  # noqa: ARG002
        return self.noise


class QueryNoiseReused(RunningSparseVector):
    """Draws the query noise at the start and uses it for every query."""

    def __init__(self, parameters: SparseVector, entropy: Entropy) -> None:
        noise = parameters.query_noise(entropy)
        super().__init__(FixedQueryNoise(**asdict(parameters), noise=noise), entropy)


class OneTooMany(RunningSparseVector):
    """Goes on while c ≤ E."""

    @property
    def is_exhausted(self) -> bool:
        return self.unstable_remaining < 0


class NeverHalts(RunningSparseVector):
    """Does not count its unstable answers."""

    is_exhausted = False


@dataclass(frozen=True)
class ShowsDistance:
    """With ⊥ comes the noisy distance of the test, "to say how close it was".

    It is clamped to a few values about the threshold, which reveals no more than the noisy distance itself.
    """

    parameters: OneSidedSparseVector

    def __call__(self, distances: Distances, entropy: Entropy) -> str:
        threshold = self.parameters.threshold + self.parameters.threshold_noise(entropy)
        seen = ""
        for distance in distances:
            noisy = distance + self.parameters.query_noise(entropy)
            if noisy <= threshold:
                return f"{seen}{UNSTABLE} {self._clamped(noisy)}"
            seen += STABLE
        return seen

    def _clamped(self, noisy: int) -> int:
        middle = self.parameters.threshold
        return next((value for value in (middle + 1, middle, middle - 1) if noisy >= value), middle - 2)


def _sparse_vector_bug(
    name: str,
    wrong: str,
    honest: OneSidedSparseVector,
    broken: SparseVectorRun,
    neighbours: tuple[Distances, Distances],
    source: str = "",
) -> Bug:
    return bug(
        name,
        wrong,
        source=source,
        claim=honest.guarantee,
        broken=broken,
        correct=SparseVectorRun(honest),
        neighbours=neighbours,
    )


BUGS: Sequence[Bug] = (
    _sparse_vector_bug(
        "no query noise",
        "Only the threshold is noised: two answers together tell which of two distances is larger.",
        ONE,
        SparseVectorRun(FixedQueryNoise(**asdict(ONE))),
        opposed(ONE, 1, 1),
        f"{LYU_SU_LI}, Algorithm 5",
    ),
    _sparse_vector_bug(
        "query noise reused",
        "The query noise is drawn once and kept: it moves the threshold and hides nothing.",
        ONE,
        SparseVectorRun(ONE, QueryNoiseReused),
        opposed(ONE, 1, 1),
    ),
    _sparse_vector_bug(
        "noise ignores E",
        "The query noise is scaled for one unstable answer, and four are given.",
        FOUR,
        SparseVectorRun(replace(ONE, unstable=FOUR.unstable)),
        opposed(ONE, 4, 4),
        f"{LYU_SU_LI}, Algorithm 4",
    ),
    _sparse_vector_bug(
        "never halts",
        "Unstable answers are not counted, so that any number of them can be had.",
        ONE,
        SparseVectorRun(ONE, NeverHalts),
        opposed(ONE, 3, 6),
        f"{LYU_SU_LI}, Algorithm 6",
    ),
    _sparse_vector_bug(
        "c ≤ T",
        "The loop runs while c ≤ T, which allows T + 1 unstable answers; noise was scaled for T.",
        CHEAP_THRESHOLD,
        SparseVectorRun(CHEAP_THRESHOLD, OneTooMany),
        opposed(CHEAP_THRESHOLD, 12, 2),
        "Nandi and Bassily 2020, Algorithm SubSamp as printed",
    ),
    bug(
        "shows the noisy distance",
        "With ⊥ comes the noisy distance that the test was made with. That noise is one-sided, and spent.",
        source=f"{LYU_SU_LI}, Algorithm 3",
        claim=ONE.guarantee,
        broken=ShowsDistance(ONE),
        correct=SparseVectorRun(ONE),
        neighbours=opposed(ONE, 2, 1),
    ),
)
