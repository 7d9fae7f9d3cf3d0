"""Cuts of a numeric column, drawn by recursive halving with the exponential mechanism. Proof: proofs/predicates.md.

Floats stand at public integers, their places, which rise with them. A node of places is cut where about half of its
values lie below, and each of its two parts is cut again.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import rounded_up
from pcqr.privacy.noise import IntegerArray, weighted_choice

_MANTISSA_BITS, _KEPT_BITS = 52, 44
_FINITE = 2047
"""So many binary exponents have finite floats."""
_USUAL, _SPREAD, _LARGEST_WEIGHT = 1028, 8.0, 2.0**12
"""Between 2⁵ and 2⁶ a binade has most places; 8 binades away half as many, 16 away a fifth."""

_WEIGHTS: IntegerArray = np.maximum(
    np.rint(_LARGEST_WEIGHT / (1.0 + ((np.arange(_FINITE) - _USUAL) / _SPREAD) ** 2)), 1.0
).astype(np.int64)
"""How many places each float of a binade takes, as if its mantissa had `_KEPT_BITS` bits."""
_STARTS: IntegerArray = np.concatenate([[0], np.cumsum(_WEIGHTS << _KEPT_BITS)])
"""The place of each power of two."""


def places(values: NDArray[np.float64]) -> IntegerArray:
    """Return the place of each finite number: an integer in [`LOW`, `HIGH`) that rises with it."""
    bits = np.abs(values).view(np.int64)
    binade = bits >> _MANTISSA_BITS
    mantissa = bits & ((1 << _MANTISSA_BITS) - 1)
    found: IntegerArray = _STARTS[binade] + _WEIGHTS[binade] * (mantissa >> (_MANTISSA_BITS - _KEPT_BITS))
    return np.where(values < 0.0, -found, found)


HIGH = int(places(np.array([np.finfo(np.float64).max]))[0]) + 1
LOW = 1 - HIGH


def cut_at(place: int) -> float:
    """Return the float c of which x > c if and only if the place of x is at least `place`, for LOW < `place` < HIGH."""
    if place >= 1:
        return _float_of(_least_key(place) - 1)
    return -_float_of(_least_key(1 - place))


def _least_key(place: int) -> int:
    """Return the bits of the least float ≥ 0 whose place is at least `place`."""
    binade = int(np.searchsorted(_STARTS, place, side="right")) - 1
    mantissa = -(-(place - int(_STARTS[binade])) // int(_WEIGHTS[binade]))
    return (binade << _MANTISSA_BITS) + (mantissa << (_MANTISSA_BITS - _KEPT_BITS))


def _float_of(bits: int) -> float:
    return float(np.array(bits, dtype=np.int64).view(np.float64))


def halved(
    at: NDArray[np.signedinteger[Any]],
    levels: int,
    selection: float,
    entropy: Entropy,
    low: int = LOW,
    high: int = HIGH,
) -> list[int]:
    """Return the places of the cuts of a column whose values are `at` these places, in [`low`, `high`), ascending.

    Each of `levels` levels is a release of bounded range ε₀ = `selection`, to within 4·`halving_error`. Every node
    draws, whether values lie in it or not.
    """
    values, counts = np.unique(at, return_counts=True)
    below = np.concatenate([[0], np.cumsum(counts)])
    del at, counts  # 80 megabytes each, of ten million records
    borders = [low, high]
    for _ in range(levels):
        drawn = [
            _cut(values, below, start, end, selection, entropy) for start, end in pairwise(borders) if end - start >= 2
        ]
        borders = sorted([*borders, *drawn])
    return borders[1:-1]


def _cut(values: IntegerArray, below: IntegerArray, start: int, end: int, selection: float, entropy: Entropy) -> int:
    """Return t among `start` + 1, …, `end` − 1, P(t) ∝ e^{−(ε₀/4)·|2·#{v in [start, t)} − #{v in [start, end)}|}."""
    first, last = np.searchsorted(values, [start, end])
    borders = np.concatenate([[start], values[first:last], [end - 1]])
    sizes = np.diff(borders)
    utility = 2 * below[first : last + 1]
    utility -= below[first] + below[last]
    log_weights = sizes.astype(np.float64)
    with np.errstate(divide="ignore"):
        np.log(log_weights, out=log_weights)
    log_weights -= 0.25 * selection * np.abs(utility, out=utility)
    del utility
    gap = weighted_choice(log_weights, entropy)
    return int(borders[gap]) + 1 + int(entropy.below(int(sizes[gap]), 1)[0])


def halving_error(records: int, levels: int, selection: float) -> float:
    """Return λ, by which rounding moves the logarithm of a probability in one level of one column, at most."""
    return rounded_up(2.0 ** (levels - 43) + 2.0**-52 * records * selection)
