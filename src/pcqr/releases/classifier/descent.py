"""Weights of labels: declared ones, and those that make all labels count alike, from noisy counts of them.

Both are whole numbers of 64ths of a record, the largest of them 64, the least at least 1. Proof: proofs/weights.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import compiled
from pcqr.data.records import Records
from pcqr.data.records.arrays import Points
from pcqr.data.records.feature_map import FeatureMap
from pcqr.data.records.gradient_sums import GRID, GradientSums, Integers, Weights
from pcqr.data.records.on_device import DeviceGradientSums
from pcqr.data.records.predicates import leaves_of
from pcqr.data.records.user_level import WHOLE, ByLabel
from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.linear import LinearClassifier
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.noise import discrete_gaussians, discrete_laplaces
from pcqr.progress import stage_progress, tracked
from pcqr.releases.classifier.empirical_bayes import LARGEST_WEIGHT, EmpiricalBayes
from pcqr.releases.classifier.plan import ClassCountsStage, LeafCountsStage, LinearStage, last_quarter


def noisy_label_counts(records: Records, stage: ClassCountsStage, entropy: Entropy) -> list[float]:
    """Return how many records have each label: noisy for all but the first, which has what is left of n.

    `ClassCountsStage.event` states what they cost.
    """
    counts = records.label_counts()[1:]
    noisy = counts + discrete_laplaces(stage.scale * records.whole, counts.size, entropy)
    found = [int(count) / records.whole for count in noisy]
    return [records.size - sum(found), *found]


def balanced_weights(counts: Sequence[float], scale: float) -> ByLabel:
    """Return what a record of each label counts so that all labels count about the same together.

    None of the noisy `counts` is taken to be less than the `scale` of their noise.
    """
    least = max(scale, 1.0)
    return on_the_grid([1.0 / max(count, least) for count in counts])


def on_the_grid(weights: Sequence[float]) -> ByLabel:
    """Return positive weights in 64ths of the largest, rounded, and at least 1."""
    largest = max(weights)
    return tuple(max(1, int(np.rint(WHOLE * (weight / largest)))) for weight in weights)


# ---------------------------------------------------------------------------------------------------------------------
# Probabilities of a published tree: noisy counts of each label in each of its leaves. Proof: proofs/leaf_counts.md.


Floats = NDArray[np.float64]

DRAWN_TOWARDS_ALL = 2.0
"""How many records of the whole table's shares every leaf gets, in units of the noise's scale."""

AHEAD = 1.0 + 2.0**-20
"""How many times the largest of the other shares that of a leaf's own label is at least."""


def leaf_counts(tree: DecisionTree, records: Records, stage: LeafCountsStage, entropy: Entropy) -> DecisionTree:
    """Return `tree` with shares at its leaves: `LeafCountsStage.event` states what the noisy counts cost.

    The tree must be public, and is best simplified: two sides with the same label are then one leaf.
    """
    counts = records.leaf_counts(tree.root)
    noise = discrete_laplaces(stage.scale * records.whole, counts.size, entropy).reshape(counts.shape)
    noisy = (counts + noise) / records.whole
    return tree.with_shares(leaf_shares(noisy, stage.scale, [leaf.label for leaf in leaves_of(tree.root)]).tolist())


def leaf_shares(noisy: Floats, scale: float, labels: list[int]) -> Floats:
    """Return the probability of each label (columns) in each leaf (rows) from noisy counts of records.

    The leaves, with these `labels`, are drawn towards the shares of the whole table, the more the fewer records they
    have. The largest probability is that of the label.
    """
    of_all = np.maximum(noisy.sum(axis=0), scale)
    added = DRAWN_TOWARDS_ALL * scale * of_all / of_all.sum()
    counts = np.maximum(noisy, 0.0) + added
    return np.array([_for_label(row, label) for row, label in zip(counts, labels, strict=True)])


def _for_label(shares: Floats, label: int) -> Floats:
    """Return shares that add up to 1, of which `label` has the largest.

    `label` and all labels above it get their mean, and `label` slightly more.
    """
    alike = [label]
    for other in np.argsort(-shares, kind="stable").tolist():
        if other != label and shares[other] > shares[alike].mean():
            alike.append(other)
    found = shares.copy()
    found[alike] = shares[alike].mean()
    found[label] = max(found[label], AHEAD * np.delete(found, label).max())
    found /= found.sum()
    return found


