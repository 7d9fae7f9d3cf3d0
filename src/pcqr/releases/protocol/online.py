"""The online protocol: queries are answered in order, one at a time however many threads ask, and each is logged."""

from __future__ import annotations

from _thread import RLock
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np

from pcqr.checks import non_reentrant
from pcqr.errors import BudgetExhausted, CopyCannotAnswer
from pcqr.hypotheses.base import Points
from pcqr.privacy.entropy import Entropy
from pcqr.releases.protocol.answers import Answer, BatchCost, Kind, Usage, batch_cost, key, keys, new_rows
from pcqr.releases.protocol.log import (
    Answered,
    Asked,
    Entry,
    Log,
    MemoryLog,
    NoLabeller,
    OpenQuotas,
    PrivLabel,
    QuotaTable,
    Reply,
    Stopped,
    Transaction,
    check_quotas,
)


class Lock(RLock):  # type: ignore[misc]  # final to typeshed alone
    """Re-entrant. A copy or an unpickled object has a lock of its own, free.

    It is taken and released by the interpreter's own code: a method of Python's in between can be interrupted when it
    begins, before it has released anything, and other threads would wait for ever.
    """

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()


# ---------------------------------------------------------------------------------------------------------------------
# PrivClass: the online protocol. Queries are answered in order, and each is logged (Algorithm PrivClass).
#
# The protocol owns the transcript: it recognises repeated queries, counts what is spent, and refuses when nothing is
# left. All of that is a function of the transcript, so it costs no privacy. The procedure behind it only decides.


BLOCK = 256
"""The rows of one turn."""
Stop = Callable[[Usage, Usage], bool]


