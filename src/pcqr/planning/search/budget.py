"""What is left for the votes once sub-sampling and relabelling are paid for, and the sparse vector that it buys."""

from __future__ import annotations

import math
from functools import lru_cache

from pcqr.guarantee import unamplified
from pcqr.mechanisms.relabelling import relabel_cost
from pcqr.mechanisms.sparse_vector import CalibratedSparseVector, RenyiSparseVector, best_one_sided
from pcqr.planning.request import Demand

RESERVE = 1e-9
"""Relative part of ε and δ kept back for the upward rounding of `pcqr.guarantee`."""

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
