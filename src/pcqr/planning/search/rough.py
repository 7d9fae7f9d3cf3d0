"""Where the search for a vote plan begins: a grid of parameters, judged by closed forms for every number of queries.

A point of the grid has a sampling rate q, an η, a T and a k. How often a query is unstable and how much the answers err
does not depend on m, so that of points with the same T one that is worse in both is worse for every m: only the others
are kept. Only public numbers enter.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import ParameterError
from pcqr.planning.expected import model
from pcqr.planning.request import Request
from pcqr.planning.search.budget import votes_budget

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
