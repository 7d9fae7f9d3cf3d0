"""Interactive answers: confident ones, with a student that learns from them and speaks for itself where it is right.

Papernot, Song, Mironov, Raghunathan, Talwar, Erlingsson 2018. The student is a function of the answers so far, so what
it expects is public: the check costs as much as without it. Proof: proofs/interactive.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from pcqr.data.records import Records
from pcqr.hypotheses.base import HypothesisClass, Points
from pcqr.hypotheses.committees import Committee
from pcqr.privacy.entropy import Entropy
from pcqr.privacy.guarantee import Guarantee
from pcqr.releases.confident.plan import ConfidentMaxStage
from pcqr.releases.confident.run import ConfidentVotes, check_confident, confident_max_guarantee
from pcqr.releases.interactive.plan import PupilStage
from pcqr.releases.subsample.run import Teachers

Floats = NDArray[np.float64]
Ballot = tuple[Points, NDArray[np.int64]]
"""A query, and the votes on it. Private."""


class Pupil:
    """A student of the answers so far, trained anew whenever there are `refresh` more. Public, as answers are."""

    def __init__(self, learner: Any, labels: int, refresh: int) -> None:
        self._learner, self._labels, self._refresh = learner, labels, refresh
        self._lesson: list[tuple[Points, int]] = []
        self._learned = 0
        self._student: Any = None

    def learn(self, point: Points, label: int) -> None:
        """Remember an answer."""
        self._lesson.append((point.copy(), label))

    def expects(self, point: Points) -> Floats | None:
        """How likely it takes each label to be; None while it knows nothing."""
        due = len(self._lesson) - len(self._lesson) % self._refresh
        if due > self._learned:
            points, labels = zip(*self._lesson[:due], strict=True)
            self._learned = due
            if len(set(labels)) > 1:
                # One odd query must not stop a release that is paid for: the last student that could be trained stays.
                with suppress(Exception):
                    self._student = clone(self._learner).fit(np.stack(points), np.array(labels))
        if self._student is None:
            return None
        likely = np.zeros(self._labels)
        try:
            said = np.asarray(self._student.predict_proba(point.reshape(1, -1)), dtype=np.float64)[0]
        except Exception:
            return None
        likely[np.asarray(self._student.classes_, dtype=np.intp)] = np.nan_to_num(said)
        return np.clip(likely, 0.0, 1.0)


class Ballots:
    """Queries with the votes on them, one after another."""

    def __init__(self, points: Points, counts: NDArray[np.int64]) -> None:
        self._points, self._counts = points, counts
        self.shape = counts.shape

    def __iter__(self) -> Iterator[Ballot]:
        return zip(self._points, self._counts, strict=True)


class InteractiveVotes(ConfidentVotes):
    """Teachers, the checks and labels that are paid for, and a student: decides one query at a time. Holds secrets."""

    def __init__(
        self, committee: Committee, plan: ConfidentMaxStage, pupil: PupilStage, learner: Any, entropy: Entropy
    ) -> None:
        super().__init__(committee, plan, entropy)
        self._pupil, self.student = pupil, Pupil(learner, plan.labels, pupil.refresh)

    def counts(self, X: Points) -> Ballots:  # type: ignore[override]
        """The rows of `X` with the votes on each. Private."""
        return Ballots(X, super().counts(X))

    def decide(self, ballot: Ballot) -> int | None:  # type: ignore[override]
        """The teachers' label, the student's, or ⊥. RuntimeError once checks or labels are used up."""
        point, counts = ballot
        likely = self.student.expects(point)  # first: should it fail, nothing was counted
        if likely is None:
            label = super().decide(counts)
        else:
            expected = np.rint(likely * (self._plan.noise.grid * self._plan.teachers)).astype(np.int64)
            label = super().decide(counts, expected, self._pupil.lead)
            if label is None and likely.max() >= self._pupil.confidence:
                label = int(likely.argmax())
        if label is not None:
            self.student.learn(point, label)
        return label


def interactive_max(
    hypotheses: HypothesisClass,
    records: Records,
    plan: ConfidentMaxStage,
    pupil: PupilStage,
    learner: Any,
    entropy: Entropy,
) -> InteractiveVotes:
    """Train the teachers on a random partition of the records as they are. The student comes later."""
    check_confident(hypotheses, records, plan)
    committee = Teachers(hypotheses, records, plan.teachers, entropy).committee
    return InteractiveVotes(committee, plan, pupil, learner, entropy)


def interactive_max_guarantee(plan: ConfidentMaxStage, delta: float) -> Guarantee:
    """That of confident answers with the same caps: a student of released answers costs nothing."""
    stated = confident_max_guarantee(plan, delta)
    return replace(stated, proof="interactive").explained("the student is a function of the answers")