# ---------------------------------------------------------------------------------------------------------------------
# The private linear classifier: noisy sums on a public integer feature map, and the weights that follow from them.
#
# Steps of full-batch gradient descent, after Song, Chaudhuri, Sarwate 2013 and Bassily, Smith, Thakurta 2014, without
# sampling. Two classes: the loss is the logistic one of the margin s·θ·φ, ‖φ‖ ≤ 1 and s = ±1 the label, made linear
# below margin 0: its slope is cut at ½, which keeps it convex and halves what one record can do. Several classes: the
# residual of the softmax, doubled and cut to norm 1. Each step sums one integer vector of norm at most M a record
# (`pcqr.data.records.gradient_sums.GradientSums`) and adds discrete Gaussian noise to every coordinate. All that
# follows from the noisy sums is public, so that the weights may also be a posterior mean
# (`pcqr.releases.classifier.empirical_bayes`). Proof: proofs/linear.md.


N = TypeVar("N", bound=np.generic)
Shape = tuple[int, int, int, int]
"""p, L, d and the share of a feature map."""

LENGTHENED = 1.25
"""The factor on published weights of the map "mostly ferns". Descent ends before the weights of the many cells have
grown. Without the factor margins would be too small, and probabilities too close to ½ (docs/models.md)."""


def dp_gradient_descent(
    features: FeatureMap,
    records: Records,
    plan: LinearStage,
    entropy: Entropy,
    *,
    public: Points | None = None,
    is_balanced: bool = False,
    called: str = "linear classifier",
) -> LinearClassifier:
    """Make the noisy sums and return the linear classifier to publish. `pcqr.plan.account` states the guarantee.

    Steps begin at 0. The weights are the mean of those after each of the last quarter of the steps (`last_quarter`);
    cells are then rounded to 8 bits. With empirical Bayes they are the mean of a posterior after the last sum. The
    `public` rows say how vectors vary then, and `is_balanced` that weights make both labels equally common. Weights of
    mostly ferns are multiplied by the public factor `LENGTHENED`, which changes no label. Progress is reported under
    the name `called`.
    """
    check_records(features, records, plan)
    posterior = None
    if plan.is_empirical_bayes:
        posterior = EmpiricalBayes(features, public, _by_label(records), is_balanced=is_balanced)
    with stage_progress(f"{called}, vectors of the records"):
        sums = records.gradient_sums(features, plan.bound)
    descent, kept = _descent(sums, plan, posterior), last_quarter(plan.steps)
    for step in tracked(f"{called}, noisy sums", range(1, plan.steps + 1)):
        total = descent.total()
        descent.advance(total, discrete_gaussians(plan.scale, plan.blocks * plan.coordinates, entropy))
        if step > plan.steps - kept:
            descent.keep()
    length = LENGTHENED if plan.features == "mostly ferns" else 1.0
    return LinearClassifier.of(features, plan.classes, *_parts(length * descent.mean(kept), plan))


def _by_label(records: Records) -> tuple[float, float]:
    """What a record of each of two labels counts: public."""
    zero, one = (1, 1) if records.class_weights is None else records.class_weights
    whole = 1 if records.class_weights is None else records.whole
    return zero / whole, one / whole


class _Descent(Protocol):
    """Where the weights are, here or on a GPU, and how a noisy sum moves them."""

    def total(self) -> Any:
        """The sum of all records' vectors at the weights. Private."""

    def advance(self, total: Any, noise: Integers) -> None:
        """One step along `total` plus `noise`, of which there is one draw for every coordinate."""

    def keep(self) -> None:
        """Let the weights be one of those whose mean is taken."""

    def mean(self, kept: int) -> Floats:
        """The mean of the `kept` weights."""


