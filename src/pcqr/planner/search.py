"""What is left for the votes once sub-sampling and relabelling are paid for, and the sparse vector that it buys."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import InfeasiblePlan, ParameterError
from pcqr.mechanisms.exponential import inverse_temperature_for
from pcqr.mechanisms.relabelling import relabel_cost
from pcqr.mechanisms.sparse_vector import CalibratedSparseVector, RenyiSparseVector, best_one_sided
from pcqr.planner import expectation as model
from pcqr.planner.expectation import expected_run
from pcqr.planner.request import Demand, Request
from pcqr.privacy.guarantee import unamplified
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.subsample.plan import VoteStage

RESERVE = 1e-9
"""Relative part of ε and δ kept back for the upward rounding of `pcqr.privacy.guarantee`."""

_FEW, _MANY, _LARGE, _LIKELY = 3, 20, 10.0, 1e-7
LARGEST_DELTA = 0.25  # of the votes; where δ/q is larger, the rest is not spent


def votes_budget(
    demand: Demand, epsilon: float, delta: float, records: int, subsample: int, eta: float | None
) -> tuple[float, float] | None:
    """(ε_A, δ_A) that the sparse vector may spend so that the release is (ε, δ)-DP, or None if nothing is left.

    ε_A = ln(1 + (e^ε − 1)/q) − R − 2λ and δ_A = min(δ/q, ¼), q = `subsample`/`records`, R = `relabel_cost` at
    `eta` = η, λ the numerical error of the draw. `eta` = None: no relabelling.
    """
    if subsample < 1:
        return None
    rate, hypotheses, public = subsample / records, demand.hypotheses, demand.public
    left = unamplified(epsilon * (1.0 - RESERVE), rate)
    if eta is not None:
        error = hypotheses.log_probability_error(subsample, eta, features=demand.features, public=public)
        left -= relabel_cost(eta, fixed=hypotheses.is_fixed or public is not None) + 2.0 * error
    left, chance = left * (1.0 - RESERVE), delta * (1.0 - RESERVE) / rate
    return (left, min(chance, LARGEST_DELTA)) if left > 0 else None


def sparse_vectors(
    epsilon: float, delta: float, unstable: int, queries: int, failure: float, *, exact: bool = True
) -> tuple[CalibratedSparseVector, ...]:
    """Of either form the one with the smallest margin for m = `queries` queries but for a chance `failure`.

    Not `exact`: nearly so, for an ε at most two and a δ at most 20 per cent smaller, so that a search that comes back
    to similar parameters again and again asks for few of them.
    """
    if not exact:
        epsilon, delta = _rounded_down(epsilon, 0.02), _rounded_down(delta, 0.2)
        queries, failure = round(math.exp(0.5 * round(2.0 * math.log(queries)))), _rounded_down(failure, 1.5)
    return _remembered(epsilon, delta, unstable, queries, failure)


@lru_cache(maxsize=8192)
def _remembered(
    epsilon: float, delta: float, unstable: int, queries: int, failure: float
) -> tuple[CalibratedSparseVector, ...]:
    forms: list[CalibratedSparseVector] = []
    # A form that is far behind at such parameters is left out, to save time.
    if unstable < _MANY or epsilon > _LARGE:
        forms.append(best_one_sided(epsilon, delta, unstable, queries, failure))
    if unstable >= _FEW or delta > _LIKELY:
        forms.append(RenyiSparseVector.calibrate(epsilon, delta, unstable, queries, failure))
    return tuple(forms)


def _rounded_down(value: float, precision: float) -> float:
    return math.exp(precision * math.floor(math.log(value) / precision))


# ---------------------------------------------------------------------------------------------------------------------
# Pattern search over a few positive knobs: deterministic, local, and judged by nothing but its objective.


Knobs = Mapping[str, float]

COARSE, FINE = (2.0, 1.4, 1.18, 1.08), (1.25, 1.12)
_WHOLE = frozenset({"unstable", "teachers"})


def smallest(
    objective: Callable[[Knobs], float],
    starts: Sequence[Knobs],
    bounds: Mapping[str, tuple[float, float]],
    steps: tuple[float, ...] = COARSE,
) -> Knobs:
    """Knobs with a small `objective`: from the best of `starts`, move one knob at a time by a factor while that helps,
    then by a smaller one. A knob whose two `bounds` are equal stays where it is.
    """
    seen: dict[tuple[float, ...], float] = {}

    def value(knobs: Knobs) -> float:
        key = tuple(knobs.values())
        if key not in seen:
            seen[key] = objective(knobs)
        return seen[key]

    best = min(({name: _within(name, start[name], bounds[name]) for name in start} for start in starts), key=value)
    for step in steps:
        improved = True
        while improved:
            improved = False
            for name in best:
                for factor in (step, 1.0 / step):
                    moved = best | {name: _within(name, _moved(name, best[name], factor), bounds[name])}
                    if value(moved) < value(best):
                        best, improved = moved, True
                        break
    return best


def _moved(name: str, value: float, factor: float) -> float:
    """`value` times `factor`; whole numbers move by one at least, odd ones by two."""
    if name not in _WHOLE:
        return value * factor
    least = 2.0 if name == "teachers" else 1.0
    return max(value + least, value * factor) if factor > 1.0 else min(value - least, value * factor)


def _within(name: str, value: float, bounds: tuple[float, float]) -> float:
    inside = min(max(value, bounds[0]), bounds[1])
    if name == "teachers":
        return float(2 * math.floor((inside - 1.0) / 2.0) + 1)
    return float(round(inside)) if name in _WHOLE else inside


# ---------------------------------------------------------------------------------------------------------------------
# Where the search for a vote plan begins: a grid of parameters, judged by closed forms for every number of queries.
#
# A point of the grid has a sampling rate q, an η, a T and a k. How often a query is unstable and how much the answers
# err does not depend on m, so that of points with the same T one that is worse in both is worse for every m: only the
# others are kept. Only public numbers enter.


FloatArray = NDArray[np.float64]

MOST_UNSTABLE = 10**5
_RATES = (1.0, 0.85, 0.7, 0.55, 0.4, 0.3, 0.2, 0.14, 0.1, 0.06, 0.03, 0.01)
_SMALL = (0.15, 0.05, 0.015)
_UNSTABLE = tuple(float(value) for value in np.unique(np.round(np.geomspace(1, MOST_UNSTABLE, 40))))
_THRESHOLD_SHARES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.55)
_MARGIN_SHARES = (0.1, 0.2, 0.3, 0.45, 0.6, 0.75)


@dataclass(frozen=True)
class Spot:
    """A point of the grid: q = `rate`, η = `eta` (None: no relabelling), T = `unstable`, k = `teachers`."""

    rate: float
    eta: float | None
    unstable: int
    teachers: int


@dataclass(frozen=True)
class Rough:
    """The points worth a look. `unsure` is the chance that a query is unstable, a row for each doubt of the model."""

    settings: tuple[tuple[float, float | None], ...]
    setting: NDArray[np.int64]
    unstable: FloatArray
    teachers: FloatArray
    common: FloatArray
    unsure: FloatArray
    doubts: model.Doubts

    def losses(self, queries: int) -> FloatArray:
        """The expected excess error of each point at m = `queries`; infinite where T exceeds m for nothing."""
        missing = np.zeros_like(self.common)
        for (_, weight), unsure in zip(self.doubts, self.unsure, strict=True):
            missing += weight * model.unanswered_share(unsure, queries, self.unstable)
        most = max(queries, self.unstable.min(initial=math.inf))
        loss: FloatArray = np.where(self.unstable <= most, model.excess_error(missing, self.common), np.inf)
        return loss

    def spots(self, queries: int, most: int = 1) -> list[Spot]:
        """The best points at m = `queries`, `most` of them, with different q or η."""
        found: dict[int, Spot] = {}
        for i in np.argsort(self.losses(queries), kind="stable"):
            setting = int(self.setting[i])
            if setting not in found:
                found[setting] = Spot(*self.settings[setting], int(self.unstable[i]), int(self.teachers[i]))
            if len(found) == most:
                break
        return list(found.values())


def survey(request: Request, fewest: int, *, relabel: bool) -> Rough:
    """The grid for `request`, whose m is not looked at; a teacher gets `fewest` records at least."""
    unstable, share, part = np.meshgrid(_budgets(request), _THRESHOLD_SHARES, _MARGIN_SHARES, indexing="ij")
    settings, tables = [], []
    for rate in _rates(request, relabel=relabel):
        subsample = math.floor(rate * request.records)
        for eta in _temperatures(request) if relabel else (None,):
            budget = votes_budget(request, request.epsilon, request.delta, request.records, subsample, eta)
            if budget is None:
                continue
            for form in (_pure_form(*budget, unstable, share), _concentrated_form(*budget, unstable, share)):
                table = _judged(request, subsample // fewest, subsample, eta, unstable, part, *form)
                tables.append(table.reshape(len(table), unstable.shape[0], -1))
                settings.append((rate, eta))
    if not settings:
        return Rough((), np.zeros(0, np.int64), *(np.zeros(0),) * 3, np.zeros((0, 0)), ())
    return _undominated(settings, np.stack(tables), unstable[:, 0, 0])


def _undominated(settings: list[tuple[float, float | None]], tables: FloatArray, unstable: FloatArray) -> Rough:
    """For each T the points of `tables` (settings × figures × T × rest) that no other beats in both respects."""
    kept: list[tuple[NDArray[np.int64], FloatArray, FloatArray]] = []
    for column, budget in enumerate(unstable):
        figures = tables[:, :, column, :]  # settings × (k, common, unsure…) × rest
        setting = np.repeat(np.arange(len(settings)), figures.shape[2])
        flat = np.moveaxis(figures, 1, 0).reshape(figures.shape[1], -1)
        possible = np.isfinite(flat[1])
        setting, flat = setting[possible], flat[:, possible]
        order = np.lexsort((flat[1], flat[2:].sum(axis=0)))
        common = flat[1, order]
        best = np.minimum.accumulate(common)
        first = np.r_[np.ones(min(1, common.size), bool), common[1:] < best[:-1]]
        kept.append((setting[order][first], flat[:, order][:, first], np.full(int(first.sum()), budget)))
    figures = np.concatenate([flat for _, flat, _ in kept], axis=1)
    return Rough(
        settings=tuple(settings),
        setting=np.concatenate([setting for setting, _, _ in kept]),
        unstable=np.concatenate([budgets for _, _, budgets in kept]),
        teachers=figures[0],
        common=figures[1],
        unsure=figures[2:],
        doubts=model.doubts(settings[0][1]),
    )


def _temperatures(request: Request) -> tuple[float, ...]:
    if request.pins.inverse_temperature is not None:
        return (request.pins.inverse_temperature,)
    return tuple(float(eta) for eta in np.geomspace(0.005, max(4.0, request.epsilon / 4.0), 11))


def _rates(request: Request, *, relabel: bool) -> tuple[float, ...]:
    """The sampling rates to try; no sub-sample may be larger than what the relabelling's class can be drawn on."""
    pinned = request.pins.sampling_rate
    if not relabel:
        return (pinned or 1.0,)
    support = None if request.hypotheses.is_fixed or request.public else request.hypotheses.largest_support
    largest = 1.0 if support is None else min(1.0, support / request.records)
    if pinned is None:
        # A small ε pays for a relabelling, 2·ln 2 over an open class, only when it is amplified: ln(1 + (e^ε − 1)/q).
        small = [part * math.expm1(min(1.0, request.epsilon)) for part in _SMALL]
        rates = (*_RATES, *(rate for rate in small if rate < _RATES[-1]))
        return (largest, *(rate for rate in rates if rate < largest))
    if pinned > largest:
        raise ParameterError("sampling_rate", f"at most {largest:.3g} for {request.hypotheses}", pinned)
    return (pinned,)


