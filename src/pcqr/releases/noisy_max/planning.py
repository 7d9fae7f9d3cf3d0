"""Plans for the per-query noisy majority: noise from (ε, δ, m), then the number of teachers from a model.

The noise is the smallest that (ε, δ) allows for m answers, found by bisection through `pcqr.privacy.accounting`, once
for each form of `pcqr.mechanisms.noisy_max` that may be taken, or the one that the user fixed. The form and k are those
with the smallest predicted loss

    a + (1 − 2a)·v,    a = ½·(teachers' error θ),    v = share of queries on which noise overturns the majority,

under the model of `pcqr.planner.expectation` for teachers on the records as they are: a is what their errors have
in common, and dissent is ½e^{−t/θ} at distance t from the decision boundary, so that the majority leads a tie by
(k/2)·(1 − e^{−t/θ}) votes. Noise turns right answers into wrong ones and wrong ones into right. Of several labels the
two in question near a boundary are modelled. Only public numbers enter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, ndtr

from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.mechanisms.noisy_max import ExponentialMax, GaussianMax, LaplaceMax, NoisyMax
from pcqr.planner import expectation as model
from pcqr.planner.request import Request
from pcqr.releases.noisy_max.plan import NoisyMaxPlan, NoisyMaxStage
from pcqr.releases.noisy_max.run import noisy_max_guarantee
from pcqr.releases.protocol.plan import Prediction

FloatArray = NDArray[np.float64]

_TEACHER_GRID = 120
DOUBTS = ((1.0, 0.5), (2.0, 0.5))  # (factor on θ, weight): the search averages over the model being too optimistic
_PRECISION = 1e-6  # relative, of the noise
FORMS: Mapping[str, Callable[[float], NoisyMax]] = {
    "gaussian": lambda rate: GaussianMax(1.0 / rate),
    "exponential": ExponentialMax,
    "laplace": lambda rate: LaplaceMax(1.0 / rate),
}
"""By the name that a user may give: the noise at a rate (1/σ, η or γ)."""
_WORTHWHILE = ("gaussian", "exponential")
"""The forms that the planner tries by itself. Laplace noise only on request: an exponential answer of the same ε has a
quarter of its ρ, and errs as seldom."""
_DEPTHS = np.concatenate(([0.0], np.geomspace(1e-6, 40.0, 400)))  # t/θ; beyond, votes are unanimous


def plan_noisy_max(
    request: Request,
    start: object = None,  # noqa: ARG001 - as all planners
    noise: str | NoisyMax | None = None,
    teachers: int | None = None,
) -> NoisyMaxPlan:
    """Return a plan with the best form for m = `request.queries` answers, or with `noise`.

    `noise` is the name of a form, or noise itself, which is used if (ε, δ) allow it. `teachers` may be even, and
    replaces the pin of that name. Other pins have no effect. Nothing is certified: with labels as they are, teachers
    need not agree. Public points do not help.
    """
    vote, prediction = noisy_votes(request, noise, teachers)
    guarantee = noisy_max_guarantee(vote, request.delta)
    if not guarantee.within(request.epsilon, request.delta):
        raise InfeasiblePlan(
            f"m = {request.queries:,} answers with {vote.noise} cost ε = {guarantee.epsilon:.4g} at δ = "
            f"{guarantee.delta:g}; ε = {request.epsilon:g} was allowed.",
            "a larger ε, fewer queries or more noise",
        )
    return NoisyMaxPlan(**request.promise(guarantee), vote=vote, prediction=prediction)


def noisy_votes(
    request: Request, noise: str | NoisyMax | None = None, teachers: int | None = None
) -> tuple[NoisyMaxStage, Prediction]:
    """Return the stage with the smallest predicted loss, and its prediction. See `plan_noisy_max` for the arguments."""
    found = _candidates(request, noise, teachers or request.pins.teachers)
    return min(found, key=lambda candidate: candidate[0])[1:]


def smallest_noise(request: Request, forms: Sequence[str] = _WORTHWHILE) -> tuple[NoisyMax, ...]:
    """Return for each of the `forms` the least noise with which m answers are within (ε, δ), for every k ≤ n.

    Raises InfeasiblePlan if no form has one.
    """
    # ρ-zCDP is (ρ + 2√(ρ·ln(1/δ)), δ)-DP (Bun and Steinke 2016): a start that is nearly good enough.
    needed = -math.log(request.delta)
    root_rho = request.epsilon / (math.sqrt(needed + request.epsilon) + math.sqrt(needed)) / math.sqrt(request.queries)
    pure = request.epsilon / (2.0 * request.queries)
    starts = {
        "gaussian": root_rho * (math.sqrt(2.0) if request.hypotheses.labels == 2 else 1.0),
        "exponential": max(math.sqrt(2.0) * root_rho, pure),
        "laplace": max(math.sqrt(0.5) * root_rho, pure),
    }
    found = (_smallest_of(FORMS[form], starts[form], request) for form in forms)
    noises = tuple(noise for noise in found if noise is not None)
    if not noises:
        raise InfeasiblePlan(
            f"The noise for m = {request.queries:,} answers at ε = {request.epsilon:g}, δ = {request.delta:g} is "
            "larger than can be drawn.",
            "a larger ε or fewer queries",
        )
    return noises


def overturned_share(noise: NoisyMax, teachers: FloatArray, error: FloatArray, labels: int = 2) -> FloatArray:
    """Return v, the share of queries on which `noise` overturns the majority of k = `teachers` teachers, θ = `error`.

    P(overturned) at a lead of (k/2)·(1 − e^{−t/θ}), averaged over the queries.
    """
    return averaged(lambda lead: _overturns(noise, lead, labels), teachers, error)


def averaged(chance: Callable[[FloatArray], FloatArray], teachers: FloatArray, error: FloatArray) -> FloatArray:
    """Return ∫ 2·`chance`(lead at distance t) dt over t ≤ ½. k = `teachers` teachers lead by (k/2)·(1 − e^{−t/θ})."""
    depth = np.minimum(_DEPTHS[:, None], 0.5 / error)
    chances = chance(0.5 * teachers * -np.expm1(-depth))
    near = 2.0 * error * np.trapezoid(chances, depth, axis=0)
    far = (1.0 - 2.0 * error * depth[-1]) * chances[-1]
    share: FloatArray = near + far
    return share


def _overturns(noise: NoisyMax, lead: FloatArray, labels: int) -> FloatArray:
    """Return the chance that noise overturns a majority that leads a tie by `lead` votes, which need be no integer."""
    match noise:
        case GaussianMax(scale):
            chance: FloatArray = ndtr(-lead / scale if labels == 2 else -math.sqrt(2.0) * lead / scale)
        case LaplaceMax(scale):  # the difference of two such noises beyond the gap, twice the lead
            chance = 0.5 * (1.0 + lead / scale) * np.exp(-2.0 * lead / scale)
        case ExponentialMax(eta):
            chance = expit(-2.0 * eta * lead)
    return chance


def _candidates(
    request: Request, noise: str | NoisyMax | None, pinned: int | None
) -> list[tuple[float, NoisyMaxStage, Prediction]]:
    """Return (loss, plan, prediction) for each form, with the number of teachers with the smallest predicted loss."""
    labels = request.hypotheses.labels
    teachers = teacher_counts(request, pinned)
    error = model.agnostic(request.hypotheses, np.floor(request.records / teachers)).error
    candidates = []
    for form in _noises(request, noise):
        loss = np.zeros_like(error)
        for doubt, weight in DOUBTS:
            loss += weight * _excess(form, teachers, error, np.minimum(0.5, doubt * error), labels)
        best = int(np.argmin(loss))
        expected = float(_excess(form, teachers, error, error, labels)[best])
        plan = NoisyMaxStage(request.records, int(teachers[best]), request.queries, form, labels)
        prediction = Prediction(unanswered_share=0.0, excess_error=expected, unstable_share=0.0)
        candidates.append((float(loss[best]), plan, prediction))
    return candidates


def _noises(request: Request, noise: str | NoisyMax | None) -> tuple[NoisyMax, ...]:
    """Return the forms to choose from."""
    if noise is None:
        return smallest_noise(request)
    if isinstance(noise, NoisyMax):
        return (noise,)
    if not isinstance(noise, str) or noise not in FORMS:
        named = ", ".join(map(repr, FORMS))
        raise ParameterError("noise", f"None, one of {named}, or a noisy majority of pcqr.mechanisms.noisy_max", noise)
    return smallest_noise(request, (noise,))


def _excess(noise: NoisyMax, teachers: FloatArray, error: FloatArray, dissent: FloatArray, labels: int) -> FloatArray:
    """Return a + (1 − 2a)·v, with θ = `error` in a and θ = `dissent` in v."""
    share = overturned_share(noise, teachers, dissent, labels)
    excess: FloatArray = 0.5 * error + (1.0 - error) * share
    return excess


def teacher_counts(request: Request, pinned: int | None) -> FloatArray:
    """Return odd numbers of teachers to choose from, at most one a record, or only the `pinned` one."""
    if pinned is None:
        return np.unique(2.0 * np.floor((np.geomspace(1.0, request.records, _TEACHER_GRID) - 1.0) / 2.0) + 1.0)
    if pinned > request.records:
        raise InfeasiblePlan(
            f"{pinned:,} teachers need as many records; n_samples = {request.records:,}.",
            f"n ≥ {pinned:,} records, or at most {request.records:,} teachers",
        )
    return np.array([pinned], dtype=np.float64)


def _smallest_of(make: Callable[[float], NoisyMax], start: float, request: Request) -> NoisyMax | None:
    """Return `make`(rate) for the largest rate that keeps (ε, δ), or None if none is near `start`."""

    def is_kept(rate: float) -> bool:
        try:
            most = request.records  # as many teachers: the most rounding
            plan = NoisyMaxStage(request.records, most, request.queries, make(rate), request.hypotheses.labels)
            stated = noisy_max_guarantee(plan, request.delta)
        except (ParameterError, ZeroDivisionError):  # not to be drawn, or without a finite ε
            return False
        return stated.within(request.epsilon, request.delta)

    rate = largest_rate(is_kept, start)
    return None if rate is None else make(rate)


def largest_rate(is_kept: Callable[[float], bool], start: float) -> float | None:
    """Return the largest rate, to within `_PRECISION`, that keeps (ε, δ), or None if none is near `start`."""
    low = start * (1.0 - _PRECISION)
    if not is_kept(low):
        return None
    high = 2.0 * low
    while is_kept(high):
        low, high = high, 2.0 * high
    while high > low * (1.0 + _PRECISION):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    return low
