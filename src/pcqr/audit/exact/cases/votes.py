"""The algorithms that answer by votes, on whole tables: sub-sample, relabel, partition, teachers, sparse vector."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pcqr.algorithms.ag_priv_cl import ag_priv_cl
from pcqr.algorithms.ensemble import Teachers
from pcqr.algorithms.log import PrivLabel
from pcqr.algorithms.priv_class import PrivClass
from pcqr.algorithms.stab import stab
from pcqr.algorithms.sub_samp import sub_samp
from pcqr.audit.exact.cases.tables import (
    LINE,
    Pairs,
    Place,
    Record,
    Table,
    all_neighbours,
    as_points,
    replacing_the_last,
)
from pcqr.audit.exact.sessions import Session
from pcqr.audit.exact.tape import OneOrder
from pcqr.audit.exact.verify import Case
from pcqr.entropy import Entropy
from pcqr.errors import BudgetExhausted
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.hypotheses.intervals import Intervals
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, PaperSparseVector, RenyiSparseVector
from pcqr.mechanisms.stability import StabilityTest
from pcqr.plan import Answer, Context, VoteStage, account

QUERIES: tuple[Place, ...] = (0.0, 1.0, 2.0)
PUBLIC = np.array([[0.0], [1.5]])


@dataclass(frozen=True)
class Told:
    """All that an answer shows, the coin that stands in for ⊥ with on_unstable="random", and what is published."""

    answer: Answer[int]
    coin: int | None = None
    published: str | None = None

    def __str__(self) -> str:
        label = "⊥" if self.answer.label is None else str(self.answer.label)
        return f"{label} ({self.answer.kind})" + (f", published: {self.published}" if self.published else "")


class VotesSession(Session[Place]):
    """The online protocol in front of prepared votes; `menu` is all that will be asked."""

    def __init__(self, labeller: PrivLabel, menu: Sequence[Place], limit: int | None, entropy: Entropy) -> None:
        self._labeller, self._menu = labeller, menu
        self._protocol = PrivClass(labeller, limit or len(menu), entropy)

    def ask(self, query: Place) -> Hashable:
        point = as_point(query)
        try:
            answer = self._protocol.answer(point)
        except BudgetExhausted as halted:
            return str(halted)
        entry = self._protocol.logged(point)
        return Told(answer, None if entry is None else entry.coin)

    def secret(self) -> Hashable:
        """The protocol sees the teachers through their votes alone: those on the menu decide every later answer."""
        return votes_on_menu(self._labeller, self._menu)


def as_point(query: Place) -> Points:
    return as_points([query])


def votes_on_menu(labeller: PrivLabel | Teachers, menu: Sequence[Place] = QUERIES) -> Hashable:
    return tuple(tuple(map(int, votes)) for votes in labeller.counts(as_points(menu)))


Prepare = Callable[[Table, Entropy], PrivLabel]


def votes_case(
    name: str,
    claimed: Guarantee,
    neighbours: Pairs,
    prepare: Prepare,
    limit: int | None = None,
    rounds: int = 2,
    menu: Sequence[Place] = QUERIES,
) -> Case:
    """The case of any labeller behind the online protocol; `limit` is the number of queries after which it stops."""
    start = partial(_started, prepare, menu, limit)
    return Case(name, claimed, neighbours, start, menu, rounds)


def _started(
    prepare: Prepare, menu: Sequence[Place], limit: int | None, table: Table, entropy: Entropy
) -> VotesSession:
    return VotesSession(prepare(table, entropy), menu, limit, entropy)


def sub_samp_case(
    hypotheses: HypothesisClass, plan: VoteStage, neighbours: Pairs, rounds: int, menu: Sequence[Place] = QUERIES
) -> Case:
    claimed, prepare = account(plan, Context(hypotheses, plan.records, 1)), partial(_sub_samp, hypotheses, plan)
    name, limit = _title("SubSamp", hypotheses, plan), plan.sparse_vector.queries
    return votes_case(name, claimed, neighbours, prepare, limit, rounds, menu)


def ag_priv_cl_case(hypotheses: HypothesisClass, plan: VoteStage, neighbours: Pairs, rounds: int) -> Case:
    claimed, prepare = account(plan, Context(hypotheses, plan.records, 1)), partial(_ag_priv_cl, hypotheses, plan)
    name, limit = _title("AgPrivCl", hypotheses, plan), plan.sparse_vector.queries
    return votes_case(name, claimed, neighbours, prepare, limit, rounds)


def _sub_samp(hypotheses: HypothesisClass, plan: VoteStage, table: Table, entropy: Entropy) -> PrivLabel:
    return sub_samp(hypotheses, table.source(hypotheses.labels), plan, entropy)


def _ag_priv_cl(hypotheses: HypothesisClass, plan: VoteStage, table: Table, entropy: Entropy) -> PrivLabel:
    public = None if plan.public is None else PUBLIC[: plan.public]
    return ag_priv_cl(hypotheses, table.source(), public, plan, entropy)


def _stab(table: Table, entropy: Entropy) -> int | None:
    teachers = Teachers(Thresholds(), table.source(), 3, entropy)
    label, _ = stab(teachers, as_point(1.0), STAB.epsilon, STAB.delta, entropy)
    return label


def _title(algorithm: str, hypotheses: HypothesisClass, plan: VoteStage) -> str:
    of_labels = f" of {hypotheses.labels} labels" if hypotheses.labels > 2 else ""
    parts = [
        f"{type(hypotheses).__name__}{of_labels}",
        f"n = {plan.records}",
        f"n' = {plan.subsample}",
        f"k = {plan.teachers}",
        f"E = {plan.sparse_vector.unstable}",
    ]
    parts += [] if plan.inverse_temperature is None else [f"η = {plan.inverse_temperature:g}"]
    parts += [] if plan.copies is None else ["with replacement"]
    parts += [] if plan.public is None else [f"{plan.public} public points"]
    form = type(plan.sparse_vector).__name__.removesuffix("SparseVector")
    return f"{algorithm}, {form}: {', '.join(parts)}"


def _a_teacher_for_each_record() -> Case:
    """So many teachers that relabelling moves them all at once, which the sparse vector alone would not allow for."""
    case = ag_priv_cl_case(Thresholds(), ALL_TEACHERS, replacing_the_last(*MANY_RECORDS), 2)
    return replace(case, tape=OneOrder)


# --------------------------------------------------------------------------------------------------------------
# The search

ONE_SIDED = OneSidedSparseVector(threshold=0, threshold_scale=0.5, query_scale=1.0, unstable=1)
TWICE = OneSidedSparseVector(threshold=0, threshold_scale=0.25, query_scale=2.0, unstable=2)
PAPER = PaperSparseVector(threshold=1, scale=0.3, unstable=1, queries=3, slack=1e-6)
RENYI = RenyiSparseVector(threshold=1, threshold_scale=0.3, query_scale=0.5, head_start=0, unstable=1, slack=1e-3)
RESAMPLED = PaperSparseVector(threshold=8, scale=0.5, unstable=1, queries=3, slack=1e-6)

UNANIMOUS: Record = (1.0, 0)
DISSENTING: Record = (1.0, 1)
FAR_APART: tuple[Record, ...] = ((0.0, 0), (0.0, 1), (1.0, 1), (2.0, 0))
MANY_RECORDS = ((UNANIMOUS,) * 40, ((0.0, 1), (2.0, 0)))
ALL_TEACHERS = VoteStage(
    41, 41, 41, 0.02, OneSidedSparseVector(12, threshold_scale=1 / 0.3, query_scale=10.0, unstable=1)
)
STAB = StabilityTest(2.0, 0.02)
THREE_LABELS = DecisionTrees(depth=1, labels=3, predicates=(Predicate(0, 0.5), Predicate(0, 1.5)))
ONE_OF_THREE: tuple[Record, ...] = ((1.0, 2), (1.0, 1), (1.0, 0), (0.0, 0))
"""Beside two votes for 2: a third, one against, and one that comes first in a tie."""


def vote_cases(*, full: bool) -> Iterator[Case]:
    three = [pair for other in (UNANIMOUS, DISSENTING) for pair in replacing_the_last((UNANIMOUS, other), FAR_APART)]
    four = replacing_the_last((UNANIMOUS,) * 3, FAR_APART)
    if full:
        three, four = all_neighbours(3), all_neighbours(4, universe=LINE[1:5])
    rounds = 3 if full else 2
    yield Case.once("Stab: Thresholds, n = 3, k = 3", STAB.guarantee, three, _stab)
    yield sub_samp_case(Thresholds(), VoteStage(3, 3, 1, None, ONE_SIDED), three, 3)
    for sparse_vector in (ONE_SIDED, TWICE, RENYI, PAPER):
        yield sub_samp_case(Thresholds(), VoteStage(3, 3, 3, None, sparse_vector), three, 3)
    yield sub_samp_case(Thresholds(), VoteStage(4, 4, 3, None, ONE_SIDED), four, rounds)
    yield sub_samp_case(Thresholds(), VoteStage(4, 3, 3, None, ONE_SIDED), four, rounds)
    several = [pair for y in (2, 1) for pair in replacing_the_last(((1.0, 2), (1.0, y)), ONE_OF_THREE)]
    yield sub_samp_case(THREE_LABELS, VoteStage(3, 3, 3, None, ONE_SIDED), several, rounds)
    classes: list[HypothesisClass] = [Thresholds(), Intervals()]
    for hypotheses in classes:
        yield ag_priv_cl_case(hypotheses, VoteStage(3, 3, 3, 0.5, ONE_SIDED), three, rounds)
    yield ag_priv_cl_case(Thresholds(), VoteStage(3, 3, 3, 0.5, ONE_SIDED, public=2), three, rounds)
    yield ag_priv_cl_case(Thresholds(), VoteStage(4, 3, 3, 1.0, ONE_SIDED), four, rounds)
    yield ag_priv_cl_case(Thresholds(), VoteStage(4, 3, 3, 1.0, PAPER), four[:3], rounds)
    yield ag_priv_cl_case(Thresholds(), VoteStage(3, 3, 3, 2.0, RESAMPLED, copies=2), three[1:2], rounds)
    yield _a_teacher_for_each_record()
    if full:
        five = replacing_the_last((UNANIMOUS,) * 4)
        yield ag_priv_cl_case(Thresholds(), VoteStage(5, 3, 3, 0.5, TWICE), five, 2)
        yield ag_priv_cl_case(Thresholds(direction="both"), VoteStage(4, 4, 3, 0.5, ONE_SIDED), four, 2)
