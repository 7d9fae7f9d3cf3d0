"""Privacy loss distributions (PLD): the loss of a dominating pair is convolved on a grid, always rounded upwards.

The convolution is dp-accounting's, imported when first used. Of its switches none is left to it: the distributions are
those of noise multiplier σ/Δ at sensitivity 1, so no neighbouring relation doubles anything, and a count is a number of
self-convolutions, so none is forgotten.

The reserve for the errors of its Fourier transforms is measured and enlarged, not proved (proofs/accounting.md). No
release of pcqr rests on this accountant; it is for users who compose releases of their own.
"""

from __future__ import annotations

import math
from typing import Any

from pcqr.privacy.accounting.basic import total_delta
from pcqr.privacy.accounting.events import (
    ApproximateEvent,
    BoundedRangeEvent,
    GaussianEvent,
    Ledger,
    PureEvent,
    Release,
)
from pcqr.privacy.guarantee import rounded_up

NAME = "PLD"
_RESERVE, _RESERVE_EACH = 1e-12, 1e-15  # of δ: Fourier transforms err in float64, by 2·10⁻¹⁷ a release as measured
_LARGEST_SHARE = 0.01  # of δ that the reserve may take
_LARGEST_VARIANCE = 1000.0  # of the loss, where ε is in the hundreds and the grid would be coarse
_LARGEST_MULTIPLIER = 1e6  # of Gaussian noise; more noise is accounted as this much, which dominates it
_GRID_POINTS = 2.0**21
_COARSEST_PITCH = 2.0**-13


def objection(ledger: Ledger, delta: float) -> str | None:
    """Why this accountant has no figure, or None."""
    for release, _ in ledger.releases:
        if not isinstance(release, PureEvent | ApproximateEvent | BoundedRangeEvent | GaussianEvent):
            return f"no privacy loss distribution dominates {type(release).__name__}"
    if math.fsum(_variances(ledger).values()) > _LARGEST_VARIANCE:
        return "the losses are too large for a fine grid"
    if (delta - total_delta(ledger)) * _LARGEST_SHARE < reserve(ledger):
        return f"δ must exceed that of the events by {reserve(ledger) / _LARGEST_SHARE:.3g}, for float64's sake"
    return None


def figures(ledger: Ledger, delta: float) -> tuple[float, float]:
    """(ε, δ) of the ledger, δ being all of `delta`."""
    pitch = _pitch(ledger)
    first, *others = (
        distribution(release, pitch).self_compose(count) if count > 1 else distribution(release, pitch)
        for release, count in ledger.releases
    )
    for other in others:
        first = first.compose(other)
    allowed = delta - reserve(ledger)
    epsilon = max(0.0, float(first.get_epsilon_for_delta(allowed)))
    # The solver walks the grid by repeated subtraction and drifts; the curve does not, and has the last word.
    while first.get_delta_for_epsilon(epsilon) > allowed:
        epsilon = epsilon * (1.0 + 1e-10) + 1e-12
    return rounded_up(epsilon), delta


def reserve(ledger: Ledger) -> float:
    """The part of δ that is kept for the rounding errors of the convolutions, which may fall on either side."""
    return _RESERVE + _RESERVE_EACH * ledger.count


def distribution(release: Release, pitch: float) -> Any:
    """dp-accounting's distribution of the loss of a pair that dominates `release`, on multiples of `pitch`.

    (ε, δ)-DP is dominated by randomised response: loss ∞ with chance δ, else ±ε with odds e^ε to 1, ε first rounded
    up to the grid. A range of length ε lies in [−ε, ε], so bounded range is dominated by the same pair.
    """
    from dp_accounting.pld import privacy_loss_distribution  # noqa: PLC0415 - a second to import

    match release:
        case GaussianEvent(multiplier):
            deviation = min(multiplier, _LARGEST_MULTIPLIER)
            return privacy_loss_distribution.from_gaussian_mechanism(deviation, value_discretization_interval=pitch)
        case PureEvent(bound) | BoundedRangeEvent(bound):
            delta = 0.0
        case ApproximateEvent(bound, delta):
            pass
        case _:
            raise TypeError(type(release).__name__)  # objected to before
    steps = math.ceil(bound / pitch)
    steps += steps * pitch < bound
    masses = {place: (1.0 - delta) / (1.0 + math.exp(-place * pitch)) for place in (-steps, steps)}
    if not steps:
        masses = {0: 1.0 - delta}
    return privacy_loss_distribution.PrivacyLossDistribution.create_from_rounded_probability(masses, delta, pitch)


def _pitch(ledger: Ledger) -> float:
    """The grid: it holds the event of the largest variance exactly, is fine for the others, and is bounded in size."""
    variances = _variances(ledger)
    leader = max(variances, key=variances.__getitem__)
    scale = _scale(leader) or 1.0
    if len(variances) == 1 and not isinstance(leader, GaussianEvent):
        return scale
    variance = math.fsum(variances.values())
    width = variance + 20.0 * math.sqrt(variance) + _scale(leader)
    finest = max(min(scale / 1024.0, _COARSEST_PITCH), width / _GRID_POINTS)
    return scale / 2.0 ** math.floor(math.log2(scale / finest))


def _variances(ledger: Ledger) -> dict[Release, float]:
    """Bounds on the variances of the losses; infinite for events that have no distribution here."""
    return {release: count * _scale(release) * _scale(release) for release, count in ledger.releases}


def _scale(release: Release) -> float:
    match release:
        case GaussianEvent(multiplier):
            return 1.0 / min(multiplier, _LARGEST_MULTIPLIER)
        case PureEvent(bound) | ApproximateEvent(bound, _) | BoundedRangeEvent(bound):
            return bound
        case _:
            return math.inf
