"""What is asked and what is told: requests that share one turn, each with its own answer (proofs/priv_class.md)."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc

from pcqr.compiled import this_process
from pcqr.errors import CopyCannotAnswer, ParameterError
from pcqr.hypotheses.base import Hypothesis, Points
from pcqr.releases.protocol.answers import Answer, BatchCost, Kind, Usage

L = TypeVar("L")
UNLIMITED = Usage(None, None)
Stopped = Literal["halted", "quota", "reused"]
"""Why a request has fewer answers than rows: the release has halted, nothing is left of the asker's allowance, or its
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
        Who asks, for the book; None: nobody in particular.
    allowance : Usage
        The new queries, and the unstable answers, that this asker may have in all, over all its requests; None: any
        number. Needs a book.
    token : bytes or None, default None
        What the asker calls this request: sent again within 24 hours, it gets the same response. Needs a book.
    is_shared : bool, default True
        Does what others have asked count as asked before? False: a row that is new to this asker counts against its
        allowance and is told as it was decided, although its answer is in the log. Needs a book.
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


class Page(Protocol):
    """The book during one turn. All that it decides is a function of the transcript and of public requests."""

    def replayed(self, asked: Asked, these: Sequence[bytes], known: Mapping[bytes, Entry]) -> Answered[int] | None:
        """Return what a request with this token got before; None for a new token, or none.

        `these` are the keys of its rows, and `known` has the entries of the log with these keys.
        """

    def allows(self, asked: Asked) -> bool:
        """Is anything left of what this asker may have?"""

    def is_first(self, asked: Asked, key: bytes) -> bool:
        """Is a row that is in the log new to an asker who shares nothing with others?"""

    def answered(self, asked: Asked, key: bytes, kind: Kind, *, is_logged: bool) -> None:
        """Record that a row was answered, from the log or by a decision of this transaction."""

    def end(self, asked: Asked, these: Sequence[bytes], told: Answered[int]) -> None:
        """Record that a request, whose rows have the keys `these`, is finished."""


class QuotaTable(Protocol):
    """Who asked what, kept beside the transcript (`pcqr.durable.quotas`). The log that it belongs to opens it."""

    def usage(self, asker: str | None) -> Usage:
        """What an asker has had."""

    def quota(self, asked: Asked) -> Usage | None:
        """Return what remains of the asker's allowance, None if it has no limit."""

    def known(self, asked: Asked, these: Sequence[bytes]) -> Collection[bytes]:
        """Return those of the keys `these` whose rows the asker, or anybody if it shares, has asked before."""


