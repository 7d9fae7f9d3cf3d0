"""What the releases are compared with: noisy majorities, each answer paid for."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from pcqr.audit.exact.cases.tables import Pairs, Table, all_neighbours, replacing_the_last
from pcqr.audit.exact.cases.votes import UNANIMOUS, votes_case
from pcqr.audit.exact.verify import Case
from pcqr.entropy import Entropy
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.peers.noisy_max.algorithm import NoisyVotes, noisy_max, noisy_max_guarantee
from pcqr.peers.noisy_max.mechanism import ExponentialMax, GaussianMax, NoisyMax
from pcqr.peers.noisy_max.plan import NoisyMaxStage


def peer_cases(*, full: bool) -> Iterator[Case]:
    neighbours = all_neighbours(3) if full else replacing_the_last((UNANIMOUS,) * 2)
    for noise in (ExponentialMax(0.5), ExponentialMax(1.5), GaussianMax(1.0)):
        yield noisy_max_case(noise, 2, neighbours)


def noisy_max_case(noise: NoisyMax, queries: int, neighbours: Pairs, delta: float = 1e-3) -> Case:
    """All the answers that were paid for, and one query more, which must be refused."""
    plan = NoisyMaxStage(len(neighbours[0][0].records), 3, queries, noise)
    name = f"Noisy max: {noise}, n = {plan.records}, k = {plan.teachers}, m = {queries}"
    return votes_case(
        name, noisy_max_guarantee(plan, delta), neighbours, partial(_prepared, plan), queries, queries + 1
    )


def _prepared(plan: NoisyMaxStage, table: Table, entropy: Entropy) -> NoisyVotes:
    return noisy_max(Thresholds(), table.source(), plan, entropy)