class PrivClass:
    """Answers queries through a `PrivLabel` until nothing is left of what it may decide.

    `queries` is the planned number m, past which answers are marked as beyond the plan. Queries are told apart by their
    bits: the same point asked again gets its logged answer and costs nothing. `labeller` holds secrets. The `log` is in
    memory unless another one is given.
    """

    is_under_way = False

    def __init__(self, labeller: PrivLabel, queries: int, entropy: Entropy, log: Log | None = None) -> None:
        self.labeller = labeller
        self.log: Log = MemoryLog() if log is None else log
        self._queries = queries
        self._entropy = entropy
        self._lock = Lock()

    @property
    def transcript(self) -> tuple[Entry, ...]:
        """Every distinct query with its answer, in order. Public."""
        return tuple(self.log.entries())

    @property
    def asked(self) -> int:
        """The number of distinct queries so far."""
        return self.spent.queries or 0

    @property
    def unstable(self) -> int:
        """The number of these that got ⊥."""
        return self.spent.unstable or 0

    @property
    def spent(self) -> Usage:
        return self.now()[0]

    @property
    def remaining(self) -> Usage:
        return self.now()[1]

    @property
    def is_exhausted(self) -> bool:
        return self.remaining.is_nothing

    def now(self) -> tuple[Usage, Usage]:
        """What is spent and what is left, of one moment."""
        with self.guarded():
            return self.log.now(self.labeller)

    def guarded(self) -> AbstractContextManager[object]:
        """One thread at a time. A forked process decides nothing, and must not wait for a thread that it has not."""
        return self._lock if self.log.is_original else nullcontext()

    def logged(self, x: Points) -> Entry | None:
        """The entry of a query asked before, bit for bit, else None."""
        this = key(x)
        return self.log.find([this]).get(this)

    def preview(
        self,
        X: Points,
        unstable_share: float | None = None,
        *,
        votes_remaining: int | None = None,
        asked_before: Container[bytes] | None = None,
        quota: Usage | None = None,
    ) -> BatchCost:
        """What the rows of `X` would cost, asked in order: a function of the transcript and of the rows alone.

        `unstable_share` is the planner's guess at the share of unstable answers, None where it has none; after
        `votes_remaining` new queries a published classifier answers. For an asker who has a quota, `asked_before` are
        the keys of rows that are not new to it, and `quota` is what it may still have.
        """
        with self.guarded():  # the log and what is left, of one moment
            spent, remaining = self.now()
            return batch_cost(
                new_rows(X, self.log.find(keys(X)) if asked_before is None else asked_before),
                remaining=remaining,
                planned=max(0, self._queries - (spent.queries or 0)),
                unstable_share=unstable_share,
                votes_remaining=votes_remaining,
                quota=quota,
            )

    def answer(self, x: Points) -> Answer[int]:
        """Answer the query in the one-row table `x`."""
        return self.reply(x).answer

    def reply(self, x: Points) -> Reply[int]:
        """As `answer`, with the coin: what `ask_together` replies to one row, without what only several need."""
        this = key(x)
        if not self.log.is_original:
            return self._from_log([this])[0]
        with self._lock:
            reply = self._single_reply(x, this)
        if reply is None:
            raise self.exhausted(1)
        return reply

    @non_reentrant
    def _single_reply(self, x: Points, this: bytes) -> Reply[int] | None:
        """Look the query up or decide it. Return None where nothing is left for a new one."""
        labeller = self.labeller
        self.log.announce([this], labeller)
        with self.log.transaction(labeller) as transaction:
            entry, spent = transaction.find([this]).get(this), transaction.spent
            asked, unstable = spent.queries or 0, spent.unstable or 0
            kind: Kind = "repeated"
            if entry is None:
                if labeller.remaining.is_nothing:
                    return None
                point = x.copy()  # the caller may reuse its array
                counts = labeller.counts(point)
                (coin,) = self._entropy.below(counts.shape[1], 1).tolist()
                (votes,) = counts
                label = labeller.decide(votes)
                entry = Entry(point, label, coin if label is None else None)
                transaction.add(this, entry)
                asked, unstable, kind = asked + 1, unstable + (label is None), "unstable" if label is None else "stable"
            return self.said(entry, kind, asked, unstable, labeller.remaining)

    def answers(self, X: Points) -> Iterator[Answer[int]]:
        """Answer the rows of `X` in order; raises `BudgetExhausted` at the first new row that cannot be answered."""
        return (reply.answer for reply in self.replies(X))

    def replies(self, X: Points) -> Iterator[Reply[int]]:
        """As `answers`, with the coins. The rows of a block are decided in one turn, before the first is given."""
        answered_rows: list[tuple[Any, ...]] = []  # plain tuples of atoms: the garbage collector does not look at them
        for start in range(0, X.shape[0], BLOCK):
            (answered,) = self.ask_together([Asked(X[start : start + BLOCK])])
            answered_rows += map(tuple, answered.replies)
            yield from answered.replies
            if answered.stopped is not None:
                raise self.exhausted(X.shape[0] - len(answered_rows), [Reply(*each).answer for each in answered_rows])

    def ask_together(
        self, asked: Sequence[Asked], quota_table: QuotaTable | None = None, stop: Stop | None = None
    ) -> list[Answered[int]]:
        """Decide the rows of all requests in order, in one transaction: what each would get if asked by itself.

        A request that stops has been answered as far as it got, and the next one begins. Once this returns, the replies
        may be shown. Should `stop`, of what is spent and what is left, come true, no further row is answered, and
        nothing says that a request `stopped`.
        """
        check_quotas(asked, quota_table)
        these = [keys(each.points) for each in asked]
        if not self.log.is_original:
            return [Answered(self._from_log(each)) for each in these]
        with self._lock:  # one at a time: two queries in flight at the last unstable answer could both be unstable
            return self._in_a_transaction(asked, these, quota_table, stop)

    @non_reentrant
    def _in_a_transaction(
        self,
        asked: Sequence[Asked],
        these: Sequence[Sequence[bytes]],
        quota_table: QuotaTable | None,
        stop: Stop | None,
    ) -> list[Answered[int]]:
        self.log.announce([this for each in these for this in each], self.labeller)
        with self.log.transaction(self.labeller) as transaction:
            quotas = None if quota_table is None else transaction.open(quota_table, asked)
            asked_before = transaction.find([this for each in these for this in each])
            answered = [
                None if quotas is None else quotas.replayed(each, its_keys, asked_before)
                for each, its_keys in zip(asked, these, strict=True)
            ]
            fresh = [number for number, before in enumerate(answered) if before is None]
            rows = [this for number in fresh for this in these[number]]
            ballots = self._ballots([asked[number].points for number in fresh], rows, asked_before)
            stop = None if transaction.is_written_off else stop  # nothing comes after the votes: new rows are refused
            deciding = _Deciding(self, transaction, quotas, asked_before, ballots, stop)
            return [
                before or deciding.answered(each, its_keys)
                for before, each, its_keys in zip(answered, asked, these, strict=True)
            ]

    def replayed(self, asked: Sequence[Asked], quota_table: QuotaTable | None) -> list[Answered[int]]:
        """Return the earlier responses to requests with known tokens, and empty ones for all others. Decide nothing."""
        if quota_table is None or not self.log.is_original or all(each.token is None for each in asked):
            return [Answered(())] * len(asked)
        these = [keys(each.points) if each.token is not None else [] for each in asked]
        with self._lock, self.log.transaction(self.labeller) as transaction:
            quotas = transaction.open(quota_table, asked)
            asked_before = transaction.find([this for each in these for this in each])
            each_with_keys = zip(asked, these, strict=True)
            return [quotas.replayed(each, its_keys, asked_before) or Answered(()) for each, its_keys in each_with_keys]

    def exhausted(self, requested: int, answered_rows: Sequence[Answer[int]] = ()) -> BudgetExhausted:
        """The refusal of so many rows, after the answers that were `answered_rows`."""
        spent, remaining = self.now()
        return BudgetExhausted(spent=spent, requested=requested, remaining=remaining, answers=answered_rows)

    def copied(self) -> PrivClass:
        """The log, what is spent and what is left, and no secret: it answers from its log alone."""
        return PrivClass(NoLabeller(self.labeller.remaining), self._queries, self._entropy, self.log.copied())

    def _ballots(
        self, tables: Sequence[Points], these: Sequence[bytes], asked_before: Mapping[bytes, Entry]
    ) -> dict[bytes, _Ballot]:
        """Votes and a coin for each row that has to be decided. They come first, and for all alike: what a turn does
        until it is on disk must not depend on its answers (proofs/release.md)."""
        new: dict[bytes, int] = {}
        for row, this in enumerate(these):
            if this not in asked_before:
                new.setdefault(this, row)
        if not new or self.labeller.remaining.is_nothing:
            return {}
        X = tables[0] if len(tables) == 1 else np.concatenate(tables)
        rows = X[list(new.values())]  # a copy: the caller may reuse its array
        counts = self.labeller.counts(rows)
        coins = self._entropy.below(counts.shape[1], len(new)).tolist()
        points = (rows[i : i + 1] for i in range(len(new)))
        return {this: _Ballot(*ballot) for this, *ballot in zip(new, points, counts, coins, strict=True)}

    def said(self, entry: Entry, kind: Kind, asked: int, unstable: int, remaining: Usage) -> Reply[int]:
        is_beyond_plan = asked > self._queries
        numbers = (asked, unstable, remaining.queries, remaining.unstable, is_beyond_plan, remaining.labels)
        return Reply(entry.label, entry.coin, kind, *numbers)

    def _from_log(self, these: Sequence[bytes]) -> list[Reply[int]]:
        asked_before = self.log.find(these)
        if any(this not in asked_before for this in these):
            raise CopyCannotAnswer
        spent, remaining = self.now()
        asked, unstable = spent.queries or 0, spent.unstable or 0
        return [self.said(asked_before[this], "repeated", asked, unstable, remaining) for this in these]


