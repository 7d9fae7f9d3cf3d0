"""What is asked and what is told: requests that share one turn, each with its own answer (proofs/priv_class.md)."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from pcqr.compiled import this_process
from pcqr.errors import CopyCannotAnswer, ParameterError
from pcqr.hypotheses.base import Hypothesis, Points
from pcqr.releases.protocol.answers import Answer, Kind, Usage

L = TypeVar("L")
UNLIMITED = Usage(None, None)
Stopped = Literal["exhausted", "quota", "reused"]
"""Why a request has fewer answers than rows: the release is exhausted, nothing is left of the asker's allowance, or its
token belongs to another request (then it has none at all)."""


class Reply(NamedTuple, Generic[L]):
    """An answer in atoms, of which a long batch keeps many, and the coin that stands in for ⊥ where one is wanted."""

    label: L | None
    coin: L | None
    kind: Kind
    asked: int
    unstable: int
    queries_remaining: int | None
    unstable_remaining: int | None
    is_beyond_plan: bool
    labels_remaining: int | None = None

    @property
    def answer(self) -> Answer[L]:
        return Answer(self.label, self.kind, self.spent, self.remaining, beyond_plan=self.is_beyond_plan)

    @property
    def spent(self) -> Usage:
        return Usage(self.asked, self.unstable)

    @property
    def remaining(self) -> Usage:
        return Usage(self.queries_remaining, self.unstable_remaining, self.labels_remaining)

    def named(self, names: Mapping[L | None, Any]) -> Reply[Any]:
        """The same with other labels."""
        return Reply(names[self.label], names[self.coin], *self[2:])

    def without_end(self) -> Reply[L]:
        """The same, where other answers follow when the votes are over."""
        return self._replace(queries_remaining=None)


@dataclass(frozen=True, eq=False)
class Asked:
    """A request: rows to be answered in order.

    Parameters
    ----------
    points : Points
        The rows, as `release.points(X)` reads them.
    asker : str or None, default None
        Who asks, for the quota table; None: nobody in particular.
    allowance : Usage
        The new queries, and the unstable answers, that this asker may have in all, over all its requests; None: any
        number. Needs a quota table.
    token : bytes or None, default None
        What the asker calls this request: sent again within 24 hours, it gets the same response. Needs a quota table.
    is_shared : bool, default True
        Does what others have asked count as asked before? False: a row that is new to this asker counts against its
        allowance and is told as it was decided, although its answer is in the log. Needs a quota table.
    """

    points: Points
    asker: str | None = None
    allowance: Usage = UNLIMITED
    token: bytes | None = None
    is_shared: bool = True

    @property
    def content(self) -> bytes:
        """What tells requests with one token apart."""
        return sha256((self.points + 0.0).tobytes()).digest()

    @property
    def needs_quotas(self) -> bool:
        return self.token is not None or self.allowance != UNLIMITED or not self.is_shared


@dataclass(frozen=True)
class Answered(Generic[L]):
    """What a request got: the replies to its first rows, and why there are no more.

    `is_replay`: they were given before, to a request with the same token.
    """

    replies: Sequence[Reply[L]]
    stopped: Stopped | None = None
    is_replay: bool = False


class OpenQuotas(Protocol):
    """The quota table during one transaction. It decides by the transcript and by public requests alone."""

    def replayed(
        self, asked: Asked, these: Sequence[bytes], asked_before: Mapping[bytes, Entry]
    ) -> Answered[int] | None:
        """Return what a request with this token got before; None for a new token, or none.

        `these` are the keys of its rows, and `asked_before` has the entries of the log with these keys.
        """

    def allows(self, asked: Asked) -> bool:
        """Is anything left of what this asker may have?"""

    def is_first(self, asked: Asked, key: bytes) -> bool:
        """Is a row that is in the log new to an asker who shares nothing with others?"""

    def answered(self, asked: Asked, key: bytes, kind: Kind, *, is_logged: bool) -> None:
        """Record that a row was answered, from the log or by a decision of this transaction."""

    def end(self, asked: Asked, these: Sequence[bytes], answered: Answered[int]) -> None:
        """Record that a request, whose rows have the keys `these`, is finished."""


class QuotaTable(Protocol):
    """Who asked what, kept beside the transcript (`pcqr.durable.quotas`). The log that it belongs to opens it."""

    def usage(self, asker: str | None) -> Usage:
        """What an asker has had."""

    def quota(self, asked: Asked) -> Usage | None:
        """Return what remains of the asker's allowance, None if it has no limit."""

    def asked_before(self, asked: Asked, these: Sequence[bytes]) -> Collection[bytes]:
        """Return those of the keys `these` whose rows the asker, or anybody if it shares, has asked before."""


def check_quotas(asked: Sequence[Asked], quota_table: QuotaTable | None) -> None:
    """Raise where somebody counts on a quota table that is not there."""
    if quota_table is None and any(each.needs_quotas for each in asked):
        raise ParameterError(
            "quota_table", "given, for whoever asks with an allowance or a token, or shares nothing", None
        )


# ---------------------------------------------------------------------------------------------------------------------
# The log of a release: every query with its answer, and who may add to it (proofs/priv_class.md).


class Votes(Protocol):
    """One ballot for each of several queries: an array of counts, or whatever else `decide` takes. Private."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(queries, labels). Public."""

    def __iter__(self) -> Iterator[Any]: ...


