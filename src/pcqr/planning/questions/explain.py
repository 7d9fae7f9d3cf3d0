"""Every number of a certified plan, with its formula and where it is proved."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pcqr.guarantee import unamplified
from pcqr.mechanisms.relabelling import relabel_cost
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector, RenyiSparseVector
from pcqr.planning.paper import PaperFigures
from pcqr.planning.proved.certified import CertifiedVotes
from pcqr.planning.request import Demand
from pcqr.planning.search.budget import LARGEST_DELTA


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
            "ε_A",
            unamplified(demand.epsilon, rate) - cost,
            "ln(1 + (e^ε − 1)/q) − R, for the votes",
            "note ag_priv_cl",
        ),
        Line("δ_A", min(demand.delta / rate, LARGEST_DELTA), "min(δ/q, ¼)", "note ag_priv_cl"),
        Line("T", vector.unstable, "searched; P(Binomial(m, p) ≥ T) ≤ b", "note certificate, E6"),
    ]
    if isinstance(vector, OneSidedSparseVector):
        lines += [
            Line(
                "e₁",
                1.0 / vector.threshold_scale,
                "share of ε_A for the threshold, searched",
                "note sparse_vector",
            ),
            Line("e₂", 1.0 / vector.query_scale, "(ε_A − e₁)/(2T)", "note sparse_vector"),
            Line("w", vector.threshold, "smallest w with P(ρ < −w) ≤ δ_A", "note sparse_vector"),
        ]
    elif isinstance(vector, RenyiSparseVector):
        lines += [
            Line(
                "e₁",
                1.0 / vector.threshold_scale,
                "1/σ, σ of the discrete Gaussian threshold",
                "note sparse_vector",
            ),
            Line("e₂", 1.0 / vector.query_scale, "c, P(G ≥ t) = sech²(ct/2): the Rényi form", "note sparse_vector"),
            Line("w", vector.threshold, "smallest w with P(ρ < −w) ≤ δ_A − slack", "note sparse_vector"),
        ]
    lines += [
        Line("b", proved.failure, "share of β for each of seven events", "note certificate"),
        Line("D", proved.margin, "margin with which m queries are all answered but for b", "note sparse_vector"),
        Line(
            "φ",
            proved.dissent,
            "share of teachers that must dissent for a query to be unclear",
            "note certificate, E4",
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
            "unclear",
            proved.unclear,
            "p, the share of queries on which teachers may disagree",
            "note certificate, E4",
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
