"""Calibrated plans: the parameters with the smallest predicted loss among all that meet (ε, δ).

The search runs over the sampling rate q, the relabelling's η, the number T of unstable answers, the split of ε_A
between threshold and queries, and the number k of teachers. Privacy fixes the rest: R = 2·ln(1+e^η) (2η over a
fixed class), ε_A = ln(1 + (e^ε − 1)/q) − R, δ_s = δ/q, and the threshold w. The loss that is minimised is

    ½·(predicted unanswered share) + 2·(teachers' error) + (excess of ĥ)

under the model of `pcqr.planning.model`: a coin is wrong half of the time, and a majority errs on at most twice the
share on which a teacher does (Markov). Without relabelling the factor is ½: the agnostic rate is that of one teacher,
and what teachers do not have in common averages out in their vote. Only public numbers enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.guarantee import unamplified
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.mechanisms.relabelling import relabel_cost
from pcqr.mechanisms.sparse_vector import OneSidedSparseVector
from pcqr.plan import Prediction, PublishPlan, VotePlan
from pcqr.planning import model
from pcqr.planning.request import Request

FloatArray = NDArray[np.float64]

_RATES = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01)
_THRESHOLD_SHARES = (0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.7)
_MARGIN_SHARES = (0.15, 0.25, 0.35, 0.45, 0.55, 0.65, 0.75, 0.85)
_PUBLISH_SHARES = (0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5)
_MOST_RECORDS = 10**12
_RESERVE = 1e-9
"""Relative part of ε and δ kept back for the upward rounding of `pcqr.guarantee`."""


@dataclass(frozen=True)
class Candidate:
    """A vote plan with the loss that the model predicts for it."""

    plan: VotePlan
    prediction: Prediction
    loss: float


def plan_votes(request: Request, epsilon: float, delta: float, *, relabel: bool, queries: int) -> Candidate:
    """The best vote plan for `queries` queries that is (`epsilon`, `delta`)-DP with `request.records` records."""
    temperatures: tuple[float | None, ...] = _temperatures(request, epsilon) if relabel else (None,)
    found = (
        _best_at(request, epsilon, delta, rate, eta, queries)
        for rate in _rates(request, relabel=relabel)
        for eta in temperatures
    )
    best = min((candidate for candidate in found if candidate), key=lambda candidate: candidate.loss, default=None)
    if best is None:
        raise InfeasiblePlan(
            f"With n_samples = {request.records} no vote of teachers can ever be stable at ε = {epsilon:g}, "
            f"δ = {delta:g}.",
            _nearest_change(request, epsilon, delta, relabel=relabel, queries=queries),
        )
    return best


def plan_universal(request: Request) -> tuple[Candidate, PublishPlan]:
    """Split ε between the votes and the published classifier so that the sum of predicted losses is smallest."""
    after = public_points(request)
    shares = (request.publish_share,) if request.publish_share else _PUBLISH_SHARES
    options = [_split(request, share, after) for share in shares]
    feasible = [option for option in options if not isinstance(option, InfeasiblePlan)]
    if not feasible:
        raise next(option for option in options if isinstance(option, InfeasiblePlan))
    _, votes, publish = min(feasible, key=lambda option: option[0])
    return votes, publish


def _split(request: Request, share: float, after: int) -> tuple[float, Candidate, PublishPlan] | InfeasiblePlan:
    publish = PublishPlan(publish_temperature(request, request.epsilon * share, after + (request.public or 0)), after)
    epsilon = request.epsilon * (1.0 - share) * (1.0 - _RESERVE)
    try:
        votes = plan_votes(request, epsilon, request.delta, relabel=True, queries=after)
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


def _temperatures(request: Request, epsilon: float) -> tuple[float, ...]:
    if request.inverse_temperature is not None:
        return (request.inverse_temperature,)
    return tuple(float(eta) for eta in np.geomspace(0.005, max(4.0, epsilon / 4.0), 20))


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


def _unstable_budgets(request: Request, queries: int) -> FloatArray:
    if request.unstable is not None:
        return np.array([request.unstable], dtype=np.float64)
    grid = np.unique(np.round(np.geomspace(1, max(2, min(queries, 2000)), 24)))
    return grid.astype(np.float64)


def _best_at(
    request: Request, epsilon: float, delta: float, rate: float, eta: float | None, queries: int
) -> Candidate | None:
    """The best of all (T, threshold share, k) at one sampling rate and one η, or None where nothing is possible."""
    subsample = math.floor(rate * request.records)
    if subsample < 1:
        return None
    q = subsample / request.records
    inner = unamplified(epsilon * (1.0 - _RESERVE), q)
    cost = 0.0 if eta is None else _relabel_price(request, subsample, eta)
    votes_epsilon, votes_delta = (inner - cost) * (1.0 - _RESERVE), delta * (1.0 - _RESERVE) / q
    if votes_epsilon <= 0 or votes_delta >= 1:
        return None

    budget, share, part = np.meshgrid(
        _unstable_budgets(request, queries), _THRESHOLD_SHARES, _MARGIN_SHARES, indexing="ij"
    )
    threshold_rate, query_rate = votes_epsilon * share, votes_epsilon * (1.0 - share) / (2.0 * budget)
    threshold = np.maximum(
        0.0, np.ceil(np.log(1.0 / (votes_delta * (1.0 + np.exp(-threshold_rate)))) / threshold_rate) - 1.0
    )
    # The threshold noise stays for the whole run: plan for its 90 % quantile.
    hurdle = threshold + np.log(5.0) / threshold_rate
    margin = hurdle + 1.0 / query_rate
    teachers = _odd(2.0 * margin / part + 1.0) if request.teachers is None else np.full_like(margin, request.teachers)
    unanimous = (teachers - 1.0) / 2.0
    possible = (teachers <= subsample) & (unanimous > np.floor(hurdle))
    if not possible.any():
        return None

    d = request.hypotheses.vc_dimension
    error = model.teacher_error(d, np.floor(subsample / teachers), realisable=eta is not None)
    dissent = np.clip((unanimous - margin) / teachers, 0.0, 0.5)
    noise_failure = np.exp(-np.maximum(unanimous - hurdle, 0.0) * query_rate)
    unstable = np.minimum(1.0, model.unstable_share(error, dissent) + noise_failure)
    excess = 0.0
    if eta is not None:
        growth = request.hypotheses.log_growth(request.public or subsample, request.features)
        excess = model.relabel_excess(growth, eta, subsample)
    doubtful = [model.unanswered_share(np.minimum(1.0, unstable * f), queries, budget) for f in model.DOUBT]
    weight = 0.5 if eta is None else 2.0
    loss = np.where(possible, 0.5 * np.mean(doubtful, axis=0) + weight * error + excess, np.inf)

    i = np.unravel_index(int(np.argmin(loss)), loss.shape)
    sparse_vector = OneSidedSparseVector.calibrate(
        votes_epsilon, votes_delta, int(budget[i]), threshold_share=float(share[i])
    )
    public = None if eta is None else request.public
    plan = VotePlan(request.records, subsample, int(teachers[i]), eta, sparse_vector, public=public)
    expected = float(model.unanswered_share(unstable[i], queries, budget[i]))
    return Candidate(plan, Prediction(expected, float(0.5 * expected + weight * error[i] + excess)), float(loss[i]))


def _relabel_price(request: Request, subsample: int, eta: float) -> float:
    error = request.hypotheses.log_probability_error(subsample, eta, features=request.features, public=request.public)
    fixed = request.hypotheses.is_fixed or request.public is not None
    return relabel_cost(eta, fixed=fixed) + 2.0 * error


def _odd(value: FloatArray) -> FloatArray:
    odd: FloatArray = 2.0 * np.floor(np.ceil(value) / 2.0) + 1.0
    return odd


def _nearest_change(request: Request, epsilon: float, delta: float, *, relabel: bool, queries: int) -> str:
    """The smallest n, to within 10 %, at which a plan exists: doubling, then bisection on public numbers."""

    def exists(records: int) -> bool:
        temperatures: tuple[float | None, ...] = _temperatures(request, epsilon) if relabel else (None,)
        wider = replace(request, records=records)
        return any(
            _best_at(wider, epsilon, delta, rate, eta, queries) is not None
            for rate in _rates(wider, relabel=relabel)
            for eta in temperatures
        )

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
