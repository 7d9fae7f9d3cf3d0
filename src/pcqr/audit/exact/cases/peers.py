"""What the releases are compared with: noisy majorities, each answer paid for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from pcqr.audit.exact.cases.tables import Pairs, Table, all_neighbours, replacing_the_last
from pcqr.audit.exact.cases.votes import UNANIMOUS, votes_case
from pcqr.audit.exact.verify import Case
from pcqr.entropy import Entropy
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.peers.noisy_max.algorithm import NoisyVotes, noisy_max, noisy_max_guarantee
from pcqr.peers.noisy_max.mechanism import ExponentialMax, GaussianMax, LaplaceMax, NoisyMax
from pcqr.peers.noisy_max.plan import NoisyMaxStage

Votes = tuple[int, ...]
"""For each label."""


def peer_cases(*, full: bool) -> Iterator[Case]:
    neighbours = all_neighbours(3) if full else replacing_the_last((UNANIMOUS,) * 2)
    for noise in (ExponentialMax(0.5), ExponentialMax(1.5), GaussianMax(1.0), LaplaceMax(1.0)):
        yield noisy_max_case(noise, 2, neighbours)
    for answer in (ExponentialMax(0.5), GaussianMax(1.0), LaplaceMax(1.0)):
        yield noisy_answer_case(answer, 7 if full else 4, 3)


def noisy_max_case(noise: NoisyMax, queries: int, neighbours: Pairs, delta: float = 1e-3) -> Case:
    """All the answers that were paid for, and one query more, which must be refused."""
    plan = NoisyMaxStage(len(neighbours[0][0].records), 3, queries, noise)
    name = f"Noisy max: {noise}, n = {plan.records}, k = {plan.teachers}, m = {queries}"
    return votes_case(
        name, noisy_max_guarantee(plan, delta), neighbours, partial(_prepared, plan), queries, queries + 1
    )


def noisy_answer_case(noise: NoisyMax, teachers: int, labels: int, delta: float = 1e-3) -> Case:
    """One answer among several labels, whichever way one teacher changes its mind."""
    plan = NoisyMaxStage(teachers, teachers, 1, noise, labels)
    name = f"Noisy max, one answer: {noise}, k = {teachers}, {labels} labels"
    votes = neighbouring_votes(teachers, labels)
    return Case.once(name, noisy_max_guarantee(plan, delta), votes, partial(_answer, noise), plan.event)


def neighbouring_votes(teachers: int, labels: int) -> list[tuple[Votes, Votes]]:
    """All votes of so many teachers, and what each becomes when one of them changes its mind."""
    found = []
    for votes in product(range(teachers + 1), repeat=labels):
        for source, target in product(range(labels), repeat=2):
            if sum(votes) == teachers and source != target and votes[source]:
                moved = (count + (label == target) - (label == source) for label, count in enumerate(votes))
                found.append((votes, tuple(moved)))
    return found


def _answer(noise: NoisyMax, votes: Votes, entropy: Entropy) -> int:
    return noise.decide(np.array(votes), entropy)


def _prepared(plan: NoisyMaxStage, table: Table, entropy: Entropy) -> NoisyVotes:
    return noisy_max(Thresholds(), table.source(), plan, entropy)
