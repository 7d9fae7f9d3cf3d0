"""Calibrated plans: the parameters with the smallest predicted loss among all that meet (ε, δ).

The search runs over the sampling rate q, the relabelling's η, the number T of unstable answers and the number k of
teachers. Privacy fixes the rest: R = 2·ln(1+e^η) (2η over a fixed class), ε_A = ln(1 + (e^ε − 1)/q) − R, δ_A = δ/q, and
the sparse vector has the smallest margin of its form at (ε_A, δ_A, T). The loss is the expected excess error of
`pcqr.planning.expectation`, averaged over the model being right and being too optimistic: first on a grid by rough
closed forms, then near the best point as it is. Only public numbers enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.plan import PublishPlan, VotePlan
from pcqr.planning import model, search
from pcqr.planning.budget import RESERVE, sparse_vectors, votes_budget
from pcqr.planning.expectation import expected_run
from pcqr.planning.request import Request
from pcqr.planning.search import Knobs

FloatArray = NDArray[np.float64]

PUBLISH_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5)
_RATES = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3, 0.2, 0.14, 0.1, 0.06, 0.03, 0.01)
_THRESHOLD_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.55)
_MARGIN_SHARES = (0.1, 0.2, 0.3, 0.45, 0.6, 0.75)
_MOST_RECORDS = 10**12
_FEWEST_RECORDS = (4, 1)
"""A teacher gets at least so many records: with fewer the model says little, so that is the last resort."""
_FAILURE = 0.05
"""Of each form the sparse vector is the one that answers m queries with the smallest margin but for this chance."""


@dataclass(frozen=True)
class Candidate:
    """A vote plan with the loss that the model predicts for it."""

    plan: VotePlan
    loss: float


@dataclass(frozen=True)
class _Rough:
    """A point of the grid: knobs, and their loss by closed forms."""

    rate: float
    eta: float | None
    unstable: int
    teachers: int
    loss: float


def plan_votes(request: Request, epsilon: float, delta: float, *, relabel: bool, queries: int) -> Candidate:
    """The best vote plan for `queries` queries that is (`epsilon`, `delta`)-DP with `request.records` records."""
    part = replace(request, epsilon=epsilon, delta=delta, queries=queries)
    for fewest in _FEWEST_RECORDS:
        rough = min(_grid(part, fewest, relabel=relabel), key=lambda point: point.loss, default=None)
        best = None if rough is None else _refined(part, rough, fewest)
        if best is not None:
            break
    else:
        raise InfeasiblePlan(
            f"With n_samples = {request.records} no vote of teachers can ever be stable at ε = {epsilon:g}, "
            f"δ = {delta:g}.",
            _nearest_change(part, relabel=relabel),
        )
    return best


def plan_universal(request: Request) -> tuple[Candidate, PublishPlan]:
    """Split ε between the votes and the published classifier so that the sum of predicted losses is smallest."""
    after = public_points(request)
    shares = (request.publish_share,) if request.publish_share else PUBLISH_SHARES
    feasible: list[tuple[float, Candidate, PublishPlan]] = []
    for share in shares:
        option = _evaluate(request, share, after)
        if not isinstance(option, InfeasiblePlan):
            feasible.append(option)
        elif feasible:
            break  # a larger share leaves the votes even less
        else:
            raise option
    _, votes, publish = min(feasible, key=lambda option: option[0])
    return votes, publish


def split(request: Request, share: float, after: int) -> tuple[Request, PublishPlan]:
    """The votes' part of a universal release, ε·(1 − `share`), β/2 and m_o = `after` queries, and its publication."""
    publish = PublishPlan(publish_temperature(request, request.epsilon * share, after + (request.public or 0)), after)
    epsilon = request.epsilon * (1.0 - share) * (1.0 - RESERVE)
    return replace(request, epsilon=epsilon, beta=request.beta / 2.0, queries=after), publish


def _evaluate(request: Request, share: float, after: int) -> tuple[float, Candidate, PublishPlan] | InfeasiblePlan:
    part, publish = split(request, share, after)
    try:
        votes = plan_votes(part, part.epsilon, part.delta, relabel=True, queries=after)
    except InfeasiblePlan as error:
        return error
    growth = request.hypotheses.log_growth(after, request.features)
    return votes.loss + model.relabel_excess(growth, publish.inverse_temperature, request.records), votes, publish


def publish_temperature(request: Request, epsilon: float, public: int | None) -> float:
    """The η of a publication that spends `epsilon` on a class of `public` public points."""
    return inverse_temperature_for(
        request.hypotheses, epsilon, records=request.records, features=request.features, public=public
    )


