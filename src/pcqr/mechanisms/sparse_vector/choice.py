"""The better of the two calibrated forms, by the margin that the queries need."""

from __future__ import annotations

import numpy as np

from pcqr.checks import check_delta, check_integer, check_positive, check_probability
from pcqr.mechanisms.sparse_vector.margin import smaller_excess
from pcqr.mechanisms.sparse_vector.one_sided import OneSidedSparseVector
from pcqr.mechanisms.sparse_vector.renyi import RenyiSparseVector

_NEARBY = np.linspace(0.8, 1.4, 21)
_SHARES = np.geomspace(0.005, 0.9, 200)
_MISSES = np.geomspace(0.02, 0.9, 24)


def calibrated_sparse_vector(
    epsilon: float, delta: float, unstable: int, queries: int, failure: float
) -> OneSidedSparseVector | RenyiSparseVector:
    """The calibrated form, one-sided or Rényi, that needs the smaller margin. It depends on public numbers alone.

    Parameters
    ----------
    epsilon, delta : float
        ε > 0 and δ of a whole run.
    unstable : int
        E ≥ 1, the unstable answers after which it halts (T in the paper).
    queries : int
        m ≥ 1, the queries that are planned for. More may come; privacy does not depend on m.
    failure : float
        The chance that not all of m queries with the margin D are answered: D is compared at this chance.

    Returns
    -------
    OneSidedSparseVector or RenyiSparseVector
        That of the smallest `margin_needed(queries, failure)`.

    Raises
    ------
    ParameterError
        When a parameter is outside its range.

    Examples
    --------
    >>> from pcqr.mechanisms import calibrated_sparse_vector
    >>> few = calibrated_sparse_vector(1.0, 1e-6, unstable=1, queries=300, failure=0.01)
    >>> many = calibrated_sparse_vector(1.0, 1e-6, unstable=50, queries=300, failure=0.01)
    >>> type(few).__name__, type(many).__name__
    ('OneSidedSparseVector', 'RenyiSparseVector')
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
    bound = np.log(1.0 / delta / failure / miss) / share
    bound = bound + 2.0 * unstable * np.log(queries / failure / (1.0 - miss)) / (1.0 - share)
    start = float(_SHARES[np.unravel_index(int(np.argmin(bound)), bound.shape)[0]])
    best, *others = (
        OneSidedSparseVector.calibrate(epsilon, delta, unstable, float(share))
        for share in start * _NEARBY
        if share < 1.0
    )
    margin = best.margin_needed(queries, failure)
    for other in others:
        excess = smaller_excess(other, queries, failure, margin - 1 - other.threshold)
        if excess is not None:
            best, margin = other, other.threshold + excess
    return best
