"""What is possible? Any of n, ε, α and m may be left open; the proved bound decides, and says what would help.

All figures are proved ones (`pcqr.planning.certified`): AgPrivCl with (α, β) certified. What is expected of each
algorithm is another question, which `pcqr.planning.options` answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from pcqr.checks import check_integer
from pcqr.errors import MissingParameters, ParameterError
from pcqr.hypotheses.base import Combinatorics
from pcqr.plan import Aim, Budget
from pcqr.planning.certified import CertifiedVotes, certified_votes, fewest_records
from pcqr.planning.crossing import hardest_demand
from pcqr.planning.deviations import sampling_slack
from pcqr.planning.request import Demand, Request
from pcqr.planning.search import Knobs

Unknown = Literal["records", "alpha", "queries", "epsilon", "delta", "beta"]
FLAGS: dict[Unknown, str] = {
    "records": "--n",
    "alpha": "--alpha",
    "queries": "--queries",
    "epsilon": "--epsilon",
    "delta": "--delta",
    "beta": "--beta",
}
SYMBOLS: dict[Unknown, str] = {
    "records": "n",
    "alpha": "α",
    "queries": "m",
    "epsilon": "ε",
    "delta": "δ",
    "beta": "β",
}
ASSUMED: dict[Unknown, float] = {"epsilon": 1.0, "delta": 1e-6, "queries": 1_000, "alpha": 0.1, "beta": 0.05}
"""δ and β where they are not given, and each of them where it was asked for, none was found, and the rest is shown."""
_GRIDS: dict[Unknown, tuple[float, float, float]] = {
    "queries": (100, 1_000, 10_000),
    "epsilon": (0.3, 1.0, 3.0),
    "alpha": (0.05, 0.1, 0.2),
    "records": (10**5, 10**6, 10**7),
}
_WHOLE: frozenset[Unknown] = frozenset({"queries", "records"})
MOST_QUERIES = 10**6
_MOST_OPEN = 2
_LARGEST_ALPHA = 0.45
_ROUNDS, _FEW_ROUNDS = 4, 2
"""Secants of a search from nothing, and of one that begins near a similar solution."""
_EASIER = (1.0, 1.003, 1.01, 1.03, 1.1, 1.3, 2.0)
"""By how much a demand is eased, at most, until `fit` certifies it."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is known; None is what is asked for. δ and β have defaults, unless `solve` asks for one of them."""

    hypotheses: Combinatorics
    features: int = 1
    records: int | None = None
    epsilon: float | None = None
    delta: float | None = None
    queries: int | None = None
    alpha: float | None = None
    beta: float | None = None
    public: int | None = None
    solve: Unknown | None = None

    def __post_init__(self) -> None:
        if self.solve is not None and self.solve not in get_args(Unknown):
            raise ParameterError("solve", f"one of {', '.join(get_args(Unknown))}", self.solve)
        if self.solve is not None and getattr(self, self.solve) is not None:
            raise ParameterError(self.solve, "left out, since it is to be solved for", getattr(self, self.solve))
        if len(self.unknown) > _MOST_OPEN:
            raise MissingParameters([FLAGS[name] for name in self.unknown], _MOST_OPEN)
        if self.records is not None:
            check_integer("records", self.records, least=1)
        if self.alpha is not None and not 0 < self.alpha < 0.5:
            raise ParameterError("alpha", "in (0, ½): a coin has an excess error of at most ½", self.alpha)

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        names: tuple[Unknown, ...] = ("records", "alpha", "queries", "epsilon")
        asked = tuple(name for name in names if getattr(self, name) is None)
        return asked if self.solve is None or self.solve in asked else (*asked, self.solve)

    def value(self, name: Unknown) -> Any:
        """As given, or the default of δ or β. Refused where it is what is asked for."""
        value = getattr(self, name)
        if value is None and name in ("delta", "beta") and name != self.solve:
            return ASSUMED[name]
        if value is None:
            raise ParameterError(name, "known before anything is planned", None)
        return value

    def demand(self, **known: float) -> Demand:
        """What is asked of any number of records, with the values of `known` for what is unknown."""
        values: dict[str, Any] = {name: known[name] if name in known else self.value(name) for name in ASSUMED}
        budget = Budget(values["epsilon"], values["delta"])
        aim = Aim(values["queries"], values["alpha"], values["beta"])
        return Demand(features=self.features, hypotheses=self.hypotheses, budget=budget, aim=aim)

    def request(self, **known: float) -> Request:
        """The `demand` on n = `records` records, which must be known as well."""
        return self.demand(**known).on(self.value("records"))

    def assuming(self) -> Question:
        """The same question with what `ASSUMED` says in the place of unknown numbers. n stays unknown."""
        assumed = {name: ASSUMED[name] for name in self.unknown if name in ASSUMED}
        return replace(self, solve=None, **assumed)  # type: ignore[arg-type]


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
    return next(name for name in _GRIDS if name in question.unknown and name != question.solve)


def frontier(question: Question) -> tuple[tuple[float, Solved | None], ...]:
    """Two unknowns: one runs through three round values, the other is solved for at each of them."""
    name = running(question)
    points: list[tuple[float, Solved | None]] = []
    last: Solved | None = None
    for value in _GRIDS[name]:
        at = int(value) if name in _WHOLE else value
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
    known = {name: getattr(request, name) for name in FLAGS}
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
