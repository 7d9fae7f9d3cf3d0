"""The better of the two calibrated forms, by the margin that the queries need."""

from __future__ import annotations

import numpy as np

from pcqr.checks import check_delta, check_integer, check_positive, check_probability
from pcqr.mechanisms.sparse_vector.one_sided import OneSidedSparseVector
from pcqr.mechanisms.sparse_vector.renyi import RenyiSparseVector

_NEARBY = np.linspace(0.8, 1.4, 21)
_SHARES = np.geomspace(0.005, 0.9, 200)
_MISSES = np.geomspace(0.02, 0.9, 24)


def calibrated_sparse_vector(
    epsilon: float, delta: float, unstable: int, queries: int, failure: float
) -> OneSidedSparseVector | RenyiSparseVector:
    """The form of (`epsilon`, `delta`) with E = `unstable` of the smallest `margin_needed`(`queries`, `failure`).

    The choice depends on public numbers alone.
    """
    candidates: tuple[OneSidedSparseVector | RenyiSparseVector, ...] = (
        best_one_sided(epsilon, delta, unstable, queries, failure),
        RenyiSparseVector.calibrate(epsilon, delta, unstable, queries, failure),
    )
    return min(candidates, key=lambda candidate: candidate.margin_needed(queries, failure))


def best_one_sided(epsilon: float, delta: float, unstable: int, queries: int, failure: float) -> OneSidedSparseVector:
    """The one-sided form whose share of ε for the threshold needs the smallest margin.

    The share is first found by a union bound, ln(1/δ)/e₁ + ln(1/β')/e₁ + ln(m/(β − β'))/e₂, and then by exact margins
    around it.
    """
    check_positive("epsilon", epsilon)
    check_delta(delta)
    check_integer("unstable", unstable, least=1)
    check_integer("queries", queries, least=1)
    check_probability("failure", failure)
    share, miss = np.ix_(_SHARES, _MISSES)
    margin = np.log(1.0 / delta / failure / miss) / share
    margin = margin + 2.0 * unstable * np.log(queries / failure / (1.0 - miss)) / (1.0 - share)
    start = float(_SHARES[np.unravel_index(int(np.argmin(margin)), margin.shape)[0]])
    candidates = (
        OneSidedSparseVector.calibrate(epsilon, delta, unstable, float(share))
        for share in start * _NEARBY
        if share < 1.0
    )
    return min(candidates, key=lambda candidate: candidate.margin_needed(queries, failure))
