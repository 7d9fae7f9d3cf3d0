"""What is published: the semi-private learner, published trees, and the universal release as a whole."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np

from pcqr.algorithms.sspp import sspp
from pcqr.algorithms.unv_priv_cl import UnvPrivCl, answered_by_draw, unv_priv_cl
from pcqr.audit.exact.cases.tables import Pairs, Table, all_neighbours, replacing_the_last
from pcqr.audit.exact.cases.votes import (
    ALL_TEACHERS,
    DISSENTING,
    FAR_APART,
    ONE_SIDED,
    QUERIES,
    THREE_LABELS,
    UNANIMOUS,
    Told,
    as_point,
    votes_on_menu,
)
from pcqr.audit.exact.sessions import Session
from pcqr.audit.exact.tape import OneOrder
from pcqr.audit.exact.verify import Case
from pcqr.audit.shown import in_full
from pcqr.entropy import Entropy
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.hypotheses.intervals import Intervals
from pcqr.hypotheses.stumps import Stumps
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.plan import Context, DrawStage, VoteStage, account
from pcqr.planning.releases import universal_guarantee

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
        return Told(answer, None if entry is None else entry.coin, None if published is None else in_full(published))

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
