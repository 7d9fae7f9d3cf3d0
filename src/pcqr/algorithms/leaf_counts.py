"""Probabilities of a published tree: noisy counts of each label in each of its leaves. Proof: proofs/leaf_counts.md."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcqr.entropy import Entropy
from pcqr.hypotheses.trees.tree import DecisionTree
from pcqr.noise import discrete_laplaces
from pcqr.plan import LeafCountsStage
from pcqr.records import Records
from pcqr.records.branching import leaves_of

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
