"""A model of what a vote plan will do, from public numbers alone: estimates to search with, never bounds.

Realisable (after relabelling): a consistent learner on N records errs on a share θ ≈ d/(N+1) of the points
(Haussler, Littlestone, Warmuth 1994). Agnostic (SubSamp): θ ≈ ½·√(d/N), the usual agnostic rate. Teachers dissent
near a decision boundary; with dissent ½e^{−t/s} at distance t (total mass θ = s) more than a share φ of them dissent
on a share 2θ·ln(1/(2φ)) of the queries.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

FloatArray = NDArray[np.float64]

DOUBT = (1.0, 3.0)
"""The search averages over the model being right and being too optimistic by this factor: a release that halts
early loses far more than one that reserved a few unstable answers too many."""


def teacher_error(vc_dimension: int, teacher_records: ArrayLike, *, realisable: bool) -> FloatArray:
    """θ, the share of points on which a teacher errs: d = `vc_dimension`, N = `teacher_records`."""
    size = np.asarray(teacher_records, dtype=np.float64)
    error = vc_dimension / (size + 1.0) if realisable else 0.5 * np.sqrt(vc_dimension / np.maximum(size, 1.0))
    return np.minimum(0.5, error)


def unstable_share(error: FloatArray, dissent: FloatArray) -> FloatArray:
    """The share of queries on which more than `dissent` = φ of the teachers dissent, θ = `error`."""
    safe = np.clip(2.0 * dissent, 1e-12, 1.0)
    return np.minimum(1.0, 2.0 * error * np.log(1.0 / safe))


def unanswered_share(unstable: FloatArray, queries: int, budget: FloatArray) -> FloatArray:
    """The expected share of m = `queries` that get no label, when each is unstable with chance p = `unstable`.

    The release halts at the `budget` = T-th unstable answer, at a negative binomial time with mean T/p and variance
    T(1−p)/p²; its normal approximation gives E[min(m, halt)] in closed form.
    """
    p = np.clip(unstable, 1e-12, 1.0)
    mean = budget / p
    spread = np.sqrt(budget * (1.0 - p) + 1e-12) / p
    z = (queries - mean) / spread
    missed = spread * (z * ndtr(z) + np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi))
    asked = np.clip(queries - missed, 0.0, queries)
    share: FloatArray = 1.0 - (1.0 - p) * asked / queries
    return share


def relabel_excess(log_growth: float, inverse_temperature: float, records: int) -> float:
    """Expected excess training error of ĥ: about (ln|H| + 1)/(η·n')."""
    return min(1.0, (log_growth + 1.0) / (inverse_temperature * records))
