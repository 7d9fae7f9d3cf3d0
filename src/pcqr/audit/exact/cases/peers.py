"""What the releases are compared with: noisy majorities, and draws from a posterior, each answer paid for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product

import numpy as np

from pcqr.audit.exact.cases.tables import Pairs, Table, all_neighbours, replacing_the_last
from pcqr.audit.exact.cases.votes import DISSENTING, PUBLIC, UNANIMOUS, votes_case
from pcqr.audit.exact.verify import Case
from pcqr.entropy import Entropy
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.peers.gibbs.algorithm import GibbsLabels, gibbs_guarantee, gibbs_labels
from pcqr.peers.gibbs.plan import GibbsStage
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
    pairs = neighbours if full else replacing_the_last((UNANIMOUS,) * 2, (UNANIMOUS, DISSENTING, (0.0, 1)))
    for stage, public in ((GibbsStage(3, 3, 2, 0.5), 2), (GibbsStage(3, 2, 1, 1.0), None)):
        yield gibbs_case(stage, public, pairs)


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


def gibbs_case(stage: GibbsStage, public: int | None, neighbours: Pairs) -> Case:
    """All the draws that were paid for, and one query more, which must be refused."""
    name = f"Gibbs prediction: Thresholds, n = {stage.records}, n' = {stage.subsample}, m = {stage.queries}, "
    name += f"η = {stage.inverse_temperature:g}" + (f", {public} public points" if public else "")
    claimed = gibbs_guarantee(stage, Thresholds(), 1, public, 0.0)
    prepare, rounds = partial(_posterior, stage, public), stage.queries + 1
    return votes_case(name, claimed, neighbours, prepare, stage.queries, rounds)


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


def _posterior(stage: GibbsStage, public: int | None, table: Table, entropy: Entropy) -> GibbsLabels:
    return gibbs_labels(Thresholds(), table.source(), None if public is None else PUBLIC[:public], stage, entropy)


def _prepared(plan: NoisyMaxStage, table: Table, entropy: Entropy) -> NoisyVotes:
    return noisy_max(Thresholds(), table.source(), plan, entropy)
