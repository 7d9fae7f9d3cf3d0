"""The student: penalised logistic regression on soft labels, by a fixed number of steps that contract.

From public vectors and the shares of votes to weights. Shares are private, and so are the weights until they have their
noise. What one party can do to them, rounding included, is bounded in proofs/parties.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pcqr.data.records import Records
from pcqr.data.records.arrays import Points
from pcqr.data.records.feature_map import FeatureMap
from pcqr.errors import ParameterError
from pcqr.hypotheses.base import HypothesisClass
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.privacy.accounting import compose
from pcqr.privacy.accounting.gaussian import fine_gaussian_epsilon
from pcqr.privacy.composition import zcdp
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee, rounded_up
from pcqr.privacy.noise import discrete_gaussians
from pcqr.progress import stage_progress
from pcqr.releases.multiparty.plan import PartiesStage
from pcqr.releases.subsample.run import Teachers

Floats = NDArray[np.float64]


def unit_vectors(features: FeatureMap, points: Points) -> Floats:
    """φ of each point: its dense vector, of length 1 or 0. Public."""
    if features.dense is None or features.ferns is not None:
        raise ParameterError("features", "a feature map with a dense part alone", "one with ferns")
    vectors = features.dense.vectors(points).astype(np.float64)
    unit: Floats = vectors / np.sqrt(np.maximum((vectors * vectors).sum(axis=1, keepdims=True), 1.0))
    return unit


def curvature_of(vectors: Floats) -> float:
    """No less than the largest eigenvalue of G, the mean of φφᵀ, and not much more: ‖G⁴‖^¼ with room for rounding."""
    moments = vectors.T @ vectors / vectors.shape[0]
    square = moments @ moments
    return float((math.sqrt(float(np.square(square @ square).sum())) + 2.0**-33) ** 0.25 + 2.0**-31)


def whole_weights(vectors: Floats, counts: NDArray[np.int64], stage: PartiesStage) -> NDArray[np.int64]:
    """The student's weights in units of 1/`grid`, one row a block: what noise is to be added to. **Private.**

    `counts` are the votes on each point, a column a label. One replaced record moves what is returned by at most
    `stage.sensitivity`, in ℓ₂.
    """
    weights = learned_weights(vectors, counts / stage.parties, stage)
    return np.rint(weights * stage.grid).astype(np.int64)


@np.errstate(all="ignore")  # whether an exponential overflows depends on the votes
def learned_weights(vectors: Floats, shares: Floats, stage: PartiesStage) -> Floats:
    """T steps of gradient descent from 0; one row of weights a block. `shares` has a column a label. **Private.**"""
    targets = shares[:, 1:] if stage.blocks == 1 else shares
    weights = np.zeros((stage.blocks, stage.coordinates))
    for _ in range(stage.steps):
        residuals = chances(vectors @ weights.T) - targets
        weights -= (residuals.T @ vectors / stage.points + stage.penalty * weights) / stage.smoothness
    return weights


def chances(scores: Floats) -> Floats:
    """The logistic function of one column of scores, softmax of several."""
    if scores.shape[1] == 1:
        likely: Floats = 1.0 / (1.0 + np.exp(-scores))
        return likely
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))
    shared: Floats = odds / odds.sum(axis=1, keepdims=True)
    return shared


# ---------------------------------------------------------------------------------------------------------------------
# Parties that vote on public points, and a student of the votes that is published with noise on its weights.
#
# Hamm, Cao, Belkin 2016. The soft labels are the shares of the votes, so that one party moves each of them by 1/P; the
# student's penalty makes it stable. Proof: proofs/parties.md.


def published_student(
    hypotheses: HypothesisClass,
    features: FeatureMap,
    records: Records,
    points: Points,
    plan: PartiesStage,
    entropy: Entropy,
) -> LinearClassifier:
    """Train the parties' teachers, let them vote on the public `points`, and return the student to publish."""
    vectors = unit_vectors(features, points)
    check_plan(hypotheses, records.size, vectors, plan)
    with stage_progress("parties, teachers"):
        teachers = Teachers(hypotheses, records, plan.parties, entropy)
    with stage_progress("parties, student"):
        whole = whole_weights(vectors, teachers.counts(points), plan)
    return released(features, whole, plan, entropy)


def released(features: FeatureMap, whole: NDArray[np.int64], plan: PartiesStage, entropy: Entropy) -> LinearClassifier:
    """The student with its noise: all that may be shown of it."""
    noisy = whole + discrete_gaussians(plan.scale, whole.size, entropy).reshape(whole.shape)
    return LinearClassifier.of(features, plan.labels, noisy / plan.grid, np.zeros((plan.blocks, 0, 1)))


def check_plan(hypotheses: HypothesisClass, records: int, vectors: Floats, plan: PartiesStage) -> None:
    """Raises where the plan is for another table, another class or other public points. All of it is public."""
    if hypotheses.labels != plan.labels:
        raise ParameterError("plan", f"a plan for {hypotheses.labels} labels", f"one for {plan.labels}")
    if records != plan.records:
        raise ParameterError("plan", f"a plan for {records} records", f"one for {plan.records}")
    if vectors.shape != (plan.points, plan.coordinates):
        made = f"{vectors.shape[0]} points with vectors of length {vectors.shape[1]}"
        raise ParameterError("plan", f"a plan for {made}", f"one for {plan.points} of {plan.coordinates}")
    if curvature_of(vectors) > plan.curvature:
        raise ParameterError("plan", f"a curvature of at least {curvature_of(vectors)!r}", plan.curvature)


def parties_guarantee(plan: PartiesStage, delta: float) -> Guarantee:
    """The published student, with a δ of at most `delta`: one integer vector with discrete Gaussian noise.

    The better of two figures that hold: zCDP, and continuous Gaussian noise with what the grid adds to δ.
    """
    stated = compose([plan.release], delta, accountant="Rényi")
    shift = rounded_up(1.0 / plan.release.noise_multiplier)
    fine = fine_gaussian_epsilon(shift, stated.delta, plan.scale, plan.numbers)
    if fine < stated.epsilon:
        method = "accounted as continuous Gaussian noise, and the distance from it in δ"
        stated = replace(stated, epsilon=fine, steps=(f"1 release, {method}",))
    student = f"the weights of a student of {plan.points:,} soft votes of {plan.parties:,} parties"
    return replace(stated, proof="parties", rho=zcdp(plan.release)).explained(student)
