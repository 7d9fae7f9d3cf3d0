"""Parties that vote on public points, and a student of the votes that is published with noise on its weights.

Hamm, Cao, Belkin 2016. The soft labels are the shares of the votes, so that one party moves each of them by 1/P; the
student's penalty makes it stable. Proof: proofs/parties.md.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from pcqr.accounting import compose
from pcqr.algorithms.ensemble import Teachers
from pcqr.entropy import Entropy
from pcqr.errors import ParameterError
from pcqr.guarantee import Guarantee, rounded_up
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.mechanisms.fine_gaussian import fine_gaussian_epsilon
from pcqr.noise import discrete_gaussians
from pcqr.peers.parties.plan import PartiesStage
from pcqr.peers.parties.student import Floats, curvature_of, unit_vectors, whole_weights
from pcqr.plan.composition import zcdp
from pcqr.progress import under_way
from pcqr.records import Records
from pcqr.records.feature_map import FeatureMap


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
    with under_way("parties, teachers"):
        teachers = Teachers(hypotheses, records, plan.parties, entropy)
    with under_way("parties, student"):
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
