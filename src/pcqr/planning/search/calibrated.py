"""Calibrated plans: the parameters with the smallest predicted loss among all that meet (ε, δ).

The search runs over the sampling rate q, the relabelling's η, the number T of unstable answers and the number k of
teachers. Privacy fixes the rest: R = 2·ln(1+e^η) (2η over a fixed class), ε_A = ln(1 + (e^ε − 1)/q) − R, δ_A = δ/q, and
the sparse vector has the smallest margin of its form at (ε_A, δ_A, T). The loss is the expected excess error of
`pcqr.planning.expected.expectation`: first on a grid by rough closed forms (`pcqr.planning.search.rough`), then near
the best point as it is. Only public numbers enter.

**More queries never mean fewer answers.** What a fixed plan is expected to answer of the first m queries grows with m.
So the search is made for the numbers of queries on a fixed ladder, up to the first rung that is not below m, and of the
plans that it finds the one is taken that is expected to answer most of m queries: a larger m has the same plans to
choose from, and perhaps some more.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.plan import DrawStage, VoteStage
from pcqr.planning.expected import model
from pcqr.planning.expected.expectation import expected_run
from pcqr.planning.request import Request
from pcqr.planning.search import knobs as search
from pcqr.planning.search.budget import RESERVE, sparse_vectors, votes_budget
from pcqr.planning.search.knobs import Knobs
from pcqr.planning.search.rough import Rough, Spot, survey

PUBLISH_SHARES = (0.05, 0.1, 0.2, 0.35, 0.5)
LADDER = (1, 3, 10, 30, 50, *(digit * 10**power for power in (2, 3, 4, 5) for digit in (1, 2, 3, 5)), 10**6)
"""The numbers of queries that plans are made for."""
_MOST_RECORDS = 10**12
_SPOTS = 4
"""So many points of the grid are tried where the best ones turn out to be impossible."""
_FEWEST_RECORDS = (4, 1)
"""A teacher gets at least so many records: with fewer the model says little, so that is the last resort."""
_FAILURE = 0.05
"""Of each form the sparse vector is the one that answers m queries with the smallest margin but for this chance."""


@dataclass(frozen=True)
class Candidate:
    """A vote plan with the loss that the model predicts for it."""

    plan: VoteStage
    loss: float


class Votes:
    """The search for votes that keep the (ε, δ) of `request`, for any number of queries up to its m."""

    def __init__(self, request: Request, *, relabel: bool) -> None:
        self.request, self.relabel = request, relabel
        self._surveys: dict[int, Rough] = {}

    def best(self, queries: int) -> Candidate | None:
        """The plan with the smallest loss at m = `queries`; None where no vote could ever be stable."""
        part = self.request.but(queries=queries)
        for fewest in _FEWEST_RECORDS:
            for spot in self._survey(fewest).spots(queries, _SPOTS):
                found = _refined(part, spot, fewest)
                if found is not None:
                    return found
        return None

    def rough_loss(self, queries: int) -> float:
        """About the loss of the best plan at m = `queries`; infinite where there is none."""
        losses = (self._survey(fewest).losses(queries).min(initial=math.inf) for fewest in _FEWEST_RECORDS)
        return next((float(loss) for loss in losses if math.isfinite(loss)), math.inf)

    def _survey(self, fewest: int) -> Rough:
        if fewest not in self._surveys:
            self._surveys[fewest] = survey(self.request, fewest, relabel=self.relabel)
        return self._surveys[fewest]


def rungs(queries: int) -> tuple[int, ...]:
    """The ladder up to the first rung that is not below m = `queries`."""
    return LADDER[: bisect_left(LADDER, queries) + 1]


def answers(request: Request, plan: VoteStage) -> float:
    """How many of the m = `request.queries` queries the votes are expected to answer. It never falls as m grows."""
    expected = expected_run(plan, request.hypotheses, request.features, request.queries)
    return request.queries * (1.0 - expected.unanswered_share)


def plan_votes(request: Request, *, relabel: bool) -> VoteStage:
    """The votes for m = `request.queries` queries that are (ε, δ)-DP with n = `request.records` records."""
    ladder = rungs(request.queries)

    def found(records: int, ladder: Sequence[int]) -> list[VoteStage]:
        votes = Votes(request.but(records=records, queries=ladder[-1]), relabel=relabel)
        return [candidate.plan for rung in ladder if (candidate := votes.best(rung)) is not None]

    plans = found(request.records, ladder)
    if not plans:
        what = "no vote of teachers can ever be stable"
        raise _refused(request, what, lambda records: bool(found(records, _ends(ladder))))
    return max(reversed(plans), key=lambda plan: answers(request, plan))


def plan_universal(request: Request) -> tuple[VoteStage, DrawStage]:
    """Split ε between the votes and the published classifier so that the sum of predicted losses is smallest."""
    after = public_points(request)
    ladder = rungs(after)

    def found(records: int, ladder: Sequence[int]) -> list[tuple[VoteStage, float]]:
        wider = request.but(records=records)
        shares = (request.pins.publish_share,) if request.pins.publish_share else PUBLISH_SHARES
        votes = {share: Votes(split(wider, share, ladder[-1])[0], relabel=True) for share in shares}
        return [option for rung in ladder if (option := _best_share(wider, votes, rung)) is not None]

    options = found(request.records, ladder)
    if not options:
        what = "no vote of teachers can ever be stable beside a published classifier"
        raise _refused(request, what, lambda records: bool(found(records, _ends(ladder))))
    part = request.but(queries=after)
    plan, share = max(reversed(options), key=lambda option: answers(part, option[0]))
    return plan, split(request, share, after)[1]


def _best_share(request: Request, votes: Mapping[float, Votes], queries: int) -> tuple[VoteStage, float] | None:
    """The votes for m_o = `queries`, and the share of ε that is left for the published classifier."""
    growth = request.hypotheses.log_growth(queries, request.features)

    def loss(share: float) -> float:
        publish = split(request, share, queries)[1]
        published = model.relabel_excess(growth, publish.inverse_temperature, request.records)
        return votes[share].rough_loss(queries) + published

    for share in sorted(votes, key=loss):
        best = votes[share].best(queries)
        if best is not None:
            return best.plan, share
    return None


def split(request: Request, share: float, after: int) -> tuple[Request, DrawStage]:
    """The votes' part of a universal release, ε·(1 − `share`), β/2 and m_o = `after` queries, and its publication."""
    publish = DrawStage(publish_temperature(request, request.epsilon * share, after + (request.public or 0)), after)
    epsilon = request.epsilon * (1.0 - share) * (1.0 - RESERVE)
    return request.but(epsilon=epsilon, beta=request.beta / 2.0, queries=after), publish


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