class _Ballot(NamedTuple):
    point: Points
    counts: Any
    coin: int


class _Deciding:
    """One transaction: what was logged before it, what it has decided, and what is spent and left by now."""

    def __init__(
        self,
        protocol: PrivClass,
        transaction: Transaction,
        quotas: OpenQuotas | None,
        asked_before: Mapping[bytes, Entry],
        ballots: Mapping[bytes, _Ballot],
        stop: Stop | None,
    ) -> None:
        self._protocol, self._transaction, self._quotas, self._stop = protocol, transaction, quotas, stop
        self._logged, self._ballots = asked_before, ballots
        self._decided: dict[bytes, Entry] = {}
        self._asked, self._unstable = transaction.spent.queries or 0, transaction.spent.unstable or 0
        self._remaining = protocol.labeller.remaining

    def answered(self, asked: Asked, these: Sequence[bytes]) -> Answered[int]:
        """The rows of one request, in order."""
        quotas, replies, stopped = self._quotas, list[Reply[int]](), None
        if quotas is not None and (before := quotas.replayed(asked, these, self._logged)) is not None:
            return before  # its token came earlier in this transaction
        for this in these:
            if self._stop is not None and self._stop(Usage(self._asked, self._unstable), self._remaining):
                break
            entry: Entry | None = self._logged.get(this) or self._decided.get(this)
            kind: Kind = "repeated"
            is_logged = entry is not None
            if entry is None:
                stopped = self._stopped(asked)
                if stopped is not None:
                    break
                entry, kind = self._new(this)
            elif quotas is not None and quotas.is_first(asked, this):  # others have asked it: as new as any other row
                if not quotas.allows(asked):
                    stopped = "quota"
                    break
                kind = _kind(entry)
            if quotas is not None:
                quotas.answered(asked, this, kind, is_logged=is_logged)
            replies.append(self._protocol.said(entry, kind, self._asked, self._unstable, self._remaining))
        answered = Answered(replies, stopped)
        if quotas is not None:
            quotas.end(asked, these, answered)
        return answered

    def _stopped(self, asked: Asked) -> Stopped | None:
        if self._remaining.is_nothing:
            return "exhausted"
        return None if self._quotas is None or self._quotas.allows(asked) else "quota"

    def _new(self, this: bytes) -> tuple[Entry, Kind]:
        ballot = self._ballots[this]
        label = self._protocol.labeller.decide(ballot.counts)
        entry = self._decided[this] = Entry(ballot.point, label, ballot.coin if label is None else None)
        self._transaction.add(this, entry)
        self._asked, self._unstable = self._asked + 1, self._unstable + (label is None)
        self._remaining = self._protocol.labeller.remaining
        return entry, _kind(entry)


def _kind(entry: Entry) -> Kind:
    """Return how an entry came about: "stable" or "unstable"."""
    return "unstable" if entry.label is None else "stable"
