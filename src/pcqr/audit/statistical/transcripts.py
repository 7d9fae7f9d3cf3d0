"""What an observer sees of one run of the real code, written down so that it can be counted.

Each class here is a `Mechanism`: made of public parameters, called with the private data and an entropy source. The
algorithms are those that the estimators run; nothing is simulated.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pcqr.algorithms.ag_priv_cl import ag_priv_cl
from pcqr.algorithms.priv_class import PrivClass
from pcqr.algorithms.sub_samp import StableVotes, sub_samp
from pcqr.algorithms.unv_priv_cl import unv_priv_cl
from pcqr.audit.shown import in_full
from pcqr.entropy import Entropy
from pcqr.errors import BudgetExhausted
from pcqr.estimators.given import AssumePublic
from pcqr.estimators.semi_private import SemiPrivateLearner
from pcqr.hypotheses.base import HypothesisClass, Labels, Points
from pcqr.mechanisms.sparse_vector import RunningSparseVector, SparseVector
from pcqr.plan import Answer, DrawStage, VoteStage
from pcqr.records import InMemory

UNSTABLE = "⊥"
STABLE = "s"
HALTED = "halted"


@dataclass(frozen=True, eq=False)
class Table:
    """Private records: points and their labels. Equal only to itself, so that it can be a key."""

    X: Points
    y: Labels

    @classmethod
    def of(cls, x: ArrayLike, y: ArrayLike) -> Table:
        points = np.asarray(x, dtype=np.float64)
        return cls(points.reshape(len(points), -1), np.asarray(y, dtype=np.int8))

    @property
    def source(self) -> InMemory:
        """As algorithms take it."""
        return InMemory(self.X, self.y)


@dataclass(frozen=True)
class SparseVectorRun:
    """The answers of a sparse vector to queries whose distances to instability are the private data."""

    parameters: SparseVector
    running: type[RunningSparseVector] = RunningSparseVector

    def __call__(self, distances: Iterable[int], entropy: Entropy) -> str:
        run = self.running(self.parameters, entropy)
        seen = ""
        for distance in distances:
            if run.has_halted:
                break
            seen += STABLE if run.is_stable(distance) else UNSTABLE
        return seen


@dataclass(frozen=True)
class VotesRun:
    """SubSamp, or AgPrivCl where the plan relabels: the answers to `queries`, and where the release halted."""

    hypotheses: HypothesisClass
    plan: VoteStage
    queries: Points
    public: Points | None = None

    def __call__(self, table: Table, entropy: Entropy) -> str:
        votes = self.votes(table, entropy)
        return answers_seen(PrivClass(votes, len(self.queries), entropy).answers(self.queries))

    def votes(self, table: Table, entropy: Entropy) -> StableVotes:
        if self.plan.inverse_temperature is None:
            return sub_samp(self.hypotheses, table.source, self.plan, entropy)
        return ag_priv_cl(self.hypotheses, table.source, self.public, self.plan, entropy)


@dataclass(frozen=True)
class UniversalRun:
    """UnvPrivCl: the answers to `queries` while it votes, then the published hypothesis itself."""

    hypotheses: HypothesisClass
    vote: VoteStage
    publish: DrawStage
    queries: Points
    public: Points | None = None

    def __call__(self, table: Table, entropy: Entropy) -> str:
        release = unv_priv_cl(self.hypotheses, table.source, self.public, self.vote, self.publish, entropy)
        answers = (answer for answer in release.answers(self.queries) if answer.kind != "published")
        return f"{answers_seen(answers)} then {release.published}"


@dataclass(frozen=True)
class PublishRun:
    """SSPP as users call it: the published hypothesis of `SemiPrivateLearner`."""

    hypotheses: HypothesisClass
    epsilon: float
    public: Points | None = None

    def __call__(self, table: Table, entropy: Entropy) -> str:
        learner = SemiPrivateLearner(self.hypotheses, self.epsilon, entropy=entropy)
        return in_full(learner.fit(table.X, table.y, public=AssumePublic(self.public)).hypothesis_)


def answers_seen(answers: Iterable[Answer[int]]) -> str:
    """The labels one after another, ⊥ for none, and a note when the release has halted before the last query."""
    seen = ""
    try:
        for answer in answers:
            seen += UNSTABLE if answer.label is None else str(answer.label)
    except BudgetExhausted:
        seen += f" {HALTED}"
    return seen
