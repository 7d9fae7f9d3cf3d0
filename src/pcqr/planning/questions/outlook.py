"""The whole answer to a planner's question: both modes side by side, the algorithms compared, what would help."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pcqr.planning import paper
from pcqr.planning.paper import PaperFigures
from pcqr.planning.proved.certified import MOST_RECORDS, CertifiedVotes, fewest_records
from pcqr.planning.proved.deviations import sampling_slack
from pcqr.planning.questions.options import Option, Recommendation, compare, recommend
from pcqr.planning.questions.question import ASSUMED, SYMBOLS, Question, Unknown
from pcqr.planning.questions.solving import Solved, enough_queries, frontier, nearest_changes, running, solve
from pcqr.planning.request import Demand, Request


@dataclass(frozen=True)
class Outlook:
    """What is possible.

    `request` is complete: given, solved for, or assumed (`ASSUMED`, said in a note) where nothing could be proved. It
    is a `Request` unless n was asked for and no n was found: nothing is assumed of n.
    `fewest` is the calibrated plan with the fewest records for (α, β, m) that is proved, `figures` the paper's.
    `is_proved`: n records are enough. With two unknowns `points` is the frontier, over values of the one that `runs`.
    """

    question: Question
    request: Demand
    solved: Solved | None
    fewest: CertifiedVotes | None
    figures: PaperFigures
    options: tuple[Option, ...]
    recommendation: Recommendation
    runs: Unknown | None
    points: tuple[tuple[float, Solved | None], ...]
    changes: dict[Unknown, float]
    notes: tuple[str, ...]

    @property
    def records(self) -> int | None:
        """n, given or solved for. None: n was asked for, and none was found."""
        return self.request.records if isinstance(self.request, Request) else None

    @property
    def is_proved(self) -> bool:
        return _is_enough(self.records, self.fewest)


@np.errstate(all="ignore")
def look(question: Question) -> Outlook:
    """Answer `question` from public numbers. With two unknowns the frontier comes first, then a plan at one point."""
    runs: Unknown | None = None
    points: tuple[tuple[float, Solved | None], ...] = ()
    if len(question.unknown) > 1:
        runs, points = running(question), frontier(question)
        at, solved = _shown(points)
        question = replace(question, **{runs: at})  # type: ignore[arg-type]
    else:
        solved = solve(question)
    request = _complete(question, solved)
    fewest = None if solved is None else solved.votes
    if solved is None and question.unknown not in ((), ("records",)):
        fewest = fewest_records(request)  # at what is assumed instead of the unknown
    request = request.but(public=question.public)
    options: tuple[Option, ...] = ()
    if isinstance(request, Request):
        options = compare(request, None if fewest is None else fewest.knobs)
    figures = paper.figures(
        request.hypotheses.vc_bound(request.features),
        request.queries,
        request.epsilon,
        request.delta,
        request.alpha,
        request.beta,
    )
    return Outlook(
        question=question,
        request=request,
        solved=solved,
        fewest=fewest,
        figures=figures,
        options=options,
        recommendation=recommend(options, request.alpha),
        runs=runs,
        points=points,
        changes=_changes(request, fewest),
        notes=_notes(question, request, solved, fewest),
    )


def _complete(question: Question, solved: Solved | None) -> Demand:
    """What is known in the end: with n wherever there is one."""
    if question.unknown and solved is not None:
        return solved.request
    known = question.assuming()
    return known.demand() if known.records is None else known.request()


def _is_enough(records: int | None, fewest: CertifiedVotes | None) -> bool:
    return records is not None and fewest is not None and fewest.plan.records <= records


def _shown(points: tuple[tuple[float, Solved | None], ...]) -> tuple[float, Solved | None]:
    """The point of the frontier to plan for: the one in the middle, or another if nothing is proved there."""
    middle = points[len(points) // 2]
    return next((point for point in (middle, *points) if point[1] is not None), middle)


def _changes(request: Demand, fewest: CertifiedVotes | None) -> dict[Unknown, float]:
    """What would help where there are too few records, or where no number of them is known to be enough."""
    if not isinstance(request, Request):
        return nearest_changes(request.on(MOST_RECORDS), None)
    return {} if _is_enough(request.records, fewest) else nearest_changes(request, fewest)


def _notes(
    question: Question, request: Demand, solved: Solved | None, fewest: CertifiedVotes | None
) -> tuple[str, ...]:
    notes = []
    if isinstance(request, Request) and request.records > 1 and request.delta >= 1.0 / request.records:
        notes.append(
            f"δ = {request.delta:.3g} is not below 1/n = {1.0 / request.records:.2g}. By convention it should be far "
            "below: a mechanism that publishes a random record outright is (0, 1/n)-private. Give a smaller --delta."
        )
    if request.epsilon >= 1.0 or request.delta > paper.LARGEST_DELTA:
        notes.append(
            "The paper's theorem is for ε < 1 (and, corrected, δ ≤ 0.036); its formulas are shown as they stand."
        )
    if fewest is None:
        notes.append(_why_not(request))
    if solved is None and question.unknown not in ((), ("records",)):
        (name,) = question.unknown
        notes.append(f"No {SYMBOLS[name]} was found; the rest assumes {SYMBOLS[name]} = {ASSUMED[name]:,}.")
    if question.public is not None:
        notes.append(
            "Proofs for the votes do not use public points; with them AgPrivCl draws from a cover, which is cheaper, "
            "and its accuracy is expected rather than proved."
        )
    return tuple(notes)


def _why_not(request: Demand) -> str:
    """Why no number of records is known to be enough."""
    least = sampling_slack(request.queries, request.beta)
    if least >= request.alpha:
        wider = enough_queries(request.but(public=None).on(MOST_RECORDS))
        would_do = (
            ""
            if wider is None
            else f" m = {wider.request.queries:,} queries would do, with n = {wider.votes.plan.records:,} records."
        )
        return (
            f"Nothing can be proved for m = {request.queries:,} and α = {request.alpha:.4g}, however many records "
            f"there are: the labels of so few queries alone may deviate by {least:.2g} from their mean.{would_do}"
        )
    support = None if request.hypotheses.is_fixed else request.hypotheses.largest_support
    if support is not None:
        return (
            f"{type(request.hypotheses).__name__} can be drawn on {support:,} records at most, and a sub-sample of "
            "that size is too small for a proof."
        )
    return f"More than {MOST_RECORDS:.0e} records would be needed, and the search ends there."
