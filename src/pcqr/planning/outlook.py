"""The whole answer to a planner's question: both modes side by side, the algorithms compared, what would help."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pcqr.planning import paper
from pcqr.planning.certified import MOST_RECORDS, CertifiedVotes, fewest_records
from pcqr.planning.deviations import sampling_slack
from pcqr.planning.options import Option, Recommendation, compare, recommend
from pcqr.planning.paper import PaperFigures
from pcqr.planning.request import Request
from pcqr.planning.solving import Question, Solved, Unknown, frontier, nearest_changes, solve


@dataclass(frozen=True)
class Outlook:
    """What is possible.

    `request` is complete: given, solved for, or defaults (α = .1, m = 300, n as solved) where nothing could be proved.
    `fewest` is the calibrated plan with the fewest records for (α, β, m) that is proved, `figures` the paper's.
    `is_proved`: n records are enough. `points` is the frontier of a question with two unknowns.
    """

    question: Question
    request: Request
    solved: Solved | None
    fewest: CertifiedVotes | None
    figures: PaperFigures
    options: tuple[Option, ...]
    recommendation: Recommendation
    points: tuple[tuple[float, Solved | None], ...]
    changes: dict[Unknown, float]
    notes: tuple[str, ...]

    @property
    def is_proved(self) -> bool:
        return self.fewest is not None and self.fewest.plan.records <= self.request.records


DEFAULT_QUERIES = 300


def look(question: Question) -> Outlook:
    """Answer `question` from public numbers. With two unknowns the frontier comes first, then a plan at defaults."""
    unknown = question.unknown
    points = frontier(question) if len(unknown) == 2 else ()
    if len(unknown) == 2:
        question = _with_defaults(question)
    solved = solve(question)
    request = question.request() if solved is None or not question.unknown else solved.request
    if question.unknown in ((), ("records",)):
        fewest = None if solved is None else solved.votes
    else:
        fewest = fewest_records(request, None if solved is None else solved.votes.knobs)
    request = replace(request, public=question.public)
    has_records = question.records is not None or solved is not None
    options = compare(request) if has_records else ()
    figures = paper.figures(
        request.hypotheses.vc_bound(request.features),
        request.queries,
        request.epsilon,
        request.delta,
        request.alpha,
        request.beta,
    )
    is_short = question.records is not None and (fewest is None or fewest.plan.records > request.records)
    return Outlook(
        question=question,
        request=request,
        solved=solved,
        fewest=fewest,
        figures=figures,
        options=options,
        recommendation=recommend(options, request.alpha),
        points=points,
        changes=nearest_changes(request, fewest) if is_short else {},
        notes=_notes(question, request, solved, fewest),
    )


def _with_defaults(question: Question) -> Question:
    """One unknown less: m = 300 where m is open, else α = .1, else ε = 1."""
    if question.queries is None:
        return replace(question, queries=DEFAULT_QUERIES)
    if question.alpha is None:
        return replace(question, alpha=0.1)
    return replace(question, epsilon=1.0)


def _notes(
    question: Question, request: Request, solved: Solved | None, fewest: CertifiedVotes | None
) -> tuple[str, ...]:
    notes = []
    if request.records > 1 and request.delta >= 1.0 / request.records:
        notes.append(
            f"δ = {request.delta:g} is not below 1/n = {1.0 / request.records:.2g}. By convention it should be far "
            "below: a mechanism that publishes a random record outright is (0, 1/n)-private."
        )
    if request.epsilon >= 1.0 or request.delta > paper.LARGEST_DELTA:
        notes.append(
            "The paper's theorem is for ε < 1 (and, corrected, δ ≤ 0.036); its formulas are shown as they stand."
        )
    if fewest is None and solved is None:
        notes.append(_why_not(request))
    if question.public is not None:
        notes.append(
            "Proofs for the votes do not use public points; with them AgPrivCl draws from a cover, which is cheaper, "
            "and its accuracy is expected rather than proved."
        )
    return tuple(notes)


def _why_not(request: Request) -> str:
    """Why no number of records is known to be enough, and the nearest change."""
    least = sampling_slack(request.queries, request.beta)
    if least >= request.alpha:
        enough = math.ceil(request.queries * (least / request.alpha) ** 2 * 1.5)
        return (
            f"Nothing can be proved for m = {request.queries:,} and α = {request.alpha:g}: the labels of so few "
            f"queries alone deviate by {least:.3g}. Nearest feasible change: m ≥ {enough:,} queries, or "
            f"α > {1.1 * least:.2g}."
        )
    return (
        f"More than {MOST_RECORDS:.0e} records would be needed at ε = {request.epsilon:g}. Nearest feasible change: a "
        "larger ε or α, or fewer queries."
    )
