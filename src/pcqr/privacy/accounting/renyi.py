"""Rényi divergences add up at every order α; the sum is turned into (ε, δ) at the best order.

Conversion at one order (Canonne, Kamath and Steinke 2020, Proposition 12), with R = R(α) the divergence of order α:

    δ = e^{(α−1)(R−ε)} / (α−1) · (1 − 1/α)^α.

Every α > 1 gives a valid figure, so an inexact minimum costs tightness and never validity. zCDP is the line R = ρα.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from pcqr.checks import SMALLEST_DELTA, check_delta, check_finite, check_positive
from pcqr.errors import ParameterError
from pcqr.privacy.accounting.basic import total_delta
from pcqr.privacy.accounting.events import (
    ApproximateEvent,
    BoundedRangeEvent,
    ConcentratedEvent,
    DiscreteGaussianEvent,
    GaussianEvent,
    Ledger,
    PureEvent,
    Release,
)
from pcqr.privacy.guarantee import ROUNDING, rounded_text

NAME = "Rényi"
_LOG_ORDERS = (-14.0, 28.0)  # of α − 1: from 10⁻⁶ to 10¹²
_FIRST_GRID, _GRID = 160, 16  # steps
_LARGEST_ARGUMENT = 600.0  # of sinh, with room for a product of two


def concentrated_epsilon(rho: float, delta: float) -> float:
    """The least ε such that ρ-zCDP implies (ε, δ)-DP by the conversion of this module, rounded up.

    Parameters
    ----------
    rho : float
        ρ > 0.
    delta : float
        δ, above 0 and below 1.

    Returns
    -------
    float
        ε, never too small.

    Raises
    ------
    ParameterError
        When ρ or δ is outside its range.

    References
    ----------
    .. [1] C. Canonne, G. Kamath, T. Steinke. The discrete Gaussian for differential privacy. NeurIPS 2020.
       Proposition 12 of arXiv:2004.00010v4.

    Examples
    --------
    >>> from pcqr.privacy.accounting import concentrated_epsilon
    >>> round(concentrated_epsilon(0.01, delta=1e-6), 4)
    0.6217
    """
    check_positive("rho", rho)
    check_delta(delta)
    return renyi_epsilon(lambda order: rho * order, float(delta))


def concentrated_delta(rho: float, epsilon: float) -> float:
    """The least δ such that ρ-zCDP implies (ε, δ)-DP by the conversion of this module, rounded up; at most 1.

    Parameters
    ----------
    rho : float
        ρ > 0.
    epsilon : float
        ε ≥ 0.

    Returns
    -------
    float
        δ, never too small.

    Raises
    ------
    ParameterError
        When ρ or ε is outside its range.

    Examples
    --------
    >>> from pcqr.privacy.accounting import concentrated_delta
    >>> f"{concentrated_delta(0.01, epsilon=1.0):.3g}"
    '1.66e-13'
    """
    check_positive("rho", rho)
    check_finite("epsilon", epsilon)
    if epsilon < 0:
        raise ParameterError("epsilon", "a finite number ≥ 0", epsilon)

    def log_delta(excess: float) -> float:
        gain, shift = excess * (rho * (1.0 + excess) - epsilon), _shift(excess)
        return gain + shift + ROUNDING * (1.0 + excess * (rho * (1.0 + excess) + epsilon) - shift)

    return max(math.exp(min(0.0, _smallest(log_delta))), SMALLEST_DELTA)


def renyi_epsilon(divergence_at: Callable[[float], float], delta: float) -> float:
    """The least ε at which divergences of at most `divergence_at`(α), all α > 1, imply (ε, `delta`)-DP, rounded up."""
    needed = -math.log(delta)

    def at(excess: float) -> float:
        total, shift = divergence_at(1.0 + excess), _shift(excess)
        return total + (needed + shift) / excess + ROUNDING * (total + (1.0 + needed - shift) / excess)

    return max(0.0, _smallest(at))


def objection(ledger: Ledger, delta: float) -> str | None:
    """Why this accountant has no figure, or None. Every event has a divergence; a δ must be left to convert with."""
    if delta - total_delta(ledger) < SMALLEST_DELTA:
        return f"no δ is left to convert with; the events alone have δ = {rounded_text(total_delta(ledger), 13)}"
    return None


def figures(ledger: Ledger, delta: float) -> tuple[float, float]:
    """(ε, δ) of the ledger, δ being all of `delta`: what approximate events leave of it pays for the conversion."""

    def total(order: float) -> float:
        return math.fsum(count * divergence(release, order) for release, count in ledger.releases)

    return renyi_epsilon(total, (delta - total_delta(ledger)) * (1.0 - ROUNDING)), delta


def divergence(release: Release, order: float) -> float:
    """A bound on the Rényi divergence of `order` α > 1 between neighbours; of an approximate event, off its δ."""
    match release:
        case PureEvent(bound) | ApproximateEvent(bound, _):
            return _randomised_response(bound, order)
        case BoundedRangeEvent(length):
            return min(_randomised_response(length, order), order * length * length / 8.0)
        case GaussianEvent(multiplier) | DiscreteGaussianEvent(multiplier):
            return order / (2.0 * multiplier) / multiplier
        case ConcentratedEvent(rho):
            return rho * order


def _randomised_response(epsilon: float, order: float) -> float:
    """ln(cosh((α − ½)ε) / cosh(ε/2)) / (α − 1), the most that ε-DP allows, in a form that keeps its small digits."""
    upper, lower = order * epsilon / 2.0, (order - 1.0) * epsilon / 2.0
    if upper > _LARGEST_ARGUMENT / 2.0:
        return epsilon  # the limit of large orders, an upper bound at every order
    ratio = 2.0 * math.sinh(upper) * math.sinh(lower) / math.cosh(epsilon / 2.0)
    return min(epsilon, math.log1p(ratio) / (order - 1.0))


def _shift(excess: float) -> float:
    """ln((1 − 1/α)^α / (α − 1)) for α = 1 + `excess`; negative."""
    return -excess * math.log1p(1.0 / excess) - math.log1p(excess)


def _smallest(function: Callable[[float], float]) -> float:
    """The least value met on logarithmic grids of α − 1 that close in on each low point of the first one.

    There may be several: bounds that are the smaller of two kink, and those of pure events fall again at large orders.
    """
    low, high = _LOG_ORDERS
    values = _on_grid(function, low, high, _FIRST_GRID)
    step = (high - low) / _FIRST_GRID
    lower = [i for i in range(_FIRST_GRID + 1) if i == 0 or values[i] < values[i - 1]]
    places = [i for i in lower if i == _FIRST_GRID or values[i] <= values[i + 1]]
    return min(_close_in(function, low + step * (i - 1), low + step * (i + 1)) for i in places)


def _close_in(function: Callable[[float], float], low: float, high: float) -> float:
    """The least value on six grids, each between the neighbours of the best point of the one before."""
    best = math.inf
    for _ in range(6):
        values, step = _on_grid(function, low, high, _GRID), (high - low) / _GRID
        place = min(range(_GRID + 1), key=values.__getitem__)
        best = min(best, values[place])
        low, high = low + max(0, place - 1) * step, low + min(_GRID, place + 1) * step
    return best


def _on_grid(function: Callable[[float], float], low: float, high: float, steps: int) -> list[float]:
    orders = [1.0 + math.exp(low + i * (high - low) / steps) for i in range(steps + 1)]
    return [function(order - 1.0) for order in orders]  # α − 1 of an α that float64 holds