class PrivLabel(Protocol):
    """The paper's generic procedure behind the protocol, for votes that can be counted ahead in one pass."""

    remaining: Usage
    """The decisions that may still be made, a function of those made: public. No limit, no ⊥: None.

    For a log that outlives the process it must be all that changes from one decision to the next: it keeps and sets it.
    """

    def counts(self, X: Points) -> Votes:
        """The votes on each row of `X`, one column a label: a fixed function of secrets. Private."""

    def decide(self, counts: Any) -> int | None:
        """The label that a vote ends in, None for ⊥: the only thing about the votes that may be shown."""


@dataclass(frozen=True)
class Entry:
    """What the log keeps of a query: the point, the answer, and the coin that stands in for ⊥ where one is wanted."""

    point: Points
    label: int | None
    coin: int | None


class Transaction(Protocol):
    """What one caller reads and adds while nobody else does."""

    @property
    def spent(self) -> Usage:
        """Distinct queries and unstable answers so far."""

    @property
    def published(self) -> Hypothesis | None: ...

    @property
    def is_written_off(self) -> bool:
        """Was an older copy written off, so that everything counts as used and nothing is published any more?"""

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Entry]:
        """The entries that have one of `keys`; others may be among them."""

    def add(self, key: bytes, entry: Entry) -> None:
        """An answer that was decided now. `key` is new."""

    def publish(self, hypothesis: Hypothesis) -> None:
        """A classifier that was drawn now: the only one."""

    def open(self, quota_table: QuotaTable, asked: Sequence[Asked]) -> OpenQuotas:
        """Return the quotas of those who ask. They are written with the transaction, or not at all."""


class Log(Protocol):
    """Where the transcript is: in memory, or in a ledger that outlives the process (`pcqr.release`)."""

    @property
    def is_original(self) -> bool:
        """May turns be taken here? Not in a copy, nor in a process that was forked."""

    @property
    def published(self) -> Hypothesis | None:
        """The published classifier, once it may be shown."""

    @property
    def is_written_off(self) -> bool:
        """Was an older copy written off, so that everything counts as used?"""

    def now(self, labeller: PrivLabel) -> tuple[Usage, Usage]:
        """Return what was spent and what remains.

        `labeller` is only read: a signal handler may ask this in the middle of a transaction, which counts there.
        """

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Entry]:
        """The entries that have one of `keys`; others may be among them."""

    def entries(self) -> Iterator[Entry]:
        """Every distinct query with its answer, in order."""

    def announce(self, keys: Sequence[bytes], labeller: PrivLabel) -> None:
        """These rows are going to be decided, in the next turn: a cautious log keeps that."""

    def transaction(self, labeller: PrivLabel) -> AbstractContextManager[Transaction]:
        """Decide while nobody else does. What was added may be shown once the block has ended without an error."""

    def copied(self) -> Log:
        """The same log, to read."""

    def close(self) -> None:
        """Let another process have it, where that is possible."""


class MemoryLog:
    """A log in this process. The protocol's lock lets in one at a time; what was added stays, whatever comes after."""

    is_written_off = False

    def __init__(self, entries: dict[bytes, Entry] | None = None, *, is_original: bool = True) -> None:
        self.published: Hypothesis | None = None
        self._entries: dict[bytes, Entry] = {} if entries is None else entries
        self._unstable = sum(entry.label is None for entry in self._entries.values())
        self._owner = this_process() if is_original else None

    @property
    def is_original(self) -> bool:
        return self._owner == this_process()

    @property
    def spent(self) -> Usage:
        return Usage(len(self._entries), self._unstable)

    def now(self, labeller: PrivLabel) -> tuple[Usage, Usage]:
        return self.spent, labeller.remaining

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Entry]:  # noqa: ARG002 - all of them are at hand
        return self._entries

    def entries(self) -> Iterator[Entry]:
        return iter(tuple(self._entries.values()))

    def keyed(self) -> Iterator[tuple[bytes, Entry]]:
        """All entries with their keys, in order."""
        return iter(tuple(self._entries.items()))

    def announce(self, keys: Sequence[bytes], labeller: PrivLabel) -> None:
        """What is in memory does not outlive a crash."""

    @contextmanager
    def transaction(self, labeller: PrivLabel) -> Iterator[Transaction]:  # noqa: ARG002
        if not self.is_original:
            raise CopyCannotAnswer
        yield self

    def add(self, key: bytes, entry: Entry) -> None:
        self._entries[key] = entry
        self._unstable += entry.label is None

    def publish(self, hypothesis: Hypothesis) -> None:
        self.published = hypothesis

    def open(self, quota_table: QuotaTable, asked: Sequence[Asked]) -> OpenQuotas:  # noqa: ARG002
        raise ParameterError(
            "quota_table", "None for a release in memory: quotas are kept with a ledger", type(quota_table).__name__
        )

    def copied(self) -> MemoryLog:
        copy = MemoryLog(dict(self._entries), is_original=False)
        copy.published = self.published
        return copy

    def close(self) -> None:
        """Nobody else waits for it."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Only what has no budget to count is copied as an original: it is one wherever it is loaded."""
        vars(self).update(state)
        if self._owner is not None:
            self._owner = this_process()

    def give_up(self) -> None:
        """From here on this is a copy: another log goes on."""
        self._owner = None

    def take_back(self) -> None:
        """After all no other log goes on: for whoever knows that for sure."""
        self._owner = this_process()


class NoLabeller:
    """What a copy has in place of teachers: what is left, and no secret."""

    def __init__(self, remaining: Usage) -> None:
        self.remaining = remaining

    def counts(self, X: Points) -> NDArray[np.int64]:  # noqa: ARG002
        raise CopyCannotAnswer

    def decide(self, counts: NDArray[np.int64]) -> int | None:  # noqa: ARG002
        raise CopyCannotAnswer
