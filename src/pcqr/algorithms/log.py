"""The log of a release: every query with its answer, and who may add to it (proofs/priv_class.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from pcqr.algorithms.asking import Asked, Book, Page
from pcqr.errors import CopyCannotAnswer, ParameterError
from pcqr.forks import this_process
from pcqr.hypotheses.base import Hypothesis, Points
from pcqr.plan import Usage


class Votes(Protocol):
    """One ballot for each of several queries: an array of counts, or whatever else `decide` takes. Private."""

    @property
    def shape(self) -> tuple[int, ...]:
        """(queries, labels). Public."""

    def __iter__(self) -> Iterator[Any]: ...


class PrivLabel(Protocol):
    """The paper's generic procedure behind the protocol, for votes that can be counted ahead in one pass."""

    left: Usage
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


class Turn(Protocol):
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

    def open(self, book: Book, asked: Sequence[Asked]) -> Page:
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
        """What was spent; `labeller.left` is then what is left."""

    def find(self, keys: Sequence[bytes]) -> Mapping[bytes, Entry]:
        """The entries that have one of `keys`; others may be among them."""

    def entries(self) -> Iterator[Entry]:
        """Every distinct query with its answer, in order."""

    def announce(self, keys: Sequence[bytes], labeller: PrivLabel) -> None:
        """These rows are going to be decided, in the next turn: a cautious log keeps that."""

    def turn(self, labeller: PrivLabel) -> AbstractContextManager[Turn]:
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
    def turn(self, labeller: PrivLabel) -> Iterator[Turn]:  # noqa: ARG002
        if not self.is_original:
            raise CopyCannotAnswer
        yield self

    def add(self, key: bytes, entry: Entry) -> None:
        self._entries[key] = entry
        self._unstable += entry.label is None

    def publish(self, hypothesis: Hypothesis) -> None:
        self.published = hypothesis

    def open(self, book: Book, asked: Sequence[Asked]) -> Page:  # noqa: ARG002
        raise ParameterError("book", "None for a release in memory: a book is kept with a ledger", type(book).__name__)

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

    def __init__(self, left: Usage) -> None:
        self.left = left

    def counts(self, X: Points) -> NDArray[np.int64]:  # noqa: ARG002
        raise CopyCannotAnswer

    def decide(self, counts: NDArray[np.int64]) -> int | None:  # noqa: ARG002
        raise CopyCannotAnswer
