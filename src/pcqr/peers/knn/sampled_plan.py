"""Plans for the k nearest of a sample: noise from (ε, δ, m) for several rates, then the rate that looks farthest least.

Votes are decided by k = 8σ neighbours: a lead of half of them is then about three deviations of the noise. They are
the k/q nearest of all records, so the rate q is the one with the least σ/q. Only public numbers enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from pcqr.checks import check_integer
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.hypotheses.base import HypothesisClass
from pcqr.peers.knn.sampled import SampledStage, sampled_guarantee
from pcqr.plan import QueryPlan, Stage, Usage
from pcqr.planning.request import Request

_OUT_OF = 1 << 16
_RATES = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
_NEIGHBOURS = 8.0
_FEWEST = 10
_LEAST_SCALE, _LARGEST_SCALE = 0.5, 1e9
_PRECISION = 1e-4


@dataclass(frozen=True, kw_only=True)
class SampledPlan(QueryPlan):
    """The plan of the k nearest of a sample, each answer paid for.

    Parameters
    ----------
    mode, budget, guarantee, aim, prediction, proved : see Plan
        The aim must have a number of queries.
    vote : SampledStage
        The sample, the neighbours and the noise.

    Examples
    --------
    >>> import numpy as np
    >>> from pcqr import PrivateKNN
    >>> public = np.random.default_rng(0).normal(size=(500, 2))
    >>> plan = PrivateKNN(queries=100).plan(records=20_000, public=public)
    >>> type(plan).__name__, plan.queries, plan.left.queries
    ('SampledPlan', 100, 100)
    """

    vote: SampledStage

    @property
    def left(self) -> Usage:
        """What is left before the first query."""
        return Usage(self.vote.queries, None)

    @property
    def stages(self) -> Stage:
        return self.vote


def plan_sampled(request: Request, neighbours: int | None = None, rate: float | None = None) -> SampledPlan:
    """The plan for m = `request.queries` answers, with k and q as they are given or else chosen."""
    if neighbours is not None:
        check_integer("neighbours", neighbours, least=1, most=request.records)
    if rate is not None and not 1.0 / _OUT_OF <= rate < 1.0:
        raise ParameterError("rate", "a number from 2**-16 to below 1", rate)
    labels = request.hypotheses
    stages = []
    for share in _RATES if rate is None else (rate,):
        chosen = min(_OUT_OF - 1, max(1, round(share * _OUT_OF)))
        classes = labels.labels if isinstance(labels, HypothesisClass) else 2
        stage = SampledStage(request.records, classes, 1, request.queries, chosen, _OUT_OF, _LARGEST_SCALE)
        scale = _least_scale(stage, request)
        k = neighbours or max(_FEWEST, math.ceil(_NEIGHBOURS * scale))
        if k <= request.records * stage.rate:
            stages.append(replace(stage, scale=scale, neighbours=k))
    if not stages:
        raise InfeasiblePlan(
            f"With n = {request.records:,} records the noise for m = {request.queries:,} queries drowns all votes.",
            "more records, a larger ε, fewer queries or fewer neighbours",
        )
    vote = min(stages, key=lambda stage: stage.neighbours / stage.rate)
    return SampledPlan(**request.promise(sampled_guarantee(vote, request.delta)), vote=vote)


def _least_scale(stage: SampledStage, request: Request) -> float:
    """The least σ, to within `_PRECISION`, with which (ε, δ) is kept; what is returned was itself found to be."""

    def is_kept(scale: float) -> bool:
        stated = sampled_guarantee(replace(stage, scale=scale), request.delta)
        return stated.within(request.epsilon, request.delta)

    low, high = _LEAST_SCALE, _LARGEST_SCALE
    if is_kept(low):
        return low
    if not is_kept(high):
        raise InfeasiblePlan(
            f"No plan keeps to ε = {request.epsilon:g}, δ = {request.delta:g}.", "a larger ε or a larger δ"
        )
    while high > low * (1.0 + _PRECISION):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (low, middle) if is_kept(middle) else (middle, high)
    return high