def _budgets(request: Request) -> tuple[float, ...]:
    """The T to try: no more than m."""
    if request.pins.unstable is not None:
        return (float(request.pins.unstable),)
    return tuple(value for value in _UNSTABLE if value <= max(1, request.queries))


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


def _judged(
    request: Request,
    most: int,
    subsample: int,
    eta: float | None,
    unstable: FloatArray,
    part: FloatArray,
    threshold: FloatArray,
    reach: FloatArray,
    scale: FloatArray,
) -> FloatArray:
    """k, what the answers err in common (infinite where no vote can be stable), and how often a query is unstable.

    A query that is answered with a good chance has a margin of `part` times that of a unanimous one.
    """
    hurdle = threshold + reach
    margin = hurdle + scale
    pinned = request.pins.teachers
    teachers = _odd(2.0 * margin / part + 1.0) if pinned is None else np.full_like(margin, pinned)
    unanimous = (teachers - 1.0) / 2.0
    possible = (teachers <= (most if pinned is None else subsample)) & (unanimous > np.floor(hurdle))
    per_teacher = np.floor(subsample / teachers)
    if eta is None:
        trained, selection = model.agnostic(request.hypotheses, per_teacher), 0.0
    else:
        trained = model.realisable(request.hypotheses, request.features, per_teacher)
        growth = request.hypotheses.log_growth(request.public or subsample, request.features)
        selection = model.relabel_excess(growth, eta, subsample)
    dissent = np.clip((unanimous - margin) / teachers, 0.0, 0.5)
    fails = np.exp(-np.maximum(unanimous - hurdle, 0.0) / scale)
    unsure = [
        np.minimum(1.0, model.unstable_share(doubt * trained.error, dissent) + fails) for doubt, _ in model.doubts(eta)
    ]
    common = np.where(possible, selection + trained.common, np.inf)
    return np.stack([np.broadcast_to(figure, unstable.shape) for figure in (teachers, common, *unsure)])


def _odd(value: FloatArray) -> FloatArray:
    odd: FloatArray = 2.0 * np.floor(np.ceil(value) / 2.0) + 1.0
    return odd


# ---------------------------------------------------------------------------------------------------------------------
# Calibrated plans: the parameters with the smallest predicted loss among all that meet (ε, δ).
#
# The search runs over the sampling rate q, the relabelling's η, the number T of unstable answers and the number k of
# teachers. Privacy fixes the rest: R = 2·ln(1+e^η) (2η over a fixed class), ε_A = ln(1 + (e^ε − 1)/q) − R, δ_A = δ/q,
# and the sparse vector has the smallest margin of its form at (ε_A, δ_A, T). The loss is the expected excess error of
# `pcqr.planner.expectation`: first on a grid by rough closed forms (`pcqr.planner.search`), then near
# the best point as it is. Only public numbers enter.
#
# **More queries never mean fewer answers.** What a fixed plan is expected to answer of the first m queries grows with
# m. So the search is made for the numbers of queries on a fixed ladder, up to the first rung that is not below m, and
# of the plans that it finds the one is taken that is expected to answer most of m queries: a larger m has the same
# plans to choose from, and perhaps some more.


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
    return best(smallest(loss, starts, bounds), exact=True)


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
