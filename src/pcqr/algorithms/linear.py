"""A linear classifier by noisy full-batch gradient descent: one integer vector a record, exact sums, discrete noise.

After Song, Chaudhuri, Sarwate 2013 and Bassily, Smith, Thakurta 2014, without sampling. The loss is the logistic one of
the margin s·θ·φ/‖φ‖, s = ±1 the label, made linear below margin 0: its slope r = 1/(1 + e^{margin}) is cut at ½, which
keeps it convex and halves what one record can do. Each step sums the vectors q·φ, q an integer near ±2r·M/‖φ‖ that is
cut so that ‖q·φ‖ ≤ M, and adds discrete Gaussian noise. All that follows from the noisy sums is public. Proof:
proofs/linear.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pcqr.accounting import Repeated, compose
from pcqr.compiled import compiled
from pcqr.entropy import Entropy
from pcqr.errors import DataError, ParameterError
from pcqr.guarantee import Guarantee, rounded_up
from pcqr.hypotheses.base import Labels, Points, as_labels, as_points
from pcqr.hypotheses.linear import Codes, Floats, Integers, LinearFeatures, LinearHypothesis
from pcqr.mechanisms.fine_gaussian import fine_gaussian_epsilon
from pcqr.noise import discrete_gaussians
from pcqr.plan import LinearPlan

LARGEST_WEIGHT = 2.0**40
"""Weights are cut to ± this, so that no margin is infinite. No sensible run comes near it."""


class Summands:
    """The private records as one integer vector each, for any public weights. Holds only secrets."""

    def __init__(self, features: LinearFeatures, X: Points, y: Labels, bound: int) -> None:
        self._features = features
        self._codes: Codes = features.encode(X)
        self._signs: NDArray[np.int64] = 2 * y.astype(np.int64) - 1
        squared_norms = features.squared_norms(self._codes)
        self._inverse_norms: Floats = 1.0 / np.sqrt(squared_norms)
        self._largest = largest_factors(squared_norms, bound)

    def total(self, weights: Floats) -> Integers:
        """Σ_i q_i·φ_i at θ = `weights`, exactly. Private."""
        table, constant = self._features.tables(weights)
        histogram = np.zeros(table.shape, dtype=np.int64)
        _add_factors(self._codes, self._signs, self._inverse_norms, self._largest, table, constant, histogram)
        return self._features.totals(histogram)


def linear_descent(
    features: LinearFeatures, X: Points, y: Labels, plan: LinearPlan, entropy: Entropy
) -> LinearHypothesis:
    """Run the descent and return the classifier to publish: `linear_guarantee` holds for it."""
    points, labels = as_points(X, features.features, owner="the feature map"), as_labels(y)
    if labels.size != points.shape[0]:
        raise DataError("y", f"one label for each of the {points.shape[0]} rows of X", f"{labels.size} labels")
    if labels.size != plan.records:
        raise ParameterError("plan", f"a plan for {labels.size} records", f"one for {plan.records}")
    if len(features.predicates) != plan.predicates:
        raise ParameterError("plan", f"a plan for {len(features.predicates)} predicates", f"one for {plan.predicates}")
    summands = Summands(features, points, labels, plan.bound)
    weights, velocity, average = np.zeros((3, features.size))
    for step in range(plan.steps):
        noisy = summands.total(weights) + discrete_gaussians(plan.scale, features.size, entropy)
        velocity = plan.momentum * velocity + plan.step_size / plan.sensitivity * noisy
        weights = np.clip(weights + velocity, -LARGEST_WEIGHT, LARGEST_WEIGHT)
        if 2 * step >= plan.steps - 1:
            average += weights
    return LinearHypothesis(features, tuple(average / -(-plan.steps // 2)))


def linear_guarantee(plan: LinearPlan, delta: float) -> Guarantee:
    """T sums with discrete Gaussian noise at sensitivity 2M together, with a δ of at most `delta` (proofs/linear.md).

    The better of two figures that hold: Rényi composition, and continuous noise with what the grid adds to δ.
    """
    stated = compose([Repeated(plan.event, plan.steps)], delta, accountant="Rényi")
    shift = rounded_up(math.sqrt(plan.steps) / plan.event.noise_multiplier)
    fine = fine_gaussian_epsilon(shift, stated.delta, plan.scale, plan.steps * (plan.predicates + 1))
    if fine < stated.epsilon:
        method = "accounted as continuous noise, and the distance from it in δ"
        stated = replace(stated, epsilon=fine, steps=(f"{plan.steps} releases on the same records, {method}",))
    return replace(stated, proof="linear").explained("each a noisy sum of one bounded integer vector a record")


def largest_factors(squared_norms: Integers, bound: int) -> Integers:
    """For each N in `squared_norms` an integer q ≥ 0 with q²·N ≤ M², the largest one, M = `bound`."""
    unique, places = np.unique(squared_norms, return_inverse=True)
    roots = [math.isqrt(bound * bound // int(value)) for value in unique]
    return np.array(roots, dtype=np.int64)[places]


@compiled
def _add_factors(
    codes: Codes,
    signs: NDArray[np.int64],
    inverse_norms: Floats,
    largest: Integers,
    table: Floats,
    constant: float,
    histogram: Integers,
) -> None:
    """Add every record's q to `histogram`[g, b] for each of its bytes: byte g is b."""
    records, count = codes.shape
    for i in range(records):
        score = constant
        for g in range(count):
            score += table[g, codes[i, g]]
        residual = 1.0 / (1.0 + math.exp(min(signs[i] * score * inverse_norms[i], 700.0)))
        factor = np.int64(math.floor(2.0 * largest[i] * residual + 0.5))
        # Whatever the floats above made of it, the factor stays within what the proof allows.
        factor = signs[i] * min(max(factor, 0), largest[i])
        for g in range(count):
            histogram[g, codes[i, g]] += factor
