"""How much can be asked of n records: where a function that grows nearly as a power crosses n, in few evaluations.

What n records are enough for is found from below, as an evaluation is a search of its own (`fewest_records`) and not
exact: the answer is a demand that was tried and found to need no more than n.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from pcqr.advice.question import PARAMETERS, Question, Unknown, compare, estimator_of
from pcqr.errors import ParameterError
from pcqr.planner.certificate import sampling_slack
from pcqr.planner.certified import CertifiedVotes, certified_votes, fewest_records
from pcqr.planner.request import Request
from pcqr.planner.search import Knobs

_CLOSE = 1.03
"""The search ends when what is too hard is less than so many times what is not,"""
_USED = 0.985
"""or when so much of the n records is needed."""
_NEARLY, _EASED = 3.0, 0.95
"""A start that needs less than so many times n is eased in proportion, and by so much more, and tried again."""
_LEAST_SLOPE, _SHORT, _EDGE = 0.1, 0.01, 0.1
"""A secant is at least so steep, aims so much short of ln n, and stays off both ends by this share of what is left."""


def hardest_demand(
    needed: Callable[[float], float], available: int, starts: Sequence[float], limit: float, rounds: int
) -> float | None:
    """About the largest demand u ≤ `limit` with `needed`(u) ≤ n = `available`; None if no start has enough.

    `needed` grows with u, nearly as a power of it, and is ∞ where nothing is enough: secants between logarithms find
    the crossing in a few `rounds` from the first of `starts` that n is enough for.
    """
    bracket = _first_bracket(needed, available, starts)
    if bracket is None:
        return None
    for _ in range(rounds):
        if bracket.easy >= limit or bracket.is_close:
            break
        demand = min(bracket.crossing(), limit)
        bracket.narrow(demand, needed(demand))
    return bracket.easy


def _first_bracket(needed: Callable[[float], float], available: int, starts: Sequence[float]) -> _Bracket | None:
    waiting, tried = list(starts), dict[float, float]()
    while waiting:
        easy = waiting.pop(0)
        at_easy = tried[easy] = needed(easy)
        if at_easy <= available:
            reached = {demand: at for demand, at in tried.items() if demand >= easy and math.isfinite(at)}
            hard = min((demand for demand in tried if demand > easy), default=math.inf)
            return _Bracket(available, easy, hard, reached)
        if at_easy < _NEARLY * available and easy in starts and easy > min(starts):
            waiting.insert(0, max(min(starts), _EASED * easy * available / at_easy))
    return None


@dataclass
class _Bracket:
    """Where the crossing lies: n = `available` records are enough for u = `easy`, and not for u = `hard`."""

    available: int
    easy: float
    hard: float
    reached: dict[float, float]
    """The records that demands need, ln of which is nearly linear in ln u: `easy` and harder ones."""

    @property
    def is_close(self) -> bool:
        return self.hard < _CLOSE * self.easy or self.reached[self.easy] > _USED * self.available

    def narrow(self, demand: float, needed: float) -> None:
        """Take in that `demand` needs so many records."""
        if needed > self.available:
            self.hard = demand
        else:
            self.easy = demand
        if math.isfinite(needed):
            self.reached[demand] = needed

    def crossing(self) -> float:
        """Where ln(needed) as a function of ln u crosses ln(n), kept off the ends of what is left: (easy, hard).

        By the secant through the two `reached` points next to it; without a `hard` end yet a little farther, so as to
        find one; with one a little less far, since the search for the fewest records is not exact.
        """
        near = sorted(self.reached.items(), key=lambda point: abs(math.log(point[1] / self.available)))[:2]
        slope = 1.0
        if len(near) > 1:
            (u, at_u), (v, at_v) = near
            slope = max(_LEAST_SLOPE, math.log(at_u / at_v) / math.log(u / v))
        aim = math.log(self.available / near[0][1])
        if math.isinf(self.hard):
            return _CLOSE * max(near[0][0] * math.exp(aim / slope), self.easy)
        if max(self.reached) <= self.easy:
            return math.sqrt(self.easy * self.hard)  # nothing is known of the hard side
        demand = near[0][0] * math.exp((aim - _SHORT) / slope)
        edge = math.pow(self.hard / self.easy, _EDGE)
        return min(max(demand, self.easy * edge), self.hard / edge)


# ---------------------------------------------------------------------------------------------------------------------
# One number of a plan varies, the others stay: what is expected of each algorithm, and what a proof needs.


Varied = Literal["epsilon", "records", "queries"]
_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_LEAST = {"epsilon": 0.0, "records": 100.0, "queries": 1.0}


@dataclass(frozen=True)
class Curves:
    """`expected`: the extra error of every estimator that has a plan at some of the places; None where it has none.

    `needed`: the fewest records for a proof, which do not depend on the records at hand; None where none are enough.
    """

    over: Varied
    at: tuple[float, ...]
    expected: dict[str, tuple[float | None, ...]]
    needed: tuple[int | None, ...] | None


@np.errstate(all="ignore")
def curves(question: Question, over: Varied) -> Curves:
    """Around `question`, in which nothing is open, with `over` from a quarter to four times what it is there."""
    asked = [replace(question, **{over: value}) for value in _places(question, over)]  # type: ignore[arg-type]
    found: list[dict[str, float]] = [
        {
            estimator_of(option): option.expected.excess_error
            for option in compare(each.request())
            if option.expected is not None
        }
        for each in asked
    ]
    names = list(dict.fromkeys(name for each in found for name in each))
    needed = None if over == "records" else tuple(fewest(each) for each in asked)
    return Curves(
        over,
        tuple(getattr(each, over) for each in asked),
        {name: tuple(each.get(name) for each in found) for name in names},
        needed,
    )


def fewest(question: Question) -> int | None:
    """The fewest records for which (α, β) is proved; None where no number of them is known to be enough."""
    solved = solve(question)
    return None if solved is None else solved.votes.plan.records


def _places(question: Question, over: Varied) -> Iterator[float]:
    centre = float(getattr(question, over))
    for factor in _FACTORS:
        if factor == 1.0 or factor * centre >= _LEAST[over]:
            yield factor * centre if over == "epsilon" else math.ceil(factor * centre)


# ---------------------------------------------------------------------------------------------------------------------
# What is possible? Any of n, ε, α and m may be left open; the proved bound decides, and says what would help.
#
# All figures are proved ones (`pcqr.planner.certified`): AgPrivCl with (α, β) certified. What is expected of each
# algorithm is another question, which `pcqr.advice.question` answers.


MOST_QUERIES = 10**6
_LARGEST_ALPHA = 0.45
_ROUNDS, _FEW_ROUNDS = 4, 2
"""Secants of a search from nothing, and of one that begins near a similar solution."""
_EASIER = (1.0, 1.003, 1.01, 1.03, 1.1, 1.3, 2.0)
"""By how much a demand is eased, at most, until `fit` certifies it."""


@dataclass(frozen=True)
class Solved:
    """A complete request for which (α, β) is proved, and the plan that proves it."""

    request: Request
    votes: CertifiedVotes


@np.errstate(all="ignore")
def solve(question: Question, start: Solved | None = None) -> Solved | None:
    """The unknown at its best: fewest records, smallest α, most queries, smallest ε, δ or β. None: it has no value.

    With nothing unknown: the fewest records for what was asked, whether or not there are as many. With two unknowns use
    `frontier`. `start` is where to begin the search: the solution of a similar question.
    """
    unknown = question.unknown
    if len(unknown) > 1:
        raise ParameterError("question", "one with at most one unknown", f"open: {', '.join(unknown)}")
    name = unknown[0] if unknown else "records"
    return _SOLVERS[name](question, start)


def running(question: Question) -> Unknown:
    """With two unknowns, the one that `frontier` tabulates over: not the one that `question.solve` asks for."""
    possible = (name for name, reached in PARAMETERS.items() if reached.grid and name in question.unknown)
    return next(name for name in possible if name != question.solve)


def frontier(question: Question) -> tuple[tuple[float, Solved | None], ...]:
    """Two unknowns: one runs through three round values, the other is solved for at each of them."""
    name = running(question)
    points: list[tuple[float, Solved | None]] = []
    last: Solved | None = None
    for at in PARAMETERS[name].grid:
        solved = solve(replace(question, **{name: at}), last)  # type: ignore[arg-type]
        last = solved or last
        points.append((at, solved))
    return tuple(points)


def nearest_changes(request: Request, fewest: CertifiedVotes | None) -> dict[Unknown, float]:
    """What would make (α, β) provable when n = `request.records` is too small: each alone, the rest as it is.

    `fewest` is the plan with the fewest records for the request, if any number of them is enough.
    """
    changes: dict[Unknown, float] = {}
    start = None if fewest is None else Solved(request, fewest)
    if fewest is not None:
        changes["records"] = fewest.plan.records
    reached = {name: getattr(request, name) for name in PARAMETERS}
    for name in ("epsilon", "alpha", "queries"):
        asked = getattr(request, name)
        if name == "queries" and sampling_slack(asked, request.beta) >= request.alpha:
            found = enough_queries(request)
        else:
            question = Question(hypotheses=request.hypotheses, features=request.features, **(reached | {name: None}))
            found = solve(question, start)
        value = asked if found is None else getattr(found.request, name)
        if value > asked or (name == "queries" and value < asked):
            changes[name] = value
    return changes


def enough_queries(request: Request) -> Solved | None:
    """More queries than were asked for, so that the sampling of their labels leaves something of α, if n is enough."""
    least = request.queries * (sampling_slack(request.queries, request.beta) / request.alpha) ** 2
    for factor in (1.2, 2.0, 4.0):
        wider = request.but(queries=math.ceil(factor * least))
        found = fewest_records(wider)
        if found is not None and found.plan.records <= request.records:
            return Solved(wider, found)
    return None


def _records(question: Question, start: Solved | None) -> Solved | None:  # noqa: ARG001
    """By the search that `fit` makes, which knows of no similar solution: what is stated must be certified there."""
    demand = question.demand()
    found = fewest_records(demand)
    return None if found is None else Solved(demand.on(found.plan.records), found)


def _alpha(question: Question, start: Solved | None) -> Solved | None:
    """The smallest α: u = 1/(α − s), since the sampling of labels takes s of it whatever n is."""
    slack = sampling_slack(question.value("queries"), question.value("beta"))
    if slack >= _LARGEST_ALPHA:
        return None
    starts = [1.0 / (_LARGEST_ALPHA - slack)]
    if start is not None:
        near = start.request.alpha - sampling_slack(start.request.queries, start.request.beta)
        starts.insert(0, 1.0 / max(1e-3, near))
    solved = _hardest(question, start, "alpha", lambda u: slack + 1.0 / u, starts, limit=1e4)
    if solved is None:
        return None
    # n records are more than the fewest, so a little more than α is proved.
    closer = solved.request.but(alpha=solved.votes.certificate.excess)
    votes = certified_votes(closer)
    return solved if votes is None else Solved(closer, votes)


def _queries(question: Question, start: Solved | None) -> Solved | None:
    """The most queries: from those for which the sampling of labels costs a third of α, upwards while n allows it."""
    alpha, beta = question.value("alpha"), question.value("beta")
    few = 1
    while sampling_slack(few, beta) > alpha / 3.0 and few < MOST_QUERIES:
        few *= 2
    near = () if start is None else (start.request.queries,)
    return _hardest(question, start, "queries", math.floor, (*near, few, 4 * few, 1 + few // 2), limit=MOST_QUERIES)


def _epsilon(question: Question, start: Solved | None) -> Solved | None:
    near = () if start is None else (1.0 / start.request.epsilon,)
    return _hardest(question, start, "epsilon", lambda u: 1.0 / u, (*near, 1.0, 0.05), limit=1e9)


def _delta(question: Question, start: Solved | None) -> Solved | None:
    return _hardest(question, start, "delta", lambda u: math.exp(-u), (7.0,), limit=70.0)


def _beta(question: Question, start: Solved | None) -> Solved | None:
    return _hardest(question, start, "beta", lambda u: math.exp(-u), (1.6,), limit=30.0)


def _carried(start: Solved, request: Request) -> Knobs:
    """The knobs of one solution, changed as those of `request` can be expected to: T grows with mα, q with e^ε − 1.

    Where the sampling of labels takes much of α, it can spare little of β for the other events.
    """
    knobs, reached = dict(start.votes.knobs), start.request
    knobs["unstable"] *= request.queries * request.alpha / (reached.queries * reached.alpha)
    knobs["rate"] *= math.expm1(min(5.0, request.epsilon)) / math.expm1(min(5.0, reached.epsilon))
    if sampling_slack(request.queries, request.beta) > request.alpha / 3.0:
        knobs["failure"] = min(0.1, knobs["failure"])
    return knobs


def _hardest(
    question: Question,
    start: Solved | None,
    name: Unknown,
    value: Callable[[float], float],
    starts: Sequence[float],
    limit: float,
) -> Solved | None:
    """The hardest value of the unknown at which n records are still enough, to within a few per cent of u.

    `value` turns a demand u into a value; the records needed grow with u (crossing.py). What is returned is settled by
    the search that `fit` makes (`_settled`).
    """
    needs = _Needs(question, name, value, start)
    rounds = _ROUNDS if start is None else _FEW_ROUNDS
    demand = hardest_demand(needs.records, question.value("records"), starts, limit, rounds)
    return None if demand is None else _settled(question, name, value, demand)


@dataclass
class _Needs:
    """How many records a demand u needs; each search begins at the solution that the one before it found."""

    question: Question
    name: Unknown
    value: Callable[[float], float]
    last: Solved | None

    def records(self, demand: float) -> float:
        """∞ where no number of records is found to be enough.

        A first search starts from nothing; where a later one finds nothing near the last solution, u is too hard.
        """
        request = self.question.request(**{self.name: self.value(demand)})
        near = None if self.last is None else _carried(self.last, request)
        found = fewest_records(request, near)
        if found is None:
            return math.inf
        self.last = Solved(request, found)
        return found.plan.records


def _settled(question: Question, name: Unknown, value: Callable[[float], float], demand: float) -> Solved | None:
    """The value at `demand`, or at one a little easier, that `fit` certifies: its search knows no similar solution."""
    for easier in _EASIER:
        request = question.request(**{name: value(demand / easier)})
        votes = certified_votes(request)
        if votes is not None:
            return Solved(request, votes)
    return None


_SOLVERS: dict[Unknown, Callable[[Question, Solved | None], Solved | None]] = {
    "records": _records,
    "alpha": _alpha,
    "queries": _queries,
    "epsilon": _epsilon,
    "delta": _delta,
    "beta": _beta,
}
