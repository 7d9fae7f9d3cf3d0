"""What is published: the semi-private learner, published trees, and the universal release as a whole."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from pcqr.audit.exact.adversary import Session
from pcqr.audit.exact.cases.mechanisms import (
    ALL_TEACHERS,
    DISSENTING,
    FAR_APART,
    ONE_SIDED,
    QUERIES,
    THREE_LABELS,
    UNANIMOUS,
    Response,
    as_point,
    sub_samp_case,
    votes_on_menu,
)
from pcqr.audit.exact.cases.tables import LINE, Pairs, Place, Record, Table, all_neighbours, replacing_the_last
from pcqr.audit.exact.events import in_full
from pcqr.audit.exact.tape import OneOrder
from pcqr.audit.exact.verify import Case
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.hypotheses.finite import Finite
from pcqr.hypotheses.growth import LogisticTeachers, TreeTeachers
from pcqr.hypotheses.halfspaces import Halfspaces
from pcqr.hypotheses.intervals import Intervals
from pcqr.hypotheses.rectangles import Rectangles
from pcqr.hypotheses.stumps import Stumps
from pcqr.hypotheses.thresholds import Threshold, Thresholds
from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.hypotheses.unions import UnionsOfIntervals
from pcqr.privacy.composition import Context, account
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.privacy.noise import discrete_laplace
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.subsample.run import Teachers
from pcqr.releases.universal.planning import universal_guarantee
from pcqr.releases.universal.run import UnvPrivCl, answered_by_draw, unv_priv_cl

PUBLIC = np.array([[0.0], [1.0], [2.0]])


def publication_cases(*, full: bool) -> Iterator[Case]:
    predicates = tuple(Predicate(0, cut) for cut in (0.5, 1.5))
    trees = [DecisionTrees(depth=1, stop=stop, predicates=predicates) for stop in (0.0, 0.3)]
    for hypotheses in (Thresholds(), Intervals(), *trees):
        public = None if hypotheses.is_fixed else PUBLIC
        for eta in (0.5, 2.0) if full else (0.5,):
            yield sspp_case(hypotheses, DrawStage(eta), public, all_neighbours(3 if full else 2))
            yield sspp_case(hypotheses, DrawStage(eta), public, replacing_the_last((UNANIMOUS,) * 20))
    if full:
        deeper = DecisionTrees(depth=2, predicates=predicates)
        yield sspp_case(deeper, DrawStage(0.5), None, all_neighbours(2))
    for hypotheses in (Stumps(cuts=(0.5, 1.5)), trees[0], THREE_LABELS):
        yield direct_case(hypotheses, DrawStage(0.5), replacing_the_last((UNANIMOUS,) * 20))
    three = all_neighbours(3) if full else replacing_the_last((UNANIMOUS, DISSENTING), FAR_APART)
    four = replacing_the_last((UNANIMOUS,) * 3, FAR_APART)
    yield unv_priv_cl_case(Thresholds(), VoteStage(3, 3, 3, 0.5, ONE_SIDED), DrawStage(1.0, 2), three, 3 if full else 2)
    yield unv_priv_cl_case(Thresholds(), VoteStage(4, 3, 3, 0.05, ONE_SIDED), DrawStage(1.0, 1), four[:3], 2)
    yield _a_teacher_for_each_record(DrawStage(0.95, 1))


def sspp_case(hypotheses: HypothesisClass, plan: DrawStage, public: Points | None, neighbours: Pairs) -> Case:
    """Publication alone. What is shown is the whole hypothesis, cuts and all, and not just its labels."""
    records = len(neighbours[0][0].records)
    claimed = account(plan, Context(hypotheses, records, 1, None if public is None else public.shape[0]))
    stop = getattr(hypotheses, "stop", 0.0)
    told = type(hypotheses).__name__ + (f"(stop={stop:g})" if stop else "")
    name = f"SSPP: {told}, n = {records}, η = {plan.inverse_temperature:g}"
    return Case.once(name, claimed, neighbours, partial(_published, hypotheses, plan, public))


def _published(
    hypotheses: HypothesisClass, plan: DrawStage, public: Points | None, table: Table, entropy: Entropy
) -> str:
    return in_full(sspp(hypotheses, table.source(), public, plan, entropy))


class UniversalSession(Session[float]):
    """Votes, publication when it is due, answers by what was published: everything that is shown on the way."""

    def __init__(self, release: UnvPrivCl) -> None:
        self._release = release

    def ask(self, query: float) -> Hashable:
        point = as_point(query)
        answer = self._release.answer(point)
        entry, published = self._release.protocol.logged(point), self._release.published
        return Response(
            answer, None if entry is None else entry.coin, None if published is None else in_full(published)
        )

    def secret(self) -> Hashable:
        """As for votes; publication reads the records, which are the same in every branch, and the queries asked."""
        return votes_on_menu(self._release.protocol.labeller)


class DirectSession(UniversalSession):
    """A release without votes: a member of a fixed class answers from the first query on."""

    def secret(self) -> Hashable:
        """Return the drawn hypothesis, which decides every later answer."""
        published = self._release.published
        return None if published is None else in_full(published)


def direct_case(hypotheses: HypothesisClass, plan: DrawStage, neighbours: Pairs) -> Case:
    """Adaptive queries, all answered by one draw from a class that is fixed without the records. The draw is shown."""
    records = len(neighbours[0][0].records)
    claimed = account(plan, Context(hypotheses, records, 1))
    of_labels = f" of {hypotheses.labels} labels" if hypotheses.labels > 2 else ""
    name = (
        f"Answers by one draw: {type(hypotheses).__name__}{of_labels}, n = {records}, η = {plan.inverse_temperature:g}"
    )
    return Case(name, claimed, neighbours, partial(_direct, hypotheses, plan), QUERIES, 2)


def _direct(hypotheses: HypothesisClass, plan: DrawStage, table: Table, entropy: Entropy) -> DirectSession:
    return DirectSession(answered_by_draw(hypotheses, table.source(hypotheses.labels), plan, len(QUERIES), entropy))


def unv_priv_cl_case(
    hypotheses: HypothesisClass, vote: VoteStage, publish: DrawStage, neighbours: Pairs, rounds: int
) -> Case:
    """The whole transcript: answers by votes, the published hypothesis, answers by it."""
    claimed = universal_guarantee(vote, publish, Context(hypotheses, vote.records, 1))
    name = (
        f"UnvPrivCl: {type(hypotheses).__name__}, n = {vote.records}, n' = {vote.subsample}, k = {vote.teachers}, "
        f"published after {publish.after_queries} at η = {publish.inverse_temperature:g}"
    )
    start = partial(_universal, hypotheses, vote, publish)
    return Case(name, claimed, neighbours, start, QUERIES, rounds)


def _universal(
    hypotheses: HypothesisClass, vote: VoteStage, publish: DrawStage, table: Table, entropy: Entropy
) -> UniversalSession:
    return UniversalSession(unv_priv_cl(hypotheses, table.source(), None, vote, publish, entropy))


def _a_teacher_for_each_record(publish: DrawStage) -> Case:
    """Votes of all and a close call for the published classifier: together they cost more than either claims alone."""
    close_call = (UNANIMOUS,) * 21 + (DISSENTING,) * 19
    neighbours = replacing_the_last(close_call, ((0.0, 1), (2.0, 0)))
    return replace(unv_priv_cl_case(Thresholds(), ALL_TEACHERS, publish, neighbours, 2), tape=OneOrder)


# ---------------------------------------------------------------------------------------------------------------------
# Committees of every kind, trained and counted as shipped: one replaced record moves one vote, whatever the partition.
#
# Votes are shown by themselves, so that a vote too many is seen where it stands, and as a release shows them: through
# the sparse vector.


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
THREE_LABEL_RECORDS = (((0.0, 2), (1.0, 1), (2.0, 0)), ((0.0, 0), (0.0, 1), (2.0, 2)), QUERIES)

KINDS = (
    Kind("borders", Thresholds(), *ON_THE_LINE),
    Kind("borders", Intervals(), *ON_THE_LINE),
    Kind("borders", UnionsOfIntervals(2), *ON_THE_LINE),
    Kind("borders", Stumps(), *IN_THE_PLANE),
    Kind("trees", DecisionTrees(depth=2, predicates=CUTS), *IN_THE_PLANE),
    Kind("trees", DecisionTrees(depth=1, labels=3, predicates=CUTS[:2]), *THREE_LABEL_RECORDS),
    Kind("trees", TreeTeachers(depth=2, labels=3), *THREE_LABEL_RECORDS),
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
