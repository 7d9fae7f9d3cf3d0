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


def balanced_weights(records: Records, stage: ClassCountsStage, entropy: Entropy) -> ByLabel:
    """Return what a record of each label counts so that all labels count about the same together.

    `ClassCountsStage.event` states what the noisy counts cost.
    """
    counts = records.label_counts()[1:]
    noisy = counts + discrete_laplaces(stage.scale * records.whole, counts.size, entropy)
    return weights_of_counts([int(count) for count in noisy], records.size, stage.scale, records.whole)


def weights_of_counts(noisy: Sequence[int], records: int, scale: float, whole: int = 1) -> ByLabel:
    """Return the weights that are inverse to counts of labels, of which those of all but the first are given.

    Noisy counts are in `whole`ths of a record. None is taken to be less than the `scale` of their noise.
    """
    counts = [records - sum(noisy) / whole, *(count / whole for count in noisy)]
    least = max(scale, 1.0)
    return on_the_grid([1.0 / max(count, least) for count in counts])


def on_the_grid(weights: Sequence[float]) -> ByLabel:
    """Return positive weights in 64ths of the largest, rounded, and at least 1."""
    largest = max(weights)
    return tuple(max(1, int(np.rint(WHOLE * (weight / largest)))) for weight in weights)
