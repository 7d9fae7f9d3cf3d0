"""Confident answers: teachers on disjoint parts of the records, a noisy check for every query, a label where it passes.

Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson 2018 (Confident-GNMax) with data-independent accounting. How
many labels are given depends on the votes, so both numbers are capped beforehand, and what is charged is the most that
the caps allow: a filter. Proof: proofs/confident.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records import Records
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.hypotheses.committees import Arrays, Committee, committee_from_arrays
from pcqr.privacy.accounting import Repeated, compose
from pcqr.privacy.accounting.gaussian import fine_gaussian_epsilon
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee, rounded_up
from pcqr.releases.confident.plan import ConfidentMaxStage
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.subsample.run import Teachers


class ConfidentVotes:
    """Teachers, and the checks and labels that are paid for: decides one query at a time. Holds only secrets."""

    def __init__(self, committee: Committee, plan: ConfidentMaxStage, entropy: Entropy) -> None:
        self._committee = committee
        self._plan = plan
        self._entropy = entropy
        self._checks_remaining, self._labels_remaining = plan.asked, plan.answered

    @classmethod
    def trained(
        cls, hypotheses: HypothesisClass, records: Records, plan: ConfidentMaxStage, entropy: Entropy
    ) -> ConfidentVotes:
        """Teachers on a random partition of the records."""
        return cls(Teachers(hypotheses, records, plan.teachers, entropy).committee, plan, entropy)

    @classmethod
    def from_arrays(cls, arrays: Arrays, plan: ConfidentMaxStage, entropy: Entropy) -> ConfidentVotes:
        """The votes that gave `arrays`, as they were before the first decision: see `remaining`."""
        return cls(committee_from_arrays(arrays), plan, entropy)

    def arrays(self) -> Arrays:
        """All secrets. **Private.**"""
        return self._committee.arrays()

    @property
    def remaining(self) -> Usage:
        """Checks and labels that are paid for and not yet begun.

        A decision that was broken off has spent both, unless it was in a ledger's turn, which then leaves no trace.
        """
        return Usage(self._checks_remaining, None, self._labels_remaining)

    @remaining.setter
    def remaining(self, remaining: Usage) -> None:
        self._checks_remaining, self._labels_remaining = remaining.queries or 0, remaining.labels or 0

    def counts(self, X: Points) -> NDArray[np.int64]:
        """The votes on each row of `X`, one column a label. Private."""
        return self._committee.counts(X)

    def decide(
        self, counts: NDArray[np.int64], expected: NDArray[np.int64] | int = 0, threshold: int | None = None
    ) -> int | None:
        """A label or ⊥: all about the votes that may be shown. RuntimeError once either is used up."""
        if self.remaining.is_nothing:
            raise RuntimeError("All the checks or all the labels that were paid for have been given.")
        self._checks_remaining, self._labels_remaining = self._checks_remaining - 1, self._labels_remaining - 1
        label = self._plan.noise.decide(counts, self._entropy, expected, threshold)
        if label is None:
            self._labels_remaining += 1
        return label


def confident_max(
    hypotheses: HypothesisClass, records: Records, plan: ConfidentMaxStage, entropy: Entropy
) -> ConfidentVotes:
    """Train the teachers on a random partition of the records as they are."""
    check_confident(hypotheses, records, plan)
    return ConfidentVotes.trained(hypotheses, records, plan, entropy)


def check_confident(hypotheses: HypothesisClass, records: Records, plan: ConfidentMaxStage) -> None:
    """Raises where the plan is for another class or another table."""
    if hypotheses.labels != plan.labels:
        raise ParameterError("plan", f"a plan for {hypotheses.labels} labels", f"one for {plan.labels}")
    if records.size != plan.records:
        raise ParameterError("plan", f"a plan for {records.size} records", f"one for {plan.records}")


def confident_max_guarantee(plan: ConfidentMaxStage, delta: float) -> Guarantee:
    """All checks and all labels together, adaptively chosen queries included, with a δ of at most `delta`.

    The better of two figures that hold: Rényi composition, and continuous Gaussian releases with what the grid adds to
    δ. In both the costs add up to no more than those of `asked` checks and `answered` labels, whatever the votes are.
    """
    noise = plan.noise
    steps = [Repeated(noise.check, plan.asked), Repeated(noise.answer, plan.answered)]
    stated = compose(steps, delta, accountant="Rényi")
    coarsest = noise.grid * min(noise.check_scale, noise.answer_scale)
    fine = fine_gaussian_epsilon(rounded_up(math.sqrt(plan.squared_shift)), stated.delta, coarsest, plan.draws)
    if fine < stated.epsilon:
        method = "accounted as continuous Gaussian noise, and the distance from it in δ"
        stated = replace(
            stated,
            epsilon=fine,
            steps=(f"at most {plan.asked + plan.answered} mechanisms on the same records, {method}",),
        )
    caps = f"a check for each of at most {plan.asked} queries, and at most {plan.answered} noisy majorities"
    return replace(stated, proof="confident").explained(f"{caps} of teachers on disjoint records")
