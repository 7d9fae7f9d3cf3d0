"""The whole answer to a planner's question: both modes side by side, the algorithms compared, what would help."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from pcqr.advice.question import ASSUMED, SYMBOLS, Option, Question, Recommendation, Unknown, compare, recommend
from pcqr.advice.solving import Solved, enough_queries, frontier, nearest_changes, running, solve
from pcqr.mechanisms.relabelling import relabel_cost
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, RenyiSparseVector
from pcqr.planner import paper
from pcqr.planner.certificate import sampling_slack
from pcqr.planner.certified import MOST_RECORDS, CertifiedVotes, fewest_records
from pcqr.planner.paper import PaperFigures
from pcqr.planner.request import Demand, Request
from pcqr.planner.search import LARGEST_DELTA
from pcqr.privacy.guarantee import unamplified


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


# ---------------------------------------------------------------------------------------------------------------------
# Every number of a certified plan, with its formula and where it is proved.


@dataclass(frozen=True)
class Line:
    """One number: its symbol, its value, how it is derived and in which note that is proved."""

    symbol: str
    value: float
    formula: str
    proof: str


def explain_paper(figures: PaperFigures) -> tuple[Line, ...]:
    """The paper's explicit formulas. Its constants 8000 and 50 are not checked (docs/paper-corrections.md)."""
    paper, corrected = "the paper, Algorithm AgPrivCl", "the paper, corrected"
    return (
        Line("n", figures.n, "56·n'/ε", paper),
        Line(
            "n'",
            figures.subsample,
            "8000·(d·ln(1/α) + ln(m/β))·ln^{3/2}(2/δ)·ln(mα/min(δ, β/2))/α²·max(1, √m·α^{3/2})",
            corrected + ", C12",
        ),
        Line("T", figures.T, "⌈max(1, mα/8 + ¼·√(3mα·ln(m/β)))⌉", corrected + ", C2"),
        Line("ε'", figures.inner_epsilon, "α·max(1, √(mα))", paper),
        Line("ε̂", figures.hat_epsilon, "min(1, ε')/ln(2/δ)", paper),
        Line("δ̂", figures.hat_delta, "δ/(2·e^{min(1, ε')}·ln(2/δ))", paper),
        Line("λ", figures.scale, "√(32·T·ln(2/δ̂))/ε̂", "note sparse_vector"),
        Line("w", figures.threshold, "⌈2λ·ln(2m/δ̂)⌉", "note sparse_vector"),
        Line("k", figures.k, "34√2·λ·ln(4mT/min(δ̂, β/2)), made odd", corrected + ", C15"),
        Line("m_o", figures.public_points, "32·(d·ln(1/α) + ln(1/β))/α", "the paper, Algorithm UnvPrivCl"),
    )


def explain_calibrated(demand: Demand, votes: CertifiedVotes) -> tuple[Line, ...]:
    """The calibrated plan from (ε, δ) to n, then the terms of its certificate."""
    plan, proved, vector = votes.plan, votes.certificate, votes.plan.sparse_vector
    rate, eta = plan.sampling_rate, plan.inverse_temperature or 0.0
    cost = relabel_cost(eta, fixed=demand.hypotheses.is_fixed)
    price = "2η: the class is fixed" if demand.hypotheses.is_fixed else "2·ln(1 + e^η)"
    lines = [
        Line("q", rate, "n'/n, searched; amplification: ε = ln(1 + q(e^{R+ε_A} − 1)), δ = q·δ_A", "note subsample"),
        Line("η", eta, "searched; ĥ is drawn with weight e^{−η·mistakes}", "note relabel"),
        Line("R", cost, f"{price}, the price of relabelling", "note relabel"),
        Line(
            "ε_A", unamplified(demand.epsilon, rate) - cost, "ln(1 + (e^ε − 1)/q) − R, for the votes", "note ag_priv_cl"
        ),
        Line("δ_A", min(demand.delta / rate, LARGEST_DELTA), "min(δ/q, ¼)", "note ag_priv_cl"),
        Line("T", vector.unstable, "searched; P(Binomial(m, p) ≥ T) ≤ b", "note certificate, E6"),
    ]
    if isinstance(vector, OneSidedSparseVector):
        lines += [
            Line("e₁", 1.0 / vector.threshold_scale, "share of ε_A for the threshold, searched", "note sparse_vector"),
            Line("e₂", 1.0 / vector.query_scale, "(ε_A − e₁)/(2T)", "note sparse_vector"),
            Line("w", vector.threshold, "smallest w with P(ρ < −w) ≤ δ_A", "note sparse_vector"),
        ]
    elif isinstance(vector, RenyiSparseVector):
        lines += [
            Line("e₁", 1.0 / vector.threshold_scale, "1/σ, σ of the discrete Gaussian threshold", "note sparse_vector"),
            Line("e₂", 1.0 / vector.query_scale, "c, P(G ≥ t) = sech²(ct/2): the Rényi form", "note sparse_vector"),
            Line("w", vector.threshold, "smallest w with P(ρ < −w) ≤ δ_A − slack", "note sparse_vector"),
        ]
    lines += [
        Line("b", proved.failure, "share of β for each of seven events", "note certificate"),
        Line("D", proved.margin, "margin with which m queries are all answered but for b", "note sparse_vector"),
        Line(
            "φ", proved.dissent, "share of teachers that must dissent for a query to be unclear", "note certificate, E4"
        ),
        Line("k", plan.teachers, "smallest odd k with (k − 1)/2 − D ≥ kφ − 1", "note certificate, E5"),
        Line("N", plan.teacher_records, "⌊n'/k⌋ records a teacher", "note certificate, E4"),
        Line("n'", plan.subsample, "⌊q·n⌋", "note subsample"),
        Line("n", plan.records, "the fewest for which the next four lines add up to at most α", "note certificate"),
        Line("selection", proved.selection, "(ln Π(n') + ln(1/b) + λ)/(ηn')", "note certificate, E3"),
        Line(
            "generalisation",
            proved.generalisation,
            "ĥ's lead on n' records against its lead on the population",
            "note certificate, E2",
        ),
        Line(
            "unclear", proved.unclear, "p, the share of queries on which teachers may disagree", "note certificate, E4"
        ),
        Line(
            "sampling",
            proved.sampling,
            "m sampled labels against their mean, exact binomial tail",
            "note certificate, E7",
        ),
        Line(
            "α",
            math.fsum((proved.selection, proved.generalisation, proved.unclear, proved.sampling)),
            "their sum, proved but for β",
            "note certificate",
        ),
    ]
    return tuple(lines)
