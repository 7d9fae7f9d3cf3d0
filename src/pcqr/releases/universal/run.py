"""UnvPrivCl: votes first, then the past queries become public points and a classifier is published.

Where `fit` published the classifier, there are no votes (`published_at_once`).

Nandi and Bassily, Algorithm UnvPrivCl, with its budget split: the votes spend ε₁ and δ, the semi-private learner
ε₂, on the same records, so ε = ε₁ + ε₂ (as printed the paper spends ε twice; proofs/unv_priv_cl.md).
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from pcqr.checks import non_reentrant
from pcqr.data.records import Records
from pcqr.errors import CopyCannotAnswer, ParameterError
from pcqr.hypotheses.base import Hypothesis, HypothesisClass, Points
from pcqr.privacy.entropy import Entropy
from pcqr.releases.agnostic.run import ag_priv_cl
from pcqr.releases.protocol.answers import Answer, BatchCost, Usage
from pcqr.releases.protocol.log import Answered, Asked, MemoryLog, NoLabeller, QuotaTable, Reply, check_quotas
from pcqr.releases.protocol.online import BLOCK, Lock, PrivClass
from pcqr.releases.protocol.stages import DrawStage
from pcqr.releases.semi_private.run import sspp
from pcqr.releases.subsample.plan import VoteStage

PREDICTED_AT_ONCE = 16_384
"""Rows that a published hypothesis is asked for together."""


class UnvPrivCl:
    """Answers m_o queries by votes, publishes, and answers every later query by the published hypothesis.

    Publication comes after the plan's m_o distinct queries, or as soon as the unstable answers are used up: a
    function of the transcript. The published class is made of the `public` points, if any were given, and of the past
    queries. The private records, None in a copy, are kept until publication and dropped after it. `publish` is None
    where the log has a classifier from the start.
    """

    is_under_way = False

    def __init__(
        self,
        hypotheses: HypothesisClass,
        votes: PrivClass,
        records: Records | None,
        public: Points | None,
        publish: DrawStage | None,
        entropy: Entropy,
    ) -> None:
        self._hypotheses = hypotheses
        self._votes = votes
        self._records = records
        self._public = public
        self._publish = publish
        self._entropy = entropy
        self._lock = Lock()

    @property
    def protocol(self) -> PrivClass:
        """The votes and their transcript."""
        return self._votes

    @property
    def published(self) -> Hypothesis | None:
        """The published hypothesis, once there is one."""
        return self._votes.log.published

    def preview(
        self,
        X: Points,
        unstable_share: float | None = None,
        *,
        asked_before: Container[bytes] | None = None,
        quota: Usage | None = None,
    ) -> BatchCost:
        """What the rows of `X` would cost, asked in order: votes first, the rows after publication free."""
        with self.guarded():
            spent, remaining = self._votes.now()
            votes_remaining: int | None = 0
            if self.published is None and not self._is_due(spent, remaining):
                votes_remaining = max(1, self._after - (spent.queries or 0))
            if self.published is None and self._votes.log.is_written_off:
                votes_remaining = None
            cost = self._votes.preview(
                X, unstable_share, votes_remaining=votes_remaining, asked_before=asked_before, quota=quota
            )
        return replace(cost, remaining=_without_end(cost.remaining))

    def answer(self, x: Points) -> Answer[int]:
        """Answer the query in the one-row table `x`."""
        return self.reply(x).answer

    def reply(self, x: Points) -> Reply[int]:
        """As `answer`, with the coin that stands in for ⊥."""
        (answered,) = self.ask_together([Asked(x)])
        if answered.stopped is not None:
            raise self._votes.exhausted(1)
        return answered.replies[0]

    def answers(self, X: Points) -> Iterator[Answer[int]]:
        """Answer the rows of `X` in order: by votes, then by the published hypothesis.

        It is never exhausted, unless its log was written off: then it raises `BudgetExhausted` at the first new row.
        """
        return (reply.answer for reply in self.replies(X))

    def replies(self, X: Points) -> Iterator[Reply[int]]:
        """As `answers`, with the coins that stand in for ⊥."""
        start, given = 0, list[tuple[Any, ...]]()
        while start < X.shape[0]:
            size = BLOCK if self.published is None else PREDICTED_AT_ONCE
            (answered,) = self.ask_together([Asked(X[start : start + size])])
            start += len(answered.replies)
            given += map(tuple, answered.replies) if size == BLOCK else ()  # it can only stop before it has published
            yield from answered.replies
            if answered.stopped is not None:
                raise self._votes.exhausted(X.shape[0] - start, [Reply(*each).answer for each in given])

    def ask_together(self, asked: Sequence[Asked], quota_table: QuotaTable | None = None) -> list[Answered[int]]:
        """Answer the rows of all requests in order: what each would get if asked alone.

        Votes, as `PrivClass.ask_together`, until publication is due; then it takes place, and the rest is predicted.
        """
        check_quotas(asked, quota_table)
        with self.guarded():
            return self._ask(asked, quota_table)

    def kept(self) -> tuple[Records | None, Points | None]:
        """What publication will need. The records are private."""
        return self._records, self._public

    def copied(self) -> UnvPrivCl:
        """The log, and no secret: it answers from its log, or by what was published."""
        return UnvPrivCl(self._hypotheses, self._votes.copied(), None, self._public, self._publish, self._entropy)

    def guarded(self) -> AbstractContextManager[object]:
        """One thread at a time, publication included."""
        return self._lock if self._votes.log.is_original else nullcontext()

    def _ask(self, asked: Sequence[Asked], quota_table: QuotaTable | None) -> list[Answered[int]]:
        """Answer requests under the lock. A copy decides nothing and needs no lock."""
        published = self._published_when_due()  # again, should the last attempt have been interrupted
        if published is None:
            answered = self._votes.ask_together(asked, quota_table, stop=self._is_due)
            published = self._published_when_due()
        else:
            answered = self._votes.replayed(asked, quota_table)
        if published is not None:
            answered = self._predicted(published, asked, answered)
        return [replace(each, replies=[reply.without_end() for reply in each.replies]) for each in answered]

    def _is_due(self, spent: Usage, remaining: Usage) -> bool:
        """Are the votes over? A function of the transcript; once True, always True."""
        asked = spent.queries or 0
        return asked > 0 and (remaining.is_nothing or asked >= self._after)

    @property
    def _after(self) -> int:
        """m_o, the queries that are answered by votes."""
        return 0 if self._publish is None else self._publish.after_queries

    @non_reentrant
    def _published_when_due(self) -> Hypothesis | None:
        log, votes = self._votes.log, self._votes
        if log.published is None and log.is_original and not log.is_written_off and self._is_due(*votes.now()):
            with log.transaction(votes.labeller) as transaction:
                if (
                    transaction.published is None and not transaction.is_written_off
                ):  # another process may have been faster
                    if self._records is None or self._publish is None:
                        raise CopyCannotAnswer
                    past = (entry.point for entry in log.entries())
                    public = np.concatenate([*([] if self._public is None else [self._public]), *past])
                    transaction.publish(sspp(self._hypotheses, self._records, public, self._publish, self._entropy))
            self._records = None
        return log.published

    def _predicted(
        self, published: Hypothesis, asked: Sequence[Asked], answered: Sequence[Answered[int]]
    ) -> list[Answered[int]]:
        """Return the responses `answered` by votes, completed by the published hypothesis. Nothing is recorded."""
        found, spent = list(answered), self._votes.spent  # the votes are over: it stays as it is
        rests = {
            number: each.points[len(so_far.replies) :]
            for number, (each, so_far) in enumerate(zip(asked, answered, strict=True))
            if so_far.stopped is None and len(so_far.replies) < each.points.shape[0]
        }
        if not rests:
            return found
        labels = iter(published.predict(np.concatenate(list(rests.values()))).tolist())
        counts = (spent.queries or 0, spent.unstable or 0, None, 0, False)
        for number, rest in rests.items():
            later = [Reply(label, None, "published", *counts) for label in islice(labels, rest.shape[0])]
            found[number] = replace(answered[number], replies=[*answered[number].replies, *later])
        return found


def unv_priv_cl(
    hypotheses: HypothesisClass,
    records: Records,
    public: Points | None,
    vote: VoteStage,
    publish: DrawStage,
    entropy: Entropy,
) -> UnvPrivCl:
    """Prepare the votes, and keep what publication needs, whatever the caller does to its tables by then."""
    votes = PrivClass(ag_priv_cl(hypotheses, records, public, vote, entropy), publish.after_queries, entropy)
    return UnvPrivCl(hypotheses, votes, records.kept(), None if public is None else public.copy(), publish, entropy)


def published_at_once(hypotheses: HypothesisClass, hypothesis: Hypothesis, queries: int, entropy: Entropy) -> UnvPrivCl:
    """Return a release in memory that answers every query by `hypothesis`, which was published before the first."""
    log = MemoryLog()
    log.publish(hypothesis)
    votes = PrivClass(NoLabeller(Usage(None, None)), queries, entropy, log)
    return UnvPrivCl(hypotheses, votes, None, None, None, entropy)


def answered_by_draw(
    hypotheses: HypothesisClass, records: Records, draw: DrawStage, queries: int, entropy: Entropy
) -> UnvPrivCl:
    """Draw one member of a class that is fixed without the records, and answer every query by it, without votes.

    A class whose members are made of private points is refused, since each member shows such points.
    """
    if not hypotheses.is_fixed:
        raise ParameterError(
            "hypotheses", "a class that is fixed before the records are seen", type(hypotheses).__name__
        )
    return published_at_once(hypotheses, sspp(hypotheses, records, None, draw, entropy), queries, entropy)


def _without_end(remaining: Usage) -> Usage:
    """What is left of the release, from what is left of its votes: after the last vote it publishes."""
    return replace(remaining, queries=None)
