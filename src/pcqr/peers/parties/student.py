"""The student: penalised logistic regression on soft labels, by a fixed number of steps that contract.

From public vectors and the shares of votes to weights. Shares are private, and so are the weights until they have their
noise. What one party can do to them, rounding included, is bounded in proofs/parties.md.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from pcqr.errors import ParameterError
from pcqr.peers.parties.plan import PartiesStage
from pcqr.records.arrays import Points
from pcqr.records.feature_map import FeatureMap

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
