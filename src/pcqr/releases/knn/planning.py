"""Plans for neighbours with budgets of their own: noise and numbers of neighbours from n, m, ε, δ and public rows.

The squared shift that (ε, δ) allows is found by bisection; a record's budget b is half of it where records are
replaced, all of it where they are removed. A fifth of it is for being counted. Noise is such that

* a record that is near as often as records are on average has spent a third of b after m queries, since others are near
  more often;
* a record at the query itself can vote three times: noise of √(3/b) votes, however few neighbours there are.

The number of neighbours N is the larger of 400·(m/(n·b))^¾ and 40/√b. With fewer the votes drown in noise, with more
they come from farther away. These constants were settled on raw pixels of MNIST, with its test images in view: trust
other data more. Only public numbers enter.
"""

from __future__ import annotations

import math
from dataclasses import replace

from pcqr.checks import check_integer
from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.hypotheses.base import HypothesisClass
from pcqr.planner.request import Request
from pcqr.privacy.noise import LARGEST_SCALE
from pcqr.privacy.unit import RECORD, Unit
from pcqr.releases.knn.plan import MOST_DECISIONS, IndividualPlan, IndividualStage
from pcqr.releases.knn.run import individual_guarantee

_COUNT_SHARE = 0.2
_SPARE = 3.0
_VOTES = 3.0
_NEIGHBOURS, _POWER, _AGAINST_NOISE = 400.0, 0.75, 40.0
_FEWEST_PUBLIC = 6
_TIMES_PLANNED = 16
_MEAN_SQUARE_WEIGHT = 0.09
"""Of τ^{d²/R²}, τ = ⅕, over neighbours spread evenly in about ten dimensions."""
_LEAST_SCALE = 0.25
"""Of the grid: less noise than this is never needed, and the distance from continuous noise stays small."""
_PRECISION = 1e-6
_LARGEST_SHIFT = 100.0


def plan_individual(
    request: Request, unit: Unit = RECORD, neighbours: int | None = None, unanswered: int | None = None
) -> IndividualPlan:
    """The plan for m = `request.queries` answers, N = `neighbours` and the number of ⊥ pinned where they are given."""
    if request.public is None:
        raise ParameterError("public", "public rows, which say what is near", None)
    check_integer("queries", request.queries, least=1, most=MOST_DECISIONS)
    if neighbours is not None:
        check_integer("neighbours", neighbours, least=1, most=request.records)
    rough = _rough(request, unit, request.queries if unanswered is None else unanswered)
    stage = _calibrated(replace(rough, budget=_largest_budget(rough, request)), request.queries, neighbours)
    return IndividualPlan(**request.promise(individual_guarantee(stage, request.delta)), vote=stage)


def _rough(request: Request, unit: Unit, unanswered: int) -> IndividualStage:
    """A stage with the least noise that any plan may have: the distance from continuous noise is largest."""
    grid, labels = IndividualStage.grid, request.hypotheses
    return IndividualStage(
        records=request.records,
        classes=labels.labels if isinstance(labels, HypothesisClass) else 2,
        public=request.public or 1,
        reach=1,
        budget=1.0,
        count_scale=_LEAST_SCALE * grid,
        vote_scale=_LEAST_SCALE,
        least=grid,
        unanswered=unanswered,
        limit=min(MOST_DECISIONS, _TIMES_PLANNED * request.queries),
        unit=unit,
    )


def _largest_budget(rough: IndividualStage, request: Request) -> float:
    """The largest b, to within `_PRECISION`, with which (ε, δ) is kept; what is returned was itself found to be."""

    def is_kept(budget: float) -> bool:
        return individual_guarantee(replace(rough, budget=budget), request.delta).within(request.epsilon, request.delta)

    low, high = 1e-18, _LARGEST_SHIFT
    if not is_kept(low):
        raise InfeasiblePlan(
            f"No plan keeps to ε = {request.epsilon:g}, δ = {request.delta:g}.", "a larger ε or a larger δ"
        )
    while high > low * (1.0 + _PRECISION):
        middle = math.sqrt(low) * math.sqrt(high)
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    return low


def _calibrated(stage: IndividualStage, queries: int, neighbours: int | None) -> IndividualStage:
    """Reach and noise for the stage's budget."""
    n, b, grid = stage.records, stage.budget, stage.grid
    wanted = neighbours or max(_NEIGHBOURS * (queries / (n * b)) ** _POWER, _AGAINST_NOISE / math.sqrt(b))
    fewest = 1 if neighbours else min(_FEWEST_PUBLIC, stage.public)
    reach = min(max(math.ceil(wanted * stage.public / n), fewest), max(1, stage.public // 2))
    share = reach / stage.public
    count_scale = max(_LEAST_SCALE, math.sqrt(_SPARE * queries * share / (_COUNT_SHARE * b)))
    often = _SPARE * queries * _MEAN_SQUARE_WEIGHT / ((1.0 - _COUNT_SHARE) * b * n)
    vote_scale = max(_LEAST_SCALE, math.sqrt(max(often, _VOTES / (b * share * n))))
    least = max(1, round(count_scale))
    if count_scale > n or grid * vote_scale * math.sqrt(float(n)) > LARGEST_SCALE:
        raise InfeasiblePlan(
            f"With n = {n:,} records the noise for m = {queries:,} queries would drown all votes.",
            "more records, a larger ε or fewer queries",
        )
    return replace(stage, reach=reach, count_scale=grid * count_scale, vote_scale=vote_scale, least=grid * least)
