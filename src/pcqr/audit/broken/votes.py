"""Votes that are noised for less than one teacher can change. The private data are counts of votes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pcqr.accounting import Repeated, compose
from pcqr.audit.broken.base import Bug, bug
from pcqr.audit.statistical.transcripts import SparseVectorRun
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.mechanisms.noisy_max import LaplaceMax
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, SparseVector
from pcqr.mechanisms.votes import distance_to_instability
from pcqr.noise import weighted_choice
from pcqr.peers.confident.mechanism import ConfidentMax

Votes = tuple[int, int]
"""For label 0 and for label 1. One teacher that changes its mind moves both."""


@dataclass(frozen=True)
class ExponentialVote:
    """One label, drawn with P(label) ∝ e^{`rate` · votes}: (2·`rate`)-DP, since one teacher moves two counts by 1."""

    rate: float

    def __call__(self, votes: Votes, entropy: Entropy) -> str:
        return str(weighted_choice(self.rate * np.array(votes, dtype=np.float64), entropy))


@dataclass(frozen=True)
class LaplaceVote:
    """The label with the most votes after Laplace noise of this `scale` on each count: (2/`scale`)-DP."""

    scale: float

    def __call__(self, votes: Sequence[int], entropy: Entropy) -> str:
        return str(LaplaceMax(self.scale).decide(np.array(votes), entropy))


@dataclass(frozen=True)
class ConfidentVote:
    """Confident answers to queries with these votes, until one label is given."""

    noise: ConfidentMax

    def __call__(self, queries: Sequence[Sequence[int]], entropy: Entropy) -> str:
        said = ""
        for votes in queries:
            label = self.noise.decide(np.array(votes), entropy)
            said += "⊥" if label is None else str(label)
            if label is not None:
                break
        return said


@dataclass(frozen=True)
class Correction:
    """Does the noisy check let teachers correct a student who expects all votes for label 0? One query after another.

    Compared is the largest lead over what it expects or, if `is_gap`, over the votes for its label.
    """

    noise: ConfidentMax
    is_gap: bool

    def __call__(self, queries: Sequence[Sequence[int]], entropy: Entropy) -> str:
        said = ""
        for votes in queries:
            counts, teachers = np.array(votes), sum(votes)
            if self.is_gap:
                label = self.noise.decide(counts - counts[0], entropy, 0, self.noise.threshold - teachers // 2)
            else:
                label = self.noise.decide(counts, entropy, np.array([teachers, 0, 0]))
            said += "student" if label is None else "teachers"
            if label is not None:
                break
        return said


@dataclass(frozen=True)
class StableVote:
    """The sparse vector's answers to queries with these votes, whose stability is measured by `distance`."""

    sparse_vector: SparseVector
    distance: Callable[[ArrayLike], int]

    def __call__(self, queries: Sequence[Votes], entropy: Entropy) -> str:
        return SparseVectorRun(self.sparse_vector)([self.distance(votes) for votes in queries], entropy)


def gap(votes: ArrayLike) -> int:
    """Votes of the winner less those of the loser. One teacher that changes its mind moves it by 2."""
    counts = np.asarray(votes)
    return int(counts.max() - counts.min())


TEACHERS = 101
SPARSE_VECTOR = OneSidedSparseVector.calibrate(1.0, 1e-6, unstable=1)


def _at_threshold(measure: Callable[[ArrayLike], int]) -> tuple[tuple[Votes, ...], tuple[Votes, ...]]:
    """Votes that `measure` puts just above the threshold and, one teacher later, below; five times, then reversed."""
    winners = next(
        c for c in range(TEACHERS) if measure((TEACHERS - c, c)) > SPARSE_VECTOR.threshold and 2 * c > TEACHERS
    )
    above, below = (TEACHERS - winners, winners), (TEACHERS - winners + 1, winners - 1)
    return (above,) * 5 + (below,), (below,) * 5 + (above,)


CHECKS = 4
UNPAID = ConfidentMax(threshold=8, check_scale=1.0, answer_scale=10.0, grid=1)
PAID = ConfidentMax(threshold=8, check_scale=20.0, answer_scale=15.0, grid=1)
ONE_LABEL = compose([UNPAID.answer], 1e-3, accountant="Rényi")


CORRECTING = ConfidentMax(threshold=8, check_scale=4.0, answer_scale=100.0, grid=1)
FEW_CORRECTIONS = compose([Repeated(CORRECTING.check, CHECKS), CORRECTING.answer], 1e-3, accountant="Rényi")


BUGS: Sequence[Bug] = (
    bug(
        "no ½ in the vote",
        "A label is drawn with weight e^{ε·votes}. One teacher moves two counts, so this is 2ε.",
        source="the mechanism of Dwork and Feldman 2018, as a public implementation has it",
        claim=Guarantee(1.0),
        broken=ExponentialVote(1.0),
        correct=ExponentialVote(0.5),
        neighbours=((1, 6), (2, 5)),
    ),
    bug(
        "Laplace noise for one count",
        "Every count has Laplace noise of scale 1/γ, sold as γ-DP. One teacher moves two counts, so this is 2γ.",
        source="LNMax of Papernot et al. 2017, charged γ for 2γ",
        claim=Guarantee(1.0),
        broken=LaplaceVote(1.0),
        correct=LaplaceVote(2.0),
        neighbours=((0, 12, 2), (1, 11, 2)),
    ),
    bug(
        "check not paid for",
        "Whether the teachers agree is checked in every query; only the labels are charged.",
        source="Confident-GNMax of Papernot et al. 2018, without the cost of its threshold",
        claim=ONE_LABEL,
        broken=ConfidentVote(UNPAID),
        correct=ConfidentVote(PAID),
        neighbours=(((1, 6, 3),) * CHECKS, ((1, 7, 2),) * CHECKS),
    ),
    bug(
        "lead over the student's votes",
        "Teachers correct a student where a label has many votes more than the student's own: a gap that moves by 2, "
        "with the noise for what moves by 1.",
        source="the interactive aggregator of Papernot et al. 2018, with votes for what the student expects",
        claim=FEW_CORRECTIONS,
        broken=Correction(CORRECTING, is_gap=True),
        correct=Correction(CORRECTING, is_gap=False),
        neighbours=(((4, 8, 0),) * CHECKS, ((5, 7, 0),) * CHECKS),
    ),
    bug(
        "gap of sensitivity 2",
        "Stability is measured by the gap between two counts, with the noise for a quantity that moves by 1.",
        source="Nandi and Bassily 2020, Algorithm SubSamp as printed",
        claim=SPARSE_VECTOR.guarantee,
        broken=StableVote(SPARSE_VECTOR, gap),
        correct=StableVote(SPARSE_VECTOR, distance_to_instability),
        neighbours=_at_threshold(gap),
        correct_neighbours=_at_threshold(distance_to_instability),
    ),
)
