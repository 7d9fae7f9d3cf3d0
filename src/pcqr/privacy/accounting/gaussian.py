"""A Gaussian release beside a few pure ones, and one of bounded range: δ at every ε in closed form.

A pure ε₁-DP release is dominated by randomised response, whose privacy loss is +ε₁ or −ε₁ with odds e^{ε₁} to 1. Beside
a Gaussian release of shift μ the two losses add up, so δ is a mean of the Gaussian's own at shifted ε:

    δ(ε) = Σ_s w_s·δ_μ(ε − s·ε₁),   w_s = 1/(1 + e^{−s·ε₁}),   s = ±1,
    δ_μ(e) = Φ(μ/2 − e/μ) − e^e·Φ(−μ/2 − e/μ)   for every real e  (Balle and Wang 2018),

and likewise with 2^k terms for k pure releases. A release of bounded range r, as the exponential mechanism is one, has
its loss in [t − r, t] for some t from 0 to r that depends on the two neighbours: the loss is t or t − r, the chance of
the latter is (e^t − 1)/(e^r − 1), and δ is the largest over t. Where t may depend on what the others released, δ has a
closed form of its own. Proofs: proofs/accounting.md, proofs/bounded_range.md.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_ndtr, ndtr

from pcqr.checks import check_integer, check_positive
from pcqr.privacy.guarantee import ROUNDING, rounded_up

Floats = NDArray[np.float64]

LARGEST_EPSILON = 600.0
_NUMERICAL = 1e-11  # of Φ, relative: its own error and that of its argument (proofs/accounting.md)
_UNIT_ROUNDOFF = 2.0**-53
_CELLS = 256  # of all t, a power of two: they cost less than .02 % of ε (proofs/accounting.md)


GAUSSIAN_OF_RANGE = rounded_up(math.sqrt(math.pi / 8.0))
"""A release of bounded range r is dominated by a Gaussian one of μ = r·√(π/8) (proofs/bounded_range.md)."""


@np.errstate(all="ignore")  # what underflows is accounted for
def gaussian_delta(
    shift: float,
    epsilon: float,
    beside: Sequence[float] = (),
    ranged: float | None = None,
    *,
    is_adaptive: bool = False,
) -> float:
    """δ at `epsilon` of a Gaussian release of μ = `shift` together with pure releases of each ε in `beside`.

    `ranged` is the length of the interval of one more release, of bounded range. Unless `is_adaptive`, its interval
    must not depend on what was released before it: so it is for a mechanism that looks at the records alone.

    Never too small. At most 1 but for rounding; infinite where `epsilon` and all others add up to more than 600.
    """
    if ranged:
        check_positive("ranged", ranged)
        as_pure = gaussian_delta(shift, epsilon, (*beside, ranged))
        closed = _beside_any_range if is_adaptive else _beside_a_range
        return as_pure if as_pure == math.inf else min(as_pure, closed(shift, epsilon, beside, ranged))
    reach = epsilon + math.fsum(beside)
    if reach > LARGEST_EPSILON:
        return math.inf
    weights, losses = _responses(beside)
    # δ_μ falls with ε: rounded towards a larger one
    terms = weights * _profile(shift, epsilon - losses - 8.0 * _UNIT_ROUNDOFF * reach)[0]
    return rounded_up(math.fsum(terms) + sys.float_info.min)


def _beside_a_range(shift: float, epsilon: float, beside: Sequence[float], ranged: float) -> float:
    """The largest δ over all t: that at the ends of each cell of them, and by how much it may be larger between."""
    reach = epsilon + math.fsum(beside) + ranged
    weights, losses = _responses(beside)
    steps = np.arange(_CELLS + 1.0)
    growth = math.expm1(ranged) / _CELLS
    at = (epsilon - losses - 8.0 * _UNIT_ROUNDOFF * (reach + ranged))[:, None] - np.log1p(steps * growth)
    (high, beyond), (low, _) = _profile(shift, at), _profile(shift, at + ranged)
    lower = steps / _CELLS
    ends = np.sum(weights[:, None] * ((1.0 - lower) * high + lower * low), axis=0)
    tail = np.sum(weights[:, None] * beyond, axis=0) + sys.float_info.min
    between = growth / (1.0 + steps[:-1] * growth) * tail[1:] / (4.0 * _CELLS)
    return rounded_up(float(np.max(np.maximum(ends[:-1], ends[1:]) + between)) + sys.float_info.min)


def _beside_any_range(shift: float, epsilon: float, beside: Sequence[float], ranged: float) -> float:
    """The mean of the largest δ that a release of bounded range r can have at what the other losses leave of ε.

    That is (e^r·A(ε − r) − A(ε + r))/(e^r − 1) with A(c) = E(1 − e^{(c − X)/2})₊², X the loss of all others.
    """
    reach = epsilon + math.fsum(beside) + ranged
    weights, losses = _responses(beside)
    slack = 8.0 * _UNIT_ROUNDOFF * (reach + ranged)
    near, far = epsilon - losses - ranged - slack, epsilon - losses + ranged + slack
    upper = math.exp(ranged) * _squares(shift, near, 1.0) - np.maximum(0.0, _squares(shift, far, -1.0))
    return rounded_up(math.fsum(weights * np.maximum(0.0, upper)) / math.expm1(ranged) + sys.float_info.min)


def _squares(shift: float, at: Floats, side: float) -> Floats:
    """A(c) = Φ(μ/2 − c/μ) − 2·e^{c/2 − μ²/8}·Φ(−c/μ) + e^c·Φ(−μ/2 − c/μ), c = `at`: not too small (`side` 1), or not
    too large (−1).
    """
    more, less = 1.0 + side * _NUMERICAL, 1.0 - side * _NUMERICAL
    first = ndtr(shift / 2.0 - at / shift)
    second = np.exp(np.minimum(0.0, at / 2.0 - shift * shift / 8.0 + log_ndtr(-at / shift)))
    third = np.exp(np.minimum(0.0, at + log_ndtr(-shift / 2.0 - at / shift)))
    found: Floats = (first + third) * more - 2.0 * second * less + side * sys.float_info.min
    return found


def _responses(beside: Sequence[float]) -> tuple[Floats, Floats]:
    """The chance and the loss of each outcome of a randomised response for every ε in `beside`."""
    weights, sums = [], []
    for losses in product(*((loss, -loss) for loss in beside)):
        weight = math.prod(1.0 / (1.0 + math.exp(-loss)) for loss in losses)
        weights.append(weight)
        sums.append(math.fsum(losses))
    return np.array(weights), np.array(sums)


def _profile(shift: float, at: Floats) -> tuple[Floats, Floats]:
    """δ_μ(`at`) and the chance of a loss beyond `at`, not too small by more than what underflows."""
    likely, unlikely = shift / 2.0 - at / shift, -shift / 2.0 - at / shift
    first = ndtr(likely) * (1.0 + _NUMERICAL)
    second = np.exp(np.minimum(0.0, at + log_ndtr(unlikely))) * (1.0 - _NUMERICAL)
    return np.maximum(0.0, first - second), first


# ---------------------------------------------------------------------------------------------------------------------
# Discrete Gaussian noise on a fine grid: as private as continuous noise, but for a chance that is accounted for.
#
# The (ε, δ) curve of continuous noise is better than what zCDP says of discrete noise, by 6 to 9 % of σ at δ = 10⁻⁶,
# but does not hold for it. Yet one discrete draw and a continuous one rounded to the nearest integer are within
# 1/(16σ²) of each other in total variation. With σ in the millions that is next to nothing, even for a million draws.
# Proof: proofs/fine_gaussian.md.


def fine_gaussian_delta(
    shift: float,
    epsilon: float,
    scale: float,
    draws: int,
    beside: Sequence[float] = (),
    ranged: float | None = None,
    *,
    is_adaptive: bool = False,
) -> float:
    """δ at `epsilon` of integer vectors with `draws` discrete Gaussians of σ = `scale` in all; above 1: says nothing.

    μ = `shift` is √T·Δ/σ for T vectors, each chosen from those before, that a replaced record moves by at most Δ.
    `beside` are the ε of pure releases on the same records, before, between or after them, and `ranged` is the length
    of the interval of one of bounded range: the same interval whatever was released before it, unless `is_adaptive`.

        δ = δ_continuous(ε) + (1 + e^ε)·N/(16σ²),      N = `draws`.

    The first part is that of continuous noise beside the other releases, `gaussian_delta`.
    """
    check_positive("shift", shift)
    check_positive("scale", scale)
    check_integer("draws", draws, least=0)
    continuous = gaussian_delta(shift, epsilon, beside, ranged, is_adaptive=is_adaptive)
    return rounded_up(continuous + grid_delta(epsilon, scale, draws))


def grid_delta(epsilon: float, scale: float, draws: int) -> float:
    """(1 + e^ε)·N/(16σ²): what N = `draws` draws on the grid add to the δ of continuous noise; infinite for σ < 2."""
    if scale < 2.0 or epsilon > LARGEST_EPSILON:
        return math.inf
    return rounded_up((1.0 + math.exp(epsilon)) * draws / (16.0 * scale) / scale)


def fine_gaussian_epsilon(
    shift: float,
    delta: float,
    scale: float,
    draws: int,
    beside: Sequence[float] = (),
    ranged: float | None = None,
    *,
    is_adaptive: bool = False,
) -> float:
    """The least ε, to ten digits, at which `fine_gaussian_delta` is at most `delta`; infinite where there is none.

    The grid's part grows with ε: it is looked for below the ε at which that part is half of `delta`.
    """

    def is_kept(epsilon: float) -> bool:
        return fine_gaussian_delta(shift, epsilon, scale, draws, beside, ranged, is_adaptive=is_adaptive) <= delta

    if is_kept(0.0):
        return 0.0
    room = delta / 2.0 * (16.0 * scale) * scale / max(draws, 1) - 1.0
    high = min(math.log(room), LARGEST_EPSILON - math.fsum(beside) - (ranged or 0.0)) if room > 1.0 else 0.0
    if high <= 0.0 or not is_kept(high):
        return math.inf
    low = 0.0
    while high - low > 1e-10 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_kept(middle) else (middle, high)
    return rounded_up(high)


def unit_steps_delta(scale: float, moved: int, epsilon: float) -> float:
    """δ at `epsilon` of integers with discrete Gaussian noise of σ = `scale`, M = `moved` of which move by one step.

    The loss depends on the sum of their M draws, and that sum is nearly Gaussian, however coarse its terms are:

        δ = e^τ·δ_μ(ε − 1/σ²),      μ = √M/σ,   τ = 5M·e^{−π²σ²},      for σ ≥ 2 and ε ≥ μ²/2, else infinite.
    """
    check_positive("scale", scale)
    check_integer("moved", moved, least=1)
    if scale < 2.0 or epsilon < _least_of_steps(scale, moved):
        return math.inf
    wider = 5.0 * moved * math.exp(-math.pi * math.pi * scale * scale)
    at = epsilon * (1.0 - ROUNDING) - rounded_up(1.0 / scale / scale)
    if at < 0.0 or wider > 1.0:
        return math.inf
    return rounded_up(math.exp(wider) * gaussian_delta(rounded_up(math.sqrt(moved) / scale), at))


def unit_steps_epsilon(scale: float, moved: int, delta: float) -> float:
    """The least ε, to ten digits, at which `unit_steps_delta` is at most `delta`; infinite where there is none."""

    def is_kept(epsilon: float) -> bool:
        return unit_steps_delta(scale, moved, epsilon) <= delta

    low, high = _least_of_steps(scale, moved), LARGEST_EPSILON
    if low > high or not is_kept(high):
        return math.inf
    while high - low > 1e-10 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if is_kept(middle) else (middle, high)
    return rounded_up(high)


def _least_of_steps(scale: float, moved: int) -> float:
    """μ²/2, below which nothing is proved."""
    return rounded_up(moved / (2.0 * scale) / scale)
