"""Weights of labels: declared ones, and those that make all labels count alike, from noisy counts of them.

Both are whole numbers of 64ths of a record, the largest of them 64, the least at least 1. Proof: proofs/weights.md.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pcqr.entropy import Entropy
from pcqr.noise import discrete_laplaces
from pcqr.plan import ClassCountsStage
from pcqr.records import Records
from pcqr.records.weighted import WHOLE, ByLabel


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
