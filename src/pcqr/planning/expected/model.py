"""A model of what a vote plan will do, from public numbers alone: estimates to search with, never bounds.

Teachers dissent near a decision boundary: with chance ½e^{−t/θ} at distance t, t measured in probability, so that a
teacher errs on a share θ in all, and more than a share φ of them dissents on a share 2θ·ln(1/(2φ)) of the queries.

Realisable (after relabelling): a cut between two neighbouring records of a teacher is off by half the difference of
two gaps of mean 1/N each, which makes θ = b/(2N) for b cuts (`boundaries`) exact on the line. Cuts are as often too
low as too high, so the majority does not err. Elsewhere teachers with few records may also choose the wrong cuts, and
may do so together: θ is larger by the factor 1 + (4d/N)². Agnostic (SubSamp): θ ≈ ½·√(d/N), the usual agnostic rate.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.hypotheses.base import Combinatorics
from pcqr.planning.proved.deviations import binomial_tail

FloatArray = NDArray[np.float64]

Doubts = tuple[tuple[float, float], ...]
RELABELLED_DOUBTS: Doubts = ((0.2, 1 / 3), (0.5, 1 / 3), (1.5, 1 / 3))
PLAIN_DOUBTS: Doubts = ((0.3, 1 / 3), (1.0, 1 / 3), (3.0, 1 / 3))
"""(factor on θ, weight), ascending: how far off the model is on real tables (benchmarks/expectations.py). Where the two
labels are equally common and no member of the class does well, teachers on labels as they are dissent far more often
than θ says. What is expected is the average, and the search minimises that: a release that halts early loses far more
than one that reserved a few unstable answers too many."""
RELABELLED_RANGE = (0.01, 1.5)
PLAIN_RANGE = (0.01, 10.0)
"""The factors on θ at the ends of a prediction's range. The range has to hold the measurements of nine in ten releases,
so its ends lie beyond the doubts. The search must not use these ends. Teachers hardly ever dissent where one label is
common, but the search cannot rely on that. On a table on which no class does well (diabetes) the factor without
relabelling is 8 to 11. A search that averaged over it would reserve too many unstable answers on all other tables."""


def doubts(inverse_temperature: float | None) -> Doubts:
    """How far off the model may be for teachers on relabelled records, or on records as they are (None)."""
    return PLAIN_DOUBTS if inverse_temperature is None else RELABELLED_DOUBTS


def range_ends(inverse_temperature: float | None) -> tuple[float, float]:
    """Return the least and the largest factor on θ that a prediction's range covers, for the teachers of `doubts`."""
    return PLAIN_RANGE if inverse_temperature is None else RELABELLED_RANGE


@dataclass(frozen=True)
class Teachers:
    """θ = `error`, the share of points on which a teacher errs; `common` is the part of it that its majority shares."""

    error: FloatArray
    common: FloatArray


def realisable(hypotheses: Combinatorics, features: int, teacher_records: ArrayLike) -> Teachers:
    """Teachers on N = `teacher_records` records that are labelled by a member of `hypotheses`."""
    size = np.maximum(1.0, np.asarray(teacher_records, dtype=np.float64))
    misplaced = 0.5 * hypotheses.boundaries / size
    wrong = np.zeros_like(size)
    if hypotheses.switches is None:
        wrong = misplaced * (4.0 * hypotheses.vc_bound(features) / size) ** 2
    return Teachers(np.minimum(0.5, misplaced + wrong), np.minimum(0.5, wrong))


def agnostic(hypotheses: Combinatorics, teacher_records: ArrayLike) -> Teachers:
    """Teachers on N = `teacher_records` records as they are; half of their error is taken to be common."""
    size = np.maximum(1.0, np.asarray(teacher_records, dtype=np.float64))
    error = np.minimum(0.5, 0.5 * np.sqrt(hypotheses.estimated_dimension / size))
    return Teachers(error, 0.5 * error)


def unstable_share(error: FloatArray, dissent: FloatArray) -> FloatArray:
    """The share of queries on which more than `dissent` = φ of the teachers dissent, θ = `error`."""
    safe = np.clip(2.0 * dissent, 1e-12, 1.0)
    return np.minimum(1.0, 2.0 * error * np.log(1.0 / safe))


def unanswered_share(unstable: FloatArray, queries: int, budget: FloatArray | int) -> FloatArray:
    """The expected share of m = `queries` that get no label, when each is unstable with chance p = `unstable`.

    The release halts at the `budget` = T-th unstable answer. Of the asked ones a share p is unstable on average, and
    there are min(T, B) unstable ones, B ~ Binomial(m, p); so E[asked] = E[min(T, B)]/p (Wald), and
    E[min(T, B)] = mp·P(Bin(m−1, p) ≤ T−2) + T·P(B ≥ T).
    """
    p, most = np.clip(unstable, 1e-12, 1.0), np.asarray(budget)
    before = p * (1.0 - binomial_tail(most - 2, queries - 1, p))
    asked = (before + binomial_tail(most - 1, queries, p) * most / queries) / p
    share: FloatArray = 1.0 - (1.0 - p) * np.minimum(1.0, asked)
    return share


def excess_error(unanswered: FloatArray, common: FloatArray) -> FloatArray:
    """½u + (1 − u)·c: a query without an answer counts as a coin, the others err together on a share c = `common`.

    u = `unanswered`. m times this is m/2 less (½ − c) for each query that is answered: the search counts answers.
    """
    loss: FloatArray = 0.5 * unanswered + (1.0 - unanswered) * np.minimum(0.5, common)
    return loss


def relabel_excess(log_growth: float, inverse_temperature: float, records: int) -> float:
    """Expected excess training error of ĥ: about (ln|H| + 1)/(η·n')."""
    return min(1.0, (log_growth + 1.0) / (inverse_temperature * records))