def _descent(sums: GradientSums, plan: LinearStage, posterior: EmpiricalBayes | None) -> _Descent:
    if posterior is not None:
        return _Inference(sums, plan, posterior)
    start = np.zeros((plan.blocks, plan.coordinates))
    if isinstance(sums, DeviceGradientSums):
        found: _Descent = sums.descent(start, plan.step_size / plan.sensitivity, plan.momentum, LARGEST_WEIGHT)
        return found
    return _OnHost(sums, plan, start)


class _OnHost:
    def __init__(self, sums: GradientSums, plan: LinearStage, start: Floats) -> None:
        self._sums, self._plan, self._weights = sums, plan, start
        self._velocity, self._average = np.zeros((2, *start.shape))
        self._rounded = np.zeros(start.shape, dtype=np.int32)

    def total(self) -> Integers:
        parts = self._sums.total(*_parts(self._rounded, self._plan))
        return np.concatenate([part.reshape(self._plan.blocks, -1) for part in parts], axis=1)

    def advance(self, total: Integers, noise: Integers) -> None:
        rate = self._plan.step_size / self._plan.sensitivity
        noisy = total + noise.reshape(total.shape)
        _advance(noisy, rate, self._plan.momentum, GRID, self._velocity, self._weights, self._rounded)

    def keep(self) -> None:
        self._average += self._weights

    def mean(self, kept: int) -> Floats:
        found: Floats = self._average / kept
        return found


class _Inference:
    """Sums at the mean of the posterior so far."""

    def __init__(self, sums: GradientSums, plan: LinearStage, posterior: EmpiricalBayes) -> None:
        self._sums, self._plan, self._posterior = sums, plan, posterior

    def total(self) -> Integers:
        dense = np.rint(self.mean(1) * GRID).astype(np.int32)
        return self._sums.total(*_parts(dense, self._plan))[0]

    def advance(self, total: Integers, noise: Integers) -> None:
        largest = float(self._plan.sensitivity * self._plan.records)  # of the sum, slopes being at most ½
        self._posterior.add((total[0] + noise) / largest, self._plan.scale / largest)

    def keep(self) -> None:
        """Do nothing: the last weights are those of all sums."""

    def mean(self, kept: int) -> Floats:  # noqa: ARG002
        return self._posterior.weights[None]


@compiled
def _advance(
    noisy: Integers, rate: float, momentum: float, grid: int, velocity: Floats, weights: Floats, rounded: Weights
) -> None:
    """One step along a noisy sum. `rounded` becomes the new weights in units of 1/`grid`: all that meets the records.

    In one pass, for arrays of millions of cells that no cache holds.
    """
    for block in range(noisy.shape[0]):
        for i in range(noisy.shape[1]):
            velocity[block, i] = momentum * velocity[block, i] + rate * noisy[block, i]
            moved = weights[block, i] + velocity[block, i]
            weights[block, i] = min(max(moved, -LARGEST_WEIGHT), LARGEST_WEIGHT)
            rounded[block, i] = np.int32(np.rint(weights[block, i] * grid))


def _parts(weights: NDArray[N], plan: LinearStage) -> tuple[NDArray[N], NDArray[N]]:
    """The dense weights (blocks, p) and those of the cells (blocks, L, 2^d)."""
    return weights[:, : plan.dense], weights[:, plan.dense :].reshape(plan.blocks, plan.ferns, 1 << plan.depth)


def check_records(features: FeatureMap, records: Records, plan: LinearStage) -> None:
    """Raise where `records`, `features` and `plan` do not fit, before any noise is drawn."""
    if records.width != features.features:
        raise DataError(
            "X", f"a table with {features.features} column(s) for the feature map", f"{records.width} columns"
        )
    if records.labels != plan.classes:
        raise DataError("y", f"records with {plan.classes} labels", f"{records.labels} labels")
    if records.size != plan.records:
        raise ParameterError("plan", f"a plan for {records.size} records", f"one for {plan.records}")
    made, planned = shape_of(features), (plan.dense, plan.ferns, plan.depth, plan.share)
    if made != planned:
        raise ParameterError("plan", f"a plan for this feature map: (dense, ferns, depth, share) = {made}", planned)


def shape_of(features: FeatureMap) -> Shape:
    """p, L, d and the share: all that a plan has to know of a feature map."""
    return features.size, features.count, features.depth, features.share
