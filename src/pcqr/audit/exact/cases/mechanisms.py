"""The mechanisms, each on the inputs that its own proof speaks of: values with distances, or counts of votes."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from pcqr.audit.exact.adversary import Session
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
from pcqr.audit.exact.samplers import Sampler, SamplerCase
from pcqr.audit.exact.tape import OneOrder
from pcqr.audit.exact.verify import Case
from pcqr.errors import BudgetExhausted
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.hypotheses.intervals import Intervals
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.hypotheses.trees import DecisionTrees, Predicate
from pcqr.mechanisms.relabelling import relabel_guarantee
from pcqr.mechanisms.sparse_vector import (
    OneSidedSparseVector,
    PaperSparseVector,
    RenyiSparseVector,
    RunningSparseVector,
    SparseVector,
)
from pcqr.mechanisms.stability import StabilityTest
from pcqr.privacy.accounting import DiscreteGaussianEvent, compose
from pcqr.privacy.composition import Context, account
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee, rounded_up
from pcqr.releases.agnostic.run import ag_priv_cl, relabel
from pcqr.releases.protocol.answers import Answer
from pcqr.releases.protocol.log import PrivLabel
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.subsample.run import Teachers, stab, sub_samp

EXHAUSTED = "halted"


def mechanism_cases(*, full: bool) -> Iterator[Case]:
    yield from _stability_tests(full=full)
    yield from _sparse_vectors(full=full)
    yield from _relabelling(full=full)


# --------------------------------------------------------------------------------------------------------------
# The stability test


class Valued(NamedTuple):
    """A value and its distance to instability."""

    value: str
    distance: int

    def __str__(self) -> str:
        return f"value {self.value} at distance {self.distance}"


def _stability_tests(*, full: bool) -> Iterator[Case]:
    settings = [(0.5, 0.01), (1.0, 1e-6)] + ([(0.1, 0.001), (4.0, 0.2)] if full else [])
    for epsilon, delta in settings:
        test = StabilityTest(epsilon, delta)
        distances = range(test.threshold + 3)
        neighbours = [(Valued("a", d), Valued("a", d + 1)) for d in distances]
        neighbours.append((Valued("a", 0), Valued("b", 0)))
        yield Case.once(
            f"StabilityTest(ε = {epsilon:g}, δ = {delta:g})", test.guarantee, neighbours, partial(_released, test)
        )


def _released(test: StabilityTest, data: Valued, entropy: Entropy) -> str | None:
    return test.release(*data, entropy)


# --------------------------------------------------------------------------------------------------------------
# Sparse vectors


@dataclass(frozen=True)
class Distances:
    """A query as it looks on the two neighbours: its distance on each, and whether its label differs.

    `times` asks so many of the kind, and ends early at ⊥.
    """

    first: int
    second: int
    flips: bool = False
    times: int = 1

    def __str__(self) -> str:
        told = "labels differ" if self.flips else f"d = {self.first}|{self.second}"
        return told if self.times == 1 else f"{self.times} × ({told})"


Side = Literal["S", "S⁻"]


class SparseVectorSession(Session[Distances]):
    """The running sparse vector on one of two neighbours."""

    def __init__(self, parameters: SparseVector, side: Side, entropy: Entropy) -> None:
        self._side = side
        self._running = RunningSparseVector(parameters, entropy)

    def ask(self, query: Distances) -> Hashable:
        if self._running.is_exhausted:
            return EXHAUSTED
        distance = query.first if self._side == "S" else query.second
        for number in range(query.times):
            if not self._running.is_stable(distance):
                return "⊥" if query.times == 1 else f"⊥ at number {number + 1}"
        return f"the label on {self._side}" if query.flips else "the label"


def around_the_threshold(threshold: int, beyond: Sequence[int]) -> list[Distances]:
    """A flip, and steps of the distance by 1 at 0, at the threshold, where noise decides, and some way `beyond`."""
    steps = [(d, d + 1) for d in sorted({0, threshold, *(threshold + more for more in beyond)})]
    mirrored = [pair for low, high in steps for pair in ((low, high), (high, low))]
    return [Distances(0, 0, flips=True), *itertools.starmap(Distances, mirrored)]


def many_stable_ones(threshold: int) -> list[Distances]:
    """Ten queries whose stable answers all speak for one side, and single ones whose ⊥ speaks for it as well."""
    w = threshold
    return [Distances(w + 1, w, times=10), Distances(w, w + 1), Distances(0, 0, flips=True)]


def sparse_vector_case(parameters: SparseVector, menu: Sequence[Distances], rounds: int) -> Case:
    """The case of any sparse vector: parameters with a threshold, a guarantee and `start`."""
    return Case(
        f"{type(parameters).__name__}: w = {parameters.threshold}, E = {parameters.unstable}, {len(menu)} queries",
        parameters.guarantee,
        [("S", "S⁻")],
        partial(SparseVectorSession, parameters),
        menu,
        rounds,
    )


def _sparse_vectors(*, full: bool) -> Iterator[Case]:
    low: list[SparseVector] = [
        OneSidedSparseVector(0, 2.0, 4.0, 1),
        OneSidedSparseVector(4, 1.0, 1.0, 2),
        PaperSparseVector(6, 1.0, 2, 4, 1e-6),
        RenyiSparseVector(4, 1.5, 1.2, 0, 2, 1e-3),
    ]
    high: list[SparseVector] = [
        OneSidedSparseVector(40, 2.0, 4.0, 1),
        OneSidedSparseVector(40, 2.0, 4.0, 2),
        PaperSparseVector(60, 2.0, 1, 100, 1e-6),
    ]
    if full:
        low += [
            OneSidedSparseVector(2, 2.0, 4.0, 2),
            OneSidedSparseVector(8, 0.5, 2.0, 3),
            PaperSparseVector(4, 2.0, 1, 4, 1e-6),
        ]
        high += [OneSidedSparseVector(100, 5.0, 20.0, 2), PaperSparseVector(60, 2.0, 2, 100, 1e-6)]
    for parameters in low:
        menu = around_the_threshold(parameters.threshold, (1, 4) if full else ())
        yield sparse_vector_case(parameters, menu, 3)
    for parameters in high:
        yield sparse_vector_case(parameters, many_stable_ones(parameters.threshold), parameters.unstable + 1)


# --------------------------------------------------------------------------------------------------------------
# Relabelling


def _relabelling(*, full: bool) -> Iterator[Case]:
    """What ĥ says of the records that the neighbours share: all that a worst-case A may learn at no cost of its own."""
    classes: list[HypothesisClass] = [Thresholds(), Thresholds(direction="both"), Intervals()]
    common = [((1.0, 0),) * 40, ((0.0, 0), (1.0, 1), (2.0, 0))]
    lasts = [(0.0, 1), (2.0, 0), (1.0, 1), (3.0, 1)]
    for hypotheses in classes:
        for records in common:
            tables = [Table((*records, last)) for last in lasts]
            for eta in (0.5, 2.0) if full else (0.5,):
                claimed = relabel_guarantee(Guarantee(0.0), hypotheses, len(records) + 1, eta, 1)
                yield Case.once(
                    f"Relabel alone: {hypotheses}, n = {len(records) + 1}, η = {eta:g}",
                    claimed,
                    list(itertools.combinations(tables, 2)),
                    partial(_common_labels, hypotheses, eta),
                )


def _common_labels(hypotheses: HypothesisClass, eta: float, table: Table, entropy: Entropy) -> str:
    labels = relabel(hypotheses, table.source(), eta, None, entropy).gathered().y[:-1].tolist()
    return "labels " + ", ".join(f"{label}×{len(list(run))}" for label, run in itertools.groupby(labels))


# ---------------------------------------------------------------------------------------------------------------------
# The shipped samplers of noise, each at scales with and without blocks: what one added draw hides of a count.


DELTA = 1e-6

TITLES = {
    "discrete_laplace": "Discrete Laplace",
    "geometric": "Geometric",
    "discrete_gaussian": "Discrete Gaussian",
    "sech_squared": "Sech²",
}

SCALES = {
    "discrete_laplace": (0.5, 3.0, 20.0),
    "geometric": (0.5, 3.0, 20.0),
    "discrete_gaussian": (0.5, 3.0, 70.0),
    "sech_squared": (0.5, 3.0, 20.0),
}
"""The last of each has blocks of two numbers, the others of one."""

MORE_SCALES = {
    "discrete_laplace": (0.2, 15.9, 40.0),
    "geometric": (15.9, 40.0),
    "discrete_gaussian": (63.9, 150.0),
    "sech_squared": (15.9, 40.0),
}
"""Almost wide enough for blocks of two; and blocks of four."""


def noise_cases(*, full: bool) -> Iterator[Case]:
    for name, scales in SCALES.items():
        for scale in (*scales, *(MORE_SCALES[name] if full else ())):
            yield noise_case(Sampler(name, scale))


def noise_case(sampler: Sampler) -> SamplerCase:
    """A count with one draw added, under what the law of that draw is entitled to claim."""
    event = DiscreteGaussianEvent(sampler.scale) if sampler.name == "discrete_gaussian" else None
    name = f"{TITLES[sampler.name]} noise: s = {sampler.scale:g}, w = {sampler.width}"
    return SamplerCase.of(name, claim(sampler), sampler, event)


def claim(sampler: Sampler) -> Guarantee:
    """For counts that differ by 1; proofs/audit.md, Samplers.

    On one side only, there are outcomes that one count alone allows: δ. The sech² noise has the least of it.
    """
    rate = 1.0 / sampler.scale
    if sampler.name == "discrete_gaussian":
        return compose([DiscreteGaussianEvent(sampler.scale)], DELTA)
    if sampler.name == "discrete_laplace":
        return Guarantee(rate)
    if sampler.name == "geometric":
        return Guarantee(rate, rounded_up(-math.expm1(-rate)))
    below = [math.tanh(0.5 * rate * t) ** 2 for t in range(math.ceil(3.0 * sampler.scale) + 2)]
    lost = max(later - math.exp(rate) * earlier for earlier, later in pairwise(below))
    return Guarantee(rate, rounded_up(lost))


# ---------------------------------------------------------------------------------------------------------------------
# The algorithms that answer by votes, on whole tables: sub-sample, relabel, partition, teachers, sparse vector.


QUERIES: tuple[Place, ...] = (0.0, 1.0, 2.0)
PUBLIC = np.array([[0.0], [1.5]])


@dataclass(frozen=True)
class Response:
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
        return Response(answer, None if entry is None else entry.coin)

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
