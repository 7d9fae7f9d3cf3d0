"""The statistical auditor: a lower bound on ε from many runs of the real code, wrong with a stated small chance.

A mechanism is a black box here: private data in, everything that an observer sees out, exceptions included. It is run
on two neighbours with the operating system's entropy. The event that tells the neighbours apart best is chosen on one
half of the runs and judged on the other half (Ding, Wang, Wang, Zhang, Kifer 2018 search for events in this way;
Jagielski, Ullman, Oprea 2020 bound ε by Clopper–Pearson limits). A mechanism is flagged when the bound exceeds its
claim: if the claim holds, that happens with a chance of at most the stated level.

What it cannot do is clear a mechanism: the bound grows with the number of runs and never passes what the chosen
neighbours reveal. That is what `pcqr.audit.exact` is for.
"""

from __future__ import annotations

import itertools
import multiprocessing
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betainccinv, betaincinv

from pcqr.audit.exact.events import in_full
from pcqr.checks import check_integer, check_probability
from pcqr.data.records import InMemory
from pcqr.errors import BudgetExhausted
from pcqr.hypotheses.base import HypothesisClass, Labels, Points
from pcqr.hypotheses.stumps import Stumps
from pcqr.hypotheses.thresholds import Thresholds
from pcqr.hypotheses.trees import DecisionTrees
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, RunningSparseVector, SparseVector
from pcqr.privacy.composition import Context, account
from pcqr.privacy.entropy import Entropy, SystemEntropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.agnostic.run import ag_priv_cl
from pcqr.releases.base.inputs import AssumePublic
from pcqr.releases.protocol.answers import Answer
from pcqr.releases.protocol.online import PrivClass
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.estimator import SemiPrivateLearner
from pcqr.releases.subsample.plan import VoteStage
from pcqr.releases.subsample.run import StableVotes, sub_samp
from pcqr.releases.universal.planning import universal_guarantee
from pcqr.releases.universal.run import unv_priv_cl

# ---------------------------------------------------------------------------------------------------------------------
# From counts to a lower bound on ε that holds with a stated confidence.


Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def least_probability(hits: Counts | int, runs: int, level: float) -> Any:
    """The Clopper–Pearson lower limit: the true probability is below it with a chance of at most `level`."""
    hits = np.asarray(hits)
    return np.where(hits == 0, 0.0, betaincinv(np.maximum(hits, 1), runs - hits + 1, level))


def largest_probability(hits: Counts | int, runs: int, level: float) -> Any:
    """The Clopper–Pearson upper limit: the true probability is above it with a chance of at most `level`."""
    hits = np.asarray(hits)
    return np.where(hits == runs, 1.0, betainccinv(hits + 1, np.maximum(runs - hits, 1), level))


def least_epsilon(hits: Counts | int, others: Counts | int, runs: int, delta: float, level: float) -> Any:
    """A lower bound on the ε of any (ε, δ)-DP mechanism, δ = `delta`, wrong with a chance of at most `level`.

    An event O happened `hits` times in `runs` runs on one neighbour and `others` times in as many on the other. From
    P(O) ≤ e^ε·Q(O) + δ it follows that ε ≥ ln((P(O) − δ) / Q(O)); each probability is replaced by its
    Clopper–Pearson limit on the unfavourable side, at half of `level`. Below 0 it says nothing. O must not have been
    chosen by looking at these runs.
    """
    p = least_probability(hits, runs, level / 2.0)
    q = largest_probability(others, runs, level / 2.0)
    return np.log(np.maximum(p - delta, sys.float_info.min) / q)


# ---------------------------------------------------------------------------------------------------------------------
# Which event tells two neighbours apart best? Chosen on runs that are then thrown away.


Tally = Mapping[Any, int]
"""How often each outcome was seen."""


