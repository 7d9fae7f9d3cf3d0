"""The log of a release in a ledger: every entry and every state has the same length, whatever the answer was."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np

from pcqr.compiled import this_process
from pcqr.durable.facts import (
    NOTHING,
    PUBLISHED_KEY,
    State,
    announced_in,
    answer_in,
    answers_in,
    append_announced,
    append_answers,
    append_published,
    digests,
    located,
)
from pcqr.durable.ledger import Ledger
from pcqr.durable.ledger import Transaction as LedgerTransaction
from pcqr.durable.quotas import QuotaRows, QuotaTable
from pcqr.errors import CopyCannotAnswer, OtherVersion, ParameterError
from pcqr.hypotheses.base import Hypothesis
from pcqr.privacy.entropy import SystemEntropy
from pcqr.releases.protocol.answers import Usage
from pcqr.releases.protocol.log import Asked, Entry, MemoryLog, OpenQuotas, PrivLabel
from pcqr.releases.protocol.log import QuotaTable as AnyBook


class LedgerLog:
    """A log that is in a ledger alone: nothing of it is held in memory. `forget` is called once a classifier is out."""

    def __init__(self, ledger: Ledger, *, is_copy: bool = False, forget: Callable[[], None] | None = None) -> None:
        self.ledger = ledger
        self._forget = forget
        self._owner = None if is_copy or ledger.is_read_only else this_process()
        self._published: Hypothesis | None = None
        self._is_cautious: bool | None = None
        self._announced = NOTHING
        """What this process has announced, and is about to decide."""

    @property
    def is_original(self) -> bool:
        return self._owner == this_process()

    @property
    def state(self) -> State:
        return self._read(self.ledger.state)

    @property
    def published(self) -> Hypothesis | None:
        if self._published is None and self.state.is_published:
            (entry,) = self.ledger.find([PUBLISHED_KEY]).values()
            self._published = Hypothesis.from_json(entry.body.decode())
        return self._published

    @property
    def is_written_off(self) -> bool:
        return self.state.is_written_off

    def now(self, labeller: PrivLabel) -> tuple[Usage, Usage]:  # noqa: ARG002 - the ledger knows
        state = self.state
        return state.spent, state.remaining

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Entry]:
        return {key: answer_in(*where) for key, where in located(digests(keys), self.ledger.find).items()}

    def entries(self) -> Iterator[Entry]:
        return (answer for kept in self.ledger.entries() for _, answer in answers_in(kept))

    def announce(self, keys: Sequence[bytes], labeller: PrivLabel) -> None:
        """For a cautious release: have on disk which rows are going to be decided, before anything is known of them."""
        if self._is_cautious is None:
            self._is_cautious = self.state.is_cautious
        self._announced = NOTHING
        if self._is_cautious:
            with self.transaction(labeller) as transaction:
                name = NOTHING if labeller.remaining.is_nothing else transaction.announce(keys)
            self._announced = name

    @contextmanager
    def transaction(self, labeller: PrivLabel) -> Iterator[Transaction]:
        if not self.is_original:
            raise CopyCannotAnswer
        with self.ledger.transaction() as ledger_transaction:
            before = self._read(ledger_transaction.state)
            labeller.remaining = before.remaining
            transaction = Transaction(ledger_transaction, before, self)
            if before.announced not in (NOTHING, self._announced):  # and never decided: that turn was broken off
                labeller.remaining = transaction.settle(before)
            yield transaction
            transaction.append()
            after = transaction.after(labeller.remaining)
            ledger_transaction.state = after.written()
            if transaction.quota_rows is not None:
                transaction.quota_rows.write()
        if after.is_published and not before.is_published and self._forget is not None:
            self._forget()

    def close(self) -> None:
        """Let another process write; all that was said is on disk. A copy leaves that to its original."""
        if self.is_original or self.ledger.is_read_only:
            self.ledger.close()

    def copied(self) -> LedgerLog:
        return LedgerLog(self.ledger, is_copy=True)

    def __getstate__(self) -> dict[str, object]:
        """A copy reads, and removes no files."""
        return vars(self) | {"_owner": None, "_forget": None}

    def _read(self, written: bytes) -> State:
        try:
            return State.read(written)
        except ValueError:
            raise OtherVersion(self.ledger.place, "holds no state of a release that this pcqr reads") from None


class Transaction:
    """An exclusive turn of the release's ledger."""

    def __init__(self, transaction: LedgerTransaction, before: State, log: LedgerLog) -> None:
        self.quota_rows: QuotaRows | None = None
        self._transaction = transaction
        self._log = log
        self._seqs: dict[bytes, int] = {}
        self._digests: dict[bytes, bytes] = {}
        self._new: dict[bytes, Entry] = {}
        """Answers that the ledger's turn has not got yet."""
        self._appended = before.spent
        """What was spent without these."""
        self.is_written_off = before.is_written_off
        self._is_published, self._is_cautious = before.is_published, before.is_cautious
        self._announced = NOTHING

    @property
    def spent(self) -> Usage:
        asked, unstable = self._appended.queries or 0, self._appended.unstable or 0
        return Usage(asked + len(self._new), unstable + sum(entry.label is None for entry in self._new.values()))

    @property
    def published(self) -> Hypothesis | None:
        return self._log.published if self._is_published else None

    def after(self, remaining: Usage) -> State:
        """The state at the end of this turn, with what is `remaining` then."""
        marks = self._is_published, self._is_cautious, self._announced, self.is_written_off
        return State(self.spent, remaining, *marks)

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Entry]:
        self._digests = digests(keys)
        found = located(self._digests, self._transaction.find)
        self._seqs.update((key, kept.before + 1 + position) for key, (kept, position) in found.items())
        return {key: answer_in(*where) for key, where in found.items()}

    def add(self, key: bytes, entry: Entry) -> None:
        self._new[key] = entry

    def append(self) -> None:
        """Hand the answers so far to the ledger's turn, before anything else comes."""
        self._seqs.update(zip(self._new, itertools.count(self._transaction.seq + 1), strict=False))
        append_answers(self._transaction, self._new, self._digests)
        self._appended, self._new = self.spent, {}

    def announce(self, keys: Sequence[bytes]) -> bytes:
        """Say which of these rows are new; returns the name of the announcement."""
        self.find(keys)
        new = [key for key in dict.fromkeys(keys) if key not in self._seqs]  # nor settled in this turn
        if new:
            self._announced = SystemEntropy().bytes(len(NOTHING))
            append_announced(self._transaction, self._announced, new)
        return self._announced

    def settle(self, before: State) -> Usage:
        """Count rows that were announced and never decided as though each had been unstable; what is left then.

        They get ⊥ for ever, as far as there is any left: what was decided about them may have been seen.
        """
        rows = announced_in(self._transaction.find([before.announced])[before.announced].body)
        known = self.find(rows)
        rows = [key for key in rows if key not in known]
        unstable = before.remaining.unstable
        coins = SystemEntropy().below(2, len(rows)).tolist()
        for key, coin in list(zip(rows, coins, strict=True))[: unstable or 0]:
            self.add(key, Entry(np.frombuffer(key, dtype="<f8")[None, :], None, coin))
        self.append()
        numbers = (
            before.remaining.queries,
            unstable,
            before.remaining.labels,
        )  # of each one a row, whatever was decided
        return Usage(*(None if remaining is None else max(0, remaining - len(rows)) for remaining in numbers))

    def open(self, quota_table: AnyBook, asked: Sequence[Asked]) -> OpenQuotas:
        if not isinstance(quota_table, QuotaTable) or quota_table.ledger is not self._log.ledger:
            raise ParameterError("quota_table", "that of this release: release.quota_table()", "another one")
        self.quota_rows = quota_table.open(self._transaction, asked, self._seqs)
        return self.quota_rows

    def publish(self, hypothesis: Hypothesis) -> None:
        self.append()
        append_published(self._transaction, hypothesis)
        self._is_published = True


def move(log: MemoryLog, remaining: Usage, transaction: LedgerTransaction, *, is_cautious: bool = False) -> None:
    """Write all that a release has answered in memory into its ledger."""
    answers = dict(log.keyed())
    append_answers(transaction, answers, digests(answers))
    if log.published is not None:
        append_published(transaction, log.published)
    transaction.state = State(log.spent, remaining, log.published is not None, is_cautious).written()
