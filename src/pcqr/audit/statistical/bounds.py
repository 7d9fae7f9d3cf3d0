"""From counts to a lower bound on ε that holds with a stated confidence."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainccinv, betaincinv

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def least_probability(hits: Counts | int, runs: int, level: float) -> Any:
    """The Clopper–Pearson lower limit: the true probability is below it with a chance of at most `level`."""
    hits = np.asarray(hits)
    return np.where(hits == 0, 0.0, betaincinv(np.maximum(hits, 1), runs - hits + 1, level))


def largest_probability(hits: Counts | int, runs: int, level: float) -> Any:
    """The Clopper–Pearson upper limit: the true probability is above it with a chance of at most `level`."""
    hits = np.asarray(hits)
    return np.where(hits == runs, 1.0, betainccinv(hits + 1, np.maximum(runs - hits, 1), level))


def least_epsilon(hits: Counts | int, others: Counts | int, runs: int, delta: float, level: float) -> Any:
    """A lower bound on the ε of any (ε, δ)-DP mechanism, δ = `delta`, wrong with a chance of at most `level`.

    An event O happened `hits` times in `runs` runs on one neighbour and `others` times in as many on the other. From
    P(O) ≤ e^ε·Q(O) + δ it follows that ε ≥ ln((P(O) − δ) / Q(O)); each probability is replaced by its
    Clopper–Pearson limit on the unfavourable side, at half of `level`. Below 0 it says nothing. O must not have been
    chosen by looking at these runs.
    """
    p = least_probability(hits, runs, level / 2.0)
    q = largest_probability(others, runs, level / 2.0)
    return np.log(np.maximum(p - delta, sys.float_info.min) / q)
