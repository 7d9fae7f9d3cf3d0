"""Near records that vote: with budgets of their own, deletions among the moves; and the nearest of every sample."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from pcqr.audit.exact.cases.tables import Pairs, Record, Table
from pcqr.audit.exact.cases.votes import as_point
from pcqr.audit.exact.sessions import Session
from pcqr.audit.exact.verify import Case
from pcqr.entropy import Entropy
from pcqr.peers.knn.algorithm import IndividualVotes, individual_guarantee, individual_votes
from pcqr.peers.knn.plan import IndividualStage
from pcqr.peers.knn.sampled import SampledStage, sampled_guarantee, sampled_votes
from pcqr.records.vectors import ColumnVectors
from pcqr.unit import PRESENCE

LINE_VECTORS = ColumnVectors(centres=(0.0,), scales=(1.0,), features=1, constant=1)
PUBLIC = np.array([[0.0], [1.0], [2.0]])
AWAY = 100.0
"""Nobody there is near a query: an empty place."""
Move = float | str
FORGET = "forget the last record"
"""A move of the adversary beside the places to ask for."""
MENU: tuple[Move, ...] = (0.0, FORGET)


def small_stage(records: int, budget: float, classes: int = 2) -> IndividualStage:
    """W = 2 at the query and 1 at the edge, which is one step away; a count costs a record ¼ and a vote about ½."""
    return IndividualStage(
        records=records,
        classes=classes,
        public=3,
        reach=2,
        budget=budget,
        count_scale=4.0,
        vote_scale=1.0,
        least=1,
        unanswered=9,
        limit=9,
        least_weight=0.3,
        grid=2,
    )


class NeighbourSession(Session[Move]):
    """The labeller without its protocol: a query may be asked again, and is then decided again."""

    def __init__(self, labeller: IndividualVotes, records: int) -> None:
        self._labeller, self._last = labeller, np.array([records - 1])

    def ask(self, query: Move) -> Hashable:
        if isinstance(query, str):
            self._labeller.forget(self._last)
            return "forgotten"
        (near,) = self._labeller.counts(as_point(query))
        return self._labeller.decide(near)


def _started(stage: IndividualStage, table: Table, entropy: Entropy) -> NeighbourSession:
    labeller = individual_votes(LINE_VECTORS, table.source(stage.classes), PUBLIC, stage, entropy)
    return NeighbourSession(labeller, stage.records)


def individual_case(
    stage: IndividualStage, neighbours: Pairs, rounds: int, menu: Sequence[Move] = MENU, delta: float = 0.01
) -> Case:
    name = (
        f"Ind-kNN: {stage.unit.kind}, C = {stage.classes}, n = {stage.records}, b = {stage.budget:g}, "
        f"σ₁ = {stage.count_scale:g}, {rounds} rounds of {len(menu)} moves"
    )
    return Case(name, individual_guarantee(stage, delta), neighbours, partial(_started, stage), menu, rounds)


def against(common: Sequence[Record], first: Record, second: Record) -> Pairs:
    """Two tables that differ in their last record."""
    return [(Table((*common, first)), Table((*common, second)))]


class SampledSession(Session[float]):
    """The labeller without its protocol."""

    def __init__(self, stage: SampledStage, table: Table, entropy: Entropy) -> None:
        self._labeller = sampled_votes(LINE_VECTORS, table.source(stage.classes), stage, entropy)

    def ask(self, query: float) -> Hashable:
        (vector,) = self._labeller.counts(as_point(query))
        return self._labeller.decide(vector)


def sampled_case(stage: SampledStage, neighbours: Pairs, delta: float = 0.01) -> Case:
    """All samples, and as many queries as were paid for."""
    name = (
        f"Private-kNN: C = {stage.classes}, n = {stage.records}, k = {stage.neighbours}, q = {stage.rate:.2g}, "
        f"σ = {stage.scale:g}, m = {stage.queries}"
    )
    start = partial(SampledSession, stage)
    return Case(name, sampled_guarantee(stage, delta), neighbours, start, (0.0,), stage.queries)


def neighbour_cases(*, full: bool) -> Iterator[Case]:
    others: tuple[Record, ...] = ((1.0, 0), (2.0, 1))
    nearest = SampledStage(3, 2, neighbours=1, queries=1, chosen=1, out_of=2, scale=1.0)
    yield sampled_case(nearest, against(others, (0.0, 0), (0.0, 1)))
    yield sampled_case(replace(nearest, queries=2, scale=0.7), against(others, (0.0, 1), (2.0, 0)))
    one: tuple[Record, ...] = ((1.0, 0),)
    stage = small_stage(2, 1.5)
    replaced, removed = against(one, (0.0, 0), (0.0, 1)), against(one, (0.0, 1), (AWAY, 1))
    yield individual_case(stage, replaced, 2)
    yield individual_case(replace(stage, unit=PRESENCE), removed, 2)
    if full:
        yield individual_case(stage, replaced, 3)
        yield individual_case(stage, against(one, (0.0, 0), (1.0, 1)), 2, (0.0, 1.0, 2.0, FORGET))
        yield individual_case(small_stage(2, 1.0, classes=3), against(one, (0.0, 1), (0.0, 2)), 2)