@dataclass(frozen=True)
class Event:
    """A set of outcomes. `swapped`: it is more likely on the second neighbour than on the first."""

    outcomes: frozenset[Hashable]
    swapped: bool

    def hits(self, first: Tally, second: Tally) -> tuple[int, int]:
        """How often it happened on the neighbour where it is more likely, and on the other."""
        more, less = (second, first) if self.swapped else (first, second)
        return sum(more[o] for o in self.outcomes & more.keys()), sum(less[o] for o in self.outcomes & less.keys())

    def __str__(self) -> str:
        shown = sorted(map(str, self.outcomes))
        more = f" and {len(shown) - 2:,} more" if len(shown) > 2 else ""
        return f"{' or '.join(shown[:2])}{more}"


def best_event(first: Tally, second: Tally, delta: float, level: float) -> Event:
    """The set of outcomes with the largest `least_epsilon` on these runs, as many on either neighbour.

    Only sets {o : P(o)/Q(o) ≥ t} need to be looked at (Neyman and Pearson); the ratios are those of the counts, with
    ½ added to each, and both directions are tried. On these same runs the bound means nothing.
    """
    outcomes = sorted(first.keys() | second.keys(), key=str)
    p, q = (np.array([tally.get(o, 0) for o in outcomes], dtype=np.int64) for tally in (first, second))
    candidates = []
    for more, less, swapped in ((p, q, False), (q, p, True)):
        order = np.argsort(-(more + 0.5) / (less + 0.5), kind="stable")
        bounds = least_epsilon(more[order].cumsum(), less[order].cumsum(), int(more.sum()), delta, level)
        size = int(bounds.argmax()) + 1
        chosen = frozenset(outcomes[index] for index in order[:size])
        candidates.append((float(bounds.max()), Event(chosen, swapped)))
    return max(candidates, key=lambda candidate: candidate[0])[1]


# ---------------------------------------------------------------------------------------------------------------------
# What an observer sees of one run of the real code, written down so that it can be counted.
#
# Each class here is a `Mechanism`: made of public parameters, called with the private data and an entropy source. The
# algorithms are those that the estimators run; nothing is simulated.


UNSTABLE = "⊥"
STABLE = "s"
EXHAUSTED = "halted"


@dataclass(frozen=True, eq=False)
class Table:
    """Private records: points and their labels. Equal only to itself, so that it can be a key."""

    X: Points
    y: Labels

    @classmethod
    def of(cls, x: ArrayLike, y: ArrayLike) -> Table:
        points = np.asarray(x, dtype=np.float64)
        return cls(points.reshape(len(points), -1), np.asarray(y, dtype=np.int8))

    @property
    def source(self) -> InMemory:
        """As algorithms take it."""
        return InMemory(self.X, self.y)


@dataclass(frozen=True)
class SparseVectorRun:
    """The answers of a sparse vector to queries whose distances to instability are the private data."""

    parameters: SparseVector
    running: type[RunningSparseVector] = RunningSparseVector

    def __call__(self, distances: Iterable[int], entropy: Entropy) -> str:
        run = self.running(self.parameters, entropy)
        seen = ""
        for distance in distances:
            if run.is_exhausted:
                break
            seen += STABLE if run.is_stable(distance) else UNSTABLE
        return seen


@dataclass(frozen=True)
class VotesRun:
    """SubSamp, or AgPrivCl where the plan relabels: the answers to `queries`, and where the release halted."""

    hypotheses: HypothesisClass
    plan: VoteStage
    queries: Points
    public: Points | None = None

    def __call__(self, table: Table, entropy: Entropy) -> str:
        votes = self.votes(table, entropy)
        return answers_seen(PrivClass(votes, len(self.queries), entropy).answers(self.queries))

    def votes(self, table: Table, entropy: Entropy) -> StableVotes:
        if self.plan.inverse_temperature is None:
            return sub_samp(self.hypotheses, table.source, self.plan, entropy)
        return ag_priv_cl(self.hypotheses, table.source, self.public, self.plan, entropy)


