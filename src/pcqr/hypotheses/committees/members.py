"""A committee of teachers one by one: for finite and user-written classes, and the oracle of all other committees."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pcqr.errors import DataError, ParameterError
from pcqr.hypotheses.base import MOST_LABELS, Hypothesis, HypothesisClass, Labels, Points, check_label
from pcqr.hypotheses.committees.base import Arrays, Committee, IntArray
from pcqr.records import InMemory

FIXED_VOTE = 0


@dataclass(frozen=True)
class Constant(Hypothesis):
    """The same label everywhere: the vote of a teacher that could not be trained."""

    label: int

    def __post_init__(self) -> None:
        check_label(self.label)

    def predict(self, X: ArrayLike) -> Labels:
        return np.full(np.asarray(X).shape[0], self.label, dtype=np.int8)


class Members(Committee):
    """Hypotheses in a list, asked in turn."""

    kind = "members"

    def __init__(self, members: Sequence[Hypothesis], labels: int) -> None:
        self.members = tuple(members)
        self.size, self.labels = len(self.members), labels

    def counts(self, X: Points) -> IntArray:
        counts = np.zeros((X.shape[0], self.labels), dtype=np.int64)
        rows = np.arange(X.shape[0])
        for member in self.members:
            counts[rows, _vote(member, X, self.labels)] += 1
        return counts

    def arrays(self) -> Arrays:
        """Their documents; a `ParameterError` where a member has none (`pcqr.documents.register`)."""
        written = json.dumps([member.to_json() for member in self.members]).encode()
        return {
            "kind": np.array(self.kind),
            "labels": np.array(self.labels),
            "members": np.frombuffer(written, dtype=np.uint8).copy(),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Members:
        cls.checked(arrays, labels=("iu", 0), members=("u", 1))
        try:
            texts = json.loads(arrays["members"].astype(np.uint8).tobytes())
            members = [Hypothesis.from_json(text) for text in texts]
        except (ValueError, TypeError, ParameterError, RecursionError):
            raise DataError("arrays", "the documents of hypotheses", "others") from None
        labels = int(arrays["labels"])
        if not members or not 2 <= labels <= MOST_LABELS:
            raise DataError("arrays", "those of at least one teacher for at least two labels", "others")
        return cls(members, labels)


def trained_alone(hypotheses: HypothesisClass, records: InMemory) -> Hypothesis:
    """What `learn` makes of one part. An exception would be an observable function of the records: a fixed vote."""
    try:
        return hypotheses.learn(records.X, records.y)
    except Exception:
        return Constant(FIXED_VOTE)


def trained_in_turn(hypotheses: HypothesisClass, X: Points, y: Labels, ends: IntArray) -> Iterator[Hypothesis]:
    """What `learn` makes of the rows [0, ends[0]), [ends[0], ends[1]), …: one teacher after the other."""
    for start, end in pairwise([0, *ends.tolist()]):
        yield trained_alone(hypotheses, InMemory.of_checked(X[start:end], y[start:end], hypotheses.labels))


def _vote(teacher: Hypothesis, X: Points, labels: int) -> IntArray:
    # Whatever a class returns, a teacher has one vote on each row, for a label that exists: sensitivity 1 rests on it.
    votes = np.full(X.shape[0], FIXED_VOTE, dtype=np.int64)
    try:
        said = teacher.predict(X).reshape(X.shape[0])
        for label in range(labels):
            votes[said == label] = label
        return votes
    except Exception:
        return np.full(X.shape[0], FIXED_VOTE, dtype=np.int64)
