"""Secret sub-samples, random partitions and the teachers trained on them.

Everything here depends on *positions* and secret coins, never on contents: which records a teacher sees is the
same on neighbouring tables, so one replaced record changes one teacher (proofs/subsample.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records import Records
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.hypotheses.committees import Arrays, Committee, committee_from_arrays, trained
from pcqr.mechanisms.sparse_vector import RunningSparseVector
from pcqr.mechanisms.stability import StabilityTest, distance_to_instability, plurality
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.subsample.plan import VoteStage


class Teachers:
    """k classifiers, one for each part of a uniformly random partition of the records into k parts."""

    def __init__(self, hypotheses: HypothesisClass, records: Records, count: int, entropy: Entropy) -> None:
        parts = np.array_split(entropy.permutation(records.size), count)
        self.committee = trained(hypotheses, records, parts, entropy)

    def counts(self, X: Points) -> NDArray[np.int64]:
        """For each row of `X` the votes for each label, in columns. Private: never to be shown or logged."""
        return self.committee.counts(X)


def secret_subsample(records: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """`size` positions out of `records`, uniform without replacement. Kept secret: the amplification rests on it."""
    return entropy.permutation(records)[:size]


# ---------------------------------------------------------------------------------------------------------------------
# Stab: the private release of one value by its distance to instability (Smith and Thakurta 2013; Algorithm Stab).
#
# `stab` is the paper's 𝒜_stab on a single query of a teacher ensemble: one test, one answer, no sparse vector.


def stab(teachers: Teachers, x: Points, epsilon: float, delta: float, entropy: Entropy) -> tuple[int | None, Guarantee]:
    """The label with the most votes of `teachers` at the one-row table `x`, or None for ⊥: (`epsilon`, `delta`)-DP.

    Precondition: replacing one record changes at most one teacher, so the distance moves by at most 1
    (proofs/votes.md). Guarantee: proofs/stability.md.
    """
    test = StabilityTest(epsilon, delta)
    counts = teachers.counts(x)[0]
    label = test.release(plurality(counts), distance_to_instability(counts), entropy)
    return label, test.guarantee.drawn_with(private_entropy=entropy.is_private)


# ---------------------------------------------------------------------------------------------------------------------
# SubSamp: teachers on disjoint sub-samples, answers by a sparse-vector stability test.
#
# Bassily, Thakkar, Thakurta 2018; Algorithm SubSamp of Nandi and Bassily, with the corrections of proofs/sub_samp.md
# (a distance of sensitivity 1, `c < T`, k odd).


_THRESHOLDS = "thresholds"


class StableVotes:
    """Teachers and the running sparse vector: decides one query at a time. Holds only secrets."""

    def __init__(self, committee: Committee, sparse_vector: RunningSparseVector) -> None:
        self._committee = committee
        self._sparse_vector = sparse_vector

    @classmethod
    def trained(cls, hypotheses: HypothesisClass, records: Records, plan: VoteStage, entropy: Entropy) -> StableVotes:
        """Teachers on a random partition of the records, and the sparse vector started."""
        committee = Teachers(hypotheses, records, plan.teachers, entropy).committee
        return cls(committee, RunningSparseVector(plan.sparse_vector, entropy))

    @classmethod
    def from_arrays(cls, arrays: Arrays, plan: VoteStage, entropy: Entropy) -> StableVotes:
        """The votes that gave `arrays`, as they were before the first decision: see `remaining`."""
        thresholds = arrays.get(_THRESHOLDS)
        if thresholds is None or thresholds.dtype != np.int64 or thresholds.ndim != 1:
            raise DataError("arrays", "those of votes, with their thresholds among them", "others")
        running = RunningSparseVector(plan.sparse_vector, entropy, thresholds.tolist())
        return cls(committee_from_arrays(arrays), running)

    def arrays(self) -> Arrays:
        """All secrets, for ever: those that would be drawn later are drawn now. **Private.**"""
        return self._committee.arrays() | {_THRESHOLDS: np.array(self._sparse_vector.thresholds(), dtype=np.int64)}

    @property
    def remaining(self) -> Usage:
        """What the sparse vector may still test. A function of the transcript, hence public."""
        return Usage(self._sparse_vector.queries_remaining, self._sparse_vector.unstable_remaining)

    @remaining.setter
    def remaining(self, remaining: Usage) -> None:
        self._sparse_vector.queries_remaining, self._sparse_vector.unstable_remaining = (
            remaining.queries,
            remaining.unstable or 0,
        )

    def counts(self, X: Points) -> NDArray[np.int64]:
        """The votes on each row of `X`, one column a label. Private."""
        return self._committee.counts(X)

    def decide(self, counts: NDArray[np.int64]) -> int | None:
        """The label with the most votes if they are stable, None for ⊥: all about the votes that may be shown."""
        return plurality(counts) if self._sparse_vector.is_stable(distance_to_instability(counts)) else None


def sub_samp(hypotheses: HypothesisClass, records: Records, plan: VoteStage, entropy: Entropy) -> StableVotes:
    """Train the teachers on a secret sub-sample of the records as they are (no relabelling)."""
    if plan.inverse_temperature is not None:
        raise ParameterError("plan", "a plan without relabelling", "a plan that relabels")
    check_size(records, plan)
    chosen = secret_subsample(plan.records, plan.subsample, entropy)
    return StableVotes.trained(hypotheses, records.rows(chosen), plan, entropy)


def check_size(records: Records, plan: VoteStage) -> None:
    """The guarantee is for the plan's n; it says nothing about a table of another size."""
    if records.size != plan.records:
        raise ParameterError("plan", f"a plan for {records.size} records", f"one for {plan.records}")
