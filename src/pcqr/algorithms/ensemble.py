"""Secret sub-samples, random partitions and the teachers trained on them.

Everything here depends on *positions* and secret coins, never on contents: which records a teacher sees is the
same on neighbouring tables, so one replaced record changes one teacher (proofs/subsample.md).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.entropy import Entropy
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Labels, Points, check_label
from pcqr.progress import tracked
from pcqr.records import InMemory, Records

_FIXED_VOTE = 0


@dataclass(frozen=True)
class Constant(Hypothesis):
    """The same label everywhere: the vote of a teacher that could not be trained."""

    label: int

    def __post_init__(self) -> None:
        check_label(self.label)

    def predict(self, X: ArrayLike) -> Labels:
        return np.full(np.asarray(X).shape[0], self.label, dtype=np.int8)


class Teachers:
    """k classifiers, one for each part of a uniformly random partition of the records into k parts."""

    def __init__(self, hypotheses: HypothesisClass, records: Records, count: int, entropy: Entropy) -> None:
        parts = np.array_split(entropy.permutation(records.size), count)
        self._members = [_train(hypotheses, records.rows(part).gathered()) for part in tracked("teachers", parts)]
        self._labels = hypotheses.labels

    def counts(self, X: Points) -> NDArray[np.int64]:
        """For each row of `X` the votes for each label, in columns. Private: never to be shown or logged."""
        counts = np.zeros((X.shape[0], self._labels), dtype=np.int64)
        rows = np.arange(X.shape[0])
        for teacher in self._members:
            counts[rows, _vote(teacher, X, self._labels)] += 1
        return counts


def secret_subsample(records: int, size: int, entropy: Entropy) -> NDArray[np.int64]:
    """`size` positions out of `records`, uniform without replacement. Kept secret: the amplification rests on it."""
    return entropy.permutation(records)[:size]


def _train(hypotheses: HypothesisClass, records: InMemory) -> Hypothesis:
    # An exception that depends on a teacher's records would be an observable function of them.
    try:
        return hypotheses.learn(records.X, records.y)
    except Exception:
        return Constant(_FIXED_VOTE)


def _vote(teacher: Hypothesis, X: Points, labels: int) -> NDArray[np.int64]:
    # Whatever a class returns, a teacher has one vote on each row, for a label that exists: sensitivity 1 rests on it.
    votes = np.full(X.shape[0], _FIXED_VOTE, dtype=np.int64)
    try:
        said = teacher.predict(X).reshape(X.shape[0])
        for label in range(labels):
            votes[said == label] = label
        return votes
    except Exception:
        return np.full(X.shape[0], _FIXED_VOTE, dtype=np.int64)
