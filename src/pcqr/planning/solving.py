"""What is possible? Any of n, ε, α and m may be left open; the proved bound decides, and says what would help.

All figures are proved ones (`pcqr.planning.certified`): AgPrivCl with (α, β) certified. What is expected of each
algorithm is another question, which `pcqr.planning.options` answers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, get_args

from pcqr.errors import ParameterError
from pcqr.hypotheses.base import Combinatorics
from pcqr.planning.certified import CertifiedVotes, at_hand, fewest_records
from pcqr.planning.deviations import sampling_slack
from pcqr.planning.request import Request
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
DEFAULT_DELTA, DEFAULT_BETA, DEFAULT_ALPHA = 1e-6, 0.05, 0.1
_GRIDS: dict[Unknown, tuple[float, ...]] = {
    "queries": (100, 1_000, 10_000),
    "epsilon": (0.3, 1.0, 3.0),
    "alpha": (0.05, 0.1, 0.2),
}
_MOST_QUERIES = 10**6
_ROUNDS = 5
_CLOSE = 1.03


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
        if len(self.unknown) > 2:
            missing = ", ".join(FLAGS[name] for name in self.unknown)
            raise ParameterError(
                "question",
                f"such that at most two of n, ε, α and m are open (missing: {missing}; add at least "
                f"{len(self.unknown) - 2} of them)",
                f"{len(self.unknown)} open",
            )
        if self.alpha is not None and not 0 < self.alpha < 0.5:
            raise ParameterError("alpha", "in (0, ½): a coin has an excess error of at most ½", self.alpha)

    @property
    def unknown(self) -> tuple[Unknown, ...]:
        names: tuple[Unknown, ...] = ("records", "alpha", "queries", "epsilon")
        asked = tuple(name for name in names if getattr(self, name) is None)
        return asked if self.solve is None or self.solve in asked else (*asked, self.solve)

    def request(self, **known: float) -> Request:
        """The request with placeholders for what is unknown and not in `known`."""
        values: dict[str, float | None] = {
            "records": self.records or 1,
            "epsilon": self.epsilon or 1.0,
            "delta": self.delta or DEFAULT_DELTA,
            "queries": self.queries or 1,
            "alpha": self.alpha or DEFAULT_ALPHA,
            "beta": self.beta or DEFAULT_BETA,
        }
        values |= known
        return Request(features=self.features, hypotheses=self.hypotheses, public=None, **values)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Solved:
    """A complete request for which (α, β) is proved, and the plan that proves it."""

    request: Request
    votes: CertifiedVotes


def solve(question: Question, start: Knobs | None = None) -> Solved | None:
    """The unknown at its best: fewest records, smallest α, most queries, smallest ε, δ or β. None: it has no value.

    With nothing unknown: the fewest records for what was asked, whether or not there are as many. With two unknowns use
    `frontier`. `start` is where to begin the search, for instance the knobs of a similar solution.
    """
    unknown = question.unknown
    if len(unknown) > 1:
        raise ParameterError("question", "one with at most one unknown", f"open: {', '.join(unknown)}")
    name = unknown[0] if unknown else "records"
    return _SOLVERS[name](question, start)


def frontier(question: Question) -> tuple[tuple[float, Solved | None], ...]:
    """Two unknowns: one runs through a few round values, the other is solved for at each of them."""
    first, second = question.unknown
    running: Unknown = next(name for name in ("queries", "epsilon", "alpha") if name in (first, second))
    if {first, second} == {"queries", "epsilon"}:
        running = "queries"
    points: list[tuple[float, Solved | None]] = []
    knobs: Knobs | None = None
    for value in _GRIDS[running]:
        at = int(value) if running == "queries" else value
        solved = solve(replace(question, **{running: at}), knobs)  # type: ignore[arg-type]
        knobs = knobs if solved is None else solved.votes.knobs
        points.append((value, solved))
    return tuple(points)


def nearest_changes(request: Request, fewest: CertifiedVotes | None) -> dict[Unknown, float]:
    """What would make (α, β) provable when n = `request.records` is too small: each alone, the rest as it is."""
    changes: dict[Unknown, float] = {}
    if fewest is not None:
        changes["records"] = fewest.plan.records
    known = {name: getattr(request, name) for name in ("records", "epsilon", "delta", "queries", "alpha", "beta")}
    for name in ("alpha", "epsilon", "queries"):
        question = Question(hypotheses=request.hypotheses, features=request.features, **(known | {name: None}))
        found = solve(question, None if fewest is None else fewest.knobs)
        if found is not None and _is_weaker(name, getattr(found.request, name), getattr(request, name)):
            changes[name] = getattr(found.request, name)
    return changes


def _is_weaker(name: str, found: float, asked: float) -> bool:
    return found < asked if name == "queries" else found > asked


def _records(question: Question, start: Knobs | None) -> Solved | None:
    request = question.request()
    found = (start and fewest_records(request, start)) or fewest_records(request)
    return None if found is None else Solved(replace(request, records=found.plan.records), found)


def _alpha(question: Question, start: Knobs | None) -> Solved | None:
    solved = _hardest(question, start, "alpha", lambda u: 1.0 / u, starts=(2.5,), limit=1000.0)
    votes = None if solved is None else at_hand(solved.request, solved.votes.knobs)
    if solved is None or votes is None or votes.certificate.excess > solved.request.alpha:
        return solved
    # n records are more than the fewest, so a little more than α is proved.
    return Solved(replace(solved.request, alpha=votes.certificate.excess), votes)


def _queries(question: Question, start: Knobs | None) -> Solved | None:
    """The most queries: from those for which the sampling of labels costs a third of α, upwards while n allows it."""
    alpha, beta = question.request().alpha, question.request().beta
    few = 1
    while sampling_slack(few, beta) > alpha / 3.0 and few < _MOST_QUERIES:
        few *= 2
    return _hardest(question, start, "queries", math.floor, starts=(few, 4 * few), limit=_MOST_QUERIES)


def _epsilon(question: Question, start: Knobs | None) -> Solved | None:
    return _hardest(question, start, "epsilon", lambda u: 1.0 / u, starts=(1.0, 0.05), limit=1e4)


def _delta(question: Question, start: Knobs | None) -> Solved | None:
    return _hardest(question, start, "delta", lambda u: math.exp(-u), starts=(7.0,), limit=70.0)


def _beta(question: Question, start: Knobs | None) -> Solved | None:
    return _hardest(question, start, "beta", lambda u: math.exp(-u), starts=(1.6,), limit=30.0)


def _hardest(
    question: Question,
    knobs: Knobs | None,
    name: Unknown,
    value: Callable[[float], float],
    starts: tuple[float, ...],
    limit: float,
) -> Solved | None:
    """The hardest value of the unknown at which n records are still enough, to within three per cent of u.

    `value` turns a demand u into a value; the records needed grow with u, nearly as a power of it, so that secants
    between logarithms find the crossing in a few rounds. Every value that is returned was itself certified.
    """
    records = question.request().records

    def needed(demand: float) -> tuple[float, Solved | None]:
        nonlocal knobs
        request = question.request(**{name: value(demand)})
        found = None if knobs is None else fewest_records(request, knobs)
        found = found or fewest_records(request)
        if found is None:
            return math.inf, None
        knobs = found.knobs
        enough = found.plan.records <= records
        return found.plan.records, Solved(replace(request, records=records), found) if enough else None

    for easy in starts:
        at_easy, best = needed(easy)
        if best is not None:
            break
    else:
        return None
    hard, at_hard = limit, math.inf
    for turn in range(_ROUNDS):
        if turn == 0:
            demand = min(easy * 1.3 * records / at_easy, math.sqrt(easy * limit))
        else:
            demand = _crossing(easy, at_easy, hard, at_hard, records)
        at_demand, found = needed(demand)
        if found is None:
            hard, at_hard = demand, at_demand
        else:
            easy, at_easy, best = demand, at_demand, found
        if hard < _CLOSE * easy:
            break
    return best


def _crossing(easy: float, at_easy: float, hard: float, at_hard: float, records: int) -> float:
    """Where ln(needed) as a function of ln u crosses ln(records), by the secant; kept inside and off the ends."""
    middle = math.sqrt(easy * hard)
    if not math.isfinite(at_hard):
        return middle
    slope = max(0.05, math.log(at_hard / at_easy) / math.log(hard / easy))
    demand = easy * math.exp(math.log(records / at_easy) / slope)
    edge = math.pow(hard / easy, 0.04)
    return float(min(max(demand, easy * edge), hard / edge))


_SOLVERS: dict[Unknown, Callable[[Question, Knobs | None], Solved | None]] = {
    "records": _records,
    "alpha": _alpha,
    "queries": _queries,
    "epsilon": _epsilon,
    "delta": _delta,
    "beta": _beta,
}