def public_points(request: Request) -> int:
    """m_o, the votes before publication: 4(d·ln(1/α) + ln(1/β))/α, an ε-net's size, or all planned queries if fewer."""
    d = request.hypotheses.vc_bound(request.features)
    net = 4.0 * (d * math.log(1.0 / request.alpha) + math.log(1.0 / request.beta)) / request.alpha
    support = request.hypotheses.largest_support
    room = math.inf if support is None or request.hypotheses.is_fixed else support - (request.public or 0)
    if room < 1:
        raise ParameterError("public", f"fewer than {support:,} points for {request.hypotheses}", request.public)
    return int(min(request.queries, math.ceil(net), room))


def _grid(request: Request, fewest: int, *, relabel: bool) -> list[_Rough]:
    """The best point for each sampling rate and each η at which a vote can be stable at all."""
    temperatures: tuple[float | None, ...] = _temperatures(request) if relabel else (None,)
    found = (_best_at(request, fewest, rate, eta) for rate in _rates(request, relabel=relabel) for eta in temperatures)
    return [point for point in found if point is not None]


def _temperatures(request: Request) -> tuple[float, ...]:
    if request.inverse_temperature is not None:
        return (request.inverse_temperature,)
    return tuple(float(eta) for eta in np.geomspace(0.005, max(4.0, request.epsilon / 4.0), 11))


def _rates(request: Request, *, relabel: bool) -> tuple[float, ...]:
    """The sampling rates to try; no sub-sample may be larger than what the relabelling's class can be drawn on."""
    if not relabel:
        return (request.sampling_rate or 1.0,)
    support = None if request.hypotheses.is_fixed or request.public else request.hypotheses.largest_support
    largest = 1.0 if support is None else min(1.0, support / request.records)
    if request.sampling_rate is None:
        return (largest, *(rate for rate in _RATES if rate < largest))
    if request.sampling_rate > largest:
        raise ParameterError("sampling_rate", f"at most {largest:.3g} for {request.hypotheses}", request.sampling_rate)
    return (request.sampling_rate,)


def _unstable_budgets(request: Request) -> FloatArray:
    if request.unstable is not None:
        return np.array([request.unstable], dtype=np.float64)
    grid = np.unique(np.round(np.geomspace(1, max(2, min(request.queries, 5000)), 24)))
    return grid.astype(np.float64)


