"""Plans for confident answers: caps and proportions after the paper, noise from (ε, δ), teachers from a model.

Of m queries at most half get a label unless the user says otherwise (`most_labels`). The check has 3.75 times the
noise of a label and its threshold is four fifths of the teachers, as in the paper's experiment on MNIST (T, σ₁, σ₂ =
200, 150, 40 for 250 teachers); the noise is the smallest that (ε, δ) allows. The number of teachers is the one with
the smallest predicted loss

    ½·(share without a label) + (share with one)·(a + (1 − 2a)·v),    a = ½·(teachers' error θ),

v the share of labels in which noise overturned the majority, under the model of `pcqr.releases.noisy_max.planning`.
A query without a label counts as a coin. Only public numbers enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from pcqr.checks import check_integer, check_positive
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.planner import expectation as model
from pcqr.planner.request import Request
from pcqr.releases.confident.plan import ConfidentMax, ConfidentMaxPlan, ConfidentMaxStage, finest_grid
from pcqr.releases.confident.run import confident_max_guarantee
from pcqr.releases.noisy_max.planning import DOUBTS, FloatArray, averaged, largest_rate, teacher_counts
from pcqr.releases.protocol.plan import Prediction

THRESHOLD_SHARE = 0.8
"""T over the number of teachers."""
CHECK_RATIO = 3.75
"""σ₁ over σ₂."""
ANSWERED_SHARE = 0.5
"""Labels over queries."""
_LEAST_LEFT = 1e-3
"""Of ρ, for labels beside checks that were fixed. With less there is no plan."""


@dataclass(frozen=True)
class ConfidentPins:
    """What the user fixes of a `ConfidentMaxStage`. None means: choose for me."""

    most_labels: int | None = None
    threshold: int | None = None
    check_scale: float | None = None
    answer_scale: float | None = None
    teachers: int | None = None

    def __post_init__(self) -> None:
        for name in ("most_labels", "teachers"):
            if getattr(self, name) is not None:
                check_integer(name, getattr(self, name), least=1)
        if self.threshold is not None:
            check_integer("threshold", self.threshold, least=0)
        for name in ("check_scale", "answer_scale"):
            if getattr(self, name) is not None:
                check_positive(name, getattr(self, name))


NO_PINS = ConfidentPins()


def plan_confident_max(request: Request, start: object = None, pins: ConfidentPins = NO_PINS) -> ConfidentMaxPlan:  # noqa: ARG001 - as all planners
    """At most m = `request.queries` queries, with what `pins` leave open chosen from public numbers.

    Nothing is certified: with labels as they are, teachers need not agree. Public points do not help.
    """
    answered = max(1, math.ceil(ANSWERED_SHARE * request.queries)) if pins.most_labels is None else pins.most_labels
    if answered > request.queries:
        raise ParameterError("most_labels", f"at most the {request.queries:,} queries", answered)
    scales = _scales(request, answered, pins)
    stage, prediction = _best(request, answered, scales, pins)
    guarantee = confident_max_guarantee(stage, request.delta)
    if not guarantee.within(request.epsilon, request.delta):
        raise InfeasiblePlan(
            f"{request.queries:,} checks with σ₁ = {scales[0]:g} and {answered:,} labels with σ₂ = {scales[1]:g} cost "
            f"ε = {guarantee.epsilon:.4g} at δ = {guarantee.delta:g}; ε = {request.epsilon:g} was allowed.",
            "a larger ε, fewer queries or labels, or more noise",
        )
    return ConfidentMaxPlan(**request.promise(guarantee), vote=stage, prediction=prediction)


def _scales(request: Request, answered: int, pins: ConfidentPins) -> tuple[float, float]:
    """(σ₁, σ₂): as the user fixed them, else the smallest, to six digits, that (ε, δ) allow."""
    if pins.answer_scale is not None:
        check = CHECK_RATIO * pins.answer_scale if pins.check_scale is None else pins.check_scale
        return check, pins.answer_scale

    def made(rate: float) -> tuple[float, float]:
        return CHECK_RATIO / rate if pins.check_scale is None else pins.check_scale, 1.0 / rate

    def is_kept(rate: float) -> bool:
        try:
            stated = confident_max_guarantee(_stage(request, 1, answered, made(rate), threshold=0), request.delta)
        except (ParameterError, ZeroDivisionError):  # not to be drawn, or without a finite ε
            return False
        return stated.within(request.epsilon, request.delta)

    # ρ-zCDP is (ρ + 2√(ρ·ln(1/δ)), δ)-DP (Bun and Steinke 2016), and ρ = m/(2σ₁²) + answered/σ₂²: a good start.
    needed = -math.log(request.delta)
    rho = (request.epsilon / (math.sqrt(needed + request.epsilon) + math.sqrt(needed))) ** 2
    if pins.check_scale is None:
        start = math.sqrt(rho / (0.5 * request.queries / CHECK_RATIO**2 + answered))
    else:
        remaining = rho - 0.5 * request.queries / pins.check_scale**2
        start = math.sqrt(max(remaining, _LEAST_LEFT * rho) / answered)
    rate = largest_rate(is_kept, start)
    if rate is None:
        raise InfeasiblePlan(
            f"No noise that can be drawn keeps {request.queries:,} checks and {answered:,} labels within ε = "
            f"{request.epsilon:g}, δ = {request.delta:g}.",
            "a larger ε, fewer queries or labels, or a larger check_scale",
        )
    return made(rate)


def _best(
    request: Request, answered: int, scales: tuple[float, float], pins: ConfidentPins
) -> tuple[ConfidentMaxStage, Prediction]:
    """The number of teachers with the smallest predicted loss, and what is expected with it."""
    teachers = teacher_counts(request, pins.teachers)
    error = model.agnostic(request.hypotheses, np.floor(request.records / teachers)).error
    threshold = (
        np.ceil(THRESHOLD_SHARE * teachers) if pins.threshold is None else np.full_like(teachers, pins.threshold)
    )
    loss = np.zeros_like(error)
    for doubt, weight in DOUBTS:
        dissent = np.minimum(0.5, doubt * error)
        loss += weight * _excess(request, answered, scales, threshold, teachers, error, dissent)[0]
    best = int(np.argmin(loss))
    expected, labelled, passed = _excess(request, answered, scales, threshold, teachers, error, error)
    stage = _stage(request, int(teachers[best]), answered, scales, int(threshold[best]))
    prediction = Prediction(
        unanswered_share=1.0 - float(labelled[best]),
        excess_error=float(expected[best]),
        unstable_share=1.0 - float(passed[best]),
    )
    return stage, prediction


def _excess(
    request: Request,
    answered: int,
    scales: tuple[float, float],
    threshold: FloatArray,
    teachers: FloatArray,
    error: FloatArray,
    dissent: FloatArray,
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(the loss, the share of queries that get a label, the share that pass the check while it goes on).

    θ = `error` in a, θ = `dissent` in the votes. A majority that leads a tie by ℓ votes has k/2 + ℓ of them.
    """
    check, answer = scales

    def passes(lead: FloatArray) -> FloatArray:
        chance: FloatArray = ndtr((0.5 * teachers + lead - threshold) / check)
        return chance

    def passes_wrongly(lead: FloatArray) -> FloatArray:
        chance: FloatArray = passes(lead) * ndtr(-math.sqrt(2.0) * lead / answer)
        return chance

    passed, wrong = averaged(passes, teachers, dissent), averaged(passes_wrongly, teachers, dissent)
    labelled = np.minimum(passed, answered / request.queries)
    overturned = wrong / np.maximum(passed, np.finfo(np.float64).tiny)
    excess: FloatArray = 0.5 * (1.0 - labelled) + labelled * (0.5 * error + (1.0 - error) * overturned)
    return excess, labelled, passed


def _stage(
    request: Request, teachers: int, answered: int, scales: tuple[float, float], threshold: int
) -> ConfidentMaxStage:
    noise = ConfidentMax(threshold, *scales, grid=finest_grid(*scales))
    return ConfidentMaxStage(request.records, teachers, request.queries, answered, noise, request.hypotheses.labels)
