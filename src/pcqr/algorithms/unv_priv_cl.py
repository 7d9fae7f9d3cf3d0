"""UnvPrivCl: votes first, then the past queries become public points and a classifier is published.

Nandi and Bassily, Algorithm UnvPrivCl, with its budget split: the votes spend ε₁ and δ, the semi-private learner
ε₂, on the same records, so ε = ε₁ + ε₂ (as printed the paper spends ε twice; proofs/unv_priv_cl.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from pcqr.algorithms.ag_priv_cl import ag_priv_cl, ag_priv_cl_guarantee
from pcqr.algorithms.lock import Lock
from pcqr.algorithms.priv_class import PrivClass
from pcqr.algorithms.sspp import sspp, sspp_guarantee
from pcqr.alone import alone
from pcqr.entropy import Entropy
from pcqr.guarantee import Guarantee
from pcqr.hypotheses.base import Combinatorics, Hypothesis, HypothesisClass, Points
from pcqr.plan import Answer, BatchCost, DrawStage, Usage, VoteStage
from pcqr.records import Records


class UnvPrivCl:
    """Answers m_o queries by votes, publishes, and answers every later query by the published hypothesis.

    Publication comes after the plan's m_o distinct queries, or as soon as the unstable answers are used up: a
    function of the transcript. The published class is made of the `public` points, if any were given, and of the past
    queries. The private records are kept until then and dropped after.
    """

    is_under_way = False

    def __init__(
        self,
        hypotheses: HypothesisClass,
        records: Records,
        public: Points | None,
        vote: VoteStage,
        publish: DrawStage,
        entropy: Entropy,
    ) -> None:
        self._hypotheses = hypotheses
        # They are read again at publication, whatever the caller has done to its table by then.
        self._records: Records | None = records.kept()
        self._public = [] if public is None else [public.copy()]
        self._publish = publish
        self._entropy = entropy
        self._votes = PrivClass(ag_priv_cl(hypotheses, records, public, vote, entropy), publish.after_queries, entropy)
        self.published: Hypothesis | None = None
        self._lock = Lock()

    @property
    def protocol(self) -> PrivClass:
        """The votes and their transcript."""
        return self._votes

    def preview(self, X: Points, unstable_share: float | None = None) -> BatchCost:
        """What the rows of `X` would cost, asked in order: votes first, the rows after publication free."""
        with self._lock:
            votes_left = 0 if self._is_due else max(1, self._publish.after_queries - self._votes.asked)
            cost = self._votes.preview(X, unstable_share, votes_left=votes_left)
        return replace(cost, left=_without_end(cost.left))

    def answer(self, x: Points) -> Answer[int]:
        return next(self.answers(x))

    def answers(self, X: Points) -> Iterator[Answer[int]]:
        """Answer the rows of `X` in order. Never halts: what the votes cannot answer any more is published."""
        voting = self._votes.answers(X)
        for row in range(X.shape[0]):
            with self._lock:
                self._publish_when_due()  # again, should the last attempt have been interrupted
                published = self.published
                if published is None:
                    voted = next(voting)
                    self._publish_when_due()
            if published is not None:
                yield from self._published_answers(published, X[row:])
                return
            yield replace(voted, remaining=_without_end(voted.remaining))

    @property
    def _is_due(self) -> bool:
        """Are the votes over? A function of the transcript; once True, always True."""
        over = self._votes.is_halted or self._votes.asked >= self._publish.after_queries
        return over and self._votes.asked > 0

    @alone
    def _publish_when_due(self) -> None:
        if self.published is not None or self._records is None or not self._is_due:
            return
        public = np.concatenate([*self._public, *(entry.point for entry in self._votes.transcript)])
        self.published = sspp(self._hypotheses, self._records, public, self._publish, self._entropy)
        self._records = None

    def _published_answers(self, hypothesis: Hypothesis, X: Points) -> Iterator[Answer[int]]:
        spent = self._votes.spent  # the votes are over: it stays as it is
        for label in hypothesis.predict(X):
            yield Answer(int(label), "published", spent, Usage(None, 0))


def _without_end(left: Usage) -> Usage:
    """What is left of the release, from what is left of its votes: after the last vote it publishes."""
    return replace(left, queries=None)


def unv_priv_cl_guarantee(vote: VoteStage, publish: DrawStage, hypotheses: Combinatorics, features: int) -> Guarantee:
    """Votes and publication on the same records: their guarantees add up (proofs/unv_priv_cl.md)."""
    votes = ag_priv_cl_guarantee(vote, hypotheses, features)
    public = max(1, publish.after_queries) + (vote.public or 0)  # one vote comes first in any case
    published = sspp_guarantee(publish, hypotheses, vote.records, features, public)
    return votes.compose(published, proof="unv_priv_cl")
