"""Nearest neighbours with a budget for each record: Ind-kNN (Zhu, Zhao, Guo and Wang 2023).

Records near a query vote for their labels, by weight. A record pays for exactly what it adds, and takes no part in what
it cannot pay for. Queries are answered until nobody near is left, as far as a noisy count can tell.
Proof: proofs/individual_knn.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from pcqr.accounting import ConcentratedEvent, compose
from pcqr.alone import alone
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee, rounded_up
from pcqr.mechanisms.fine_gaussian import fine_gaussian_epsilon
from pcqr.noise import discrete_gaussian, discrete_gaussians
from pcqr.peers.knn.plan import IndividualStage
from pcqr.peers.knn.surroundings import Ballots, Floats, Integers, Near, Surroundings, kernel
from pcqr.plan import Usage
from pcqr.records import Records
from pcqr.records.arrays import Points
from pcqr.records.vectors import DenseVectors

_TALLY_ERROR = 1e-9
"""Of what a record has spent, relative: float64 sums of at most 2²¹ charges."""


class IndividualVotes:
    """All records, and what each has spent: decides one query at a time. Holds only secrets."""

    is_under_way = False

    def __init__(self, surroundings: Surroundings, stage: IndividualStage, entropy: Entropy) -> None:
        self._surroundings, self._stage, self._entropy = surroundings, stage, entropy
        self._spent = np.zeros(stage.records)
        self._decisions_left, self._unanswered_left = stage.limit, stage.unanswered

    @property
    def left(self) -> Usage:
        """Decisions not yet begun, and how often ⊥ may still be said."""
        return Usage(self._decisions_left, self._unanswered_left)

    @left.setter
    def left(self, left: Usage) -> None:
        self._decisions_left, self._unanswered_left = left.queries or 0, left.unstable or 0

    def counts(self, X: Points) -> Ballots:
        """Who is near each row of `X`, whether or not they have anything left. Private."""
        return Ballots(self._surroundings.near(X), self._stage.classes)

    @alone
    def decide(self, near: Near) -> int | None:
        """The label with the most noisy votes, None where too few seem to be near: all that may be shown."""
        stage = self._stage
        if self.left.is_nothing:
            raise RuntimeError("All the answers that may be given have been given.")
        self._decisions_left -= 1
        counted = self._charged(near, np.full(near.positions.size, stage.count_cost))
        count = stage.grid * counted.positions.size + discrete_gaussian(stage.count_scale, self._entropy)
        if count < stage.least:
            self._unanswered_left -= 1
            return None
        rung = 0
        while rung + 1 < len(stage.ladder) and count >= stage.ladder[rung + 1]:
            rung += 1
        scale = stage.noise_at(rung)
        voting = self._voting(counted, scale)
        totals = np.zeros(stage.classes, dtype=np.int64)
        np.add.at(totals, self._surroundings.labels[voting.positions], voting.weights)
        noisy = totals + discrete_gaussians(scale, stage.classes, self._entropy)
        best = 0
        for label in range(1, stage.classes):
            if noisy[label] > noisy[best]:
                best = label
        return best

    def forget(self, positions: Integers) -> None:
        """Leave these places empty from now on. Says nothing: not even whether somebody was still there."""
        self._spent[positions] = math.inf
        self._surroundings.empty(positions)

    def _voting(self, counted: Near, scale: float) -> Near:
        """Those who can pay for their votes."""
        shares = counted.weights / scale
        return self._charged(counted, shares * shares)

    def _charged(self, near: Near, costs: Floats) -> Near:
        """Those who can pay, after they have paid: before any noise is drawn."""
        spent = self._spent[near.positions] + costs
        can_pay = spent <= self._stage.budget
        paying = Near(near.positions[can_pay], near.weights[can_pay])
        self._spent[paying.positions] = spent[can_pay]
        return paying


def individual_votes(
    vectors: DenseVectors, records: Records, public: Points, stage: IndividualStage, entropy: Entropy
) -> IndividualVotes:
    """Every record with its whole budget. Nothing is drawn yet."""
    for name, there, planned in (
        ("records", records.size, stage.records),
        ("public rows", public.shape[0], stage.public),
        ("labels", records.labels, stage.classes),
    ):
        if there != planned:
            raise ParameterError("plan", f"a plan for {there} {name}", f"one for {planned}")
    weights = kernel(stage.grid, stage.least_weight)
    return IndividualVotes(Surroundings(vectors, records, public, stage.reach, weights), stage, entropy)


def individual_guarantee(stage: IndividualStage, delta: float) -> Guarantee:
    """All answers together, adaptively chosen queries and deletions included, with a δ of at most `delta`.

    The better of two figures that hold: Rényi, and continuous noise with what the grid adds to δ.
    """
    shift = rounded_up(stage.shift * (1.0 + _TALLY_ERROR))
    stated = compose([ConcentratedEvent(rounded_up(shift * shift / 2.0))], delta, accountant="Rényi")
    fine = fine_gaussian_epsilon(shift, stated.delta, stage.least_scale, stage.draws)
    method = "by Rényi divergences"
    if fine < stated.epsilon:
        stated, method = replace(stated, epsilon=fine), "accounted as continuous noise, and the distance from it in δ"
    steps = (
        f"each record pays for what it adds, up to a squared shift of {stage.budget:.4g}; then it is left out",
        f"all of it one Gaussian release of shift {shift:.4g} under '{stage.unit.adjacency}', {method}",
    )
    return replace(stated, unit=stage.unit, steps=steps, proof="individual_knn")
