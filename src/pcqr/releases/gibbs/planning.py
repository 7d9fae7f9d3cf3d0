"""Plan answers by fresh draws: choose the inverse temperature η and the size n' of the sub-samples.

The plan depends on public numbers only: n records, m queries, ε and δ. Over a public class each draw sees all records,
and bisection finds the largest η that (ε, δ) allows for m draws.

Over dichotomies of private points each draw sees a sub-sample of n' = q·n records. The planner first finds the largest
price of one answer that (ε, δ) allows. For each η it takes the largest q that keeps to this price. It chooses the η
with the least

    (ln|H| + 1)/(η·n') + ½·√(d/n').

The first term is the loss to expect of a draw against the best member on the n' records. The second is what that
member is expected to lose on other records, with d the `estimated_dimension` of the class (`pcqr.planner.expectation`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from pcqr.errors import InfeasiblePlan
from pcqr.hypotheses.base import LARGEST_EXPONENT
from pcqr.mechanisms.relabelling import relabel_cost
from pcqr.planner import expectation as model
from pcqr.planner.request import Request
from pcqr.privacy.accounting import PureEvent, Repeated, compose
from pcqr.privacy.guarantee import amplified
from pcqr.releases.gibbs.plan import GibbsPlan, GibbsStage
from pcqr.releases.gibbs.run import gibbs_guarantee, is_public
from pcqr.releases.protocol.plan import Prediction
from pcqr.releases.protocol.stages import DrawStage

_PRECISION = 1e-6
_TEMPERATURES = np.geomspace(0.01, 30.0, 160)
T = TypeVar("T")


def plan_gibbs(request: Request) -> GibbsPlan:
    """The plan for m = `request.queries` answers. InfeasiblePlan where (ε, δ) allow none."""
    stage, excess = (
        _over_public(request) if is_public(request.hypotheses, request.public) else _over_dichotomies(request)
    )
    guarantee = gibbs_guarantee(stage, request.hypotheses, request.features, request.public, request.delta)
    prediction = Prediction(unanswered_share=0.0, excess_error=excess, unstable_share=0.0)
    return GibbsPlan(**request.promise(guarantee), draws=stage, prediction=prediction)


def _over_public(request: Request) -> tuple[GibbsStage, float]:
    """All records in each draw, at the largest η."""

    def kept(eta: float) -> GibbsStage | None:
        stage = GibbsStage(request.records, request.records, request.queries, eta)
        return stage if _is_within(stage, request) else None

    most = min(request.epsilon / 2.0, LARGEST_EXPONENT / request.records)
    stage = _largest(kept, most)
    if stage is None:
        raise _infeasible(request)
    return stage, min(0.5, model.published_excess(request, DrawStage(stage.inverse_temperature), request.public))


def _over_dichotomies(request: Request) -> tuple[GibbsStage, float]:
    """A sub-sample for each draw, as large as its η allows; the η with the least expected excess error."""

    def kept(price: float) -> float | None:
        together = [Repeated(PureEvent(price), request.queries)]
        stated = compose(together, 0.0, accountant="basic")
        if request.queries > 1 and not stated.within(request.epsilon, request.delta):
            stated = compose(together, request.delta, accountant="Rényi")
        return price if stated.within(request.epsilon, request.delta) else None

    price = _largest(kept, request.epsilon)
    found = [] if price is None else [_candidate(request, price, float(eta)) for eta in _TEMPERATURES]
    candidates = [candidate for candidate in found if candidate is not None]
    if not candidates:
        raise _infeasible(request)
    excess, _, stage = min(candidates, key=lambda candidate: candidate[:2])
    return stage, excess


def _candidate(request: Request, price: float, eta: float) -> tuple[float, float, GibbsStage] | None:
    """(expected excess error, η, stage) with the largest sub-sample whose answers cost no more than `price`."""
    hypotheses, n = request.hypotheses, request.records
    error = hypotheses.log_probability_error(n + 1, eta, features=request.features)
    whole = relabel_cost(eta, fixed=False) + 2.0 * error
    share = min(1.0, math.expm1(price) * (1.0 - 1e-9) / math.expm1(whole)) if whole < 700.0 else 0.0
    size = min(math.floor(share * n), (hypotheses.largest_support or n + 1) - 1, n)
    if size < 1 or amplified(whole, size / n) > price or eta * (size + 1) > LARGEST_EXPONENT:
        return None
    stage = GibbsStage(n, size, request.queries, eta)
    if not _is_within(stage, request):
        return None
    drawn = model.relabel_excess(hypotheses.log_growth(size + 1, request.features), eta, size)
    return min(0.5, drawn + float(model.agnostic(hypotheses, size).error)), eta, stage


def _is_within(stage: GibbsStage, request: Request) -> bool:
    stated = gibbs_guarantee(stage, request.hypotheses, request.features, request.public, request.delta)
    return stated.within(request.epsilon, request.delta)


def _largest(kept: Callable[[float], T | None], most: float) -> T | None:
    """`kept` of the largest number up to `most` for which it has something, to within `_PRECISION`.

    What is returned was itself found to be kept.
    """
    if (best := kept(most)) is not None:
        return best
    low, high = most * 2.0**-60, most
    if (best := kept(low)) is None:
        return None
    while high > low * (1.0 + _PRECISION):
        middle = math.sqrt(low) * math.sqrt(high)
        found = kept(middle)
        best, low, high = (best, low, middle) if found is None else (found, middle, high)
    return best


def _infeasible(request: Request) -> InfeasiblePlan:
    return InfeasiblePlan(
        f"With n = {request.records:,} records no draw for each of m = {request.queries:,} queries keeps to ε = "
        f"{request.epsilon:g}, δ = {request.delta:g}.",
        "more records, a larger ε or fewer queries",
    )
