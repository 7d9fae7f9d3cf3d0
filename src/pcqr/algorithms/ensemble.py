"""Secret sub-samples, random partitions and the teachers trained on them.

Everything here depends on *positions* and secret coins, never on contents: which records a teacher sees is the
same on neighbouring tables, so one replaced record changes one teacher (proofs/subsample.md).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pcqr.entropy import Entropy
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.hypotheses.committees import trained
from pcqr.records import Records


class Teachers:
    """k classifiers, one for each part of a uniformly random partition of the records into k parts."""

    def __init__(self, hypotheses: HypothesisClass, records: Records, count: int, entropy: Entropy) -> None:
        parts = np.array_split(entropy.permutation(records.size), count)
        self.committee = trained(hypotheses, records, parts, entropy)

    def counts(self, X: Points) -> NDArray[np.int64]:
        """For each row of `X` the votes for each label, in columns. Private: never to be shown or logged."""
        return self.committee.counts(X)


def secret_subsample(records: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """`size` positions out of `records`, uniform without replacement. Kept secret: the amplification rests on it."""
    return entropy.permutation(records)[:size]