@dataclass(frozen=True)
class UniversalRun:
    """UnvPrivCl: the answers to `queries` while it votes, then the published hypothesis itself."""

    hypotheses: HypothesisClass
    vote: VoteStage
    publish: DrawStage
    queries: Points
    public: Points | None = None

    def __call__(self, table: Table, entropy: Entropy) -> str:
        release = unv_priv_cl(self.hypotheses, table.source, self.public, self.vote, self.publish, entropy)
        answers = (answer for answer in release.answers(self.queries) if answer.kind != "published")
        return f"{answers_seen(answers)} then {release.published}"


@dataclass(frozen=True)
class PublishRun:
    """SSPP as users call it: the published hypothesis of `SemiPrivateLearner`."""

    hypotheses: HypothesisClass
    epsilon: float
    public: Points | None = None

    def __call__(self, table: Table, entropy: Entropy) -> str:
        learner = SemiPrivateLearner(self.hypotheses, self.epsilon, entropy=entropy)
        return in_full(learner.fit(table.X, table.y, public=AssumePublic(self.public)).hypothesis_)


def answers_seen(answers: Iterable[Answer[int]]) -> str:
    """The labels one after another, ⊥ for none, and a note when the release has halted before the last query."""
    seen = ""
    try:
        for answer in answers:
            seen += UNSTABLE if answer.label is None else str(answer.label)
    except BudgetExhausted:
        seen += f" {EXHAUSTED}"
    return seen


# ---------------------------------------------------------------------------------------------------------------------
# Shipped releases to be run as they are: published classifiers, and tables too large for the exact verifier.
#
# The neighbours are declared. In each the replaced record sits where it counts: its label decides how far a vote is
# from the threshold, or which hypothesis of the class is the better one, while that is still open.


EPSILON = 1.0
"""Of everything that is published."""
LEFT, RIGHT = -1.0, 1.0
TEACHERS = 11
ENDS = np.array([[LEFT], [RIGHT]])
CORNERS = np.array([[x, y] for x in (0.0, 1.0) for y in (0.0, 1.0)])


def shipped_subjects(*, full: bool = False) -> list[Subject]:
    """One of each kind, or the `full` set."""
    subjects = [
        _published("declared stumps", Stumps(cuts=(0.0,)), None, _open_at_left(1), _open_at_left(0)),
        _published("decision trees", DecisionTrees(depth=1), CORNERS, _corners(1), _corners(0)),
        _votes(records=TEACHERS, share=1.0),
        _relabelled_votes(),
        _universal(),
    ]
    if full:
        subjects += [
            _published("thresholds on public points", Thresholds(), ENDS, _open_at_left(1), _open_at_left(0)),
            _votes(records=2 * TEACHERS, share=0.5),
        ]
    return subjects


def _open_at_left(label: int) -> Table:
    """On the left two 1s, four 0s and a record with `label`: it is open which label wins. On the right seven 1s."""
    return Table.of([LEFT] * 7 + [RIGHT] * 7, [1, 1, 0, 0, 0, 0, label] + [1] * 7)


def _corners(label: int) -> Table:
    """The four corners of the unit square, five records each: label 1 where x = 1, but for one record on the left."""
    points = np.repeat(CORNERS, 5, axis=0)
    y = (points[:, 0] == 1.0).astype(np.int8)
    y[:2], y[2] = 1, label
    return Table(points, y)


def _published(what: str, hypotheses: HypothesisClass, public: Points | None, first: Table, second: Table) -> Subject:
    """The published hypothesis itself is the outcome."""
    claim = Guarantee(EPSILON, proof="sspp")
    return Subject(f"SSPP: {what}", claim, PublishRun(hypotheses, EPSILON, public), first, second)


def _labels(ones: int, records: int) -> Table:
    return Table.of(np.arange(records), [1] * ones + [0] * (records - ones))


