"""A linear classifier by noisy full-batch gradient descent: one integer vector a record, exact sums, discrete noise.

After Song, Chaudhuri, Sarwate 2013 and Bassily, Smith, Thakurta 2014, without sampling. The loss is the logistic one of
the margin s·θ·φ/‖φ‖, s = ±1 the label, made linear below margin 0: its slope r = 1/(1 + e^{margin}) is cut at ½, which
keeps it convex and halves what one record can do. Each step sums the vectors q·φ, q an integer near ±2r·M/‖φ‖ that is
cut so that ‖q·φ‖ ≤ M, and adds discrete Gaussian noise. All that follows from the noisy sums is public.

Several classes: one such θ for each class against the rest, one q for each, all cut together. Where a record is right
about most classes, as it soon is, they cost hardly more than one. Proof: proofs/linear.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from pcqr.accounting import PureEvent, Repeated, compose
from pcqr.entropy import Entropy
from pcqr.errors import DataError, ParameterError
from pcqr.guarantee import Guarantee, rounded_up
from pcqr.hypotheses.linear import LinearHypothesis, OneAgainstRest
from pcqr.mechanisms.fine_gaussian import fine_gaussian_epsilon
from pcqr.noise import discrete_gaussians
from pcqr.plan import DescentStage
from pcqr.progress import tracked
from pcqr.records import Records
from pcqr.records.features import Floats, LinearFeatures

LARGEST_WEIGHT = 2.0**40
"""Weights are cut to ± this, so that no margin is infinite. No sensible run comes near it."""


def linear_descent(
    features: LinearFeatures, records: Records, plan: DescentStage, entropy: Entropy
) -> LinearHypothesis:
    """Run the descent for two classes and return the classifier to publish: `linear_guarantee` holds for it."""
    if plan.classes != 2:
        raise ParameterError("plan", "a plan for 2 classes", f"one for {plan.classes}")
    return LinearHypothesis(features, tuple(_descend(features, records, plan, entropy)[0]))


def one_against_rest(
    features: LinearFeatures, records: Records, plan: DescentStage, entropy: Entropy
) -> OneAgainstRest:
    """The same for three classes or more, all blocks in one descent: `linear_guarantee` holds for all of them."""
    if plan.classes == 2:
        raise ParameterError("plan", "a plan for at least 3 classes", "one for 2")
    blocks = _descend(features, records, plan, entropy)
    return OneAgainstRest(tuple(LinearHypothesis(features, tuple(weights)) for weights in blocks))


@np.errstate(all="ignore")  # whether a float underflows depends on the records
def _descend(features: LinearFeatures, records: Records, plan: DescentStage, entropy: Entropy) -> Floats:
    """The mean of the weights after each of the last quarter of the steps, one row for each block."""
    check_records(features, records, plan)
    summands = records.sums(features, plan.bound)
    shape = plan.blocks, features.size
    weights, velocity, average = np.zeros((3, *shape))
    averaged = -(-plan.steps // 4)
    for step in tracked("steps", range(plan.steps)):
        noise = discrete_gaussians(plan.scale, plan.blocks * features.size, entropy).reshape(shape)
        velocity = plan.momentum * velocity + plan.step_size / plan.sensitivity * (summands.total(weights) + noise)
        weights = np.clip(weights + velocity, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        if step >= plan.steps - averaged:
            average += weights
    mean: Floats = average / averaged
    return mean


def check_records(features: LinearFeatures, records: Records, plan: DescentStage) -> None:
    """Raises where `records` and `plan` do not fit, before any noise is drawn."""
    if records.width != features.features:
        raise DataError(
            "X", f"a table with {features.features} column(s) for the feature map", f"{records.width} columns"
        )
    if records.labels != plan.classes:
        raise DataError("y", f"records with {plan.classes} labels", f"{records.labels} labels")
    if records.size != plan.records:
        raise ParameterError("plan", f"a plan for {records.size} records", f"one for {plan.records}")
    if len(features.predicates) != plan.predicates:
        raise ParameterError("plan", f"a plan for {len(features.predicates)} predicates", f"one for {plan.predicates}")


def linear_guarantee(plan: DescentStage, delta: float, *, beside: Sequence[PureEvent] = ()) -> Guarantee:
    """T sums with discrete Gaussian noise at sensitivity 2M together, with a δ of at most `delta` (proofs/linear.md).

    The better of two figures that hold: Rényi composition, and continuous noise with what the grid adds to δ. `beside`
    are other releases on the same records, before or after the sums (proofs/compare.md).
    """
    stated = compose([Repeated(plan.event, plan.steps), *beside], delta, accountant="Rényi")
    shift = rounded_up(math.sqrt(plan.steps) / plan.event.noise_multiplier)
    pure = [event.epsilon for event in beside]
    fine = fine_gaussian_epsilon(shift, stated.delta, plan.scale, plan.draws, pure)
    if fine < stated.epsilon:
        number = f"{plan.steps + len(pure)} releases on the same records"
        exactly = f" beside {len(pure)} pure, in closed form" if pure else ""
        method = f"the sums accounted as continuous noise{exactly}, and the distance from it in δ"
        stated = replace(stated, epsilon=fine, steps=(f"{number}, {method}",))
    kind = f"{plan.steps} of them noisy sums" if pure else "each a noisy sum"
    return replace(stated, proof="linear").explained(f"{kind} of one bounded integer vector a record")
