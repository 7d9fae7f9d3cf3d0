"""What is possible? Any of n, ε, α and m may be left open; the proved bound decides, and says what would help.

All figures are proved ones (`pcqr.planning.proved.certified`): AgPrivCl with (α, β) certified. What is expected of each
algorithm is another question, which `pcqr.planning.questions.options` answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcqr.errors import ParameterError
from pcqr.planning.proved.certified import CertifiedVotes, certified_votes, fewest_records
from pcqr.planning.proved.deviations import sampling_slack
from pcqr.planning.questions.crossing import hardest_demand
from pcqr.planning.questions.question import PARAMETERS, Question, Unknown
from pcqr.planning.request import Request
from pcqr.planning.search.knobs import Knobs

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
    possible = (name for name, known in PARAMETERS.items() if known.grid and name in question.unknown)
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
    known = {name: getattr(request, name) for name in PARAMETERS}
    for name in ("epsilon", "alpha", "queries"):
        asked = getattr(request, name)
        if name == "queries" and sampling_slack(asked, request.beta) >= request.alpha:
            found = enough_queries(request)
        else:
            question = Question(hypotheses=request.hypotheses, features=request.features, **(known | {name: None}))
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
    knobs, known = dict(start.votes.knobs), start.request
    knobs["unstable"] *= request.queries * request.alpha / (known.queries * known.alpha)
    knobs["rate"] *= math.expm1(min(5.0, request.epsilon)) / math.expm1(min(5.0, known.epsilon))
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