def _votes(*, records: int, share: float) -> Subject:
    """Teachers of a record each, their vote at the threshold; of all `records`, or of a secret `share` of them."""
    sparse_vector = OneSidedSparseVector.calibrate(4.0, 1e-3, unstable=1)
    plan = VoteStage(
        records=records,
        subsample=round(share * records),
        teachers=TEACHERS,
        inverse_temperature=None,
        sparse_vector=sparse_vector,
    )
    ones = round((TEACHERS + 2 * sparse_vector.threshold + 3) / 2 / share)
    run = VotesRun(Thresholds(), plan, np.array([[0.5]]))
    name = f"SubSamp: {TEACHERS} teachers, q = {share:g}"
    return Subject(
        name,
        account(plan, Context(Thresholds(), plan.records, 1)),
        run,
        _labels(ones, records),
        _labels(ones - 1, records),
    )


def _relabelling_plan() -> VoteStage:
    """Teachers of a record each; ĥ is drawn from the dichotomies of the two `ENDS`."""
    return VoteStage(
        records=TEACHERS,
        subsample=TEACHERS,
        teachers=TEACHERS,
        inverse_temperature=1.0,
        sparse_vector=OneSidedSparseVector.calibrate(4.0, 1e-3, unstable=1),
        public=len(ENDS),
    )


def _one_sided(label: int) -> Table:
    """All records on the right: six 1s, four 0s and one with `label`."""
    return Table.of([RIGHT] * TEACHERS, [1] * 6 + [0] * 4 + [label])


def _relabelled_votes() -> Subject:
    plan, hypotheses = _relabelling_plan(), Thresholds()
    run = VotesRun(hypotheses, plan, np.array([[RIGHT]]), public=ENDS)
    claim = account(plan, Context(hypotheses, plan.records, 1))
    return Subject(f"AgPrivCl: {TEACHERS} teachers, relabelled", claim, run, _one_sided(1), _one_sided(0))


def _universal() -> Subject:
    vote, publish, hypotheses = _relabelling_plan(), DrawStage(0.5, after_queries=1), Thresholds()
    run = UniversalRun(hypotheses, vote, publish, np.array([[RIGHT]]), public=ENDS)
    claim = universal_guarantee(vote, publish, Context(hypotheses, vote.records, 1))
    return Subject(f"UnvPrivCl: {TEACHERS} teachers, and the published", claim, run, _one_sided(1), _one_sided(0))


# ---------------------------------------------------------------------------------------------------------------------
# Running a mechanism as a black box, many times, on several processors.


Mechanism = Callable[[Any, Entropy], Hashable]
"""(private data, entropy) → everything that an observer sees, in a form that can be counted."""

CHUNK = 250
"""Runs in one task of a worker: a fraction of a second, so that progress is seen."""

A = TypeVar("A")
R = TypeVar("R")


class Submit(Protocol):
    """Runs a function on every task and yields (position of the task, result) as they come."""

    def __call__(self, function: Callable[[A], R], tasks: Sequence[A], /) -> Iterator[tuple[int, R]]: ...


@dataclass(frozen=True)
class Subject:
    """What is audited: a mechanism, a pair of neighbours, and what is claimed.

    `mechanism` must be picklable, and so must the neighbours `first` and `second`: the private data in whatever
    form the mechanism takes it. It is handed the operating system's entropy.
    """

    name: str
    claim: Guarantee
    mechanism: Mechanism
    first: Any
    second: Any


@dataclass(frozen=True)
class Task:
    """`count` runs of `mechanism` on `data`."""

    mechanism: Mechanism
    data: Any
    count: int


def observe(mechanism: Mechanism, data: Any, entropy: Entropy) -> Hashable:
    """One run. An exception is seen like any other outcome, with its type and its text."""
    try:
        return mechanism(data, entropy)
    except Exception as error:
        return ("raised", type(error).__name__, str(error))


def tally(task: Task) -> Counter[Hashable]:
    """The outcomes of a task, counted."""
    entropy = SystemEntropy()
    return Counter(observe(task.mechanism, task.data, entropy) for _ in range(task.count))


def split(mechanism: Mechanism, data: Any, count: int) -> list[Task]:
    """`count` runs in tasks of at most `CHUNK`."""
    return [Task(mechanism, data, min(CHUNK, count - done)) for done in range(0, count, CHUNK)]


