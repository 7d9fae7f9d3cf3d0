"""Per-query noisy majority votes: every planned query gets an answer, and every answer is paid for.

Papernot, Abadi, Erlingsson, Goodfellow, Talwar 2017 and Papernot et al. 2018 (PATE) with data-independent accounting;
Dwork and Feldman 2018 for the exponential form. Two labels or more; teachers on disjoint parts of the records as they
are, no ⊥, and every one of the m answers is paid for beforehand. Proof: proofs/noisy_max.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records import Records
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.hypotheses.committees import Arrays, Committee, committee_from_arrays
from pcqr.mechanisms.noisy_max import GaussianMax
from pcqr.privacy.accounting import Repeated, compose
from pcqr.privacy.accounting.gaussian import unit_steps_epsilon
from pcqr.privacy.composition import zcdp
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.noisy_max.plan import NoisyMaxStage
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.subsample.run import Teachers

_WORTH_A_DELTA = 1.01


class NoisyVotes:
    """Teachers and the m noisy majorities that are paid for: decides one query at a time. Holds only secrets."""

    def __init__(self, committee: Committee, plan: NoisyMaxStage, entropy: Entropy) -> None:
        self._committee = committee
        self._plan = plan
        self._entropy = entropy
        self._decisions_remaining = plan.queries

    @classmethod
    def trained(
        cls, hypotheses: HypothesisClass, records: Records, plan: NoisyMaxStage, entropy: Entropy
    ) -> NoisyVotes:
        """Teachers on a random partition of the records."""
        return cls(Teachers(hypotheses, records, plan.teachers, entropy).committee, plan, entropy)

    @classmethod
    def from_arrays(cls, arrays: Arrays, plan: NoisyMaxStage, entropy: Entropy) -> NoisyVotes:
        """The votes that gave `arrays`, as they were before the first decision: see `remaining`."""
        return cls(committee_from_arrays(arrays), plan, entropy)

    def arrays(self) -> Arrays:
        """Return the teachers as arrays. **Private.**"""
        return self._committee.arrays()

    @property
    def remaining(self) -> Usage:
        """Return how many decisions are paid for and not yet begun. No answer is ever ⊥.

        A decision that was broken off is spent. In a ledger's transaction it leaves no trace, and is not spent.
        """
        return Usage(self._decisions_remaining, None)

    @remaining.setter
    def remaining(self, remaining: Usage) -> None:
        self._decisions_remaining = remaining.queries or 0

    def counts(self, X: Points) -> NDArray[np.int64]:
        """Return the votes on each row of `X`, one column for each label. **Private.**"""
        return self._committee.counts(X)

    def decide(self, counts: NDArray[np.int64]) -> int:
        """Return the noisy majority, the only function of the votes that may be shown.

        Raises RuntimeError after m decisions.
        """
        if self._decisions_remaining <= 0:
            raise RuntimeError("All the answers that were paid for have been given.")
        self._decisions_remaining -= 1
        return self._plan.noise.decide(counts, self._entropy)


def noisy_max(hypotheses: HypothesisClass, records: Records, plan: NoisyMaxStage, entropy: Entropy) -> NoisyVotes:
    """Train the teachers on a random partition of the records as they are."""
    if hypotheses.labels != plan.labels:
        raise ParameterError("plan", f"a plan for {hypotheses.labels} labels", f"one for {plan.labels}")
    if records.size != plan.records:
        raise ParameterError("plan", f"a plan for {records.size} records", f"one for {plan.records}")
    return NoisyVotes.trained(hypotheses, records, plan, entropy)


def noisy_max_guarantee(plan: NoisyMaxStage, delta: float) -> Guarantee:
    """Return the guarantee of m = `plan.queries` answers to adaptively chosen queries, with a δ of at most `delta`.

    Takes the least of Rényi composition and, for Gaussian noise, the law of the sum of all draws. Where each answer is
    pure, takes the sum of their ε instead, if δ would save less than 1 % of it.
    Privacy loss distributions are left out: about these events they only know that they are pure, and they take a
    second to load.
    """
    answers = [Repeated(plan.answer, plan.queries)]
    stated = compose(answers, delta, accountant="Rényi")
    if isinstance(plan.noise, GaussianMax):
        moved = plan.queries if plan.labels == 2 else 2 * plan.queries
        together = unit_steps_epsilon(plan.noise.scale, moved, stated.delta)
        if together < stated.epsilon:
            words = f"{plan.queries} mechanisms on the same records, by the law of the sum of their noise"
            stated = replace(stated, epsilon=together, steps=(words,))
    else:
        pure = compose(answers, 0.0, accountant="basic")
        stated = pure if pure.epsilon <= _WORTH_A_DELTA * stated.epsilon else stated
    return replace(stated, proof="noisy_max", rho=zcdp(answers[0])).explained(
        "each the noisy majority of teachers on disjoint records"
    )