def check_quotas(asked: Sequence[Asked], quota_table: QuotaTable | None) -> None:
    """Raise where somebody counts on a book that is not there."""
    if quota_table is None and any(each.needs_quotas for each in asked):
        raise ParameterError("book", "given, for whoever asks with an allowance or a token, or shares nothing", None)


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

    def open(self, quota_table: QuotaTable, asked: Sequence[Asked]) -> Page:
        """The page of the book for these requests. It is written with the turn, or not at all."""


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

    def refresh(self, labeller: PrivLabel) -> Usage:
        """What was spent; `labeller.remaining` is then what is left."""

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

    def refresh(self, labeller: PrivLabel) -> Usage:  # noqa: ARG002 - it knows itself what is left
        return self.spent

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

    def open(self, quota_table: QuotaTable, asked: Sequence[Asked]) -> Page:  # noqa: ARG002
        raise ParameterError(
            "book", "None for a release in memory: a book is kept with a ledger", type(quota_table).__name__
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


# ---------------------------------------------------------------------------------------------------------------------
# What a batch of queries will cost: counting, before anything is sent.
#
# Everything here is a function of public values: which rows are new to the log, what is left, what was planned. No
# labeller, no entropy and no record is within reach, so nothing can be spent (proofs/priv_class.md).


def key(x: Points) -> bytes:
    """What tells queries apart: the bits of the point."""
    return (x + 0.0).tobytes()  # −0.0 + 0.0 is 0.0: the two zeros are one query


def keys(X: Points) -> list[bytes]:
    """The `key` of every row."""
    return [row.tobytes() for row in X + 0.0]


def new_rows(X: Points, log: Container[bytes]) -> NDArray[np.bool_]:
    """Which rows of `X` are neither in the `log` nor equal to an earlier row of `X`."""
    seen: set[bytes] = set()
    marks = np.zeros(X.shape[0], dtype=np.bool_)
    for i, this in enumerate(keys(X)):
        marks[i] = this not in seen and this not in log
        seen.add(this)
    return marks


def batch_cost(
    is_new: NDArray[np.bool_],
    *,
    remaining: Usage,
    planned: int,
    unstable_share: float | None,
    votes_remaining: int | None = None,
    quota: Usage | None = None,
) -> BatchCost:
    """The cost of a batch whose new rows are marked by `is_new`.

    `planned` new queries are within the plan. After `votes_remaining` new queries a classifier is published (None:
    never), or earlier, when the unstable answers run out: such a release never halts. p = `unstable_share` is the
    predicted chance that a new query is unstable; the model takes new queries to be independent, though they share
    their teachers and often a noisy threshold: a small chance of halting is not to be relied on.

    With u unstable answers left and b new queries, b ≤ `left.queries`: the last of them is answered unless u of the
    b − 1 before it were unstable, P(Bin(b−1, p) ≥ u), and E[min(u, Bin(b, p))] = Σ_{j<u} P(Bin(b, p) > j). With ℓ
    labels left likewise, 1 − p for p: a share p of the queries that are asked is unstable, and E[min(ℓ, Bin(b, 1−p))]
    are not (Wald). Where neither has a limit, `left.queries` alone decides.

    `quota` is what the asker may still have: every new row counts against it, too, so that the smaller number decides.
    The release is used up by the rows that the quota lets through, and not at all where it lets fewer unstable answers
    through than the release has.
    """
    rows = is_new.shape[0]
    earlier: NDArray[np.int64] = np.cumsum(is_new, dtype=np.int64) - is_new  # new rows before each row
    voted = rows if votes_remaining is None else int((earlier < votes_remaining).sum())
    new = int(is_new[:voted].sum())
    both = remaining.at_most(quota)
    allowed = new if both.queries is None else min(new, both.queries)
    ends = both if votes_remaining is None else quota or Usage(None, None)  # a release that publishes does not halt
    surely = min(number for number in (new, ends.queries, ends.unstable, ends.labels) if number is not None)
    certain = int((earlier + is_new <= surely)[:voted].sum())
    certain = rows if certain == voted else certain
    return BatchCost(
        requested=rows,
        repeated=voted - new,
        new=new,
        published=rows - voted,
        certain=certain,
        remaining=remaining,
        beyond_plan=max(0, new - planned),
        expected_unstable=None if unstable_share is None else _expected_unstable(allowed, both, unstable_share),
        chance_of_halting=0.0 if certain == rows else _chance_of_halting(new, ends, unstable_share),
        quota=quota,
        chance_of_exhausting=0.0
        if votes_remaining is not None
        else _chance_of_exhausting(new, remaining, quota, unstable_share),
    )


def with_range(cost: BatchCost, shares: tuple[float, float] | None) -> BatchCost:
    """`cost` with the unstable answers that the least and the largest of `shares` let one expect; None: as it is."""
    if shares is None:
        return cost
    both = cost.remaining.at_most(cost.quota)
    asked = cost.new if both.queries is None else min(cost.new, both.queries)
    least, most = (_expected_unstable(asked, both, share) for share in shares)
    return replace(cost, unstable_range=(least, most))


def _expected_unstable(asked: int, remaining: Usage, share: float) -> float:
    if remaining.labels is not None:
        labels = _expected(asked, remaining.labels, 1.0 - share)
        return share * asked if share == 1.0 else labels * share / (1.0 - share)
    return 0.0 if remaining.unstable is None else _expected(asked, remaining.unstable, share)


def _expected(asked: int, limit: int, share: float) -> float:
    """E[min(limit, Bin(asked, share))]."""
    return float(bdtrc(np.arange(min(limit, asked)), asked, share).sum())


def _chance_of_exhausting(new: int, remaining: Usage, quota: Usage | None, share: float | None) -> float | None:
    """Return the chance that the batch exhausts the release before its last row."""
    asked = new if quota is None or quota.queries is None else min(new, quota.queries + 1)
    own = None if quota is None else quota.unstable
    if (
        own is not None and remaining.unstable is not None and own < remaining.unstable
    ):  # unstable answers end with the quota
        remaining = replace(remaining, unstable=None)
    else:
        own = None
    if (
        all(number is None or asked <= number for number in (remaining.queries, remaining.unstable, remaining.labels))
        or own == 0
    ):
        return 1.0 if remaining.is_nothing and new else 0.0
    if own is None or remaining.queries is None or remaining.queries == 0:
        return _chance_of_halting(asked, remaining, share)
    return None if share is None else float(bdtr(own - 1, remaining.queries - 1, share))


def _chance_of_halting(new: int, remaining: Usage, share: float | None) -> float | None:
    if (remaining.queries is not None and remaining.queries < new) or remaining.is_nothing:
        return 1.0
    if share is None:
        return None
    unstable = 0.0 if remaining.unstable is None else float(bdtrc(remaining.unstable - 1, new - 1, share))
    labels = 0.0 if remaining.labels is None else float(bdtrc(remaining.labels - 1, new - 1, 1.0 - share))
    return min(1.0, unstable + labels)