def here(function: Callable[[A], R], tasks: Sequence[A]) -> Iterator[tuple[int, R]]:
    """`Submit` in this process."""
    return enumerate(map(function, tasks))


@contextmanager
def processes(workers: int) -> Iterator[Submit]:
    """`Submit` on so many processes of their own.

    They are started afresh, never forked: a forked generator of random bits could repeat itself.
    """
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:

        def submit(function: Callable[[A], R], tasks: Sequence[A]) -> Iterator[tuple[int, R]]:
            positions = {pool.submit(function, task): position for position, task in enumerate(tasks)}
            for done in as_completed(positions):
                yield positions[done], done.result()

        yield submit


def tallies(
    groups: Sequence[Sequence[Task]], submit: Submit, advance: Callable[[int], None]
) -> list[Counter[Hashable]]:
    """The outcomes of each group of tasks, all tasks in one queue; `advance` hears of every run that is done."""
    owner = [index for index, group in enumerate(groups) for _ in group]
    tasks = list(itertools.chain.from_iterable(groups))
    totals: list[Counter[Hashable]] = [Counter() for _ in groups]
    for position, counted in submit(tally, tasks):
        totals[owner[position]].update(counted)
        advance(tasks[position].count)
    return totals


# ---------------------------------------------------------------------------------------------------------------------
# The statistical auditor: a lower bound on ε from many runs of the real code, wrong with a stated small chance.
#
# A mechanism is a black box here: private data in, everything that an observer sees out, exceptions included. It is run
# on two neighbours with the operating system's entropy. The event that tells the neighbours apart best is chosen on one
# half of the runs and judged on the other half (Ding, Wang, Wang, Zhang, Kifer 2018 search for events in this way;
# Jagielski, Ullman, Oprea 2020 bound ε by Clopper–Pearson limits). A mechanism is flagged when the bound exceeds its
# claim: if the claim holds, that happens with a chance of at most the stated level.
#
# What it cannot do is clear a mechanism: the bound grows with the number of runs and never passes what the chosen
# neighbours reveal. That is what `pcqr.audit.exact` is for.


@dataclass(frozen=True)
class Audited:
    """What the runs show: ε ≥ `epsilon` at the claimed δ, unless something of probability `level` has happened.

    `event` was chosen on half of the `runs` on each neighbour; in the other half it happened `hits` times on the
    neighbour where it is more likely and `others` times on the other one.
    """

    epsilon: float
    level: float
    runs: int
    hits: int
    others: int
    event: Event

    def refutes(self, claim: Guarantee) -> bool:
        return self.epsilon > claim.epsilon


def audit(
    subjects: Sequence[Subject],
    *,
    runs: int,
    level: float,
    submit: Submit = here,
    advance: Callable[[int], None] = lambda _: None,
) -> list[Audited]:
    """Audit each of `subjects` with `runs` runs on each of its two neighbours.

    `level` is the chance of a false alarm for each subject. These chances add up, so divide the level of a whole table
    by the number of its subjects. `submit` does the runs, here or in other `processes`. Whenever some runs are done,
    `advance` is called with their number.
    """
    check_integer("runs", runs, least=2)
    check_probability("level", level)
    half = runs // 2
    groups = [
        split(subject.mechanism, data, half)
        for subject in subjects
        for data in (subject.first, subject.second)
        for _ in ("to choose the event", "to judge it")
    ]
    counted = iter(tallies(groups, submit, advance))
    audited = []
    for subject in subjects:
        choose_first, judge_first, choose_second, judge_second = (next(counted) for _ in range(4))
        event = best_event(choose_first, choose_second, subject.claim.delta, level)
        hits, others = event.hits(judge_first, judge_second)
        bound = max(0.0, float(least_epsilon(hits, others, half, subject.claim.delta, level)))
        audited.append(Audited(bound, level, 2 * half, hits, others, event))
    return audited
