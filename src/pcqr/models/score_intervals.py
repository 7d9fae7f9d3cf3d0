"""Estimates with intervals from noisy counts: noise and sampling together. Public numbers in, public numbers out.

The formulas, and what they are for: proofs/score.md, "Intervals".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

LEVEL = 0.95
"""What is stated of an interval."""
_QUANTILE = 2.1
"""Wider than the 1.96 of `LEVEL`: variances are estimated from noisy counts (docs/score.md has what comes of it)."""


@dataclass(frozen=True)
class Estimate:
    """An estimate of a population's figure, with an interval that covers noise and sampling.

    Parameters
    ----------
    value : float
        The estimate.
    low, high : float
        The ends of the 95 % interval. 0 and 1 where the noise leaves nothing to be said.

    Examples
    --------
    >>> from pcqr.models import Estimate
    >>> print(Estimate(0.8312, 0.801, 0.8587))
    0.831 (0.801 to 0.859)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} ({self.low:.3f} to {self.high:.3f})"


@dataclass(frozen=True)
class _Ends:
    """A ratio and the ends of its interval, which may lie outside [0, 1]."""

    value: float
    low: float
    high: float

    def cut(self) -> Estimate:
        """Move the estimate into [0, 1], its interval with it, and cut that."""
        value = min(max(self.value, 0.0), 1.0)
        moved = value - self.value
        return Estimate(value, max(0.0, self.low + moved), min(1.0, self.high + moved))


_NOTHING_KNOWN = _Ends(0.5, 0.0, 1.0)


class Intervals:
    """Intervals for ratios of counts, of which only noisy ones are known.

    `noisy` are the counts of n = `records` in all cells, each with independent noise of this `variance`.
    """

    def __init__(self, noisy: Sequence[int], records: int, variance: float) -> None:
        counts = np.array(noisy, dtype=np.float64)
        self.counts: Floats = counts + (records - counts.sum()) / counts.size
        """They sum to n: its share of the noise is known, and taken off."""
        self._variance = variance

    def share(self, part: NDArray[np.bool_]) -> Estimate:
        """The share of all records that are in the cells of `part`."""
        return self._ratio(part, np.ones_like(part)).cut()

    def share_of(self, part: NDArray[np.bool_], whole: NDArray[np.bool_]) -> Estimate:
        """The share of the records in `whole` that are in `part`, which is within it."""
        return self._ratio(part, whole).cut()

    def mean_share(self, parts: Sequence[NDArray[np.bool_]], wholes: Sequence[NDArray[np.bool_]]) -> Estimate:
        """The mean of the shares `share_of`, of wholes that have no cell in common."""
        each = [self._ratio(part, whole) for part, whole in zip(parts, wholes, strict=True)]
        add = math.fsum if any(ends is _NOTHING_KNOWN for ends in each) else _root_of_squares
        value = math.fsum(ends.value for ends in each)
        low = value - add([ends.value - ends.low for ends in each])
        high = value + add([ends.high - ends.value for ends in each])
        return _Ends(value / len(each), low / len(each), high / len(each)).cut()

    def area(self, negative: slice, positive: slice) -> Estimate:
        """The chance that a positive is in a later bin than a negative, half of that in the same one counted: AUC."""
        n0, n1 = self.counts[negative], self.counts[positive]
        before, after = np.cumsum(n0) - 0.5 * n0, np.cumsum(n1[::-1])[::-1] - 0.5 * n1
        negatives, positives = float(n0.sum()), float(n1.sum())
        if min(negatives, positives) <= 0.0:
            return _NOTHING_KNOWN.cut()
        above, below = np.zeros_like(self.counts), np.zeros_like(self.counts)
        above[negative], above[positive] = after, before
        below[negative], below[positive] = positives, negatives
        extremes = [(side, whole) for whole in (negatives, positives) for side in (0.0, whole)]
        return self._interval(float(n1 @ before), negatives * positives, above, below, extremes).cut()

    def _ratio(self, part: NDArray[np.bool_], whole: NDArray[np.bool_]) -> _Ends:
        within = float(self.counts[part].sum()), float(self.counts[whole].sum())
        return self._interval(*within, part.astype(np.float64), whole.astype(np.float64), [(0.0, 1.0), (1.0, 1.0)])

    def _interval(
        self, above: float, below: float, rising: Floats, falling: Floats, extremes: Sequence[tuple[float, float]]
    ) -> _Ends:
        """Every t with (`above` − t·`below`)² ≤ q²·V(t), V the variance of that difference.

        `rising` and `falling` are the gradients of `above` and `below` by the counts; `extremes` those of records that
        were not met.
        """
        if below <= 0.0:
            return _NOTHING_KNOWN
        value = above / below
        variance = (
            _by_powers(np.maximum(self.counts, 0.0), rising, falling)
            + self._variance * _by_powers(np.ones_like(rising), rising - rising.mean(), falling - falling.mean())
            + _QUANTILE**2 * _by_powers(np.ones(len(extremes)), *map(np.array, zip(*extremes, strict=True)))
        )
        spread = _QUANTILE**2 * self._widened(rising - value * falling, float(variance @ (1.0, value, value**2)))
        square, middle = below**2 - spread * variance[2], 2.0 * above * below + spread * variance[1]
        if square <= 0.0:
            return _NOTHING_KNOWN
        root = math.sqrt(max(0.0, middle**2 - 4.0 * square * (above**2 - spread * variance[0])))
        return _Ends(value, float((middle - root) / (2.0 * square)), float((middle + root) / (2.0 * square)))

    def _widened(self, gradient: Floats, variance: float) -> float:
        """By how much the square of the quantile grows: noise has heavier tails than a Gaussian of its variance."""
        gradient = gradient - gradient.mean()
        kurtosis = (3.0 + 1.0 / self._variance) * self._variance**2 * float((gradient**4).sum()) / variance**2
        return (1.0 + (_QUANTILE**2 - 3.0) * min(kurtosis, 3.0) / 24.0) ** 2


def _by_powers(weights: Floats, rising: Floats, falling: Floats) -> Floats:
    """Return the coefficients of 1, t and t² in Σ weights·(rising − t·falling)²."""
    return np.array([weights @ rising**2, -2.0 * (weights @ (rising * falling)), weights @ falling**2])


def _root_of_squares(distances: Sequence[float]) -> float:
    return math.sqrt(math.fsum(distance**2 for distance in distances))
