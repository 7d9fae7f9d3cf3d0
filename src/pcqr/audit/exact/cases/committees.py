"""Committees of every kind, trained and counted as shipped: one replaced record moves one vote, whatever the partition.

Votes are shown by themselves, so that a vote too many is seen where it stands, and as a release shows them: through the
sparse vector.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pcqr.algorithms.ensemble import Teachers
from pcqr.audit.exact.cases.tables import LINE, Pairs, Place, Record, Table, replacing_the_last
from pcqr.audit.exact.cases.votes import ONE_SIDED, QUERIES, UNANIMOUS, as_point, sub_samp_case, votes_on_menu
from pcqr.audit.exact.sessions import Session
from pcqr.audit.exact.verify import Case
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.finite import Finite
from pcqr.hypotheses.halfspaces import Halfspaces
from pcqr.hypotheses.intervals import Intervals
from pcqr.hypotheses.learners.together import LogisticTeachers, TreeTeachers
from pcqr.hypotheses.rectangles import Rectangles
from pcqr.hypotheses.stumps import Stumps
from pcqr.hypotheses.thresholds import Threshold, Thresholds
from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.hypotheses.unions import UnionsOfIntervals
from pcqr.noise import discrete_laplace
from pcqr.plan import VoteStage


class _Order(Entropy):
    """Shuffles to a given order, and draws nothing else."""

    is_private = False

    def __init__(self, order: NDArray[np.int64]) -> None:
        self._order = order

    def bytes(self, count: int) -> bytes:
        raise NotImplementedError(f"{count} bytes")

    def permutation(self, count: int) -> NDArray[np.int64]:
        return self._order[:count]


class PollSession(Session[Place]):
    """Is the number of votes for 1 at a place, with discrete Laplace noise, above k? The order of the records is shown.

    Beyond k the chance falls by the factor e with every vote that is missing, so what an answer gives away is the
    number of votes that have changed. That is at most one for every order, so the order may be known.
    """

    def __init__(
        self, hypotheses: HypothesisClass, teachers: int, menu: Sequence[Place], table: Table, entropy: Entropy
    ) -> None:
        order = entropy.permutation(len(table.records))
        self._order, self._menu, self._entropy, self._most = tuple(order.tolist()), menu, entropy, teachers
        self._teachers = Teachers(hypotheses, table.source(hypotheses.labels), teachers, _Order(order))

    def ask(self, query: Place) -> Hashable:
        votes = int(self._teachers.counts(as_point(query))[0, 1])
        return self._order, bool(votes + discrete_laplace(1.0, self._entropy) > self._most)

    def secret(self) -> Hashable:
        return self._order, votes_on_menu(self._teachers, self._menu)


def poll_case(kind: str, hypotheses: HypothesisClass, teachers: int, neighbours: Pairs, menu: Sequence[Place]) -> Case:
    told = type(hypotheses).__name__ + (f" of {hypotheses.labels} labels" if hypotheses.labels > 2 else "")
    name = f"Votes: {kind}, {told}, n = {len(neighbours[0][0].records)}, k = {teachers}"
    return Case(name, Guarantee(1.0), neighbours, partial(PollSession, hypotheses, teachers, menu), menu)


# --------------------------------------------------------------------------------------------------------------
# The search


@dataclass(frozen=True)
class Kind:
    """A kind of committee, a class that is served by it, records that it may meet, and places to ask for."""

    name: str
    hypotheses: HypothesisClass
    common: tuple[Record, ...]
    lasts: tuple[Record, ...]
    menu: tuple[Place, ...]

    def neighbours(self, records: int) -> Pairs:
        """All pairs that differ in the last record, which only the first neighbour has."""
        return replacing_the_last(self.common[: records - 1], self.lasts)


ON_THE_LINE = (UNANIMOUS, (0.0, 1), (2.0, 1)), (LINE[0], LINE[1], LINE[3], LINE[4]), QUERIES
IN_THE_PLANE = (
    (((1.0, 1.0), 1), ((0.0, 0.0), 0), ((1.0, 0.0), 0)),
    (((0.0, 0.0), 1), ((1.0, 0.0), 1), ((0.0, 1.0), 0), ((2.0, 1.0), 1)),
    ((0.0, 0.0), (1.0, 0.0), (2.0, 1.0)),
)
CUTS = tuple(Predicate(feature, cut) for feature in (0, 1) for cut in (0.5, 1.5))
THREE_LABELS = (((0.0, 2), (1.0, 1), (2.0, 0)), ((0.0, 0), (0.0, 1), (2.0, 2)), QUERIES)

KINDS = (
    Kind("borders", Thresholds(), *ON_THE_LINE),
    Kind("borders", Intervals(), *ON_THE_LINE),
    Kind("borders", UnionsOfIntervals(2), *ON_THE_LINE),
    Kind("borders", Stumps(), *IN_THE_PLANE),
    Kind("trees", DecisionTrees(depth=2, predicates=CUTS), *IN_THE_PLANE),
    Kind("trees", DecisionTrees(depth=1, labels=3, predicates=CUTS[:2]), *THREE_LABELS),
    Kind("trees", TreeTeachers(depth=2, labels=3), *THREE_LABELS),
    Kind("planes", LogisticTeachers(), *IN_THE_PLANE),
    Kind("boxes", Rectangles(), *IN_THE_PLANE),
    Kind("sides", Halfspaces(), *IN_THE_PLANE),
    Kind("members", Finite((Threshold(0.5), Threshold(1.5), Threshold(0.5, up=False))), *ON_THE_LINE),
)


def committee_cases(*, full: bool) -> Iterator[Case]:
    for kind in KINDS:
        yield poll_case(kind.name, kind.hypotheses, 2, kind.neighbours(4), kind.menu)
        if full:
            yield poll_case(kind.name, kind.hypotheses, 3, kind.neighbours(3), kind.menu)
    for kind in KINDS:
        if kind.hypotheses.labels == 2 and kind.hypotheses != Thresholds():  # which vote_cases has, at greater length
            plan = VoteStage(3, 3, 3, None, ONE_SIDED)
            yield sub_samp_case(kind.hypotheses, plan, kind.neighbours(3), 3 if full else 2, kind.menu)
