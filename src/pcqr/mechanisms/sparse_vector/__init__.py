"""The better of the two calibrated forms, by the margin that the queries need."""

from __future__ import annotations

import numpy as np

from pcqr.checks import check_delta, check_integer, check_positive, check_probability
from pcqr.mechanisms.sparse_vector.one_sided import OneSidedSparseVector, RunningSparseVector, smaller_excess
from pcqr.mechanisms.sparse_vector.paper import PaperSparseVector
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


# ---------------------------------------------------------------------------------------------------------------------
# The sparse vector: many stability tests, of which only the failed ones are paid for.
#
# Three forms, each a frozen set of parameters that states its guarantee and can be started:
#
# * `OneSidedSparseVector`, calibrated: the threshold is noised once, the queries by one-sided noise. Pure, up to
#   the chance that the threshold falls below zero. The number of queries enters no privacy figure.
# * `RenyiSparseVector`, calibrated: the same with noise made for Rényi accounting, better from a few unstable answers
# on.   `calibrated_sparse_vector` takes the better of the two.
# * `PaperSparseVector`, the form of Nandi and Bassily (after Bassily, Thakkar and Thakurta 2018), corrected: two-sided
#   noise, the threshold noised afresh after each unstable answer, advanced composition.
#
# Proof of all: proofs/sparse_vector.md. Dwork, Naor, Reingold, Rothblum, Vadhan 2009; Lyu, Su, Li 2017; Zhu, Wang 2020.


CalibratedSparseVector = OneSidedSparseVector | RenyiSparseVector
SparseVector = CalibratedSparseVector | PaperSparseVector

__all__ = [
    "CalibratedSparseVector",
    "OneSidedSparseVector",
    "PaperSparseVector",
    "RenyiSparseVector",
    "RunningSparseVector",
    "SparseVector",
    "best_one_sided",
    "calibrated_sparse_vector",
]