def _best_at(request: Request, fewest: int, rate: float, eta: float | None) -> _Rough | None:
    """The best (T, k) at one sampling rate and one η by closed forms, or None where nothing is possible."""
    subsample = math.floor(rate * request.records)
    budget = votes_budget(request, request.epsilon, request.delta, request.records, subsample, eta)
    if budget is None:
        return None
    unstable, share, part = np.meshgrid(_unstable_budgets(request), _THRESHOLD_SHARES, _MARGIN_SHARES, indexing="ij")
    forms = (_pure_form(*budget, unstable, share), _concentrated_form(*budget, unstable, share))
    losses = [_rough_loss(request, subsample // fewest, subsample, eta, unstable, part, *form) for form in forms]
    loss, teachers = min(losses, key=lambda pair: float(pair[0].min()))
    i = np.unravel_index(int(np.argmin(loss)), loss.shape)
    if not math.isfinite(loss[i]):
        return None
    return _Rough(rate, eta, int(unstable[i]), int(teachers[i]), float(loss[i]))


def _pure_form(
    epsilon: float, delta: float, unstable: FloatArray, share: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(w, 90 % quantile of ρ, scale of ν) of the one-sided form with e₁ = `share`·ε_A."""
    threshold_rate = epsilon * share
    threshold = np.maximum(0.0, -np.log(delta * (1.0 + np.exp(-threshold_rate))) / threshold_rate)
    return threshold, np.log(5.0) / threshold_rate, 2.0 * unstable / (epsilon * (1.0 - share))


def _concentrated_form(
    epsilon: float, delta: float, unstable: FloatArray, share: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The same of the Rényi form, whose divergences are nearly those of zCDP: α/(2σ²) + T·2αc²."""
    log_delta = -math.log(delta)
    concentrated = (math.sqrt(log_delta + epsilon) - math.sqrt(log_delta)) ** 2
    sigma = np.sqrt(0.5 / (share * concentrated))
    rate = np.sqrt((1.0 - share) * concentrated / (2.0 * unstable))
    return sigma * math.sqrt(2.0 * log_delta), 1.3 * sigma, 1.0 / rate


def _rough_loss(
    request: Request,
    most: int,
    subsample: int,
    eta: float | None,
    unstable: FloatArray,
    part: FloatArray,
    threshold: FloatArray,
    reach: FloatArray,
    scale: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """(loss, k): a query that is answered with a good chance has a margin of `part` times that of a unanimous one."""
    hurdle = threshold + reach
    margin = hurdle + scale
    teachers = _odd(2.0 * margin / part + 1.0) if request.teachers is None else np.full_like(margin, request.teachers)
    unanimous = (teachers - 1.0) / 2.0
    possible = (teachers <= (most if request.teachers is None else subsample)) & (unanimous > np.floor(hurdle))
    per_teacher = np.floor(subsample / teachers)
    if eta is None:
        trained, selection = model.agnostic(request.hypotheses, per_teacher), 0.0
    else:
        trained = model.realisable(request.hypotheses, request.features, per_teacher)
        growth = request.hypotheses.log_growth(request.public or subsample, request.features)
        selection = model.relabel_excess(growth, eta, subsample)
    dissent = np.clip((unanimous - margin) / teachers, 0.0, 0.5)
    fails = np.exp(-np.maximum(unanimous - hurdle, 0.0) / scale)
    missing = np.zeros_like(fails)
    for doubt, weight in model.DOUBT:
        unsure = np.minimum(1.0, model.unstable_share(np.minimum(0.5, doubt * trained.error), dissent) + fails)
        missing += weight * model.unanswered_share(unsure, request.queries, unstable)
    loss: FloatArray = np.where(possible, 0.5 * missing + selection + trained.common, np.inf)
    return loss, teachers


def _refined(request: Request, rough: _Rough, fewest: int) -> Candidate | None:
    """The best plan near a point of the grid, with the sparse vector and the expected run as they are."""

    def best(knobs: Knobs, *, exact: bool) -> Candidate | None:
        made = _plans(request, rough.rate, rough.eta, int(knobs["unstable"]), int(knobs["teachers"]), exact=exact)
        candidates = (Candidate(plan, _loss(request, plan)) for plan in made)
        return min(candidates, key=lambda candidate: candidate.loss, default=None)

    def loss(knobs: Knobs) -> float:
        found = best(knobs, exact=False)
        return math.inf if found is None else found.loss

    most = math.floor(rough.rate * request.records) // fewest
    bounds = {
        "unstable": _range(request.unstable, request.queries),
        "teachers": _range(request.teachers, most - (most % 2 == 0)),
    }
    starts: list[Knobs] = [
        {"unstable": float(rough.unstable), "teachers": float(teachers)}
        for teachers in (rough.teachers, 2 * rough.teachers, most)
    ]
    return best(search.smallest(loss, starts, bounds), exact=True)


def _range(pin: int | None, most: int) -> tuple[float, float]:
    return (1.0, float(max(1, most))) if pin is None else (float(pin), float(pin))


def _plans(
    request: Request, rate: float, eta: float | None, unstable: int, teachers: int, *, exact: bool
) -> list[VotePlan]:
    """A plan with these parameters for each form of the sparse vector that keeps (ε, δ) and may call a vote stable."""
    subsample = math.floor(rate * request.records)
    budget = votes_budget(request, request.epsilon, request.delta, request.records, subsample, eta)
    if budget is None or teachers > subsample:
        return []
    public = None if eta is None else request.public
    return [
        VotePlan(request.records, subsample, teachers, eta, vector, public=public)
        for vector in sparse_vectors(*budget, unstable, request.queries, _FAILURE, exact=exact)
        if (teachers - 1) // 2 > vector.threshold
    ]


def _loss(request: Request, plan: VotePlan) -> float:
    return math.fsum(
        weight * expected_run(plan, request.hypotheses, request.features, request.queries, doubt=doubt).excess_error
        for doubt, weight in model.DOUBT
    )


def _odd(value: FloatArray) -> FloatArray:
    odd: FloatArray = 2.0 * np.floor(np.ceil(value) / 2.0) + 1.0
    return odd


def _nearest_change(request: Request, *, relabel: bool) -> str:
    """The smallest n, to within 10 %, at which a plan exists: doubling, then bisection on public numbers."""

    def exists(records: int) -> bool:
        wider = replace(request, records=records)
        points = _grid(wider, _FEWEST_RECORDS[-1], relabel=relabel)
        return any(_plans(wider, p.rate, p.eta, p.unstable, p.teachers, exact=True) for p in points)

    high = request.records
    while not exists(high):
        if high > _MOST_RECORDS:
            pinned = "" if request.teachers is None else " or more teachers"
            return f"a larger ε{pinned}; no number of records is enough"
        high *= 2
    low = high // 2
    while high - low > max(1, high // 10):
        middle = (low + high) // 2
        low, high = (low, middle) if exists(middle) else (middle, high)
    return f"about n ≥ {high:,} records at these ε and δ, or a larger ε"