def _refined(request: Request, spot: Spot, fewest: int) -> Candidate | None:
    """The best plan near a point of the grid, with the sparse vector and the expected run as they are."""

    def best(knobs: Knobs, *, exact: bool) -> Candidate | None:
        made = _plans(request, spot.rate, spot.eta, int(knobs["unstable"]), int(knobs["teachers"]), exact=exact)
        candidates = (Candidate(plan, _loss(request, plan)) for plan in made)
        return min(candidates, key=lambda candidate: candidate.loss, default=None)

    def loss(knobs: Knobs) -> float:
        found = best(knobs, exact=False)
        return math.inf if found is None else found.loss

    most = math.floor(spot.rate * request.records) // fewest
    bounds = {
        "unstable": _range(request.pins.unstable, request.queries),
        "teachers": _range(request.pins.teachers, most - (most % 2 == 0)),
    }
    starts: list[Knobs] = [
        {"unstable": float(spot.unstable), "teachers": float(teachers)}
        for teachers in (spot.teachers, 2 * spot.teachers, most)
    ]
    return best(search.smallest(loss, starts, bounds), exact=True)


def _range(pin: int | None, most: int) -> tuple[float, float]:
    return (1.0, float(max(1, most))) if pin is None else (float(pin), float(pin))


def _plans(
    request: Request, rate: float, eta: float | None, unstable: int, teachers: int, *, exact: bool
) -> list[VoteStage]:
    """A plan with these parameters for each form of the sparse vector that keeps (ε, δ) and may call a vote stable."""
    subsample = math.floor(rate * request.records)
    budget = votes_budget(request, request.epsilon, request.delta, request.records, subsample, eta)
    if budget is None or teachers > subsample:
        return []
    public = None if eta is None else request.public
    return [
        VoteStage(request.records, subsample, teachers, eta, vector, public=public)
        for vector in sparse_vectors(*budget, unstable, request.queries, _FAILURE, exact=exact)
        if (teachers - 1) // 2 > vector.threshold
    ]


def _loss(request: Request, plan: VoteStage) -> float:
    return expected_run(plan, request.hypotheses, request.features, request.queries).excess_error


def _ends(ladder: Sequence[int]) -> tuple[int, ...]:
    """The first rung and the last one: enough to say that something is possible."""
    return tuple(dict.fromkeys((ladder[0], ladder[-1])))


def _refused(request: Request, what: str, is_enough: Callable[[int], bool]) -> InfeasiblePlan:
    """The refusal, with the smallest n, to within 10 %, that the same search finds to be enough."""
    at = f"With n_samples = {request.records} {what} at ε = {request.epsilon:g}, δ = {request.delta:g}."
    low = high = request.records  # which was refused
    while not is_enough(high := 2 * high):
        low = high
        if high > _MOST_RECORDS:
            pinned = "" if request.pins.teachers is None else " or more teachers"
            return InfeasiblePlan(at, f"a larger ε{pinned}; no number of records is enough")
    while high - low > max(1, high // 10):
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return InfeasiblePlan(at, f"about n ≥ {high:,} records at these ε and δ, or a larger ε")
